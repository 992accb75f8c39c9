//! Arrivals that did not happen when they were expected: lost, or only late.

use whimbrel_units::Instant;

/// Weight of the newest outcome in the mean.
const WEIGHT: f64 = 0.25;
/// Share of lost packets among those overdue from which time alone shows a loss.
const TRUSTED: f64 = 0.5;

/// The time since the newest arrival, in expected arrivals, and how earlier such times ended.
///
/// If the rate of a path falls, packets are late and none is lost.
/// Repeats lengthen the queue that delays them.
/// On recorded 5G rates they add 8 % to the data.
/// `whimbrel reproduce repair recorded` shows it with `TRUSTED` at 0.
#[derive(Debug)]
pub(super) struct Silence {
    /// Frames that were expected in vain.
    frames: u32,
    /// When the first of them was due.
    from: Instant,
    /// A packet is overdue.
    is_overdue: bool,
    /// Mean of the outcomes: 1 if the packet was lost, 0 if it was late.
    lost: f64,
}

impl Default for Silence {
    /// An overdue packet counts as lost until arrivals show otherwise.
    fn default() -> Self {
        Self { frames: 0, from: Instant::ZERO, is_overdue: false, lost: 1.0 }
    }
}

impl Silence {
    /// Frames that were expected in vain so far.
    pub(super) fn frames(&self) -> u32 {
        self.frames
    }

    /// When the first of these frames was due.
    pub(super) fn from(&self) -> Instant {
        self.from
    }

    /// `true` if a packet that is overdue counts as lost.
    pub(super) fn is_loss(&self) -> bool {
        self.lost >= TRUSTED
    }

    /// The rest of a frame is overdue.
    pub(super) fn on_tail(&mut self) {
        self.is_overdue = true;
    }

    /// A frame is overdue.
    pub(super) fn on_frame(&mut self, now: Instant) {
        self.is_overdue = true;
        if self.frames == 0 {
            self.from = now;
        }
        self.frames += 1;
    }

    /// An original arrived: the next one in order (`is_next`), so that nothing was lost, or a later one. Ends
    /// the silence, and returns the frames that were expected in it.
    pub(super) fn end(&mut self, is_next: bool) -> u32 {
        if core::mem::take(&mut self.is_overdue) {
            let outcome = if is_next { 0.0 } else { 1.0 };
            self.lost += (outcome - self.lost) * WEIGHT;
        }
        core::mem::take(&mut self.frames)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_that_were_late_are_no_losses() {
        let mut silence = Silence::default();
        let mut after = |is_next| {
            silence.on_tail();
            silence.end(is_next);
            silence.is_loss()
        };
        assert_eq!([after(true), after(true), after(true)], [true, true, false], "three were late");
        assert!(!after(true));
        assert_eq!([after(false), after(false)], [false, true], "two were lost");
    }

    #[test]
    fn arrivals_in_time_say_nothing() {
        let mut silence = Silence::default();
        for _ in 0..100 {
            assert_eq!(silence.end(true), 0);
        }
        assert!(silence.is_loss());
        silence.on_frame(Instant::from_nanos(5));
        silence.on_frame(Instant::from_nanos(9));
        assert_eq!((silence.frames(), silence.from()), (2, Instant::from_nanos(5)));
        assert_eq!(silence.end(false), 2);
    }
}
