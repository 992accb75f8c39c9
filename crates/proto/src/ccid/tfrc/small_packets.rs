//! Small packets over DCCP: the sizes and options of CCID 4.

use whimbrel_control::tfrc::{IntervalReport, SmallPackets};
use whimbrel_units::ByteCount;
use whimbrel_wire::DccpOption;
use whimbrel_wire::option::tfrc::{self, TfrcOption};

/// H: the length of an IPv4 header and a Data packet's, with 48-bit or with `short` sequence numbers (RFC
/// 5622, Section 5).
pub(in crate::ccid) const fn header_size(short: bool) -> ByteCount {
    ByteCount::new(if short { 32 } else { 36 })
}

/// The nominal segment size on a path that carries datagrams of `limit`, if the application requests at most
/// `max_datagram`: only a limit set by the path counts (RFC 4828, Section 3).
pub(in crate::ccid) fn nominal_segment_size(
    small: SmallPackets,
    limit: usize,
    max_datagram: usize,
) -> ByteCount {
    if limit < max_datagram {
        small.segment_size.min(ByteCount::new(limit as u64))
    } else {
        small.segment_size
    }
}

/// The Drop Counts of a packet, the newest loss interval first (RFC 5622, Section 8.7).
pub(in crate::ccid) fn drop_counts(options: &[DccpOption]) -> impl Iterator<Item = u32> + '_ {
    options.iter().flat_map(|option| match TfrcOption::parse(option) {
        Some(TfrcOption::DroppedPackets(counts)) => Some(counts.iter()).into_iter().flatten(),
        _ => None.into_iter().flatten(),
    })
}

/// The Dropped Packets options that accompany Loss Intervals options about the same intervals (RFC 5622,
/// Section 8.7): the number of packets lost or marked in each, which cannot exceed its Loss Length.
pub(in crate::ccid) fn dropped_packets(report: IntervalReport<'_>) -> impl Iterator<Item = DccpOption> + '_ {
    tfrc::dropped_packets(report.lengths().map(|lengths| lengths.losses))
}
