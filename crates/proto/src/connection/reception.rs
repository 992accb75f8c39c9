//! Delivery of received application data (RFC 4340, Sections 9, 11.6 and 11.7).
//!
//! Data is delivered unless the protocol forbids it, the application does not listen, it is corrupt, or
//! the receive queue is full. The sender is notified of the reason.

use whimbrel_control::reordering::{LatenessMeter, LatenessSummary};
use whimbrel_units::{Duration, Instant};
use whimbrel_wire::option::data_dropped::DropCode;
use whimbrel_wire::{ChecksumCoverage, DccpOption, Options, Packet, SeqNo};

use super::ReceiveMeta;
use super::context::{Context, Effects};
use crate::config::ReceiveConfig;
use crate::{Config, Event};

/// Number of Slow Receiver options per round-trip time: one has effect for a round-trip time (RFC 4340,
/// Section 11.6), and one may be lost.
const SLOW_PER_RTT: u32 = 2;

/// State of the delivery of datagrams.
#[derive(Clone, Debug)]
pub(super) struct Reception {
    limits: ReceiveConfig,
    /// `true` if the application receives datagrams.
    listening: bool,
    /// Number of datagrams among the queued events.
    datagrams: usize,
    /// Number of bytes of application data in these.
    bytes: usize,
    /// `true` if the application, or the driver, cannot keep up.
    slow: bool,
    /// Time of the last Slow Receiver option.
    slow_reported: Option<Instant>,
    /// Lateness of packets that were overtaken.
    lateness: LatenessMeter,
}

impl Reception {
    pub(super) fn new(config: &Config) -> Self {
        Self {
            limits: config.receive,
            listening: true,
            datagrams: 0,
            bytes: 0,
            slow: false,
            slow_reported: None,
            lateness: LatenessMeter::new(),
        }
    }

    fn has_room(&self, size: usize) -> bool {
        self.datagrams < self.limits.max_datagrams && self.bytes + size <= self.limits.max_bytes
    }

    /// Number of queued datagrams, and of their bytes.
    pub(super) fn waiting(&self) -> (usize, usize) {
        (self.datagrams, self.bytes)
    }

    /// `true` if three quarters of the receive queue are in use.
    fn is_filling(&self) -> bool {
        let is_filling = |used: usize, limit: usize| used >= limit - limit / 4;
        is_filling(self.datagrams, self.limits.max_datagrams) || is_filling(self.bytes, self.limits.max_bytes)
    }

    /// Accounts for a datagram that was queued for the application, or for resequencing.
    pub(super) fn on_queued(&mut self, event: &Event) {
        if let Some(size) = datagram_len(event) {
            self.datagrams += 1;
            self.bytes += size;
        }
    }

    /// Accounts for an event that the application takes.
    #[inline]
    pub(super) fn on_taken(&mut self, event: &Event) {
        if let Some(size) = datagram_len(event) {
            self.datagrams -= 1;
            self.bytes -= size;
        }
    }

    /// Adds the Slow Receiver option to an acknowledgement if it is due.
    pub(super) fn write_slow_receiver(&mut self, now: Instant, rtt: Duration, options: &mut Options) {
        if !self.slow && !self.is_filling() {
            return;
        }
        if self.slow_reported.is_none_or(|reported| now - reported >= rtt / u64::from(SLOW_PER_RTT)) {
            self.slow_reported = Some(now);
            options.push(DccpOption::SlowReceiver);
        }
    }

    /// Stops delivering datagrams to the application, for good.
    pub(super) fn stop(&mut self) {
        self.listening = false;
    }

    /// Sets whether the application, or the driver, cannot keep up.
    pub(super) fn set_slow(&mut self, slow: bool) {
        self.slow = slow;
    }

    /// Reason for which data cannot be delivered, if any.
    #[inline]
    pub(super) fn objection(
        &self,
        cx: &Context,
        size: usize,
        coverage: ChecksumCoverage,
        is_corrupt: bool,
    ) -> Option<DropCode> {
        // RFC 4340, Section 11.7.2: after the first report of an application that does not listen, every
        // report has the same code.
        if !self.listening {
            return Some(DropCode::ApplicationNotListening);
        }
        // Section 12.1: an end that cannot read ECN marks accepts no data until the peer has confirmed the
        // feature.
        let in_force = &cx.features.in_force;
        let marks_are_known = cx.config.ecn || in_force.ecn_refused;
        if !marks_are_known || !in_force.accepts_coverage(coverage) {
            return Some(DropCode::ProtocolConstraints);
        }
        if is_corrupt && !cx.config.receive.deliver_corrupt {
            return Some(DropCode::Corrupt);
        }
        (!self.has_room(size)).then_some(DropCode::ReceiveBuffer)
    }

    /// Queues a datagram for the application.
    #[inline]
    pub(super) fn deliver(&mut self, fx: &mut Effects, event: Event) {
        self.on_queued(&event);
        hand_over(fx, event);
    }

    /// Measures the lateness of a packet that has just arrived for the first time.
    pub(super) fn measure_lateness(&mut self, arrival: Instant, sequence: SeqNo) {
        self.lateness.on_packet(arrival, sequence.unwrap_or_first(self.lateness.next_sequence()));
    }

    /// The measured lateness.
    pub(super) fn lateness_meter(&mut self) -> &mut LatenessMeter {
        &mut self.lateness
    }

    /// Lateness of the overtaken packets so far.
    pub(super) fn lateness(&self) -> LatenessSummary {
        self.lateness.summary()
    }
}

/// Queues a resequenced datagram, for which the queue has reserved room.
#[inline]
pub(super) fn hand_over(fx: &mut Effects, event: Event) {
    if let Some(size) = datagram_len(&event) {
        fx.statistics.datagrams_received += 1;
        fx.statistics.bytes_received += size as u64;
    }
    fx.events.push_back(event);
}

/// The event for acceptable data.
#[inline]
pub(super) fn datagram_event(meta: ReceiveMeta, packet: &mut Packet, is_corrupt: bool) -> Event {
    let (payload, sequence, ecn) = (core::mem::take(&mut packet.payload), packet.sequence, meta.ecn);
    if is_corrupt {
        Event::CorruptDatagram { payload, sequence, ecn }
    } else {
        Event::Datagram { payload, sequence, ecn, repaired: false }
    }
}

/// Number of bytes of application data in an event, if it has any.
#[inline]
fn datagram_len(event: &Event) -> Option<usize> {
    match event {
        Event::Datagram { payload, .. } | Event::CorruptDatagram { payload, .. } => Some(payload.len()),
        _ => None,
    }
}
