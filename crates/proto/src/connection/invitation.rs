//! A server that invites its client, so that both open mappings in their NATs (RFC 5596).
//!
//! Such a server knows its client in advance, from signalling such as SDP: addresses, both ports and the Service Code.
//! Its Listen packets make the NAT in front of it admit the client's Request. They carry no state, and the client may
//! drop them.

use whimbrel_units::{Duration, Instant};
use whimbrel_wire::{
    ChecksumCoverage, Ecn, Kind, Options, Packet, PacketType, Payload, Reset, ResetCode, SeqNo,
};

use super::timer::Timer;
use super::{Connection, Ports, Role, State, Transmit};
use crate::{Config, ConfigError};

/// Interval between Listen packets (RFC 5596, Section 2.2.2).
const LISTEN_INTERVAL: Duration = Duration::from_millis(200);
/// Number of Listen packets: the first and two retransmissions (RFC 5596, Section 2.2.2).
const LISTENS: u8 = 3;

impl Connection {
    /// Creates a server for one client at `destination_port`. It sends Listen packets once [`Connection::invite`] is
    /// called, and then waits for the Request. `seed` as for [`Connection::client`].
    ///
    /// # Errors
    ///
    /// The error that [`Config::validate`] returns.
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
    /// Invites the client of a server created by [`Connection::inviting`]. RFC 5596 permits it to wait indefinitely;
    /// this one gives up after the connect time ([`crate::config::TimerConfig::connect`]), as a client does.
    pub fn invite(&mut self, now: Instant) {
        if self.state == State::Closed && self.ports.role == Role::Server && !self.closing.is_over() {
            self.state = State::Invited;
            self.outbound.listen = true;
            self.timers.set(Timer::Connect, now + self.config.timers.connect);
        }
    }
    /// Sends another Listen packet, or stops after the last one.
    pub(super) fn continue_inviting(&mut self) {
        if self.handshake.listens < LISTENS {
            self.outbound.listen = true;
        } else {
            self.state = State::Listen1;
        }
    }
    /// Creates a Listen packet; its sequence number, 0, is outside the connection's (RFC 5596, Section 2.2.1).
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
    /// Steps 2a and 2b of RFC 5596, Section 2.2.2: `true` if the packet is the expected Request. No other packet ends
    /// the wait, as any host may have sent it.
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
    /// Processes a Listen packet of a server that waits for this client: retransmits the Request at once, but only one
    /// time (RFC 5596, Section 2.2.3.1).
    pub(super) fn handle_invitation(&mut self, packet: &Packet) {
        debug_assert_eq!(packet.packet_type(), PacketType::Listen);
        let is_for_us = packet.kind == Kind::Listen { service_code: self.config.service_code };
        if is_for_us && !self.handshake.invited {
            self.handshake.invited = true;
            self.outbound.request = true;
        }
    }
}
