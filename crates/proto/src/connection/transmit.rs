//! Transmission: the order of pending packets, and their contents.

use whimbrel_units::{Duration, Instant};
use whimbrel_wire::option::NdpCount;
use whimbrel_wire::{
    ChecksumCoverage, DccpOption, Ecn, Kind, Options, Packet, PacketType, Payload, Reset, SeqNo,
};

use super::mtu::EarlyAdvice;
use super::short_numbers::ShortNumbers;
use super::timer::Timer;
use super::{Connection, State, Transmit};
use crate::ccid::SentPacket;
use crate::send_queue::SendQueue;
use crate::token_bucket::TokenBucket;
use crate::{Ccid, Config, DatagramId, Event};

/// Pending packets.
#[derive(Clone, Debug)]
pub(super) struct Outbound {
    /// The application's datagrams.
    pub(super) queue: SendQueue,
    /// `true` if a Request is due.
    pub(super) request: bool,
    /// `true` if a Listen packet is due.
    pub(super) listen: bool,
    /// `true` if a Response is due.
    pub(super) response: bool,
    /// `true` if the connection itself, rather than a CCID, requires an acknowledgement.
    pub(super) ack: bool,
    /// The pending path MTU probe: its size, and whether it is exempt from congestion control.
    pub(super) probe: Option<(usize, bool)>,
    /// `true` if a Close or CloseReq is due.
    pub(super) close: bool,
    /// A Reset of this connection, and the number it acknowledges.
    pub(super) reset: Option<(Reset, SeqNo)>,
    /// A Reset that takes its numbers from the packet that it answers.
    pub(super) refusal: Option<Packet>,
    /// Rate limit of these.
    pub(super) refusals: TokenBucket,
    /// The largest datagram that the path carries, in bytes.
    pub(super) max_datagram: usize,
    /// Information about the path MTU from before the connection was open.
    pub(super) early_advice: Option<EarlyAdvice>,
    /// Decides whether sequence numbers may be short.
    short: ShortNumbers,
    /// `true` if the acknowledgement for which the next datagram left no room has been sent separately.
    went_ahead: bool,
    /// Number of consecutive packets sent without data (RFC 4340, Section 7.7).
    pub(super) ndp_run: u64,
}

impl Outbound {
    pub(super) fn new(config: &Config) -> Self {
        Self {
            queue: SendQueue::new(config.send_queue),
            request: false,
            listen: false,
            response: false,
            ack: false,
            probe: None,
            close: false,
            reset: None,
            refusal: None,
            // As for Syncs, the other answer to invalid packets.
            refusals: TokenBucket::new(2, Duration::from_nanos(1_000_000_000 / 6)),
            max_datagram: config.max_datagram,
            early_advice: None,
            short: ShortNumbers::default(),
            went_ahead: false,
            ndp_run: 0,
        }
    }
    /// Cancels all pending packets but Resets.
    pub(super) fn stop(&mut self) {
        (self.request, self.listen, self.response, self.ack, self.close) =
            (false, false, false, false, false);
    }
    fn is_urgent(&self) -> bool {
        self.request
            || self.listen
            || self.response
            || self.close
            || self.reset.is_some()
            || self.refusal.is_some()
    }
}

impl Connection {
    /// Returns the next packet: Resets, Syncs and the handshake first, then data or feedback.
    pub(super) fn next_transmit(&mut self, now: Instant) -> Option<Transmit> {
        if self.outbound.is_urgent() || self.sync.is_pending() {
            let urgent = self.urgent_packet(now);
            if urgent.is_some() {
                return urgent;
            }
        }
        if !self.state.may_send_data() {
            return None;
        }
        if self.outbound.probe.is_some()
            && !self.freezing.is_quiet()
            && let Some(probe) = self.path_probe(now)
        {
            return Some(probe);
        }
        let size = self.outbound.queue.front_size(now, &mut self.events);
        if size.is_none() && self.closing.is_requested() {
            self.start_closing();
            return self.urgent_packet(now);
        }
        // Data of a frozen end stay in the queue, and the HC-sender is not called for them.
        let size = size.filter(|_| !self.freezing.is_frozen());
        let is_within_window = self.is_within_window(now, size);
        let is_held = self.timers.is_running(Timer::Constraint)
            || self.awaits_ack_vectors()
            || size.is_some_and(|size| self.is_size_on_trial(size));
        let fits = size.is_none_or(|size| self.fits_beside_constants(now, size));
        if !fits {
            self.announce_for_room(now);
        }
        let size = size.filter(|_| is_within_window && !is_held && fits);
        let may_send = self.congestion.may_send(now, size);
        let ack_due =
            self.outbound.ack || self.needs_feature_packet(now) || self.congestion.feedback_due(now);
        match size {
            Some(size) if may_send => self.data_packet(now, size, ack_due),
            _ if ack_due => Some(self.ack_packet(now)),
            _ => None,
        }
    }
    /// `true` if the Sequence Window has room for data. If it stays full, the acknowledgements are lost, and a Sync
    /// elicits one (RFC 4340, Section 11.2).
    fn is_within_window(&mut self, now: Instant, size: Option<usize>) -> bool {
        let is_full = size.is_some() && !self.sequence.may_send_data();
        match (is_full, self.timers.is_running(Timer::Probe)) {
            (true, false) => {
                let backoff = self.sync.start_probing(self.rtt.or_default());
                self.timers.set(Timer::Probe, now + backoff);
            }
            (false, true) => self.timers.stop(Timer::Probe),
            _ => {}
        }
        !is_full
    }
    fn urgent_packet(&mut self, now: Instant) -> Option<Transmit> {
        if let Some((reset, ack)) = self.outbound.reset.take() {
            return Some(self.reset_packet(now, reset, ack));
        }
        if let Some(packet) = self.outbound.refusal.take() {
            self.statistics.packets_sent += 1;
            return Some(Transmit { packet, ecn: Ecn::NotEct });
        }
        if let Some((packet_type, ack)) = self.sync.take() {
            return Some(self.sync_packet(now, packet_type, ack));
        }
        if core::mem::take(&mut self.outbound.request) {
            return Some(self.request_packet(now));
        }
        if core::mem::take(&mut self.outbound.listen) {
            return Some(self.listen_packet(now));
        }
        if core::mem::take(&mut self.outbound.response) {
            return Some(self.response_packet(now));
        }
        if core::mem::take(&mut self.outbound.close) {
            return Some(self.close_packet(now));
        }
        None
    }
    fn sync_packet(&mut self, now: Instant, packet_type: PacketType, ack: SeqNo) -> Transmit {
        let kind = if packet_type == PacketType::Sync {
            self.statistics.syncs_sent += 1;
            Kind::Sync { ack }
        } else {
            Kind::SyncAck { ack }
        };
        self.emit(now, kind, Options::new(), Payload::EMPTY, Ecn::NotEct)
    }

    /// Creates a Data packet, or a DataAck if an acknowledgement is pending (RFC 4340, Section 8.2).
    fn data_packet(&mut self, now: Instant, size: usize, ack_due: bool) -> Option<Transmit> {
        let must_acknowledge = self.state == State::PartOpen;
        let piggybacks = !ack_due && self.congestion.has_news() && self.has_room_for_feedback(now, size);
        let acknowledges_acks =
            !self.outbound.went_ahead && (self.congestion.needs_ack_of_ack(now) || self.dropped.owes_ack());
        if !ack_due && !must_acknowledge && !piggybacks && !acknowledges_acks {
            let mut options = Options::new();
            if self.has_room_for_echo(now, size) {
                self.rtt.write_echo(now, &mut options);
            }
            let queued = self.outbound.queue.pop(&mut self.events)?;
            return Some(self.emit_datagram(now, queued, Kind::Data, options));
        }
        let ack = self.sequence.numbers.acknowledgeable();
        let mut options = Options::new();
        self.write_features(now, PacketType::DataAck, &mut options);
        if must_acknowledge {
            // A datagram that leaves no room for them is sent without.
            let mut all = self.handshake.answers_besides(&options);
            all.extend(options.iter().cloned());
            if self.has_room_for_reports(now, ack, size, &all) {
                options.extend(self.handshake.answers_besides(&options));
            }
        }
        if ack_due || piggybacks {
            self.write_feedback(now, ack, &mut options);
        }
        let has_room = self.has_room(now, PacketType::DataAck, size, &options);
        // RFC 4340, Section 11.5: Ack Vectors go with every acknowledgement.
        let reports_always = self.ack_vectors.is_sending();
        if self.has_room_for_reports(now, ack, size, &options) {
            self.write_reports(now, PacketType::DataAck, ack, &mut options);
        } else if ack_due || !options.is_empty() || !has_room || (reports_always && !must_acknowledge) {
            // RFC 4340, Section 11.2: two packets, where one would be too large.
            self.write_reports(now, PacketType::Ack, ack, &mut options);
            self.outbound.went_ahead = true;
            return Some(self.emit(now, Kind::Ack { ack }, options, Payload::EMPTY, self.ack_ecn()));
        }
        let queued = self.outbound.queue.pop(&mut self.events)?;
        Some(self.emit_datagram(now, queued, Kind::DataAck { ack }, options))
    }
    #[inline]
    fn emit_datagram(
        &mut self,
        now: Instant,
        queued: crate::send_queue::Queued,
        kind: Kind,
        options: Options,
    ) -> Transmit {
        let size = queued.payload.len();
        let ecn = self.data_ecn();
        let sequence = self.sequence.numbers.gss().next();
        self.outbound.went_ahead = false;
        self.on_datagram_sent(queued.id, size, sequence);
        self.watch_path(now, size);
        self.emit(now, kind, options, queued.payload, ecn)
    }
    /// ECN codepoint of packets with data (RFC 4340, Section 12.2).
    fn data_ecn(&self) -> Ecn {
        if self.config.ecn && !self.features.in_force.ecn_incapable { Ecn::Ect0 } else { Ecn::NotEct }
    }
    /// ECN codepoint of packets that only acknowledge: under CCID 2 that of data, as the Ack Ratio reacts to their
    /// marks (RFC 4341, Sections 3.2 and 6.1.1). The other CCIDs do not react to them.
    fn ack_ecn(&self) -> Ecn {
        if self.congestion.receiver_ccid() == Ccid::TCP_LIKE { self.data_ecn() } else { Ecn::NotEct }
    }
    pub(super) fn on_datagram_sent(&mut self, id: DatagramId, size: usize, sequence: SeqNo) {
        self.statistics.datagrams_sent += 1;
        self.statistics.bytes_sent += size as u64;
        self.events.push_back(Event::DatagramSent { id, sequence });
    }
    /// Creates an Ack.
    fn ack_packet(&mut self, now: Instant) -> Transmit {
        let ack = self.sequence.numbers.acknowledgeable();
        let mut options = Options::new();
        self.write_features(now, PacketType::Ack, &mut options);
        if self.state == State::PartOpen {
            let again = self.handshake.answers_besides(&options);
            options.extend(again);
        }
        self.write_feedback(now, ack, &mut options);
        self.write_reports(now, PacketType::Ack, ack, &mut options);
        if self.rtt.needs_timestamp(now) {
            options.push(self.rtt.timestamp(now));
        }
        self.emit(now, Kind::Ack { ack }, options, Payload::EMPTY, self.ack_ecn())
    }
    /// Adds the options due to congestion control and the peer's Timestamp. Afterwards none are due.
    pub(super) fn write_feedback(&mut self, now: Instant, ack: SeqNo, options: &mut Options) {
        self.outbound.ack = false;
        // On a packet sent for another reason, congestion control may have nothing to report: unscheduled feedback
        // would distort the measurements of CCID 3.
        if self.congestion.feedback_due(now) || self.congestion.has_news() {
            self.congestion.write_feedback(now, ack, options);
            if let Some(resequencer) = &mut self.resequencer {
                resequencer.on_measured(now, &self.congestion.receiver_snapshot(), self.rtt.best());
            }
        }
        self.rtt.write_echo(now, options);
        self.reception.write_slow_receiver(now, self.rtt.or_default(), options);
    }
    /// Adds reports on received packets to the next packet to be sent: Ack Vectors and Data Dropped.
    pub(super) fn write_reports(
        &mut self,
        now: Instant,
        packet_type: PacketType,
        ack: SeqNo,
        options: &mut Options,
    ) {
        let next = self.sequence.numbers.gss().next();
        let room = self.option_room(now, packet_type, options);
        self.ack_vectors.write(next, ack, room, options);
        let room = self.option_room(now, packet_type, options);
        self.dropped.write(next, ack, room, options);
        self.dropped.on_ack_sent(now);
    }

    /// Creates the packet, with the next sequence number, and accounts for it.
    #[inline]
    pub(super) fn emit(
        &mut self,
        now: Instant,
        kind: Kind,
        mut options: Options,
        payload: Payload,
        ecn: Ecn,
    ) -> Transmit {
        let sequence = self.sequence.numbers.take_next();
        let packet_type = kind.packet_type();
        if self.outbound.ndp_run > 0 && self.features.in_force.ndp_count {
            options.push(DccpOption::NdpCount(NdpCount::new(self.outbound.ndp_run)));
        }
        let has_data = packet_type.carries_data();
        if has_data && self.sends_data_checksum() && !payload.is_empty() {
            // RFC 4340, Section 9.3: computed before the header's checksum, which covers it.
            options.push(DccpOption::DataChecksum(payload.data_checksum()));
        }
        self.outbound.ndp_run = if has_data { 0 } else { self.outbound.ndp_run + 1 };
        let sent = SentPacket {
            sequence,
            packet_type,
            payload: payload.len(),
            more_queued: !self.outbound.queue.is_empty(),
        };
        self.freezing.write(packet_type, sequence, &mut options);
        let ccval = self.congestion.on_sent(now, sent, &mut options);
        if self.handshake.has_cookies() {
            self.handshake.write_cookies(&mut options);
        }
        self.statistics.packets_sent += 1;
        self.handshake.on_sent();
        if self.state == State::PartOpen {
            self.on_sent_in_partopen(now);
        }
        self.watch_window(now, sequence, has_data);
        let mut packet = Packet {
            source_port: self.ports.source,
            destination_port: self.ports.destination,
            ccval,
            checksum_coverage: if has_data { self.coverage_of(payload.len()) } else { ChecksumCoverage::ALL },
            extended: true,
            sequence,
            kind,
            options,
            payload,
        };
        if self.may_shorten(now, packet_type, sequence) {
            shorten(&mut packet);
        }
        if self.mobility.is_some() {
            self.add_mobility(now, &mut packet);
        }
        if self.handshake.validation.is_pending() {
            self.handshake.validation.on_sent(packet.encoded_len());
        }
        Transmit { packet, ecn }
    }
    /// The Checksum Coverage of a packet with `size` bytes of data (RFC 4340, Section 9.2).
    #[inline]
    fn coverage_of(&self, size: usize) -> ChecksumCoverage {
        let wanted = self.features.in_force.coverage_sent;
        if wanted.covered(size).is_some() { wanted } else { ChecksumCoverage::ALL }
    }
    /// `true` if both ends have agreed on short sequence numbers (RFC 4340, Section 7.6.1) and they are safe.
    #[inline]
    fn may_shorten(&mut self, now: Instant, packet_type: PacketType, sequence: SeqNo) -> bool {
        if !self.features.in_force.short_sent
            || !packet_type.allows_short_sequence_numbers()
            || self.needs_long_numbers(now)
        {
            return false;
        }
        let numbers = &self.sequence.numbers;
        let windows = [numbers.local_window(), numbers.remote_window()];
        self.outbound.short.may_shorten(now, sequence, windows, self.config.timers.msl)
    }

    /// Time of the next action that does not depend on a received packet.
    pub(super) fn next_deadline(&self) -> Instant {
        let next = self.next_timer();
        if !self.state.may_send_data() {
            return next;
        }
        let pacing =
            if self.outbound.queue.is_empty() { Instant::FAR_FUTURE } else { self.congestion.send_at() };
        next.min(pacing).min(self.next_feature_deadline())
    }
}

/// Truncates the numbers to 24 bits (RFC 4340, Section 7.6), as decoding a packet with X = 0 would.
fn shorten(packet: &mut Packet) {
    packet.extended = false;
    packet.sequence = SeqNo::new(packet.sequence.low24().into());
    if let Kind::Ack { ack } | Kind::DataAck { ack } = &mut packet.kind {
        *ack = SeqNo::new(ack.low24().into());
    }
}
