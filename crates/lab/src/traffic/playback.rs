//! An application that plays a recorded schedule.

use whimbrel_scenario::Schedule;
use whimbrel_units::{Duration, Instant};

use super::Emission;

/// An application that plays a schedule.
#[derive(Debug)]
pub struct Playback {
    schedule: Schedule,
    start: Instant,
    playout: Option<Duration>,
    repeat: bool,
    emitted: u64,
}

impl Playback {
    /// Plays `schedule` from `start` on. A datagram is worth sending for `playout` after its time.
    pub fn new(schedule: Schedule, start: Instant, playout: Option<Duration>, repeat: bool) -> Self {
        Self { schedule, start, playout, repeat, emitted: 0 }
    }

    pub(super) fn next(&self) -> Option<Instant> {
        let is_first_round = self.emitted < self.schedule.entries().len() as u64;
        (is_first_round || self.repeat).then(|| self.start + self.schedule.nth(self.emitted).0)
    }

    pub(super) fn emit(&mut self) -> Emission {
        let (offset, entry) = self.schedule.nth(self.emitted);
        let arisen = self.start + offset;
        let deadline = self.playout.map(|playout| arisen + playout);
        let emission = Emission { size: entry.size, tag: self.emitted, deadline };
        self.emitted += 1;
        emission
    }
}
