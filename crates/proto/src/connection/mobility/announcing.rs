//! The client's part: announces its address until the server has followed.

use whimbrel_units::{Duration, Instant};
use whimbrel_wire::option::mobility::{MobilityOption, Move};
use whimbrel_wire::{Kind, Packet, PacketType, Reset, ResetCode, SeqNo};

use super::super::context::{Context, Effects};
use super::super::timer::{Backoff, Timer};
use super::super::{Role, State};
use super::Mobility;
use crate::Event;

/// Time of silence, besides the number of round-trip times below, after which the server may have lost the
/// client's address.
const SILENCE: Duration = Duration::from_secs(1);
const SILENCE_IN_RTT: u64 = 4;
/// Time before the first announcing Sync is retransmitted, in round-trip times.
const REPEAT_AFTER_RTT: u64 = 2;
const MIN_PATIENCE: Duration = Duration::from_millis(200);
/// The most Syncs sent to announce, within minutes. After that, only packets that leave anyway announce.
const MAX_SYNCS: u8 = 10;
/// Number of challenges stored: of the new path and of the old one.
const CHALLENGES: usize = 2;

/// State of the announcement of the client's address.
#[derive(Clone, Debug, Default)]
pub(super) struct Announcing {
    /// The first packet that may come from an address unknown to the server; `None`: there is none.
    since: Option<SeqNo>,
    /// The application expects an event when the announcement ends.
    notifies: bool,
    /// The server has sent a challenge since then.
    is_asked: bool,
    /// Paces the Syncs.
    backoff: Option<Backoff>,
    syncs: u8,
    /// The Syncs that carried the last challenges, latest first.
    challenges: [Option<(SeqNo, u64)>; CHALLENGES],
}

impl Announcing {
    /// The challenge that a packet should echo: a SyncAck its Sync's, others none.
    fn echo(&self, packet: &Packet) -> Option<u64> {
        let Kind::SyncAck { ack } = packet.kind else { return None };
        self.challenges.iter().flatten().find(|(sync, _)| *sync == ack).map(|(_, challenge)| *challenge)
    }
}

impl Mobility {
    /// `true` while sent packets announce this end's address, because the server may not know it.
    pub(in super::super) fn is_announcing(&self) -> bool {
        self.0.as_ref().is_some_and(|agreement| agreement.announcing.since.is_some())
    }

    fn may_announce(&self, cx: &Context) -> bool {
        let is_known = matches!(cx.state, State::PartOpen | State::Open | State::Closing);
        cx.ports.role == Role::Client && is_known && self.may_move()
    }

    /// Announces a new or possibly new address, at once and on all following packets. `known`: the
    /// application knows of the change, and is notified when the server has followed.
    pub(in super::super) fn announce(&mut self, now: Instant, cx: &Context, fx: &mut Effects, known: bool) {
        if !self.may_announce(cx) {
            return;
        }
        let Some(agreement) = &mut self.0 else { return };
        let announcing = &mut agreement.announcing;
        if announcing.since.is_some() && !known {
            return;
        }
        let patience = (cx.rtt.or_default() * REPEAT_AFTER_RTT).max(MIN_PATIENCE);
        announcing.since = Some(cx.sequence.numbers.gss().next());
        announcing.notifies |= known;
        announcing.backoff = Some(Backoff::new(patience));
        announcing.syncs = 0;
        announcing.is_asked = false;
        fx.timers.set(Timer::Announce, now);
    }

    /// Announces again by a Sync, which the server answers. `data_wait`: the announcement leaves no room for
    /// the next datagram.
    pub(in super::super) fn announce_again(
        &mut self,
        now: Instant,
        cx: &Context,
        fx: &mut Effects,
        data_wait: bool,
    ) {
        if !self.may_announce(cx) {
            return;
        }
        let Some(agreement) = &mut self.0 else { return };
        let announcing = &mut agreement.announcing;
        // Data for which an announcement leaves no room wait until the server has followed, and announce
        // nothing.
        if announcing.since.is_none() || (announcing.syncs >= MAX_SYNCS && !data_wait) {
            return;
        }
        announcing.syncs = announcing.syncs.saturating_add(1);
        if let Some(backoff) = &mut announcing.backoff {
            fx.timers.set(Timer::Announce, now + backoff.take());
        }
        fx.outbound.syncs().ask(cx.sequence.numbers.gsr());
    }

    /// Adds the announcement to a packet, if the server may not know its source address or has sent a
    /// challenge.
    pub(super) fn announce_on(&mut self, now: Instant, cx: &Context, fx: &mut Effects, packet: &mut Packet) {
        if matches!(packet.packet_type(), PacketType::Request | PacketType::Listen) || !self.may_move() {
            return;
        }
        if !self.is_announcing() && is_silent(now, cx) {
            // The announcement starts with this packet.
            self.announce(now, cx, fx, false);
            if let Some(agreement) = self.0.as_mut().filter(|it| it.announcing.since.is_some()) {
                agreement.announcing.since = Some(packet.sequence);
            }
        }
        let Some(agreement) = &mut self.0 else { return };
        let echo = agreement.announcing.echo(packet);
        if agreement.announcing.since.is_none() && echo.is_none() {
            return;
        }
        let identifier = agreement.identifier(Role::Client);
        let Some(key) = &agreement.key else { return };
        let tag = key.tag(packet, identifier, echo);
        packet.options.push(MobilityOption::Move(Move { identifier, echo, tag }).into());
    }

    /// `true` if sent packets need long sequence numbers, which the authenticator covers.
    pub(in super::super) fn needs_long_numbers(&self, now: Instant, cx: &Context) -> bool {
        cx.ports.role == Role::Client && self.may_move() && (self.is_announcing() || is_silent(now, cx))
    }

    /// Number of bytes of an announcement on a packet that leaves now and answers no challenge.
    pub(super) fn announcement_len(&self, now: Instant, cx: &Context) -> usize {
        const MOVE_LEN: usize = 26;
        if self.needs_long_numbers(now, cx) { MOVE_LEN } else { 0 }
    }

    /// Data arrived: if none follow, this client verifies that the server still knows its address.
    pub(in super::super) fn await_more(&self, now: Instant, cx: &Context, fx: &mut Effects) {
        if !fx.timers.is_running(Timer::Silence) && self.may_announce(cx) {
            fx.timers.set(Timer::Silence, now + silence(cx));
        }
    }

    /// Checks the time since the last packet. `is_quiet`: the peer is silent because it is frozen.
    pub(in super::super) fn check_silence(
        &mut self,
        now: Instant,
        cx: &Context,
        fx: &mut Effects,
        is_quiet: bool,
    ) {
        let Some(last) = cx.sequence.last_valid() else { return };
        if is_quiet {
            fx.timers.set(Timer::Silence, now + silence(cx));
        } else if is_silent(now, cx) {
            self.announce(now, cx, fx, false);
        } else {
            fx.timers.set(Timer::Silence, last + silence(cx));
        }
    }

    /// Processes a challenge: the SyncAck of its Sync will answer it. Returns `true` if the server is about
    /// to follow.
    pub(super) fn on_challenge(&mut self, sync: SeqNo, challenge: u64) -> bool {
        let Some(agreement) = &mut self.0 else { return false };
        let announcing = &mut agreement.announcing;
        announcing.challenges.rotate_right(1);
        announcing.challenges[0] = Some((sync, challenge));
        let is_first = !core::mem::replace(&mut announcing.is_asked, true);
        // The server follows once it has the SyncAck, which leaves first. Its earlier answers went to the old
        // address.
        is_first && announcing.since.is_some()
    }

    /// Processes the server's confirmation that it sends to the source of that packet.
    pub(super) fn on_moved(&mut self, cx: &Context, fx: &mut Effects, sequence: SeqNo) {
        let is_sent = !sequence.is_after(cx.sequence.numbers.gss());
        let Some(agreement) = &mut self.0 else { return };
        let announcing = &mut agreement.announcing;
        if is_sent && announcing.since.is_some_and(|since| !sequence.is_before(since)) {
            if core::mem::take(&mut announcing.notifies) {
                fx.events.push_back(Event::MoveConfirmed);
            }
            announcing.since = None;
            announcing.backoff = None;
            fx.timers.stop(Timer::Announce);
        }
    }

    /// Returns `true` if a Reset that reports no such connection is to be verified by an announcement first:
    /// after a change of address, the server may merely not recognize the packets. `answered`: the packet
    /// that the Reset answers.
    pub(in super::super) fn is_unverified(
        &mut self,
        now: Instant,
        cx: &Context,
        fx: &mut Effects,
        reset: Reset,
        answered: SeqNo,
    ) -> bool {
        if reset.code != ResetCode::NoConnection || !self.may_announce(cx) {
            return false;
        }
        let since = self.0.as_ref().and_then(|agreement| agreement.announcing.since);
        if since.is_some_and(|since| !answered.is_before(since)) {
            // The server had the announcement.
            return false;
        }
        self.announce(now, cx, fx, false);
        true
    }
}

fn silence(cx: &Context) -> Duration {
    (cx.rtt.or_default() * SILENCE_IN_RTT).max(SILENCE)
}

fn is_silent(now: Instant, cx: &Context) -> bool {
    cx.sequence.last_valid().is_some_and(|last| now - last >= silence(cx))
}
