//! A server that invites its client, so that both open mappings in their NATs (RFC 5596).
//!
//! Such a server knows its client in advance, from signalling such as SDP: addresses, both ports and the
//! Service Code. Its Listen packets make the NAT in front of it admit the client's Request. They carry no
//! state, and the client may drop them.

use whimbrel_units::{Duration, Instant};
use whimbrel_wire::{Kind, Packet, PacketType, Reset, ResetCode};

use super::State;
use super::context::{Context, Effects};
use super::timer::Timer;

/// Interval between Listen packets (RFC 5596, Section 2.2.2).
const LISTEN_INTERVAL: Duration = Duration::from_millis(200);
/// Number of Listen packets: the first and two retransmissions (RFC 5596, Section 2.2.2).
const LISTENS: u8 = 3;

/// State of an invitation.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Invitation {
    /// A Listen packet has already caused this client to retransmit its Request.
    invited: bool,
    /// Number of Listen packets that this server has sent.
    listens: u8,
}

impl Invitation {
    /// Starts the invitation. RFC 5596 permits the server to wait indefinitely; this one gives up after the
    /// connect time ([`crate::config::TimerConfig::connect`]), as a client does.
    pub(super) fn start(now: Instant, cx: &Context, fx: &mut Effects) {
        fx.outbound.owe_listen();
        fx.timers.set(Timer::Connect, now + cx.config.timers.connect);
    }

    /// Sends another Listen packet, or stops after the last one. Returns the new state.
    #[must_use]
    pub(super) fn on_timer(&self, fx: &mut Effects) -> State {
        if self.listens < LISTENS {
            fx.outbound.owe_listen();
            State::Invited
        } else {
            State::Listen1
        }
    }

    /// A Listen packet is being sent.
    pub(super) fn on_listen_sent(&mut self, now: Instant, fx: &mut Effects) {
        self.listens += 1;
        fx.timers.set(Timer::Request, now + LISTEN_INTERVAL);
    }

    /// Steps 2a and 2b of RFC 5596, Section 2.2.2: `true` if the packet is the expected Request. No other
    /// packet ends the wait, as any host may have sent it.
    pub(super) fn is_accepted(now: Instant, cx: &Context, fx: &mut Effects, packet: &Packet) -> bool {
        let refusal = match packet.kind {
            Kind::Request { service_code } if service_code == cx.config.service_code => {
                fx.timers.stop(Timer::Request);
                fx.timers.stop(Timer::Connect);
                fx.outbound.cancel_listen();
                return true;
            }
            Kind::Request { .. } => ResetCode::BadServiceCode,
            _ => ResetCode::NoConnection,
        };
        fx.outbound.refuse(now, packet, Reset::new(refusal));
        false
    }

    /// Processes a Listen packet of a server that waits for this client: retransmits the Request at once, but
    /// only one time (RFC 5596, Section 2.2.3.1).
    pub(super) fn on_listen(&mut self, cx: &Context, fx: &mut Effects, packet: &Packet) {
        debug_assert_eq!(packet.packet_type(), PacketType::Listen);
        let is_for_us = packet.kind == Kind::Listen { service_code: cx.config.service_code };
        if is_for_us && !self.invited {
            self.invited = true;
            fx.outbound.owe_request();
        }
    }
}
