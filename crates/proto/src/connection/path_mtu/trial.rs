//! Which packet size another path carries, found out within about a round-trip time.
//!
//! RFC 9000, Sections 9.4 and 14.3, and RFC 8899, Section 5.2, begin at the base size on another path. Most paths carry the old
//! size as well. So it is probed first, and the base size right behind it: on a path that keeps the order, the answer to the
//! second without one to the first says that the old size is too large. Where nothing else is kept of the old path, larger
//! datagrams than the base size allows wait in the queue until then, and nothing is lost for its size on either path. Where the
//! rate is kept, all leave at once.

use whimbrel_units::{Duration, Instant};
use whimbrel_wire::SeqNo;

/// The least time from one round of probes to the next, and the most.
const MIN_PAUSE: Duration = Duration::from_millis(200);
const MAX_PAUSE: Duration = Duration::from_secs(15);
/// From one round to the next, in round-trip times of the old path.
const PAUSE_IN_RTT: u64 = 2;
/// After the answer to a smaller probe, a larger one sent before it is awaited for this part of a round-trip time: packets may have
/// been reordered.
const GRACE: u64 = 4;
/// Probes of which the answers count: those of two rounds, as the other path's round-trip time may be the longer one.
const REMEMBERED: usize = 6;

/// What the trial asks for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Step {
    /// A probe of so many bytes.
    Probe(usize),
    /// Nothing, until then.
    Wait(Instant),
    /// The end: the path carries packets of so many bytes, and not those of the size above.
    Carries(usize),
}

#[derive(Clone, Copy, Debug)]
struct Probe {
    sequence: SeqNo,
    size: usize,
    sent: Instant,
}

/// A trial under way.
#[derive(Clone, Debug)]
pub(super) struct Trial {
    /// From the largest to the least: the size in use on the old path, the base size, the least size.
    sizes: [usize; 3],
    /// Larger packets than the base size wait meanwhile.
    pub(super) holds: bool,
    probes: [Option<Probe>; REMEMBERED],
    /// The index of the next size to probe in this round.
    next: usize,
    /// The index of the last size of a round: the least size is probed once the others remained without an answer.
    last: usize,
    pause: Duration,
    /// When the last round began, and when the next one begins.
    began: Instant,
    again: Instant,
    /// The largest size answered, and when it is taken for the largest that arrives.
    answered: Option<(usize, Instant)>,
}

impl Trial {
    /// Of a path whose round-trip time may be `rtt`.
    pub(super) fn new(now: Instant, sizes: [usize; 3], rtt: Duration, holds: bool) -> Self {
        let pause = (rtt * PAUSE_IN_RTT).max(MIN_PAUSE);
        Self {
            sizes,
            holds,
            probes: [None; REMEMBERED],
            next: 0,
            last: 1,
            pause,
            began: now,
            again: now + pause,
            answered: None,
        }
    }
    /// The size that the path carried before.
    pub(super) fn old(&self) -> usize {
        self.sizes[0]
    }
    /// What to do now.
    pub(super) fn step(&mut self, now: Instant) -> Step {
        if let Some((size, decided)) = self.answered {
            return if decided <= now { Step::Carries(size) } else { Step::Wait(decided) };
        }
        if self.next > self.last {
            if now < self.again {
                return Step::Wait(self.again);
            }
            self.last = self.sizes.len() - 1;
            self.pause = (self.pause * 2).min(MAX_PAUSE);
            self.begin(now);
        }
        Step::Probe(self.sizes[self.next])
    }
    fn begin(&mut self, now: Instant) {
        (self.next, self.began, self.again) = (0, now, now + self.pause);
    }
    /// The path works, as something arrived from it: a round that remained without an answer need not wait any longer. Whether
    /// another one begins.
    pub(super) fn on_sign(&mut self, now: Instant) -> bool {
        let is_over = self.next > self.last && self.answered.is_none() && now - self.began >= MIN_PAUSE;
        if is_over {
            self.begin(now);
        }
        is_over
    }
    /// The other end has only now learnt where to send its answers.
    pub(super) fn begin_anew(&mut self, now: Instant) {
        if self.answered.is_none() {
            self.begin(now);
        }
    }
    pub(super) fn on_sent(&mut self, now: Instant, sequence: SeqNo, size: usize) {
        self.probes.rotate_right(1);
        self.probes[0] = Some(Probe { sequence, size, sent: now });
        self.next += 1;
    }
    /// A SyncAck arrived. Whether it answers a probe.
    pub(super) fn on_sync_ack(&mut self, now: Instant, ack: SeqNo) -> bool {
        let Some(probe) = self.probes.iter().flatten().find(|probe| probe.sequence == ack).copied() else {
            return false;
        };
        let grace = if probe.size == self.old() { Duration::ZERO } else { (now - probe.sent) / GRACE };
        if self.answered.is_none_or(|(size, _)| size < probe.size) {
            self.answered = Some((probe.size, now + grace));
        }
        true
    }
}
