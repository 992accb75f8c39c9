//! Creation of packets: the options that several types share, and the fields that all have.

use whimbrel_units::Instant;
use whimbrel_wire::option::NdpCount;
use whimbrel_wire::{ChecksumCoverage, DccpOption, Ecn, Kind, Options, Packet, PacketType, Payload, SeqNo};

use super::room::{DATA_CHECKSUM_LEN, Room};
use super::{Connection, State, Transmit};
use crate::ccid::SentPacket;
use crate::feature::SendContext;

/// The most bytes of feature negotiation options in one packet: more than a whole handshake needs, and few
/// enough to share a small packet with data.
const FEATURES_ROOM: usize = 256;

impl Connection {
    /// Room for options on packets of that type.
    pub(super) fn room(&self, now: Instant, packet_type: PacketType) -> Room {
        let has_data = packet_type.carries_data();
        let ndp_count = match self.fx.outbound.ndp_run() {
            run @ 1.. if self.cx.features.in_force.ndp_count => {
                DccpOption::NdpCount(NdpCount::new(run)).encoded_len()
            }
            _ => 0,
        };
        let constants = ndp_count
            + if has_data && self.cx.sends_data_checksum() { DATA_CHECKSUM_LEN } else { 0 }
            + self.freezing.encoded_len(packet_type)
            + self.congestion.marks_len(packet_type)
            + self.handshake.cookies_len()
            + self.mobility.encoded_len(now, &self.cx, packet_type)
            + self.subflow.encoded_len(self.cx.state, packet_type);
        Room::new(packet_type, self.mtu.max_datagram(), constants)
    }

    /// `true` if a datagram fits together with the options that every packet carries now: Init Cookies in
    /// PARTOPEN, or an announcement of a new address. Without these, the largest always does.
    pub(super) fn fits_beside_constants(&self, now: Instant, size: usize) -> bool {
        let packet_type = match self.cx.state {
            State::PartOpen => PacketType::DataAck,
            _ if self.mobility.is_allowed() || self.subflow.is_enabled() => PacketType::Data,
            _ => return true,
        };
        self.room(now, packet_type).fits(size, 0)
    }

    /// Number of bytes of options that [`Connection::write_reports`] will add.
    pub(super) fn reports_len(&self, ack: SeqNo) -> usize {
        self.ack_vectors.encoded_len() + self.dropped.encoded_len(ack)
    }

    /// Adds feature negotiation options to a packet that is about to leave.
    pub(super) fn write_features(&mut self, now: Instant, packet_type: PacketType, options: &mut Options) {
        if self.cx.features.negotiation.is_quiet() {
            return;
        }
        let context = SendContext {
            packet_type,
            sequence: self.cx.sequence.numbers.gss().next(),
            rtt: self.cx.rtt.best(),
            room: FEATURES_ROOM
                .min(self.handshake.validation.room(packet_type))
                .saturating_sub(self.mobility.reserved_for_key(packet_type))
                .saturating_sub(self.subflow.reserved_on(packet_type)),
        };
        let before = options.len();
        self.cx.features.negotiation.write_options(now, context, options);
        if self.cx.state == State::PartOpen {
            self.handshake.keep_answers(&options[before..]);
        }
    }

    /// Adds the options due to congestion control and the peer's Timestamp. Afterwards none are due.
    pub(super) fn write_feedback(&mut self, now: Instant, ack: SeqNo, options: &mut Options) {
        self.fx.outbound.on_ack_sent();
        // On a packet sent for another reason, congestion control may have nothing to report: unscheduled
        // feedback would distort the measurements of CCID 3.
        if self.congestion.feedback_due(now) || self.congestion.has_news() {
            self.congestion.write_feedback(now, ack, options);
            if let Some(resequencer) = &mut self.resequencer {
                resequencer.on_measured(now, &self.congestion.receiver_snapshot(), self.cx.rtt.best());
            }
        }
        self.cx.rtt.write_echo(now, options);
        self.reception.write_slow_receiver(now, self.cx.rtt.or_default(), options);
    }

    /// Adds reports on received packets to the next packet to be sent: Ack Vectors and Data Dropped.
    pub(super) fn write_reports(
        &mut self,
        now: Instant,
        packet_type: PacketType,
        ack: SeqNo,
        options: &mut Options,
    ) {
        let next = self.cx.sequence.numbers.gss().next();
        let room = self.room(now, packet_type).for_reports(options);
        self.ack_vectors.write(next, ack, room, options);
        let room = self.room(now, packet_type).for_reports(options);
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
        let sequence = self.cx.sequence.numbers.take_next();
        let packet_type = kind.packet_type();
        if self.fx.outbound.ndp_run() > 0 && self.cx.features.in_force.ndp_count {
            options.push(DccpOption::NdpCount(NdpCount::new(self.fx.outbound.ndp_run())));
        }
        let has_data = packet_type.carries_data();
        if has_data && self.cx.sends_data_checksum() && !payload.is_empty() {
            // RFC 4340, Section 9.3: computed before the header's checksum, which covers it.
            options.push(DccpOption::DataChecksum(payload.data_checksum()));
        }
        self.fx.outbound.on_sent(has_data);
        let sent = SentPacket {
            sequence,
            packet_type,
            payload: payload.len(),
            more_queued: !self.fx.queue.is_empty() || self.subflow.has_more(),
        };
        self.freezing.write(packet_type, sequence, &mut options);
        let ccval = self.congestion.on_sent(now, sent, &mut options);
        if self.handshake.has_cookies() {
            self.handshake.write_cookies(&mut options);
        }
        self.subflow.write(self.cx.state, packet_type, &mut options);
        self.fx.statistics.packets_sent += 1;
        self.handshake.on_sent();
        if self.cx.state == State::PartOpen {
            self.handshake.on_sent_in_partopen(now, &mut self.fx);
        }
        self.cx.on_sent(now, sequence, has_data);
        if has_data {
            self.liveness.watch_for_outage(now, &self.cx, &mut self.fx);
        }
        let mut packet = Packet {
            source_port: self.cx.ports.source,
            destination_port: self.cx.ports.destination,
            ccval,
            checksum_coverage: if has_data {
                self.cx.features.in_force.coverage_of(payload.len())
            } else {
                ChecksumCoverage::ALL
            },
            extended: true,
            sequence,
            kind,
            options,
            payload,
        };
        if self.may_shorten(now, packet_type, sequence) {
            shorten(&mut packet);
        }
        if self.mobility.is_allowed() {
            self.mobility.write(now, &self.cx, &mut self.fx, &mut packet);
        }
        if self.handshake.validation.is_pending() {
            self.handshake.validation.on_sent(packet.encoded_len());
        }
        Transmit { packet, ecn }
    }

    /// `true` if both ends have agreed on short sequence numbers (RFC 4340, Section 7.6.1) and they are safe.
    #[inline]
    fn may_shorten(&mut self, now: Instant, packet_type: PacketType, sequence: SeqNo) -> bool {
        if !self.cx.features.in_force.short_sent
            || !packet_type.allows_short_sequence_numbers()
            || self.mobility.needs_long_numbers(now, &self.cx)
        {
            return false;
        }
        let numbers = &self.cx.sequence.numbers;
        let windows = [numbers.local_window(), numbers.remote_window()];
        self.fx.outbound.may_shorten(now, sequence, windows, self.cx.config.timers.msl)
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
