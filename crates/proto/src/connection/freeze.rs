//! Freezing: no data while there is no path (`papers/freeze`, Section 4).
//!
//! An end is told of a handover by its application ([`Connection::freeze`]) or by the other end (the option Freeze). While either
//! holds, it sends no data; what the application hands over waits in the send queue, as long as that has room and its
//! deadlines allow. How the rate comes back is the congestion control's affair ([`whimbrel_control::freeze`]); other
//! congestion controls than CCIDs 3 and 4 are merely held.
//!
//! Freeze and Unfreeze are told on three acknowledgements an eighth of a round-trip time apart, as the paper has it. Beyond
//! the paper:
//!
//! - *Freeze* is on every packet with an Acknowledgement Number as long as the other end is to be frozen. So a packet without it
//!   says that the other end may go on, and an Unfreeze that got lost does no harm.
//! - *Unfreeze* is repeated, further and further apart, until something acknowledges a packet that had it. Its receiver acknowledges
//!   it at once.
//! - *An end frozen by the other* asks now and then how that is, by a Sync. The answer has Freeze, or not.
//!
//! What keeps a forged Freeze from stalling a stream:
//!
//! 1. It counts only where the feature Freezing was negotiated, on packets that are sequence-valid, and not on Data, so that
//!    sequence and acknowledgement number have to be guessed.
//! 2. The first acknowledgement of the true other end that is newer undoes it. Where the forger chose a number ahead, so that
//!    the true ones are not newer, the Sync's answer does, which names a number that the forger has not seen: within about three
//!    round-trip times, or a second.
//! 3. After that, for [a minute](DISTRUST), a Freeze is not obeyed but asked about: it counts only on the answer to such a question.
//!    However many are forged, they stall the stream once.
//! 4. A number more than a quarter of the Sequence Window ahead puts the true end's packets out of the window until they catch
//!    up, as with any packet forged (RFC 4340, Section 7.5.5). Then, and in any case,
//!    [`FreezeConfig::remote_limit`](crate::config::FreezeConfig) ends it.
//!
//! While an end is frozen by its own application it is quiet: no probes of the path's packet size, no repeated feature
//! negotiation, no keep-alives, no Syncs of its own. Nothing of RFC 4340 ends an open connection for silence;
//! [`TimerConfig::idle`](crate::config::TimerConfig) counts from the end of the freeze. A handshake is not held up, and an application
//! that closes does not wait longer than ever.

use whimbrel_units::{Duration, Instant};
use whimbrel_wire::option::FeatureNumber;
use whimbrel_wire::{DccpOption, Options, Packet, PacketType, SeqNo};

use super::Connection;
use super::timer::{Backoff, IDLE_ASK_FRACTION, Timer};
use crate::feature::Location;
use crate::{Event, Thaw};

/// Packets on which Freeze and Unfreeze are told (`papers/freeze`, Section 4.3: "three in our implementations").
const REPEATS: u8 = 3;
/// They follow each other after this part of a round-trip time, so that all of them leave within the warning of one
/// round-trip time and a lost burst does not take all.
const SPACING: u64 = 8;
/// The first question to an end that asked for a freeze, in round-trip times: what was on its way has arrived by then.
const ASK_AFTER: u64 = 2;
/// And not earlier than that.
const MIN_ASK: Duration = Duration::from_millis(500);
/// How long a Freeze is doubted after one that the other end did not mean. A true one then takes a round-trip time longer.
const DISTRUST: Duration = Duration::from_secs(60);

/// Whose data a command is about.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FreezeScope {
    /// What this end sends.
    Local,
    /// What the other end sends.
    Remote,
    /// Both.
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

/// Who is frozen, as far as this end knows.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct FreezeSnapshot {
    /// This end, by its application.
    pub local: bool,
    /// This end, by the other.
    pub by_peer: bool,
    /// The other end, by this one.
    pub peer: bool,
    /// Whether the other end understands all this.
    pub is_agreed: bool,
}

/// What the other end is told.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Telling {
    Freeze,
    /// Until a packet from that number on is acknowledged.
    Unfreeze(SeqNo),
}

/// Who is frozen, and who is told so.
#[derive(Clone, Debug)]
pub(super) struct Freezing {
    local: bool,
    by_peer: bool,
    telling: Option<Telling>,
    /// Packets still to be sent for the sake of telling.
    repeats: u8,
    /// Paces an Unfreeze that nobody acknowledges.
    again: Backoff,
    /// The newest packet that said something of freezing, or by saying nothing did.
    heard: Option<SeqNo>,
    /// The newest packet that did not say Freeze: one that the other end has surely sent.
    plain: SeqNo,
    /// Paces the questions to the end that asked for a freeze.
    asking: Backoff,
    /// The next Sync is such a question.
    asks: bool,
    /// The number of the last one.
    asked: Option<SeqNo>,
    /// Until when a Freeze counts only on the answer to a question.
    doubts_until: Instant,
    /// When a doubt was last asked about.
    doubted: Instant,
}

impl Freezing {
    pub(super) fn new() -> Self {
        Self {
            local: false,
            by_peer: false,
            telling: None,
            repeats: 0,
            again: Backoff::new(Duration::ZERO),
            heard: None,
            plain: SeqNo::new(0),
            asking: Backoff::new(Duration::ZERO),
            asks: false,
            asked: None,
            doubts_until: Instant::ZERO,
            doubted: Instant::ZERO,
        }
    }
    /// Whether this end sends no data.
    #[inline]
    pub(super) fn is_frozen(&self) -> bool {
        self.local || self.by_peer
    }
    /// Whether this end sends nothing of its own accord.
    pub(super) fn is_quiet(&self) -> bool {
        self.local
    }
    /// How many bytes of options [`Freezing::write`] adds to a packet of that type.
    pub(super) fn encoded_len(&self, packet_type: PacketType) -> usize {
        match self.telling {
            Some(_) if speaks(packet_type) => DccpOption::Freeze.encoded_len(),
            _ => 0,
        }
    }
    /// A packet is about to leave: what it says of freezing.
    #[inline]
    pub(super) fn write(&mut self, packet_type: PacketType, sequence: SeqNo, options: &mut Options) {
        if self.asks && packet_type == PacketType::Sync {
            (self.asks, self.asked) = (false, Some(sequence));
        }
        match self.telling {
            _ if !speaks(packet_type) => {}
            Some(Telling::Freeze) => options.push(DccpOption::Freeze),
            Some(Telling::Unfreeze(_)) => options.push(DccpOption::Unfreeze),
            None => {}
        }
    }
}

/// Whether packets of that type say whether the other end shall freeze.
fn speaks(packet_type: PacketType) -> bool {
    matches!(packet_type, PacketType::Ack | PacketType::DataAck | PacketType::Sync | PacketType::SyncAck)
}

/// What a packet says of freezing.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Word {
    Freeze,
    Unfreeze,
    /// Nothing, where the other end would say Freeze if it meant it.
    Silence,
}

impl Connection {
    /// Command: there will be no path for a while. What is in `scope` sends no data until [`Connection::unfreeze`]; the other end,
    /// if it [takes part](crate::config::FreezeConfig::offer), has to be told about a round-trip time before the path breaks.
    pub fn freeze(&mut self, now: Instant, scope: FreezeScope) {
        // Events end with the connection.
        if self.closing.is_over() {
            return;
        }
        if scope.is_remote() && self.is_freezing_agreed() {
            self.tell(now, Telling::Freeze);
        }
        if scope.is_local() && !self.freezing.local {
            let was_frozen = self.freezing.is_frozen();
            self.freezing.local = true;
            if let Some(limit) = self.config.freeze.local_limit {
                self.timers.set(Timer::LocalFreeze, now + limit);
            }
            if !was_frozen {
                self.hold(now, false);
            }
        }
    }
    /// Command: there is a path again. For what this end sends that is the last word, even if the other end asked for a freeze,
    /// too.
    pub fn unfreeze(&mut self, now: Instant, scope: FreezeScope) {
        if self.closing.is_over() {
            return;
        }
        if scope.is_remote() && self.freezing.telling == Some(Telling::Freeze) {
            self.tell(now, Telling::Unfreeze(self.sequence.numbers.gss().next()));
        }
        if scope.is_local() {
            self.thaw(now, Thaw::Local);
        }
    }
    /// Command: packets take another path that may carry more, without a break (make before break). The sender probes for
    /// it, as after a freeze. Whether it does: only with CCIDs 3 and 4, and only where the other end
    /// [takes part](crate::config::FreezeConfig::offer).
    pub fn probe(&mut self, now: Instant) -> bool {
        !self.freezing.is_frozen() && self.congestion.on_probe(now)
    }

    /// Whether both ends have agreed on freezing.
    fn is_freezing_agreed(&self) -> bool {
        let negotiation = &self.features.negotiation;
        Location::BOTH.iter().all(|location| negotiation.is_on(FeatureNumber::Freezing, *location))
    }
    pub(super) fn freeze_snapshot(&self) -> FreezeSnapshot {
        let Freezing { local, by_peer, telling, .. } = self.freezing;
        let peer = telling == Some(Telling::Freeze);
        FreezeSnapshot { local, by_peer, peer, is_agreed: self.is_freezing_agreed() }
    }

    fn tell(&mut self, now: Instant, telling: Telling) {
        self.freezing.telling = Some(telling);
        self.freezing.repeats = REPEATS;
        self.freezing.again = Backoff::new(self.rtt.or_default() * ASK_AFTER);
        self.tell_again(now);
    }
    /// Another packet for the sake of what it says.
    pub(super) fn tell_again(&mut self, now: Instant) {
        let is_unfreeze = matches!(self.freezing.telling, Some(Telling::Unfreeze(_)));
        if !is_unfreeze && self.freezing.repeats == 0 || self.freezing.telling.is_none() {
            return;
        }
        self.outbound.ack = true;
        self.freezing.repeats = self.freezing.repeats.saturating_sub(1);
        let pause = match self.freezing.repeats {
            0 if is_unfreeze => self.freezing.again.take().max(MIN_ASK),
            0 => return,
            _ => self.rtt.or_default() / SPACING,
        };
        self.timers.set(Timer::TellFreeze, now + pause);
    }

    /// Data are held from now on.
    fn hold(&mut self, now: Instant, by_peer: bool) {
        self.congestion.on_freeze(now);
        self.tell_latest(Event::Frozen { by_peer });
    }
    /// Data may leave again, if they were held.
    fn thaw(&mut self, now: Instant, by: Thaw) {
        if !self.freezing.is_frozen() {
            return;
        }
        (self.freezing.local, self.freezing.by_peer, self.freezing.asks) = (false, false, false);
        for timer in [Timer::LocalFreeze, Timer::RemoteFreeze, Timer::AskFrozen] {
            self.timers.stop(timer);
        }
        self.end_quiet(now);
        self.congestion.on_unfreeze(now);
        self.tell_latest(Event::Unfrozen { by });
    }
    /// What had to be quiet goes on.
    fn end_quiet(&mut self, now: Instant) {
        if let (Some(idle), true) = (self.config.timers.idle, self.timers.is_running(Timer::Idle)) {
            self.sync.on_valid(now);
            self.timers.set(Timer::Idle, now + idle / IDLE_ASK_FRACTION);
        }
        self.resume_path_mtu(now);
    }
    /// Another congestion control takes over the data of this end.
    pub(super) fn hold_new_sender(&mut self, now: Instant) {
        if self.freezing.is_frozen() {
            self.congestion.on_freeze(now);
        }
    }

    /// A valid packet arrived, of which the features have been negotiated: what it says of freezing.
    pub(super) fn heed_freezing(&mut self, now: Instant, packet: &Packet) {
        let packet_type = packet.packet_type();
        if !packet.options.contains(&DccpOption::Freeze) {
            self.freezing.plain = packet.sequence;
        }
        if !speaks(packet_type) || !self.is_freezing_agreed() {
            return;
        }
        let word = packet.options.iter().rev().find_map(|option| match option {
            DccpOption::Freeze => Some(Word::Freeze),
            DccpOption::Unfreeze => Some(Word::Unfreeze),
            _ => None,
        });
        let answers = packet_type == PacketType::SyncAck
            && packet.ack().is_some()
            && packet.ack() == self.freezing.asked;
        let is_newer = self.freezing.heard.is_none_or(|heard| packet.sequence.is_after(heard));
        if word.is_none() && !self.freezing.by_peer || !is_newer && !answers {
            return;
        }
        if word == Some(Word::Freeze) && !answers && now < self.freezing.doubts_until {
            self.doubt_freeze(now);
            return;
        }
        self.freezing.heard = Some(packet.sequence);
        match word.unwrap_or(Word::Silence) {
            Word::Freeze => self.obey_freeze(now),
            Word::Unfreeze => {
                self.outbound.ack = true;
                self.end_freeze_by_peer(now, Thaw::Peer);
            }
            Word::Silence => {
                if self.freezing.by_peer {
                    self.freezing.doubts_until = now + DISTRUST;
                }
                self.end_freeze_by_peer(now, Thaw::PeerSpoke);
            }
        }
    }
    /// The last Freeze was none of the other end's: asks whether this one is.
    fn doubt_freeze(&mut self, now: Instant) {
        let patience = (self.rtt.or_default() * ASK_AFTER).max(MIN_ASK);
        if !self.freezing.is_frozen() && now - self.freezing.doubted >= patience {
            (self.freezing.doubted, self.freezing.asks) = (now, true);
            self.sync.ask(self.freezing.plain);
        }
    }
    fn obey_freeze(&mut self, now: Instant) {
        if self.freezing.by_peer {
            return;
        }
        let was_frozen = self.freezing.is_frozen();
        self.freezing.by_peer = true;
        let first = (self.rtt.or_default() * ASK_AFTER).max(MIN_ASK);
        self.freezing.asking = Backoff::new(first);
        self.timers.set(Timer::AskFrozen, now + self.freezing.asking.take());
        self.timers.set(Timer::RemoteFreeze, now + self.config.freeze.remote_limit);
        if !was_frozen {
            self.hold(now, true);
        }
    }
    /// The other end has nothing against data any more, or nothing to say about them.
    pub(super) fn end_freeze_by_peer(&mut self, now: Instant, by: Thaw) {
        if self.freezing.by_peer && !self.freezing.local {
            self.thaw(now, by);
        }
        self.freezing.by_peer = false;
        self.timers.stop(Timer::AskFrozen);
        self.timers.stop(Timer::RemoteFreeze);
    }
    /// The application has frozen this end for as long as it said at most.
    pub(super) fn end_local_freeze(&mut self, now: Instant) {
        if self.freezing.by_peer {
            self.freezing.local = false;
            self.end_quiet(now);
        } else {
            self.thaw(now, Thaw::Limit);
        }
    }
    /// Asks the end that wanted a freeze how it is.
    pub(super) fn ask_frozen(&mut self, now: Instant) {
        if !self.freezing.by_peer {
            return;
        }
        // This end's own freeze wants it quiet.
        if !self.freezing.local {
            self.freezing.asks = true;
            self.sync.ask(self.freezing.plain);
        }
        self.timers.set(Timer::AskFrozen, now + self.freezing.asking.take());
    }
    /// The other end has acknowledged `ack`: Unfreeze is no news any more.
    pub(super) fn on_freezing_acked(&mut self, ack: SeqNo) {
        if let Some(Telling::Unfreeze(first)) = self.freezing.telling
            && !ack.is_before(first)
        {
            self.freezing.telling = None;
            self.timers.stop(Timer::TellFreeze);
        }
    }
}
