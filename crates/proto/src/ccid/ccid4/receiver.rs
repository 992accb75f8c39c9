//! The part of CCID 4 that only the receiver needs.

use whimbrel_control::tfrc::loss_intervals::LossInterval;
use whimbrel_wire::DccpOption;
use whimbrel_wire::option::tfrc;

/// The Dropped Packets options that accompany Loss Intervals options about the same intervals (RFC 5622, Section 8.7):
/// the number of packets lost or marked in each, which cannot exceed its Loss Length.
pub(in crate::ccid) fn dropped_packets(intervals: &[LossInterval]) -> impl Iterator<Item = DccpOption> {
    tfrc::dropped_packets(intervals.iter().map(|interval| {
        let loss_length = interval.lossy_end - interval.first;
        u32::try_from(interval.losses.min(loss_length)).unwrap_or(u32::MAX)
    }))
}
