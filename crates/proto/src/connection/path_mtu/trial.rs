//! Search for the packet size of a new path, within about a round-trip time.
//!
//! RFC 9000, Sections 9.4 and 14.3, and RFC 8899, Section 5.2, start from the base size on another path. Most
//! paths carry the old size as well. It is therefore probed first, followed immediately by the base size: on
//! a path without reordering, an answer to the second but not to the first shows that the old size is too
//! large. If no other state of the old path is kept, datagrams larger than the base size permits wait in the
//! queue until then, and none is lost for its size on either path. If the rate is kept, all leave at once.

use whimbrel_units::{Duration, Instant};
use whimbrel_wire::SeqNo;

/// Bounds on the interval between rounds of probes.
const MIN_PAUSE: Duration = Duration::from_millis(200);
const MAX_PAUSE: Duration = Duration::from_secs(15);
/// Interval between rounds, in round-trip times of the old path.
const PAUSE_IN_RTT: u64 = 2;
/// Time after the answer to a smaller probe during which a larger one sent before it may still be answered,
/// as a fraction of a round-trip time: packets may have been reordered.
const GRACE: u64 = 4;
/// Number of probes whose answers count: two rounds, as the new path's round-trip time may be the longer one.
const REMEMBERED: usize = 6;

/// The next step of the search.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Step {
    /// Send a probe of that size.
    Probe(usize),
    /// Wait until that time.
    Wait(Instant),
    /// Finished: the path carries packets of that size, and none of the next larger one.
    Carries(usize),
}

#[derive(Clone, Copy, Debug)]
struct Probe {
    sequence: SeqNo,
    size: usize,
    sent: Instant,
}

/// A search in progress.
#[derive(Clone, Debug)]
pub(super) struct Trial {
    /// From the largest to the least: the size in use on the old path, the base size, the least size.
    sizes: [usize; 3],
    /// Packets larger than the base size wait meanwhile.
    pub(super) holds: bool,
    probes: [Option<Probe>; REMEMBERED],
    /// The index of the next size to probe in this round.
    next: usize,
    /// The index of the last size of a round: the least size is probed once the others have not been
    /// answered.
    last: usize,
    pause: Duration,
    /// Start of the last round, and of the next one.
    began: Instant,
    again: Instant,
    /// The largest size answered, and the time at which it is accepted as the largest that arrives.
    answered: Option<(usize, Instant)>,
}

impl Trial {
    /// Starts the search on a path with an expected round-trip time of `rtt`.
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

    /// Returns the next step.
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

    /// A packet arrived by the path, so it works: a round without answers need not wait any longer. Returns
    /// `true` if another round begins.
    pub(super) fn on_sign(&mut self, now: Instant) -> bool {
        let is_over = self.next > self.last && self.answered.is_none() && now - self.began >= MIN_PAUSE;
        if is_over {
            self.begin(now);
        }
        is_over
    }

    /// The peer has only now learned where to send its answers.
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

    /// Processes a SyncAck. Returns `true` if it answers a probe.
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
