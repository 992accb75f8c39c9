//! The packets that carry no queued data: packets of the handshake, of closing, of resynchronization and of
//! path MTU discovery.

use whimbrel_units::Instant;
use whimbrel_wire::option::mobility::MobilityOption;
use whimbrel_wire::{ChecksumCoverage, Ecn, Kind, Options, Packet, PacketType, Payload, Reset, SeqNo};

use super::close::error_text;
use super::mtu::OVERHEAD;
use super::room::{MAX_ECHO_LEN, options_len};
use super::{Connection, State, Transmit};

impl Connection {
    /// Creates a Request, or its retransmission.
    pub(super) fn request_packet(&mut self, now: Instant) -> Transmit {
        self.handshake.on_request_sent(now, &mut self.fx);
        let kind = Kind::Request { service_code: self.cx.config.service_code };
        self.handshake_packet(now, kind)
    }

    /// Creates a Response to the last Request.
    pub(super) fn response_packet(&mut self, now: Instant) -> Transmit {
        let ack = self.cx.sequence.numbers.gsr();
        let kind = Kind::Response { ack, service_code: self.cx.config.service_code };
        self.handshake_packet(now, kind)
    }

    fn handshake_packet(&mut self, now: Instant, kind: Kind) -> Transmit {
        let sequence = self.cx.sequence.numbers.gss().next();
        let mut options = Options::new();
        let room = self.handshake.validation.room(kind.packet_type());
        self.write_features(now, kind.packet_type(), &mut options);
        self.mobility.write_key(&self.cx, kind.packet_type(), room, &mut options);
        if options_len(&options) + MAX_ECHO_LEN <= room {
            self.cx.rtt.write_echo(now, &mut options);
        }
        if let Some(ack) = kind.ack() {
            let left = room.saturating_sub(options_len(&options));
            let left = left.min(self.room(now, kind.packet_type()).for_reports(&options));
            self.dropped.write(sequence, ack, left, &mut options);
        }
        let data = self.handshake_data(now, kind.packet_type(), sequence, &options, room);
        let transmit = self.emit(now, kind, options, data, Ecn::NotEct);
        self.cx.rtt.on_handshake_sent(now, sequence);
        transmit
    }

    /// Data carried by all Requests or Responses: the datagram that was queued when the first was sent.
    /// `room`: number of bytes of options and data that may be sent to an address that is not validated.
    fn handshake_data(
        &mut self,
        now: Instant,
        packet_type: PacketType,
        sequence: SeqNo,
        options: &Options,
        room: usize,
    ) -> Payload {
        let (path, options) = (self.room(now, packet_type), options_len(options));
        let taken = (options + path.constants()).next_multiple_of(4);
        // The endpoint may add an Init Cookie to a Response.
        let reserved = self.handshake.validation.reserved();
        let fits = |size: usize| taken.saturating_add(size) <= room && path.fits(size + reserved, options);
        let is_first = sequence == self.cx.sequence.numbers.iss();
        if is_first
            && self.cx.config.data_on_handshake
            && self.fx.queue.front_len().is_some_and(fits)
            && let Some(queued) = self.fx.queue.pop(&mut self.fx.events)
        {
            self.fx.on_datagram_sent(queued.id, queued.payload.len(), sequence);
            self.handshake.set_data(queued.payload);
        }
        let data = self.handshake.data();
        // By a retransmission, the path may carry less; and another Request may be shorter than the first
        // one, whose Response had the data.
        if data.is_empty() || fits(data.len()) { data } else { Payload::EMPTY }
    }

    /// Creates a Listen packet; its sequence number, 0, is outside the connection's (RFC 5596, Section
    /// 2.2.1).
    pub(super) fn listen_packet(&mut self, now: Instant) -> Transmit {
        self.invitation.on_listen_sent(now, &mut self.fx);
        self.fx.statistics.packets_sent += 1;
        let packet = Packet {
            source_port: self.cx.ports.source,
            destination_port: self.cx.ports.destination,
            ccval: 0,
            checksum_coverage: ChecksumCoverage::ALL,
            extended: true,
            sequence: SeqNo::ZERO,
            kind: Kind::Listen { service_code: self.cx.config.service_code },
            options: Options::new(),
            payload: Payload::EMPTY,
        };
        Transmit { packet, ecn: Ecn::NotEct }
    }

    /// Creates a Close or CloseReq, or its retransmission.
    pub(super) fn close_packet(&mut self, now: Instant) -> Transmit {
        self.closing.on_close_sent(now, &mut self.fx);
        let ack = self.cx.sequence.numbers.acknowledgeable();
        let mut options = Options::new();
        self.write_feedback(now, ack, &mut options);
        self.write_reports(now, PacketType::Close, ack, &mut options);
        let kind =
            if self.cx.state == State::CloseReq { Kind::CloseReq { ack } } else { Kind::Close { ack } };
        self.emit(now, kind, options, Payload::EMPTY, Ecn::NotEct)
    }

    /// Creates the Reset that ends the connection.
    pub(super) fn reset_packet(&mut self, now: Instant, reset: Reset, ack: SeqNo) -> Transmit {
        let room = self.handshake.validation.room(PacketType::Reset);
        let text = Some(error_text(reset)).filter(|text| text.len() <= room).unwrap_or_default();
        let transmit = self.emit(now, Kind::Reset { ack, reset }, Options::new(), text, Ecn::NotEct);
        if self.closing.is_over() {
            self.cx.state = State::Closed;
            self.closing.drain(&mut self.fx);
        }
        transmit
    }

    /// Creates a Sync or SyncAck.
    pub(super) fn sync_packet(&mut self, now: Instant, packet_type: PacketType, ack: SeqNo) -> Transmit {
        let kind = if packet_type == PacketType::Sync {
            self.fx.statistics.syncs_sent += 1;
            self.fx.outbound.on_sync_sent(now, ack == self.cx.sequence.numbers.gsr());
            Kind::Sync { ack }
        } else {
            Kind::SyncAck { ack }
        };
        self.emit(now, kind, Options::new(), Payload::EMPTY, Ecn::NotEct)
    }

    /// Creates a Sync with a challenge, to be sent to the client's presumed address.
    pub(crate) fn challenge(&mut self, now: Instant, challenge: u64) -> Transmit {
        let mut options = Options::new();
        options.push(MobilityOption::Challenge(challenge).into());
        let ack = self.cx.sequence.numbers.gsr();
        self.fx.statistics.syncs_sent += 1;
        self.emit(now, Kind::Sync { ack }, options, Payload::EMPTY, Ecn::NotEct)
    }

    /// Creates the pending path MTU probe, if congestion control permits a packet.
    pub(super) fn path_probe(&mut self, now: Instant) -> Option<Transmit> {
        let (size, is_vital) = self.mtu.probe()?;
        // RFC 8899, Section 3, item 7: probes are subject to congestion control. Probes that determine
        // whether packets of the size in use arrive at all are exempt, at one packet per second.
        if !is_vital && !self.congestion.may_send(now, Some(size.saturating_sub(OVERHEAD))) {
            let resized = self.mtu.postpone_probe(now, &self.cx, &mut self.fx);
            self.resize(now, resized);
            return None;
        }
        let ack = self.cx.sequence.numbers.gsr();
        self.fx.outbound.on_sync_sent(now, true);
        let mut transmit = self.emit(now, Kind::Sync { ack }, Options::new(), Payload::EMPTY, Ecn::NotEct);
        let length = size.saturating_sub(transmit.packet.header_len());
        transmit.packet.payload = Payload::Opaque { length: length as u32, tag: 0 };
        let sequence = transmit.packet.sequence;
        let resized = self.mtu.on_probe_sent(now, &self.cx, &mut self.fx, sequence, size);
        self.resize(now, resized);
        Some(transmit)
    }
}
