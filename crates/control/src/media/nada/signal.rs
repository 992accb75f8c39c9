//! The aggregate congestion signal (RFC 8698, Section 4.2).

use libm::exp;
use whimbrel_units::Duration;

use super::NadaConfig;
use super::observation::{Losses, Observation};

/// Smoothed loss and marking ratios.
#[derive(Clone, Copy, PartialEq, Default, Debug)]
pub(super) struct CongestionSignal {
    /// p_loss.
    pub(super) loss: f64,
    /// p_mark.
    pub(super) mark: f64,
}

impl CongestionSignal {
    /// Updates the ratios for a report (equation 10).
    pub(super) fn smooth(&mut self, config: &NadaConfig, observation: &Observation) {
        let (loss, mark) = observation.ratios();
        self.loss += config.alpha * (loss - self.loss);
        self.mark += config.alpha * (mark - self.mark);
    }

    /// x_curr in seconds (equation 2).
    pub(super) fn aggregate(&self, config: &NadaConfig, queueing: Duration, losses: Option<Losses>) -> f64 {
        let (mark, loss) = (self.mark / config.mark_ref, self.loss / config.loss_ref);
        let penalty = config.d_mark.as_secs_f64() * mark * mark + config.d_loss.as_secs_f64() * loss * loss;
        (delay(config, queueing.as_secs_f64(), losses) + penalty).min(config.x_max.as_secs_f64())
    }
}

/// The queueing delay in seconds: warped until the last loss expires, and then interpolated for one loss
/// interval.
fn delay(config: &NadaConfig, queueing: f64, losses: Option<Losses>) -> f64 {
    let Some(Losses { average_interval, since_last }) = losses else { return queueing };
    let expired = (since_last / average_interval - config.multi_loss).clamp(0.0, 1.0);
    expired * queueing + (1.0 - expired) * warped(config, queueing)
}

/// d_tilde in seconds (equation 1).
pub(super) fn warped(config: &NadaConfig, queueing: f64) -> f64 {
    let threshold = config.q_th.as_secs_f64();
    if queueing < threshold {
        return queueing;
    }
    threshold * exp(-config.lambda * (queueing - threshold) / threshold)
}
