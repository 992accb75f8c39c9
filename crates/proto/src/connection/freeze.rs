//! Freezing: no data is sent while the path is unavailable (`papers/freeze`, Section 4).
//!
//! An end is frozen by its application ([`Connection::freeze`](super::Connection::freeze)) or by the peer
//! (the option Freeze). While either applies, it sends no data; datagrams wait in the send queue, as long as
//! it has room and their deadlines permit. Congestion control determines the rate afterwards
//! ([`whimbrel_control::freeze`]); CCIDs other than 3 and 4 are merely suspended.
//!
//! Freeze and Unfreeze are sent on three acknowledgements an eighth of a round-trip time apart, as in the
//! paper. Beyond the paper:
//!
//! - *Freeze* is on every packet with an Acknowledgement Number for as long as the peer is to be frozen. A
//!   packet without it therefore ends the freeze, and the loss of an Unfreeze does no harm.
//! - *Unfreeze* is retransmitted, with exponential backoff, until a packet that carried it is acknowledged.
//!   Its receiver acknowledges it at once.
//! - *An end frozen by the peer* verifies the freeze from time to time by a Sync. The answer has Freeze, or
//!   not.
//!
//! Protection against forged Freeze options:
//!
//! 1. Freeze counts only if the feature Freezing was negotiated, on sequence-valid packets other than Data,
//!    so that both sequence and acknowledgement number have to be guessed.
//! 2. The first newer acknowledgement of the genuine peer revokes it. If the forged number was ahead, so that
//!    the genuine packets are not newer, the answer to the Sync revokes it, as it names a number that the
//!    attacker has not seen: within about three round-trip times, or a second.
//! 3. After that, for [a minute](DISTRUST), a Freeze is not applied but verified: it counts only on the
//!    answer to a Sync. Any number of forged options stalls the stream only once.
//! 4. A number more than a quarter of the Sequence Window ahead puts the peer's packets out of the window
//!    until they catch up, as with any forged packet (RFC 4340, Section 7.5.5). Then, and in any case,
//!    [`FreezeConfig::remote_limit`](crate::config::FreezeConfig) ends the freeze.
//!
//! While an end is frozen by its own application it sends nothing unsolicited: no path MTU probes, no
//! retransmitted feature negotiation, no keep-alives, no Syncs. RFC 4340 ends no open connection for silence;
//! [`TimerConfig::idle`](crate::config::TimerConfig) counts from the end of the freeze. A freeze delays
//! neither the handshake nor the time limit of closing.

use whimbrel_units::{Duration, Instant};
use whimbrel_wire::option::FeatureNumber;
use whimbrel_wire::{DccpOption, Options, Packet, PacketType, SeqNo};

use super::context::{Context, Effects};
use super::timer::{Backoff, Timer};
use crate::feature::Location;
use crate::{Event, UnfreezeCause};

#[cfg(test)]
mod tests;

/// Packets that carry a Freeze or Unfreeze (`papers/freeze`, Section 4.3: "three in our implementations").
const REPEATS: u8 = 3;
/// Their spacing as a fraction of a round-trip time: all of them leave within the warning of one round-trip
/// time, and a lost burst does not take all.
const SPACING: u64 = 8;
/// Time until the first verification of a freeze, in round-trip times: packets in flight have arrived by
/// then.
const VERIFY_AFTER: u64 = 2;
/// Lower bound on that time.
const MIN_VERIFY_AFTER: Duration = Duration::from_millis(500);
/// Time for which Freeze options are verified after a false one. A genuine one then takes effect a round-trip
/// time later.
const DISTRUST: Duration = Duration::from_secs(60);

/// The direction of data that a command concerns.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FreezeScope {
    /// Data that this end sends.
    Local,
    /// Data that the peer sends.
    Remote,
    /// Both directions.
    Both,
}

impl FreezeScope {
    fn is_local(self) -> bool {
        self != Self::Remote
    }

    fn is_remote(self) -> bool {
        self != Self::Local
    }
}

/// Current freeze state of both directions.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct FreezeSnapshot {
    /// This end is frozen by its application.
    pub local: bool,
    /// This end is frozen by the peer.
    pub by_peer: bool,
    /// The peer is frozen by this end.
    pub peer: bool,
    /// `true` if both ends have agreed on the feature Freezing.
    pub is_agreed: bool,
}

/// The option being announced to the peer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Announcement {
    Freeze,
    /// Sent until a packet from that number on is acknowledged.
    Unfreeze(SeqNo),
}

/// The effect of a freeze method on the rest of the connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[must_use]
pub(super) enum FreezeChange {
    None,
    /// Data is held from now on: congestion control is suspended.
    Frozen,
    /// Data is no longer held: congestion control and everything that is quiet during a local freeze resume.
    Unfrozen,
    /// Data is still held, at the peer's request, but this end may send other packets again.
    QuietEnded,
}

/// Freeze state, and the announcement to the peer.
#[derive(Clone, Debug)]
pub(super) struct Freezing {
    local: bool,
    by_peer: bool,
    announcement: Option<Announcement>,
    /// Number of packets still to be sent for the announcement.
    repeats: u8,
    /// Paces an unacknowledged Unfreeze.
    again: Backoff,
    /// The newest packet whose options, or lack of them, determined the freeze state.
    newest: Option<SeqNo>,
    /// The newest packet without Freeze, which the peer has certainly sent.
    plain: SeqNo,
    /// Paces the Syncs that verify a freeze.
    verifying: Backoff,
    /// The next Sync verifies a freeze.
    verifies: bool,
    /// Sequence number of the last such Sync.
    verification: Option<SeqNo>,
    /// End of the period in which a Freeze counts only on the answer to a Sync.
    unverified_until: Instant,
    /// Time of the last verification of a suspect Freeze.
    verified_at: Instant,
}

impl Freezing {
    pub(super) fn new() -> Self {
        Self {
            local: false,
            by_peer: false,
            announcement: None,
            repeats: 0,
            again: Backoff::new(Duration::ZERO),
            newest: None,
            plain: SeqNo::new(0),
            verifying: Backoff::new(Duration::ZERO),
            verifies: false,
            verification: None,
            unverified_until: Instant::ZERO,
            verified_at: Instant::ZERO,
        }
    }

    /// `true` if this end sends no data.
    #[inline]
    pub(super) fn is_frozen(&self) -> bool {
        self.local || self.by_peer
    }

    /// `true` if this end sends nothing unsolicited.
    pub(super) fn is_quiet(&self) -> bool {
        self.local
    }

    /// Number of bytes of options that [`Freezing::write`] adds to a packet of that type.
    pub(super) fn encoded_len(&self, packet_type: PacketType) -> usize {
        match self.announcement {
            Some(_) if speaks(packet_type) => DccpOption::Freeze.encoded_len(),
            _ => 0,
        }
    }

    /// Adds the freeze options to a packet that is about to leave.
    #[inline]
    pub(super) fn write(&mut self, packet_type: PacketType, sequence: SeqNo, options: &mut Options) {
        if self.verifies && packet_type == PacketType::Sync {
            (self.verifies, self.verification) = (false, Some(sequence));
        }
        match self.announcement {
            _ if !speaks(packet_type) => {}
            Some(Announcement::Freeze) => options.push(DccpOption::Freeze),
            Some(Announcement::Unfreeze(_)) => options.push(DccpOption::Unfreeze),
            None => {}
        }
    }

    /// `true` if both ends have agreed on freezing.
    fn is_agreed(cx: &Context) -> bool {
        let negotiation = &cx.features.negotiation;
        Location::BOTH.iter().all(|location| negotiation.is_on(FeatureNumber::Freezing, *location))
    }

    pub(super) fn snapshot(&self, cx: &Context) -> FreezeSnapshot {
        let Self { local, by_peer, announcement, .. } = *self;
        let peer = announcement == Some(Announcement::Freeze);
        FreezeSnapshot { local, by_peer, peer, is_agreed: Self::is_agreed(cx) }
    }

    /// Starts a freeze at the application's request.
    pub(super) fn freeze(
        &mut self,
        now: Instant,
        cx: &Context,
        fx: &mut Effects,
        scope: FreezeScope,
    ) -> FreezeChange {
        if scope.is_remote() && Self::is_agreed(cx) {
            self.announce(now, cx, fx, Announcement::Freeze);
        }
        if !scope.is_local() || self.local {
            return FreezeChange::None;
        }
        let was_frozen = self.is_frozen();
        self.local = true;
        if let Some(limit) = cx.config.freeze.local_limit {
            fx.timers.set(Timer::LocalFreeze, now + limit);
        }
        if was_frozen { FreezeChange::None } else { Self::hold(fx, false) }
    }

    /// Ends a freeze at the application's request.
    pub(super) fn unfreeze(
        &mut self,
        now: Instant,
        cx: &Context,
        fx: &mut Effects,
        scope: FreezeScope,
    ) -> FreezeChange {
        if scope.is_remote() && self.announcement == Some(Announcement::Freeze) {
            self.announce(now, cx, fx, Announcement::Unfreeze(cx.sequence.numbers.gss().next()));
        }
        if scope.is_local() { self.release(fx, UnfreezeCause::Local) } else { FreezeChange::None }
    }

    fn announce(&mut self, now: Instant, cx: &Context, fx: &mut Effects, announcement: Announcement) {
        self.announcement = Some(announcement);
        self.repeats = REPEATS;
        self.again = Backoff::new(cx.rtt.or_default() * VERIFY_AFTER);
        self.repeat_announcement(now, cx, fx);
    }

    /// Sends the announcement on another packet.
    pub(super) fn repeat_announcement(&mut self, now: Instant, cx: &Context, fx: &mut Effects) {
        let is_unfreeze = matches!(self.announcement, Some(Announcement::Unfreeze(_)));
        if !is_unfreeze && self.repeats == 0 || self.announcement.is_none() {
            return;
        }
        fx.outbound.request_ack();
        self.repeats = self.repeats.saturating_sub(1);
        let pause = match self.repeats {
            0 if is_unfreeze => self.again.take().max(MIN_VERIFY_AFTER),
            0 => return,
            _ => cx.rtt.or_default() / SPACING,
        };
        fx.timers.set(Timer::RepeatFreeze, now + pause);
    }

    /// Starts holding data.
    fn hold(fx: &mut Effects, by_peer: bool) -> FreezeChange {
        fx.report_latest(Event::Frozen { by_peer });
        FreezeChange::Frozen
    }

    /// Stops holding data, if they were held.
    fn release(&mut self, fx: &mut Effects, by: UnfreezeCause) -> FreezeChange {
        if !self.is_frozen() {
            return FreezeChange::None;
        }
        (self.local, self.by_peer, self.verifies) = (false, false, false);
        for timer in [Timer::LocalFreeze, Timer::RemoteFreeze, Timer::VerifyFreeze] {
            fx.timers.stop(timer);
        }
        fx.report_latest(Event::Unfrozen { by });
        FreezeChange::Unfrozen
    }

    /// Processes the freeze options of a valid packet, after feature negotiation options.
    pub(super) fn on_packet(
        &mut self,
        now: Instant,
        cx: &Context,
        fx: &mut Effects,
        packet: &Packet,
    ) -> FreezeChange {
        let packet_type = packet.packet_type();
        if !packet.options.contains(&DccpOption::Freeze) {
            self.plain = packet.sequence;
        }
        if !speaks(packet_type) || !Self::is_agreed(cx) {
            return FreezeChange::None;
        }
        let signal = packet.options.iter().rev().find_map(|option| match option {
            DccpOption::Freeze => Some(FreezeSignal::Freeze),
            DccpOption::Unfreeze => Some(FreezeSignal::Unfreeze),
            _ => None,
        });
        let answers =
            packet_type == PacketType::SyncAck && packet.ack().is_some() && packet.ack() == self.verification;
        let is_newer = self.newest.is_none_or(|newest| packet.sequence.is_after(newest));
        if signal.is_none() && !self.by_peer || !is_newer && !answers {
            return FreezeChange::None;
        }
        if signal == Some(FreezeSignal::Freeze) && !answers && now < self.unverified_until {
            self.verify_suspect(now, cx, fx);
            return FreezeChange::None;
        }
        self.newest = Some(packet.sequence);
        match signal.unwrap_or(FreezeSignal::Silence) {
            FreezeSignal::Freeze => self.freeze_by_peer(now, cx, fx),
            FreezeSignal::Unfreeze => {
                fx.outbound.request_ack();
                self.end_by_peer(fx, UnfreezeCause::Peer)
            }
            FreezeSignal::Silence => {
                if self.by_peer {
                    self.unverified_until = now + DISTRUST;
                }
                self.end_by_peer(fx, UnfreezeCause::PeerSpoke)
            }
        }
    }

    /// Verifies a Freeze that follows a false one, by a Sync.
    fn verify_suspect(&mut self, now: Instant, cx: &Context, fx: &mut Effects) {
        let delay = (cx.rtt.or_default() * VERIFY_AFTER).max(MIN_VERIFY_AFTER);
        if !self.is_frozen() && now - self.verified_at >= delay {
            (self.verified_at, self.verifies) = (now, true);
            fx.outbound.syncs().ask(self.plain);
        }
    }

    fn freeze_by_peer(&mut self, now: Instant, cx: &Context, fx: &mut Effects) -> FreezeChange {
        if self.by_peer {
            return FreezeChange::None;
        }
        let was_frozen = self.is_frozen();
        self.by_peer = true;
        let first = (cx.rtt.or_default() * VERIFY_AFTER).max(MIN_VERIFY_AFTER);
        self.verifying = Backoff::new(first);
        fx.timers.set(Timer::VerifyFreeze, now + self.verifying.take());
        fx.timers.set(Timer::RemoteFreeze, now + cx.config.freeze.remote_limit);
        if was_frozen { FreezeChange::None } else { Self::hold(fx, true) }
    }

    /// Ends a freeze requested by the peer.
    pub(super) fn end_by_peer(&mut self, fx: &mut Effects, by: UnfreezeCause) -> FreezeChange {
        let ends = self.by_peer && !self.local;
        let change = if ends { self.release(fx, by) } else { FreezeChange::None };
        self.by_peer = false;
        fx.timers.stop(Timer::VerifyFreeze);
        fx.timers.stop(Timer::RemoteFreeze);
        change
    }

    /// Ends a freeze that has lasted as long as this end's application permits.
    pub(super) fn end_local(&mut self, fx: &mut Effects) -> FreezeChange {
        if self.by_peer {
            self.local = false;
            FreezeChange::QuietEnded
        } else {
            self.release(fx, UnfreezeCause::Limit)
        }
    }

    /// Verifies by a Sync that the peer still requests the freeze.
    pub(super) fn verify(&mut self, now: Instant, fx: &mut Effects) {
        if !self.by_peer {
            return;
        }
        // A local freeze requires silence.
        if !self.local {
            self.verifies = true;
            fx.outbound.syncs().ask(self.plain);
        }
        fx.timers.set(Timer::VerifyFreeze, now + self.verifying.take());
    }

    /// The peer has acknowledged `ack`: stops announcing Unfreeze.
    pub(super) fn on_acked(&mut self, fx: &mut Effects, ack: SeqNo) {
        if let Some(Announcement::Unfreeze(first)) = self.announcement
            && !ack.is_before(first)
        {
            self.announcement = None;
            fx.timers.stop(Timer::RepeatFreeze);
        }
    }
}

/// `true` if packets of that type carry the freeze options.
fn speaks(packet_type: PacketType) -> bool {
    matches!(packet_type, PacketType::Ack | PacketType::DataAck | PacketType::Sync | PacketType::SyncAck)
}

/// The freeze signal of a received packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum FreezeSignal {
    Freeze,
    Unfreeze,
    /// Neither option: the peer requests no freeze.
    Silence,
}
