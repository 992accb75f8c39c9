//! A server that invites its client, so that both open the way through their NATs (RFC 5596).
//!
//! Such a server knows its client before it hears of it: addresses, both ports and the Service Code,
//! from signalling such as SDP. Its Listen packets make the NAT in front of it let the client's
//! Request in. They carry no state, and the client may well drop them.

use whimbrel_units::{Duration, Instant};
use whimbrel_wire::{
    ChecksumCoverage, Ecn, Kind, Options, Packet, PacketType, Payload, Reset, ResetCode, SeqNo,
};

use super::timer::Timer;
use super::{Connection, Ports, Role, State, Transmit};
use crate::{Config, ConfigError};

/// From one Listen packet to the next (RFC 5596, Section 2.2.2).
const LISTEN_INTERVAL: Duration = Duration::from_millis(200);
/// The first and two repetitions (RFC 5596, Section 2.2.2).
const LISTENS: u8 = 3;

impl Connection {
    /// A server for the one client at `destination_port` of its peer. It sends Listen packets once
    /// [`Connection::invite`] is called, and then waits for the Request. `seed` as for [`Connection::client`].
    ///
    /// # Errors
    ///
    /// Where [`Config::validate`] finds one.
    pub fn inviting(
        now: Instant,
        config: Config,
        source_port: u16,
        destination_port: u16,
        seed: u64,
    ) -> Result<Self, ConfigError> {
        let ports = Ports { role: Role::Server, source: source_port, destination: destination_port };
        Self::new(now, config, ports, State::Closed, seed)
    }
    /// Command: a server made by [`Connection::inviting`] invites its client. RFC 5596 lets it wait
    /// for ever; this one gives up as a client does that gets no answer ([`crate::config::TimerConfig::connect`]).
    pub fn invite(&mut self, now: Instant) {
        if self.state == State::Closed && self.ports.role == Role::Server && !self.closing.is_over() {
            self.state = State::Invited;
            self.outbound.listen = true;
            self.timers.set(Timer::Connect, now + self.config.timers.connect);
        }
    }
    /// Time for another Listen packet, or to send no more of them.
    pub(super) fn continue_inviting(&mut self) {
        if self.handshake.listens < LISTENS {
            self.outbound.listen = true;
        } else {
            self.state = State::Listen1;
        }
    }
    /// RFC 5596, Section 2.2.1: a Listen packet has a number outside of the connection's, 0.
    pub(super) fn listen_packet(&mut self, now: Instant) -> Transmit {
        self.handshake.listens += 1;
        self.timers.set(Timer::Request, now + LISTEN_INTERVAL);
        self.statistics.packets_sent += 1;
        let packet = Packet {
            source_port: self.ports.source,
            destination_port: self.ports.destination,
            ccval: 0,
            checksum_coverage: ChecksumCoverage::ALL,
            extended: true,
            sequence: SeqNo::ZERO,
            kind: Kind::Listen { service_code: self.config.service_code },
            options: Options::new(),
            payload: Payload::EMPTY,
        };
        Transmit { packet, ecn: Ecn::NotEct }
    }
    /// Steps 2a and 2b of RFC 5596, Section 2.2.2: whether the packet is the Request that was waited
    /// for. Nothing else ends the waiting, as anybody may have sent it.
    pub(super) fn is_invited(&mut self, now: Instant, packet: &Packet) -> bool {
        let refusal = match packet.kind {
            Kind::Request { service_code } if service_code == self.config.service_code => {
                self.timers.stop(Timer::Request);
                self.timers.stop(Timer::Connect);
                self.outbound.listen = false;
                return true;
            }
            Kind::Request { .. } => ResetCode::BadServiceCode,
            _ => ResetCode::NoConnection,
        };
        self.refuse(now, packet, Reset::new(refusal));
        false
    }
    /// A server that awaits this client said so: the client may repeat its Request at once, but only
    /// one time (RFC 5596, Section 2.2.3.1).
    pub(super) fn handle_invitation(&mut self, packet: &Packet) {
        debug_assert_eq!(packet.packet_type(), PacketType::Listen);
        let is_for_us = packet.kind == Kind::Listen { service_code: self.config.service_code };
        if is_for_us && !self.handshake.invited {
            self.handshake.invited = true;
            self.outbound.request = true;
        }
    }
}
