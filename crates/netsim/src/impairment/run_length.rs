//! Alternating runs of good and of lost packets.
//!
//! Uncorrectable errors of a fading channel hit a few packets in a row. With runs of one, two or three
//! packets this stands in for the recorded CDMA error patterns of `lda`, Section 4, which its authors
//! did not publish.

use super::ImpairmentError;
use crate::random::RandomStream;

/// Mean length of a loss run.
fn mean_run(runs: &[f64]) -> f64 {
    (1u32..).zip(runs).map(|(length, probability)| f64::from(length) * probability).sum()
}

pub(super) fn check(
    loss_rate: f64,
    runs: &[f64],
    probability: impl Fn(&'static str, f64) -> Result<(), ImpairmentError>,
) -> Result<(), ImpairmentError> {
    probability("loss_rate", loss_rate)?;
    runs.iter().try_for_each(|&run| probability("a loss run's probability", run))?;
    let sum: f64 = runs.iter().sum();
    if (sum - 1.0).abs() > 1e-9 {
        return Err(ImpairmentError::RunsSum(sum));
    }
    let mean = mean_run(runs);
    let highest = mean / (mean + 1.0);
    if loss_rate > highest {
        return Err(ImpairmentError::TooMuchLoss { loss_rate, highest });
    }
    Ok(())
}

#[derive(Clone, Debug)]
pub(super) struct Runs {
    loss_runs: Vec<f64>,
    /// Probability that a good packet is the last of its run; 0 for a link without loss.
    good_run_ends: f64,
    good_left: u64,
    lost_left: u64,
}

impl Runs {
    pub(super) fn new(loss_rate: f64, loss_runs: Vec<f64>, random: &mut RandomStream) -> Self {
        let mean_good = mean_run(&loss_runs) * (1.0 - loss_rate) / loss_rate;
        // At the highest loss rate the mean is 1 but for rounding.
        let good_run_ends = (1.0 / mean_good).min(1.0);
        let mut runs = Self { loss_runs, good_run_ends, good_left: 0, lost_left: 0 };
        runs.good_left = runs.draw_good_run(random);
        runs
    }

    pub(super) fn loses(&mut self, random: &mut RandomStream) -> bool {
        if self.good_left > 0 {
            self.good_left -= 1;
            if self.good_left == 0 {
                self.lost_left = self.draw_loss_run(random);
            }
            return false;
        }
        self.lost_left -= 1;
        if self.lost_left == 0 {
            self.good_left = self.draw_good_run(random);
        }
        true
    }

    fn draw_good_run(&self, random: &mut RandomStream) -> u64 {
        if self.good_run_ends > 0.0 { random.geometric(self.good_run_ends) } else { u64::MAX }
    }

    fn draw_loss_run(&self, random: &mut RandomStream) -> u64 {
        let mut draw = random.uniform();
        let mut length = 1;
        for (run, &probability) in (1..).zip(&self.loss_runs) {
            if probability > 0.0 {
                length = run;
            }
            if draw < probability {
                break;
            }
            draw -= probability;
        }
        length
    }
}
