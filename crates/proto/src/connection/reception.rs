//! Delivery of received application data (RFC 4340, Sections 9, 11.6 and 11.7).
//!
//! Data are delivered unless the protocol forbids it, the application does not listen, they are corrupt, or the receive
//! queue is full. The sender is notified of the reason.

use whimbrel_control::reordering::LatenessMeter;
use whimbrel_units::{Duration, Instant};
use whimbrel_wire::option::data_dropped::DropCode;
use whimbrel_wire::{ChecksumCoverage, DccpOption, Options, Packet, PacketType, SeqNo};

use super::options::Findings;
use super::{Connection, ReceiveMeta};
use crate::config::ReceiveConfig;
use crate::{Config, Event};

/// Number of Slow Receiver options per round-trip time: one has effect for a round-trip time (RFC 4340, Section 11.6),
/// and one may be lost.
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
    pub(super) lateness: LatenessMeter,
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
}

impl Connection {
    /// Stops delivering datagrams to the application, for good. Data that still arrive are dropped and reported to the
    /// peer (RFC 4340, Section 11.7.2, Drop Code 1), which should then send no more. Events and sending continue.
    pub fn stop_receiving(&mut self, now: Instant) {
        let _ = now;
        self.reception.listening = false;
    }
    /// Sets whether the application cannot keep up. While `slow`, the peer is requested not to increase its rate (RFC
    /// 4340, Section 11.6); a receive queue that is three quarters full has the same effect.
    pub fn set_slow_receiver(&mut self, slow: bool) {
        self.reception.slow = slow;
    }
    /// Reports that the data of a datagram delivered by [`Event::Datagram`] did not reach the application, or were of
    /// no use to it: a driver's queue was full ([`DropCode::ReceiveBuffer`]), or the application's own checksum was
    /// wrong ([`DropCode::Corrupt`]). The next acknowledgements report it to the peer, whose congestion control takes
    /// it into account.
    ///
    /// Returns `true` if it will be reported. It is not if the packet did not arrive or is older than 65,536 packets,
    /// if the code is undefined, or if the data are already reported as dropped: a code never becomes less serious (RFC
    /// 4340, Section 11.7).
    pub fn datagram_discarded(&mut self, sequence: SeqNo, code: DropCode) -> bool {
        let newest = self.sequence.numbers.gsr();
        let age = newest.distance_from(sequence);
        let has_arrived = (0..1 << 16).contains(&age) && self.sequence.duplicates.may_have_come(sequence);
        let has_meaning = !matches!(code, DropCode::Reserved(_));
        let is_told = has_arrived && has_meaning && self.dropped.record(sequence, code);
        self.statistics.datagrams_discarded += u64::from(is_told);
        is_told
    }

    /// Queues an event of which only the latest matters: it replaces an earlier one not yet polled. Otherwise a peer
    /// could accumulate events for an application that does not poll.
    pub(super) fn report_latest(&mut self, event: Event) {
        if let Some(earlier) = self.events.iter().rposition(|earlier| event.supersedes(earlier)) {
            self.events.remove(earlier);
        }
        self.events.push_back(event);
    }

    /// Step 16: delivers the packet's data, at once or in order. `findings`: the result of the packet's Data Checksum
    /// option.
    #[inline]
    pub(super) fn step16_process_data(
        &mut self,
        now: Instant,
        meta: ReceiveMeta,
        packet: Packet,
        findings: Findings,
    ) {
        if self.resequencer.is_some() {
            self.resequence(now, meta, packet, findings);
        } else {
            self.process_data(meta, packet, findings.is_corrupt);
        }
    }
    /// Delivers the packet's data now.
    #[inline]
    pub(super) fn process_data(&mut self, meta: ReceiveMeta, packet: Packet, is_corrupt: bool) {
        if let Some(event) = self.take_event(meta, packet, is_corrupt) {
            self.deliver(event);
        }
    }
    /// The event for a packet's data, unless they cannot be delivered.
    #[inline]
    pub(super) fn take_event(
        &mut self,
        meta: ReceiveMeta,
        packet: Packet,
        is_corrupt: bool,
    ) -> Option<Event> {
        match packet.packet_type() {
            PacketType::Request | PacketType::Response => {
                self.take_handshake_data(meta, packet, is_corrupt);
                None
            }
            // RFC 4340, Section 5.4: empty Data are a datagram, too.
            PacketType::Data | PacketType::DataAck => self.take_data(meta, packet, is_corrupt),
            // Section 9.3: other packets' data are not delivered, but they are reported if corrupt.
            _ => {
                if is_corrupt {
                    self.drop_data(packet.sequence, DropCode::Corrupt);
                }
                None
            }
        }
    }
    /// Delivers the datagram of a packet, or drops it.
    #[inline]
    fn take_data(&mut self, meta: ReceiveMeta, packet: Packet, is_corrupt: bool) -> Option<Event> {
        match self.objection(packet.payload.len(), packet.checksum_coverage, is_corrupt) {
            Some(code) => {
                self.drop_data(packet.sequence, code);
                None
            }
            None => Some(self.datagram_event(meta, packet, is_corrupt)),
        }
    }
    /// Reason for which data cannot be delivered, if any.
    #[inline]
    pub(super) fn objection(
        &self,
        size: usize,
        coverage: ChecksumCoverage,
        is_corrupt: bool,
    ) -> Option<DropCode> {
        // RFC 4340, Section 11.7.2: after the first report of an application that does not listen, every report has the
        // same code.
        if !self.reception.listening {
            return Some(DropCode::ApplicationNotListening);
        }
        // Section 12.1: an end that cannot read ECN marks accepts no data until the peer has confirmed the feature.
        let marks_are_known = self.config.ecn || self.features.in_force.ecn_refused;
        if !marks_are_known || !self.features.in_force.accepts_coverage(coverage) {
            return Some(DropCode::ProtocolConstraints);
        }
        if is_corrupt && !self.config.receive.deliver_corrupt {
            return Some(DropCode::Corrupt);
        }
        (!self.reception.has_room(size)).then_some(DropCode::ReceiveBuffer)
    }
    /// The event for acceptable data; reports them to the peer if they are corrupt.
    pub(super) fn datagram_event(&mut self, meta: ReceiveMeta, packet: Packet, is_corrupt: bool) -> Event {
        let (payload, sequence, ecn) = (packet.payload, packet.sequence, meta.ecn);
        if !is_corrupt {
            return Event::Datagram { payload, sequence, ecn };
        }
        self.dropped.record(sequence, DropCode::DeliveredCorrupt);
        Event::CorruptDatagram { payload, sequence, ecn }
    }
    /// Queues a datagram for the application.
    #[inline]
    pub(super) fn deliver(&mut self, event: Event) {
        self.reception.on_queued(&event);
        self.hand_over(event);
    }
    /// Queues a resequenced datagram, for which the queue has reserved room.
    #[inline]
    pub(super) fn hand_over(&mut self, event: Event) {
        if let Some(size) = datagram_len(&event) {
            self.statistics.datagrams_received += 1;
            self.statistics.bytes_received += size as u64;
        }
        self.events.push_back(event);
    }
    /// Drops the data of a packet, and records the reason.
    #[cold]
    pub(super) fn drop_data(&mut self, sequence: SeqNo, code: DropCode) {
        if self.dropped.record(sequence, code) {
            self.statistics.datagrams_discarded += 1;
        }
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
