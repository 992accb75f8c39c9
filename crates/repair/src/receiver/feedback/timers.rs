//! Timers of the scheduler: what should have arrived, and has not.

use whimbrel_units::{Duration, Instant};

use super::Feedback;
use crate::fecframe::Esi;

/// Expected frames without any arrival, and time, after which nothing is expected any more.
const MOST_SILENT: u32 = 32;
const MOST_SILENCE: Duration = Duration::from_secs(2);

impl Feedback {
    /// Timers that have passed become reports. `misses` says whether symbols from the first to the last are
    /// unknown.
    pub(in crate::receiver) fn on_time(&mut self, now: Instant, misses: impl Fn(Esi, Esi) -> bool) {
        let is_over = |due: &mut Option<Instant>| due.take_if(|due| *due <= now).is_some();
        let tail = is_over(&mut self.tail_due);
        let answer = is_over(&mut self.answer_due);
        let rare = is_over(&mut self.rare_due) && self.rare_left > 0;
        self.rare_left -= u8::from(rare);
        let may_repeat = self.copies.take_due(now);
        let is_loss = self.silence.is_loss();
        if self.frame_due.is_some_and(|due| due <= now) {
            self.on_frame_overdue(now, is_loss);
        }
        let (mut again, mut is_new) = (false, false);
        let wait = self.round_trip + self.margin();
        let (latency, interval, end) = (self.latency, self.interval, self.arrivals_end);
        self.awaited.retain_mut(|awaited| {
            if awaited.due > now {
                return true;
            }
            // Symbols never sent have no deadline to pass.
            if awaited.asked + latency < now {
                return false;
            }
            let is_missing = misses(awaited.first, awaited.last);
            again |= is_missing;
            is_new |= is_missing && awaited.ask_again(now, end, wait, interval);
            is_missing
        });
        if tail {
            self.on_tail_overdue(now, is_loss);
        }
        let repeats = may_repeat && self.awaited.iter().any(|awaited| misses(awaited.first, awaited.last));
        if is_new {
            self.copies.begin(now);
        } else if repeats {
            self.copies.go_on(now);
        }
        if answer || rare || again || repeats {
            self.report_at(now);
        }
    }

    /// The next frame should have begun. Where that is no loss, nothing is asked for.
    fn on_frame_overdue(&mut self, now: Instant, is_loss: bool) {
        self.silence.on_frame(now);
        if is_loss {
            self.is_overdue = true;
            self.ask(self.arrivals_end, self.arrivals_end, now);
        }
        // The next one is expected an interval later.
        let (interval, silent) = (self.expected_interval(), self.silence.frames());
        let is_expected = silent < MOST_SILENT
            && self.interval * u64::from(silent) < MOST_SILENCE
            && !self.interval.is_zero();
        self.frame_due =
            is_expected.then(|| self.frame_due.unwrap_or(now).max(now.saturating_sub(interval)) + interval);
    }

    /// The rest of a frame, or its coded packets, should have arrived.
    fn on_tail_overdue(&mut self, now: Instant, is_loss: bool) {
        // Coded packets are awaited for what is lost already.
        let is_original = self.tail.1.since(self.arrivals_end) >= 0;
        if is_original {
            self.silence.on_tail();
        }
        if is_loss || !is_original {
            self.is_overdue = true;
            self.ask(self.tail.0, self.tail.1, now);
        }
    }
}
