//! What only the receiver of small packets does.

use whimbrel_control::tfrc::loss_intervals::LossInterval;
use whimbrel_wire::DccpOption;
use whimbrel_wire::option::tfrc;

/// The Dropped Packets options that go with Loss Intervals options about the same intervals (RFC 5622,
/// Section 8.7): for each how many packets were lost or marked, which cannot be more than its Loss Length.
pub(in crate::ccid) fn dropped_packets(intervals: &[LossInterval]) -> impl Iterator<Item = DccpOption> {
    tfrc::dropped_packets(intervals.iter().map(|interval| {
        let loss_length = interval.lossy_end - interval.first;
        u32::try_from(interval.losses.min(loss_length)).unwrap_or(u32::MAX)
    }))
}
