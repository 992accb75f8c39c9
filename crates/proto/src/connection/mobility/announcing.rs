//! The client: says where it is until the server has followed.

use whimbrel_units::{Duration, Instant};
use whimbrel_wire::option::mobility::{MobilityOption, Move};
use whimbrel_wire::{Kind, Packet, PacketType, Reset, ResetCode, SeqNo};

use super::super::timer::{Backoff, Timer};
use super::super::{Connection, Role, State};
use crate::Event;

/// A server that says nothing for that long, and for as many round-trip times as below, may no longer
/// know where its client is.
const SILENCE: Duration = Duration::from_secs(1);
const SILENCE_IN_RTT: u64 = 4;
/// How long the first Sync that announces gets until it is repeated, in round-trip times and at least.
const PATIENCE_IN_RTT: u64 = 2;
const MIN_PATIENCE: Duration = Duration::from_millis(200);
/// Syncs sent for the purpose at most, within minutes. After that, only packets that leave anyway announce.
const MAX_SYNCS: u8 = 10;
/// Challenges remembered: of the path that is new, and of the old one.
const CHALLENGES: usize = 2;

/// What the client tells about its address.
#[derive(Clone, Debug, Default)]
pub(super) struct Announcing {
    /// The first packet that may come from another address than the server knows; `None`: there is none.
    since: Option<SeqNo>,
    /// The application was promised to hear of the end.
    is_told: bool,
    /// The server has asked since then whether this end is elsewhere.
    is_asked: bool,
    /// Paces the Syncs, and how many there were.
    backoff: Option<Backoff>,
    syncs: u8,
    /// The Syncs that brought the last challenges, the latest first.
    challenges: [Option<(SeqNo, u64)>; CHALLENGES],
}

impl Announcing {
    /// The answer that a packet should carry: a SyncAck that of its Sync, others none.
    fn echo(&self, packet: &Packet) -> Option<u64> {
        let Kind::SyncAck { ack } = packet.kind else { return None };
        self.challenges.iter().flatten().find(|(sync, _)| *sync == ack).map(|(_, challenge)| *challenge)
    }
}

impl Connection {
    /// Whether the packets that leave say where this end is, because the server may not know it.
    pub fn is_announcing(&self) -> bool {
        self.mobility.as_ref().is_some_and(|mobility| mobility.announcing.since.is_some())
    }
    fn may_announce(&self) -> bool {
        let is_known = matches!(self.state, State::PartOpen | State::Open | State::Closing);
        self.ports.role == Role::Client && is_known && self.may_move()
    }
    /// This end is elsewhere, or may be: says so from the next packet on, at once. `known`: the application knows,
    /// and will hear when the server has followed.
    pub(in super::super) fn announce_move(&mut self, now: Instant, known: bool) {
        if !self.may_announce() {
            return;
        }
        let next = self.sequence.numbers.gss().next();
        let patience = (self.rtt.or_default() * PATIENCE_IN_RTT).max(MIN_PATIENCE);
        let Some(mobility) = &mut self.mobility else { return };
        let announcing = &mut mobility.announcing;
        if announcing.since.is_some() && !known {
            return;
        }
        announcing.since = Some(next);
        announcing.is_told |= known;
        announcing.backoff = Some(Backoff::new(patience));
        announcing.syncs = 0;
        announcing.is_asked = false;
        self.timers.set(Timer::Announce, now);
    }
    /// An announcement leaves no room for the data that wait: it goes without them.
    pub(in super::super) fn announce_for_room(&mut self, now: Instant) {
        self.announce_move(now, false);
    }
    /// Time to announce once more, by a Sync, which the server answers.
    pub(in super::super) fn announce_again(&mut self, now: Instant) {
        if !self.may_announce() {
            return;
        }
        let front = self.outbound.queue.front_len();
        let data_wait = front.is_some_and(|size| !self.fits_beside_constants(now, size));
        let Some(mobility) = &mut self.mobility else { return };
        let announcing = &mut mobility.announcing;
        // Data that an announcement leaves no room for wait until the server has followed, and announce nothing.
        if announcing.since.is_none() || (announcing.syncs >= MAX_SYNCS && !data_wait) {
            return;
        }
        announcing.syncs = announcing.syncs.saturating_add(1);
        if let Some(backoff) = &mut announcing.backoff {
            self.timers.set(Timer::Announce, now + backoff.take());
        }
        self.sync.ask(self.sequence.numbers.gsr());
    }
    /// Marks a packet that leaves, if the server may not know where it comes from or asks for it.
    pub(super) fn announce_on(&mut self, now: Instant, packet: &mut Packet) {
        if matches!(packet.packet_type(), PacketType::Request | PacketType::Listen) || !self.may_move() {
            return;
        }
        if !self.is_announcing() && self.is_silent(now) {
            // This packet is the first to tell.
            self.announce_move(now, false);
            if let Some(mobility) = self.mobility.as_mut().filter(|it| it.announcing.since.is_some()) {
                mobility.announcing.since = Some(packet.sequence);
            }
        }
        let Some(mobility) = &mut self.mobility else { return };
        let echo = mobility.announcing.echo(packet);
        if mobility.announcing.since.is_none() && echo.is_none() {
            return;
        }
        let identifier = mobility.identifier(Role::Client);
        let Some(key) = &mobility.key else { return };
        let tag = key.tag(packet, identifier, echo);
        packet.options.push(MobilityOption::Move(Move { identifier, echo, tag }).into());
    }
    /// Whether packets that leave need long numbers, which the authenticator covers.
    pub(in super::super) fn needs_long_numbers(&self, now: Instant) -> bool {
        self.ports.role == Role::Client && self.may_move() && (self.is_announcing() || self.is_silent(now))
    }
    /// How many bytes an announcement takes of a packet that leaves now and answers no challenge.
    pub(super) fn announcement_len(&self, now: Instant) -> usize {
        const MOVE_LEN: usize = 26;
        if self.needs_long_numbers(now) { MOVE_LEN } else { 0 }
    }

    fn silence(&self) -> Duration {
        (self.rtt.or_default() * SILENCE_IN_RTT).max(SILENCE)
    }
    fn is_silent(&self, now: Instant) -> bool {
        self.sync.last_valid().is_some_and(|last| now - last >= self.silence())
    }
    /// Data arrived: should nothing follow, this client asks whether it is still known where it is.
    pub(in super::super) fn await_more(&mut self, now: Instant) {
        if !self.timers.is_running(Timer::Silence) && self.may_announce() {
            self.timers.set(Timer::Silence, now + self.silence());
        }
    }
    /// Nothing may have arrived for a while.
    pub(in super::super) fn check_silence(&mut self, now: Instant) {
        let Some(last) = self.sync.last_valid() else { return };
        if self.freezing.is_quiet() {
            // It is silent because it is frozen.
            self.timers.set(Timer::Silence, now + self.silence());
        } else if self.is_silent(now) {
            self.announce_move(now, false);
        } else {
            self.timers.set(Timer::Silence, last + self.silence());
        }
    }

    /// The server asks whether this end is where it seems to be. The SyncAck will say.
    pub(super) fn on_challenge(&mut self, now: Instant, sync: SeqNo, challenge: u64) {
        let Some(mobility) = &mut self.mobility else { return };
        let announcing = &mut mobility.announcing;
        announcing.challenges.rotate_right(1);
        announcing.challenges[0] = Some((sync, challenge));
        let is_first = !core::mem::replace(&mut announcing.is_asked, true);
        if is_first && announcing.since.is_some() {
            // The server follows once it has the SyncAck, which leaves first. What it answered before went to the old address.
            self.retry_path_mtu(now);
        }
    }
    /// The server sends to where that packet came from.
    pub(super) fn on_moved(&mut self, sequence: SeqNo) {
        let is_sent = !sequence.is_after(self.sequence.numbers.gss());
        let Some(mobility) = &mut self.mobility else { return };
        let announcing = &mut mobility.announcing;
        if is_sent && announcing.since.is_some_and(|since| !sequence.is_before(since)) {
            if core::mem::take(&mut announcing.is_told) {
                self.events.push_back(Event::MoveConfirmed);
            }
            announcing.since = None;
            announcing.backoff = None;
            self.timers.stop(Timer::Announce);
        }
    }
    /// A server that knows no such connection may only not know whose packets these are, as they come from
    /// elsewhere: whether to tell it before believing that the connection is gone. `answered`: the packet that the
    /// Reset answers.
    pub(in super::super) fn doubts(&mut self, now: Instant, reset: Reset, answered: SeqNo) -> bool {
        if reset.code != ResetCode::NoConnection || !self.may_announce() {
            return false;
        }
        let since = self.mobility.as_ref().and_then(|mobility| mobility.announcing.since);
        if since.is_some_and(|since| !answered.is_before(since)) {
            // It was told who it was.
            return false;
        }
        self.announce_move(now, false);
        true
    }
}
