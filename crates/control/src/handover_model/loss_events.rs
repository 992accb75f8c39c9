//! The loss event rate after the handover: its changes, and the start of its decrease.

use crate::freeze::delta_p_min;
use crate::tfrc::LossEventRate;
use crate::tfrc::loss_intervals::{HISTORY, INTERVALS, WEIGHTS};

/// Interpretation of a change of the loss event rate outside slow start: the three cases of equation (8).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Change {
    /// No change: the first loss has occurred, or the interval since then is still too short to count.
    FirstLoss,
    /// Increase: another loss.
    MoreLosses,
    /// Decrease, by no more than packets that all arrived explain.
    NoLoss,
    /// Greater decrease: the receiver has started a new history.
    NewHistory,
}

/// Equation (8): interprets a change of the loss event rate from `p_prev` to `p` while `packets` were sent.
pub fn change(p_prev: LossEventRate, p: LossEventRate, packets: f64) -> Change {
    let delta = p.as_f64() - p_prev.as_f64();
    if delta > 0.0 {
        Change::MoreLosses
    } else if delta == 0.0 {
        Change::FirstLoss
    } else if delta >= delta_p_min(packets, p_prev, INTERVALS) {
        Change::NoLoss
    } else {
        Change::NewHistory
    }
}

/// Inequality (18): S_0 - S_1 for a history of loss intervals in packets, the current one first. The loss
/// event rate decreases if this is above zero.
pub fn advantage_of_current_interval(intervals: &[f64; HISTORY]) -> f64 {
    let weighted = |intervals: &[f64]| -> f64 { WEIGHTS.iter().zip(intervals).map(|(w, i)| w * i).sum() };
    weighted(&intervals[..HISTORY - 1]) - weighted(&intervals[1..])
}

/// Inequality (19): n_pkts^(n_recov), the packets that must arrive before the loss event rate decreases, for
/// a history with the current interval as entry 0: with these weights a fifth of the sum of the intervals 4
/// to 8.
pub fn packets_until_recovery(intervals: &[f64; HISTORY]) -> f64 {
    0.2 * intervals[4..].iter().sum::<f64>()
}

/// Equation (20): t_recov, the time from the end of slow start until the loss event rate decreases, in
/// seconds, if every interval of the old network was 1/`p_r` long, `sent` packets have been sent and `x_d`
/// are sent per second; zero if enough have been sent.
pub fn recovery_time(x_d: f64, p_r: LossEventRate, sent: f64) -> f64 {
    let needed = packets_until_recovery(&[1.0 / p_r.as_f64(); HISTORY]);
    (needed - sent).max(0.0) / x_d
}
