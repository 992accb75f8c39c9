//! Numbers for TCP segments, whose sequence numbers count bytes.

use whimbrel_units::Instant;

use super::Passed;

/// The segments that were not lost, numbered in the order of their data, with room for those that were. A
/// segment is lost if its data was sent again: before the capture point, if the capture has it only then;
/// behind it, if the capture has both and nothing was lost before.
pub(super) fn of_segments(packets: &[Passed]) -> Vec<(u64, Instant)> {
    let largest = u64::from(packets.iter().map(|packet| packet.bytes).max().unwrap_or(1)).max(1);
    let mut originals: Vec<&Passed> = packets.iter().filter(|packet| !packet.is_repeated).collect();
    originals.sort_by_key(|packet| packet.sequence);
    let mut repeated: Vec<(u64, u64)> = packets
        .iter()
        .filter(|packet| packet.is_repeated)
        .map(|packet| (packet.sequence, packet.sequence + u64::from(packet.bytes)))
        .collect();
    repeated.sort_unstable();
    let is_repeated = |packet: &Passed| {
        let end = packet.sequence + u64::from(packet.bytes);
        let until = repeated.partition_point(|(from, _)| *from < end);
        repeated[..until].iter().rev().take(8).any(|(_, to)| *to > packet.sequence)
    };
    let has_holes =
        originals.windows(2).any(|pair| pair[1].sequence > pair[0].sequence + u64::from(pair[0].bytes));
    let mut numbered = Vec::with_capacity(originals.len());
    let (mut number, mut end) = (0, originals.first().map_or(0, |first| first.sequence));
    for packet in originals {
        number += packet.sequence.saturating_sub(end).div_ceil(largest) + 1;
        end = end.max(packet.sequence + u64::from(packet.bytes));
        if has_holes || !is_repeated(packet) {
            numbered.push((number, packet.at));
        }
    }
    numbered
}
