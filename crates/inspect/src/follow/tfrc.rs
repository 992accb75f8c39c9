//! Reports of the receivers of CCID 3 and 4 (RFC 4342, Section 8; RFC 5622, Section 8).

use whimbrel_wire::DccpOption;
use whimbrel_wire::option::tfrc::{LossInterval, LossIntervals, NO_LOSS_EVENT, RttEstimate, TfrcOption};

#[cfg(test)]
mod tests;

/// Number of intervals averaged (RFC 5348, Section 5.4).
const N: usize = 8;
/// Their weights, the newest first.
const WEIGHTS: [f64; N] = [1.0, 1.0, 1.0, 1.0, 0.8, 0.6, 0.4, 0.2];

/// The feedback in one packet.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub(crate) struct TfrcFeedback {
    /// The loss event rate p, from 0 to 1.
    pub(crate) loss_event_rate: Option<f64>,
    /// X_recv, in bytes per second.
    pub(crate) receive_rate: Option<u32>,
    /// Packets lost or marked in the reported intervals (CCID 4).
    pub(crate) dropped: Option<u64>,
}

impl TfrcFeedback {
    /// Reads the options of a packet that are addressed to the sender.
    pub(crate) fn read(options: &[DccpOption]) -> Self {
        let mut feedback = Self::default();
        for option in options {
            match TfrcOption::parse(option) {
                Some(TfrcOption::LossEventRate(inverse)) => {
                    feedback.loss_event_rate = Some(match inverse {
                        NO_LOSS_EVENT => 0.0,
                        inverse => 1.0 / f64::from(inverse.max(1)),
                    });
                }
                // RFC 4342, Section 8: if both are present, either may be used.
                Some(TfrcOption::LossIntervals(intervals)) => {
                    feedback.loss_event_rate = feedback.loss_event_rate.or(Some(loss_event_rate(intervals)));
                }
                Some(TfrcOption::ReceiveRate(rate)) => feedback.receive_rate = Some(rate),
                Some(TfrcOption::DroppedPackets(counts)) => {
                    let sum = counts.iter().map(u64::from).sum::<u64>();
                    feedback.dropped = Some(feedback.dropped.unwrap_or(0) + sum);
                }
                Some(
                    TfrcOption::RttEstimate(_)
                    | TfrcOption::Restoring(_)
                    | TfrcOption::Probing(_)
                    | TfrcOption::Unfrozen
                    | TfrcOption::EcnCounts(_),
                )
                | None => {}
            }
        }
        feedback
    }
}

/// The round-trip time signalled by the sender (RFC 6323), in nanoseconds.
pub(crate) fn rtt_estimate(options: &[DccpOption]) -> Option<u64> {
    options.iter().find_map(|option| match TfrcOption::parse(option) {
        Some(TfrcOption::RttEstimate(estimate)) => RttEstimate::nanos(estimate),
        _ => None,
    })
}

/// The loss event rate by RFC 5348, Section 5.4, with the newest interval open: the inverse of the greater of
/// the weighted means with and without it. Zero before any loss.
fn loss_event_rate(intervals: LossIntervals<'_>) -> f64 {
    let lengths: Vec<f64> =
        intervals.iter().take(N + 1).map(|LossInterval { data_length, .. }| f64::from(data_length)).collect();
    let Some((_, closed)) = lengths.split_first().filter(|(_, closed)| !closed.is_empty()) else {
        return 0.0;
    };
    let mean = |lengths: &[f64]| {
        let pairs = || lengths.iter().zip(WEIGHTS);
        pairs().map(|(length, weight)| length * weight).sum::<f64>()
            / pairs().map(|(_, weight)| weight).sum::<f64>()
    };
    // With the open interval the oldest of nine is excluded.
    let longest = mean(&lengths[..lengths.len().min(N)]).max(mean(closed));
    if longest > 1.0 { 1.0 / longest } else { 1.0 }
}
