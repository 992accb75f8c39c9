//! What becomes of application data that arrive (RFC 4340, Sections 9, 11.6 and 11.7).
//!
//! They reach the application unless something forbids it, nobody listens, they are corrupt, or
//! there is no room. The sender is told which.

use whimbrel_control::reordering::LatenessMeter;
use whimbrel_units::{Duration, Instant};
use whimbrel_wire::option::data_dropped::DropCode;
use whimbrel_wire::{ChecksumCoverage, DccpOption, Options, Packet, PacketType, SeqNo};

use super::options::Findings;
use super::{Connection, ReceiveMeta};
use crate::config::ReceiveConfig;
use crate::{Config, Event};

/// The Slow Receiver option is repeated this often in a round-trip time, for that long it counts
/// (RFC 4340, Section 11.6), and one may be lost.
const SLOW_PER_RTT: u32 = 2;

/// The way of datagrams to the application.
#[derive(Clone, Debug)]
pub(super) struct Reception {
    limits: ReceiveConfig,
    /// The application reads what arrives.
    listening: bool,
    /// Datagrams among the events that wait for the application.
    datagrams: usize,
    /// Bytes of application data in these.
    bytes: usize,
    /// The application, or a driver's queue, has trouble to keep up.
    slow: bool,
    /// When the other end was last told.
    slow_told: Option<Instant>,
    /// How late packets come that were overtaken.
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
            slow_told: None,
            lateness: LatenessMeter::new(),
        }
    }
    fn has_room(&self, size: usize) -> bool {
        self.datagrams < self.limits.max_datagrams && self.bytes + size <= self.limits.max_bytes
    }
    /// Datagrams that wait for the application, and their bytes.
    pub(super) fn waiting(&self) -> (usize, usize) {
        (self.datagrams, self.bytes)
    }
    /// Whether three quarters of the room are taken.
    fn is_filling(&self) -> bool {
        let is_filling = |used: usize, limit: usize| used >= limit - limit / 4;
        is_filling(self.datagrams, self.limits.max_datagrams) || is_filling(self.bytes, self.limits.max_bytes)
    }
    /// A datagram waits for the application, or for those before it.
    pub(super) fn on_queued(&mut self, event: &Event) {
        if let Some(size) = datagram_len(event) {
            self.datagrams += 1;
            self.bytes += size;
        }
    }
    /// The application takes an event.
    #[inline]
    pub(super) fn on_taken(&mut self, event: &Event) {
        if let Some(size) = datagram_len(event) {
            self.datagrams -= 1;
            self.bytes -= size;
        }
    }
    /// Adds the Slow Receiver option to an acknowledgement where that is due.
    pub(super) fn write_slow_receiver(&mut self, now: Instant, rtt: Duration, options: &mut Options) {
        if !self.slow && !self.is_filling() {
            return;
        }
        if self.slow_told.is_none_or(|told| now - told >= rtt / u64::from(SLOW_PER_RTT)) {
            self.slow_told = Some(now);
            options.push(DccpOption::SlowReceiver);
        }
    }
}

impl Connection {
    /// Command: this end's application will read no more datagrams. What still arrives is dropped, and the
    /// other end told so (RFC 4340, Section 11.7.2, Drop Code 1), whereupon it should send no
    /// more. There is no way back. Events go on, and so does sending.
    pub fn stop_receiving(&mut self, now: Instant) {
        let _ = now;
        self.reception.listening = false;
    }
    /// Command: whether the application has trouble to keep up with what arrives. While it has, the
    /// other end is asked not to send faster (RFC 4340, Section 11.6); a receive queue that is
    /// three quarters full asks for the same by itself.
    pub fn set_slow_receiver(&mut self, slow: bool) {
        self.reception.slow = slow;
    }
    /// Command: the data of a datagram that [`Event::Datagram`] told of did not reach the application, or
    /// were of no use to it: a driver's queue was full ([`DropCode::ReceiveBuffer`]), or the
    /// application's own checksum was wrong ([`DropCode::Corrupt`]). The next acknowledgements tell
    /// the other end, whose congestion control counts it.
    ///
    /// Says whether it will be told. It is not where the packet did not arrive or is older than 65,536 packets,
    /// where a code without a meaning is given, or where its data count as dropped already: a code never
    /// becomes less serious (RFC 4340, Section 11.7).
    pub fn datagram_discarded(&mut self, sequence: SeqNo, code: DropCode) -> bool {
        let newest = self.sequence.numbers.gsr();
        let age = newest.distance_from(sequence);
        let has_arrived = (0..1 << 16).contains(&age) && self.sequence.duplicates.may_have_come(sequence);
        let has_meaning = !matches!(code, DropCode::Reserved(_));
        let is_told = has_arrived && has_meaning && self.dropped.record(sequence, code);
        self.statistics.datagrams_discarded += u64::from(is_told);
        is_told
    }

    /// Tells the application something of which only the latest matters: an earlier event that it
    /// has not asked for is forgotten. Otherwise a peer could pile up events before one who does not read.
    pub(super) fn tell_latest(&mut self, event: Event) {
        if let Some(earlier) = self.events.iter().rposition(|earlier| event.supersedes(earlier)) {
            self.events.remove(earlier);
        }
        self.events.push_back(event);
    }

    /// Step 16: the application gets its data, at once or in order. `findings`: whether the packet's Data Checksum option
    /// says that they are not what was sent.
    #[inline]
    pub(super) fn step16_process_data(
        &mut self,
        now: Instant,
        meta: ReceiveMeta,
        packet: Packet,
        findings: Findings,
    ) {
        if self.ordering.is_some() {
            self.await_turn(now, meta, packet, findings);
        } else {
            self.process_data(meta, packet, findings.is_corrupt);
        }
    }
    /// The application gets its data now.
    #[inline]
    pub(super) fn process_data(&mut self, meta: ReceiveMeta, packet: Packet, is_corrupt: bool) {
        if let Some(event) = self.take_event(meta, packet, is_corrupt) {
            self.deliver(event);
        }
    }
    /// What a packet has for the application, unless something forbids it.
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
            // Section 9.3: other packets' data are of no use to anybody, but it is told if they are corrupt.
            _ => {
                if is_corrupt {
                    self.drop_data(packet.sequence, DropCode::Corrupt);
                }
                None
            }
        }
    }
    /// The datagram of a packet, or drops it.
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
    /// Why data cannot be delivered, if so.
    #[inline]
    pub(super) fn objection(
        &self,
        size: usize,
        coverage: ChecksumCoverage,
        is_corrupt: bool,
    ) -> Option<DropCode> {
        // RFC 4340, Section 11.7.2: after the first report of an application that does not listen,
        // every one says the same.
        if !self.reception.listening {
            return Some(DropCode::ApplicationNotListening);
        }
        // Section 12.1: an end that cannot read ECN marks takes no data until the other end has
        // confirmed that it knows.
        let marks_are_known = self.config.ecn || self.features.in_force.ecn_refused;
        if !marks_are_known || !self.features.in_force.accepts_coverage(coverage) {
            return Some(DropCode::ProtocolConstraints);
        }
        if is_corrupt && !self.config.receive.deliver_corrupt {
            return Some(DropCode::Corrupt);
        }
        (!self.reception.has_room(size)).then_some(DropCode::ReceiveBuffer)
    }
    /// What the application is told of data that nothing objects to; and the other end, if they are corrupt.
    pub(super) fn datagram_event(&mut self, meta: ReceiveMeta, packet: Packet, is_corrupt: bool) -> Event {
        let (payload, sequence, ecn) = (packet.payload, packet.sequence, meta.ecn);
        if !is_corrupt {
            return Event::Datagram { payload, sequence, ecn };
        }
        self.dropped.record(sequence, DropCode::DeliveredCorrupt);
        Event::CorruptDatagram { payload, sequence, ecn }
    }
    /// Hands a datagram to the application.
    #[inline]
    pub(super) fn deliver(&mut self, event: Event) {
        self.reception.on_queued(&event);
        self.hand_over(event);
    }
    /// The same, which has waited and has its room already.
    #[inline]
    pub(super) fn hand_over(&mut self, event: Event) {
        if let Some(size) = datagram_len(&event) {
            self.statistics.datagrams_received += 1;
            self.statistics.bytes_received += size as u64;
        }
        self.events.push_back(event);
    }
    /// The data of a packet do not reach the application.
    #[cold]
    pub(super) fn drop_data(&mut self, sequence: SeqNo, code: DropCode) {
        if self.dropped.record(sequence, code) {
            self.statistics.datagrams_discarded += 1;
        }
    }
}

/// Bytes of application data in an event, if it is of that kind.
#[inline]
fn datagram_len(event: &Event) -> Option<usize> {
    match event {
        Event::Datagram { payload, .. } | Event::CorruptDatagram { payload, .. } => Some(payload.len()),
        _ => None,
    }
}
