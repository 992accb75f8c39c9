//! A flow for tests that fills buffers: additive increase, and half the window after a loss.

use whimbrel_units::{ByteCount, DataRate, Duration, Instant};

use super::stall::Stall;
use super::{Allowance, Feedback, MediaController, SentPacket};

/// NewReno's window without slow start after a loss, for data that is always available.
#[derive(Clone, Debug)]
pub(super) struct BufferFiller {
    window: f64,
    slow_start: bool,
    size: f64,
    /// Losses of packets sent before this time have been answered.
    answered: Instant,
    stall: Stall,
}

const TIMEOUT: Duration = Duration::from_millis(500);

impl BufferFiller {
    pub(super) fn new() -> Self {
        Self {
            window: 10.0,
            slow_start: true,
            size: 1200.0,
            answered: Instant::ZERO,
            stall: Stall::default(),
        }
    }
}

impl MediaController for BufferFiller {
    fn name(&self) -> &'static str {
        "buffer filler"
    }

    fn on_sent(&mut self, packet: &SentPacket) {
        self.size = packet.size.as_f64();
        self.stall.on_sent(packet);
    }

    fn on_feedback(&mut self, feedback: &Feedback<'_>) {
        self.stall.on_feedback(feedback);
        for packet in feedback.packets {
            if packet.arrival().is_some() {
                self.window += if self.slow_start { 1.0 } else { 1.0 / self.window };
            } else if packet.sent.sent_at >= self.answered {
                self.answered = feedback.now;
                (self.window, self.slow_start) = ((self.window / 2.0).max(2.0), false);
            }
        }
    }

    fn next_timer(&self) -> Option<Instant> {
        self.stall.deadline(TIMEOUT)
    }

    fn on_timer(&mut self, now: Instant) {
        if self.stall.on_timer(now, TIMEOUT) {
            self.window = 2.0;
        }
    }

    fn allowance(&self) -> Allowance {
        let rate = DataRate::from_megabits_per_second(100.0);
        Allowance {
            target: rate,
            pacing: rate,
            window: Some(ByteCount::new((self.window * self.size + self.stall.written_off()) as u64)),
        }
    }

    fn on_path_change(&mut self, _: Instant) {}
}
