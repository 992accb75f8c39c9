//! Path MTU discovery by probing (RFC 8899).
//!
//! Probes are Syncs with padding, which carry no application data and which the peer answers at once (RFC
//! 4340, Section 14.1). ICMP messages only accelerate the search. Sizes count from the DCCP header to the end
//! of the data, so that carriers differ only in what they take off the path's MTU.
//!
//! ```text
//! Base ----confirmed----> Searching ----nothing left to try----> Complete
//!  ^  \                       ^                                  |    |
//!  |   3 probes lost          '-----------raise timer------------'    |
//!  |    `-> Error: sizes below the base size are searched             |
//!  '------------------3 probes of the size in use lost----------------'
//! ```
//!
//! A path that is interrupted looks like one that drops large packets. Before the size in use is reduced, the
//! base size must have arrived while the size in use did not, or the least size while the base size did not:
//! an outage changes nothing.
//!
//! A new path starts with a [`trial`] of the size that the old one carried.

use whimbrel_units::{Duration, Instant};
use whimbrel_wire::SeqNo;

mod advice;
mod below_base;
mod trial;

use below_base::BelowBaseSearch;
use trial::{Step, Trial};

#[cfg(test)]
mod tests;

/// The size expected to work on almost every path, BASE_PLPMTU (RFC 8899, Section 5.1.2).
pub(crate) const BASE: usize = 1200;
/// MIN_PLPMTU: the size that every IPv4 host accepts, 576 bytes, less the headers of IPv4 and UDP.
pub(crate) const MIN: usize = 576 - 20 - 8;
/// MAX_PROBES (RFC 8899, Section 5.1.2).
const MAX_PROBES: u8 = 3;
/// The least PROBE_TIMER (RFC 8899, Section 5.1.1). The 15 s recommended there are for transports that detect
/// the arrival of a probe late; a Sync is answered within a round-trip time.
const MIN_PROBE_TIME: Duration = Duration::from_secs(1);
/// Time limit of a probe's answer in round-trip times, if that is more.
const PROBE_TIME_IN_RTT: u64 = 4;
/// PMTU_RAISE_TIMER (RFC 8899, Section 5.1.1).
const RAISE_TIME: Duration = Duration::from_secs(600);
/// Time for which the size in use is assumed to work while large packets are sent, CONFIRMATION_TIMER. It is
/// needed because not all of DCCP's acknowledgements report which packets arrived.
const CONFIRMATION_TIME: Duration = Duration::from_secs(5);
/// Interval between probes on a path that carries hardly any packets.
const ERROR_TIME: Duration = Duration::from_secs(15);
/// Interval between searches for the largest size at the application's request (RFC 4340, Section 14.1).
const RESTART_TIME: Duration = Duration::from_secs(2);
/// A search ends when at most that many bytes could be gained.
const RESOLUTION: usize = 16;

/// Phase of path MTU discovery (RFC 8899, Section 5.2).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PathMtuPhase {
    /// The base size, 1200 bytes, is being probed.
    Base,
    /// Larger sizes are being probed.
    Searching,
    /// The largest size that arrives is in use.
    Complete,
    /// The base size does not arrive: smaller sizes are probed, and the largest that arrives is in use.
    Error,
}

/// A probe in flight.
#[derive(Clone, Copy, Debug)]
struct Probe {
    sequence: SeqNo,
    size: usize,
}

/// State of path MTU discovery in the direction of this end's packets.
#[derive(Clone, Debug)]
pub(crate) struct PathMtu {
    phase: PathMtuPhase,
    /// PLPMTU: the size in use.
    size: usize,
    /// The largest size that may work: a larger one failed, or is not needed.
    ceiling: usize,
    /// The ceiling is likely to work: it is the largest size needed, or was reported by a router.
    is_hopeful: bool,
    /// The largest size needed.
    max: usize,
    probe: Option<Probe>,
    /// Number of consecutive lost probes of the same size: PROBE_COUNT.
    lost: u8,
    /// Time of the phase's next step.
    wake_at: Instant,
    /// Time of the last confirmation of the size in use.
    confirmed_at: Instant,
    /// `true` if any probe was ever answered: the path is known to carry the base size.
    was_confirmed: bool,
    /// Time since which three probes of the size in use are lost, while the base size is being probed.
    suspected_at: Option<Instant>,
    /// No packets arrive, and the least size is being probed.
    asks_least: bool,
    /// In the Error phase: the search for sizes below the base size.
    below_base: BelowBaseSearch,
    /// In the Error phase: time from which the base size may be probed again.
    base_at: Instant,
    /// A size below the base size that the network reported, until the probe of the base size is decided.
    named: Option<usize>,
    raise_at: Instant,
    /// While searching: the size in use is to be confirmed before the next candidate is probed.
    is_doubted: bool,
    /// While the size in use is being confirmed during a search: number of lost probes of the candidate
    /// before. The search continues afterwards.
    interrupted: Option<u8>,
    /// The greatest acknowledgement when the last packet larger than the least size was sent, and the time of
    /// its last change.
    progress: (SeqNo, Instant),
    restarted_at: Option<Instant>,
    /// Set after a change of path, while the size in use is being verified.
    trial: Option<Box<Trial>>,
}

impl PathMtu {
    /// Starts the discovery on an open connection. `cautious`: from the base size, as in RFC 8899; otherwise
    /// from the largest (RFC 4340, Section 14.1), which is then confirmed first.
    pub(crate) fn new(now: Instant, max: usize, cautious: bool) -> Self {
        let start = if cautious { BASE.min(max) } else { max };
        Self {
            phase: if cautious { PathMtuPhase::Base } else { PathMtuPhase::Complete },
            size: start,
            ceiling: max,
            is_hopeful: true,
            max,
            probe: None,
            lost: 0,
            wake_at: now,
            confirmed_at: now,
            was_confirmed: false,
            suspected_at: None,
            asks_least: false,
            below_base: BelowBaseSearch::new(0, false, false),
            base_at: now,
            named: None,
            raise_at: Instant::FAR_FUTURE,
            is_doubted: false,
            interrupted: None,
            progress: (SeqNo::ZERO, now),
            restarted_at: None,
            trial: None,
        }
    }
    /// A discovery that searches from the size of a hint, at least the base size, up to `max`.
    pub(crate) fn from_hint(now: Instant, hint: usize, max: usize) -> Self {
        let mut path_mtu = Self::new(now, hint, false);
        (path_mtu.max, path_mtu.ceiling) = (max, max);
        path_mtu.search(now);
        path_mtu
    }
    /// The size that almost every path carries.
    pub(crate) const BASE: usize = BASE;
    /// Packets take a new path, or one used before: probes in flight are lost, and the size found before is
    /// verified first. `rtt`: the expected round-trip time; `holds`: larger packets than the base size wait.
    pub(crate) fn on_path_changed(&mut self, now: Instant, rtt: Duration, holds: bool) {
        (self.probe, self.lost, self.suspected_at, self.asks_least) = (None, 0, None, false);
        (self.is_doubted, self.interrupted, self.named) = (false, None, None);
        (self.wake_at, self.confirmed_at, self.progress.1) = (now, now, now);
        (self.ceiling, self.is_hopeful, self.raise_at) = (self.max, true, Instant::FAR_FUTURE);
        if self.phase == PathMtuPhase::Error {
            // The other path may carry the base size, or not even the size in use.
            self.base_at = now;
            self.below_base.confirm();
        } else {
            let old = self.trial.take().map_or(self.size, |trial| trial.old()).max(self.base());
            self.phase = PathMtuPhase::Base;
            self.trial = Some(Box::new(Trial::new(now, [old, self.base(), self.least()], rtt, holds)));
        }
    }
    /// The largest packet with data that may leave now, if less than [`size`](Self::size): larger ones wait
    /// until the path is known to carry them.
    pub(crate) fn held_above(&self) -> Option<usize> {
        self.trial.as_ref().filter(|trial| trial.holds).map(|_| self.base())
    }
    /// A valid packet arrived by the path. Returns `true` if a step is due.
    pub(crate) fn on_sign(&mut self, now: Instant) -> bool {
        let is_due = self.trial.as_mut().is_some_and(|trial| trial.on_sign(now));
        if is_due {
            self.wake_at = now;
        }
        is_due
    }
    /// The peer now uses the new path: probes that it answered before may have been lost.
    pub(crate) fn on_path_known(&mut self, now: Instant, rtt: Duration) {
        match &mut self.trial {
            Some(trial) => trial.begin_anew(now),
            None => self.on_path_changed(now, rtt, false),
        }
        self.wake_at = now;
    }
    pub(crate) fn phase(&self) -> PathMtuPhase {
        self.phase
    }
    /// The largest packet to send.
    pub(crate) fn size(&self) -> usize {
        self.size
    }
    /// Time of the next call to [`PathMtu::handle_timeout`].
    pub(crate) fn wake_at(&self) -> Instant {
        self.wake_at
    }
    fn base(&self) -> usize {
        BASE.min(self.max)
    }
    fn least(&self) -> usize {
        MIN.min(self.max)
    }

    /// Runs the timer. Returns the size of the probe to send now, if any, and whether it is exempt from
    /// congestion control because it determines whether packets of the size in use arrive at all.
    pub(crate) fn handle_timeout(&mut self, now: Instant) -> Option<(usize, bool)> {
        match self.trial.as_mut().map(|trial| trial.step(now)) {
            Some(Step::Probe(size)) => return Some((size, true)),
            Some(Step::Wait(until)) => {
                self.wake_at = until;
                return None;
            }
            Some(Step::Carries(size)) => self.end_trial(now, size),
            None => {}
        }
        if let Some(probe) = self.probe.take() {
            self.on_probe_lost(now, probe.size);
        }
        if self.phase == PathMtuPhase::Complete && self.raise_at <= now && self.interrupted.is_none() {
            self.raise_at = Instant::FAR_FUTURE;
            if self.size < self.max {
                (self.phase, self.ceiling, self.lost) = (PathMtuPhase::Searching, self.max, 0);
                self.is_hopeful = true;
            }
        }
        let is_doubted = core::mem::take(&mut self.is_doubted);
        if is_doubted && self.phase == PathMtuPhase::Searching {
            // The path MTU may drop below the size in use even during a search (RFC 8899, Section 4.3).
            (self.phase, self.interrupted) = (PathMtuPhase::Complete, Some(self.lost));
            (self.lost, self.wake_at) = (0, now);
        } else if is_doubted && self.phase == PathMtuPhase::Complete {
            self.wake_at = now;
        }
        match self.phase {
            PathMtuPhase::Base if self.asks_least => Some((self.least(), true)),
            PathMtuPhase::Base => Some((self.base(), true)),
            PathMtuPhase::Error => self.narrow_probe(now),
            PathMtuPhase::Searching => Some((self.candidate(), false)),
            // The remaining reason for a wake-up is the confirmation of the size in use.
            PathMtuPhase::Complete if self.wake_at <= now => Some((self.size, true)),
            PathMtuPhase::Complete => None,
        }
    }
    /// The new path carries packets of `size` bytes.
    fn end_trial(&mut self, now: Instant, size: usize) {
        let Some(trial) = self.trial.take() else { return };
        (self.lost, self.wake_at, self.confirmed_at, self.was_confirmed) = (0, now, now, true);
        if size < self.base() {
            self.base_at = now + ERROR_TIME;
            self.enter_error(now, size, self.base() - 1, true);
            // The base size was probed already.
            self.below_base.on_base_lost();
            return;
        }
        if size < trial.old() {
            // One probe of the old size was lost. It stays the first candidate, as the loss may be random.
            (self.ceiling, self.is_hopeful) = (trial.old(), true);
        }
        self.size = size;
        self.search(now);
    }
    /// In the Error phase: a probe below the base size, or without a candidate one of that size at intervals.
    fn narrow_probe(&mut self, now: Instant) -> Option<(usize, bool)> {
        if self.raise_at <= now {
            self.raise_at = Instant::FAR_FUTURE;
            self.below_base.widen(self.base() - 1);
        }
        let has_range = self.least() < self.base();
        let candidate = self.below_base.candidate(self.size, self.least()).filter(|_| has_range);
        if candidate.is_none() {
            if self.raise_at == Instant::FAR_FUTURE {
                self.raise_at = now + RAISE_TIME;
            }
            if now < self.base_at {
                self.wake_at = self.base_at;
                return None;
            }
        }
        candidate.or(Some((self.base(), true)))
    }
    /// A probe of `size` bytes was not answered.
    fn on_probe_lost(&mut self, now: Instant, size: usize) {
        match self.phase {
            PathMtuPhase::Error if size >= self.base() => self.below_base.on_base_lost(),
            PathMtuPhase::Error => {
                if self.below_base.on_lost(size) {
                    self.enter_error(now, self.least(), size - 1, false);
                }
            }
            _ => {
                self.lost += 1;
                if self.lost >= MAX_PROBES {
                    self.on_unsupported(now, size);
                }
            }
        }
    }
    /// The base size does not arrive: `size` is in use while larger ones, up to `ceiling`, are probed.
    /// `is_answered`: it is known to arrive.
    fn enter_error(&mut self, now: Instant, size: usize, ceiling: usize, is_answered: bool) {
        let named = self.named.take().filter(|named| *named <= ceiling);
        (self.phase, self.size) = (PathMtuPhase::Error, size);
        self.below_base = BelowBaseSearch::new(named.unwrap_or(ceiling), named.is_some(), is_answered);
        (self.lost, self.asks_least, self.raise_at) = (0, false, Instant::FAR_FUTURE);
        self.wake_at = now;
    }
    /// The next size to probe: first the largest, as most paths carry it, then halfway.
    fn candidate(&self) -> usize {
        let gain = self.ceiling.saturating_sub(self.size);
        self.size + if self.is_hopeful { gain } else { gain.div_ceil(2) }
    }
    /// The probe cannot be sent yet.
    pub(crate) fn postpone(&mut self, until: Instant) {
        self.wake_at = until;
    }
    /// The probe was sent.
    pub(crate) fn on_probe_sent(&mut self, now: Instant, sequence: SeqNo, size: usize, rtt: Duration) {
        if let Some(trial) = &mut self.trial {
            trial.on_sent(now, sequence, size);
            self.wake_at = now;
            return;
        }
        self.probe = Some(Probe { sequence, size });
        let patience = (rtt * PROBE_TIME_IN_RTT).max(MIN_PROBE_TIME);
        self.wake_at = now + patience;
        // Limits the rate of probes of the base size on a path that does not carry it. Probes of other sizes
        // do not count: those that confirm the size in use are sent every few seconds, and would postpone the
        // base size indefinitely.
        if size >= self.base() {
            self.base_at = now + patience.max(ERROR_TIME);
        }
    }
    /// Processes a SyncAck. Returns `true` if it confirms a probe.
    pub(crate) fn on_sync_ack(&mut self, now: Instant, ack: SeqNo) -> bool {
        if let Some(trial) = &mut self.trial {
            let is_answer = trial.on_sync_ack(now, ack);
            if is_answer {
                self.wake_at = now;
            }
            return is_answer;
        }
        let Some(probe) = self.probe.take_if(|probe| probe.sequence == ack) else { return false };
        self.lost = 0;
        self.confirmed_at = now;
        self.wake_at = now;
        (self.suspected_at, self.was_confirmed) = (None, true);
        let was_least = core::mem::take(&mut self.asks_least);
        match self.phase {
            // If an outage has just ended, the base size will arrive as well.
            PathMtuPhase::Base if was_least => {
                self.base_at = now;
                self.enter_error(now, probe.size, self.base() - 1, true);
            }
            PathMtuPhase::Error if probe.size < self.base() => {
                self.size = self.size.max(probe.size);
                self.below_base.on_answered();
            }
            PathMtuPhase::Base | PathMtuPhase::Error => {
                if self.phase == PathMtuPhase::Error {
                    // After a change of path: sizes that were too large before may work.
                    (self.ceiling, self.is_hopeful) = (self.max, true);
                }
                (self.size, self.named) = (probe.size, None);
                self.raise_at = Instant::FAR_FUTURE;
                self.search(now);
            }
            PathMtuPhase::Searching => {
                self.size = self.size.max(probe.size);
                self.search(now);
            }
            PathMtuPhase::Complete => match self.interrupted.take() {
                Some(lost) => {
                    self.search(now);
                    self.lost = lost;
                }
                None => self.complete(now),
            },
        }
        true
    }
    /// Three consecutive probes of that size were lost, or the network reported that it is too large.
    fn on_unsupported(&mut self, now: Instant, size: usize) {
        self.lost = 0;
        self.wake_at = now;
        match self.phase {
            // No packets of any size arrive. The size in use is probed again.
            PathMtuPhase::Base if self.asks_least => {
                (self.phase, self.asks_least) = (PathMtuPhase::Complete, false);
            }
            // To large packets, a small MTU is as silent as an outage: one small probe distinguishes them.
            PathMtuPhase::Base if self.is_silent() => {
                (self.asks_least, self.lost) = (true, MAX_PROBES - 1);
                // The size in use is no less likely to work than the least.
                (self.ceiling, self.is_hopeful) = (self.ceiling.max(self.size), true);
            }
            PathMtuPhase::Base => {
                self.base_at = now + ERROR_TIME;
                self.enter_error(now, self.least(), self.base() - 1, false);
            }
            PathMtuPhase::Error => {}
            PathMtuPhase::Searching => {
                (self.ceiling, self.is_hopeful) = (size - 1, false);
                self.search(now);
            }
            // A black hole, or an outage (RFC 8899, Section 4.3): a probe of the base size decides.
            PathMtuPhase::Complete => {
                let lasts = self.suspected_at.is_some();
                (self.phase, self.interrupted) = (PathMtuPhase::Base, None);
                self.ceiling = if lasts { size } else { size - 1 }.max(self.base());
                self.is_hopeful = lasts;
                self.raise_at = Instant::FAR_FUTURE;
                // In a lasting outage, one probe of the base size between probes of the size in use.
                self.lost = if lasts { MAX_PROBES - 1 } else { 0 };
                self.suspected_at.get_or_insert(now);
            }
        }
    }
    /// `true` if a path of the base size has acknowledged nothing since the size in use was suspected.
    fn is_silent(&self) -> bool {
        self.was_confirmed && self.suspected_at.is_some_and(|since| self.progress.1 <= since)
    }
    /// Records the greatest acknowledgement received.
    pub(crate) fn on_progress(&mut self, now: Instant, gar: SeqNo) {
        if self.progress.0 != gar {
            self.progress = (gar, now);
        }
    }
    fn fall_back(&mut self) {
        (self.phase, self.size, self.asks_least) = (PathMtuPhase::Base, self.base(), false);
        (self.is_doubted, self.interrupted, self.trial) = (false, None, None);
        self.ceiling = self.ceiling.max(self.size);
        self.raise_at = Instant::FAR_FUTURE;
    }
    /// Continues the search, or ends it.
    fn search(&mut self, now: Instant) {
        let gain = self.ceiling.saturating_sub(self.size);
        let is_done = gain == 0 || (gain <= RESOLUTION && !self.is_hopeful);
        self.phase = PathMtuPhase::Searching;
        self.wake_at = now;
        if is_done {
            self.complete(now);
        }
    }
    fn complete(&mut self, now: Instant) {
        self.phase = PathMtuPhase::Complete;
        if self.size < self.max && self.raise_at == Instant::FAR_FUTURE {
            self.raise_at = now + RAISE_TIME;
        }
        self.wake_at = self.raise_at;
    }

    /// A packet larger than the least size is being sent. Returns `true` if its size should be confirmed,
    /// because it was not for a while, or because no acknowledgement has arrived lately. `gar`: the greatest
    /// acknowledgement received.
    pub(crate) fn on_large_sent(&mut self, now: Instant, gar: SeqNo, rtt: Duration) -> bool {
        self.on_progress(now, gar);
        let is_stalled = now - self.progress.1 >= (rtt * PROBE_TIME_IN_RTT).max(MIN_PROBE_TIME);
        let is_stale = now - self.confirmed_at >= CONFIRMATION_TIME;
        (is_stale || is_stalled) && self.doubt(now, rtt)
    }
    /// Large packets may not arrive. Returns `true` if their size is to be confirmed.
    pub(crate) fn doubt(&mut self, now: Instant, rtt: Duration) -> bool {
        let is_fresh = now - self.confirmed_at < (rtt * PROBE_TIME_IN_RTT).max(MIN_PROBE_TIME);
        if is_fresh || self.size <= self.least() {
            return false;
        }
        if self.phase == PathMtuPhase::Error {
            let is_news = self.below_base.confirm();
            if is_news {
                // A probe of the base size in flight would have been answered by now; another one is sent.
                (self.probe, self.wake_at) = (None, now);
            }
            return is_news;
        }
        if self.phase == PathMtuPhase::Searching {
            self.is_doubted = true;
        }
        let is_due = self.phase == PathMtuPhase::Complete && self.probe.is_none() && self.wake_at > now;
        if is_due {
            self.wake_at = now;
        }
        is_due
    }
}
