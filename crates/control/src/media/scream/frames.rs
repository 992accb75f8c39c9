//! The frames that wait at the sender: while they do, the rate for the encoder is lower (`rateAdjustFactor`).

use alloc::collections::VecDeque;

use whimbrel_units::{Duration, Instant};

use super::super::SentPacket;
use super::since;

/// Gains of the delay and of the factor (`kRateAdjustGain1`, `kRateAdjustGain2`), and the greatest factor.
const DELAY_GAIN: f64 = 0.2;
const FACTOR_GAIN: f64 = 1.0 / 8.0;
const FACTOR_MAX: f64 = 0.5;
/// Weight of the average so far in the frame period, of which a new one has the rest, and the period before
/// the first.
const PERIOD_WEIGHT: f64 = 0.1;
const FIRST_PERIOD: f64 = 0.02;
/// Frames that are remembered: more than wait before the encoder skips them.
const FRAMES: usize = 16;

/// A frame, of which packets have been sent.
#[derive(Clone, Copy, PartialEq, Debug)]
struct Frame {
    captured_at: Instant,
    last_sent_at: Instant,
}

/// The frames sent, and the compensation for those that wait.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Frames {
    sent: VecDeque<Frame>,
    /// Average time between frames, in seconds.
    period: f64,
    factor: f64,
}

impl Frames {
    pub(super) const fn new() -> Self {
        Self { sent: VecDeque::new(), period: FIRST_PERIOD, factor: 0.0 }
    }

    /// Records a packet that is sent. The first one of a frame adapts the factor, by the time for which the
    /// oldest frame in the queue had waited when this one was captured.
    pub(super) fn on_sent(&mut self, packet: &SentPacket) {
        let SentPacket { sent_at, captured_at, .. } = *packet;
        if let Some(last) = self.sent.back_mut() {
            if captured_at <= last.captured_at {
                last.last_sent_at = sent_at;
                return;
            }
            let interval = since(captured_at, last.captured_at);
            self.period = (1.0 - PERIOD_WEIGHT) * interval + PERIOD_WEIGHT * self.period;
            let oldest = self.sent.iter().find(|frame| frame.last_sent_at > captured_at);
            let waited = oldest.map_or(Duration::ZERO, |frame| captured_at - frame.captured_at).as_secs_f64();
            let excess = (waited - self.period / 2.0) / self.period.max(1e-6);
            self.factor = (self.factor + FACTOR_GAIN * DELAY_GAIN * excess).clamp(0.0, FACTOR_MAX);
        }
        if self.sent.len() >= FRAMES {
            self.sent.pop_front();
        }
        self.sent.push_back(Frame { captured_at, last_sent_at: sent_at });
    }

    /// Divisor of the media rate.
    pub(super) fn divisor(&self) -> f64 {
        1.0 + self.factor
    }
}
