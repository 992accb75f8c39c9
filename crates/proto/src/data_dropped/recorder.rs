//! The receiver's record of packets whose data it dropped.

use std::collections::VecDeque;

use whimbrel_wire::option::MAX_DATA_LEN;
use whimbrel_wire::option::data_dropped::{Block, DataDroppedBuilder, DropCode, MAX_NORMAL_BLOCK};
use whimbrel_wire::{Options, SeqNo};

use crate::ccid::DroppedPacket;

/// The most packets recorded; beyond that the oldest is dropped.
const MAX_DROPS: usize = 1024;
/// The most reports stored until one of them is acknowledged.
const MAX_REPORTS: usize = 256;
/// Bytes of an option's type and length.
const OPTION_HEADER: usize = 2;

/// The receiver's record of packets whose data did not reach the application as sent.
///
/// Each is reported in every acknowledgement until the peer has acknowledged one of these reports (RFC 4340,
/// Section 11.7: Data Dropped information is transmitted reliably).
#[derive(Clone, Debug, Default)]
pub struct Recorder {
    /// The packets, oldest first.
    drops: VecDeque<DroppedEntry>,
    /// The reports sent and not acknowledged, oldest first.
    pub(super) reports: VecDeque<SentReport>,
}

/// A packet to be reported.
#[derive(Clone, Copy, Debug)]
struct DroppedEntry {
    packet: DroppedPacket,
    /// The packet of this end that first reported it.
    reported: Option<SeqNo>,
}

/// A report that was sent.
#[derive(Clone, Copy, Debug)]
pub(super) struct SentReport {
    /// The packet of this end that carried it.
    sequence: SeqNo,
    /// The report is complete for the packets from here...
    oldest: SeqNo,
    /// ...to here.
    newest: SeqNo,
}

impl Recorder {
    /// Creates an empty record.
    pub fn new() -> Self {
        Self::default()
    }

    /// `true` if there is nothing to report.
    pub fn is_empty(&self) -> bool {
        self.drops.is_empty()
    }

    /// The packets to be reported, oldest first.
    pub fn drops(&self) -> impl Iterator<Item = DroppedPacket> + '_ {
        self.drops.iter().map(|entry| entry.packet)
    }

    /// Records that the data of a received packet were dropped, or delivered corrupt. Returns `true` if this
    /// is reported: a packet keeps its first code, except that data delivered corrupt may become dropped
    /// before the first report. A less serious code never replaces another (RFC 4340, Section 11.7).
    pub fn record(&mut self, sequence: SeqNo, code: DropCode) -> bool {
        let packet = DroppedPacket { sequence, code };
        let by_distance = |entry: &DroppedEntry| entry.packet.sequence.distance_from(sequence).cmp(&0);
        // In the usual case the packet is the newest.
        let is_newest = self.drops.back().is_none_or(|last| last.packet.sequence.is_before(sequence));
        let place = if is_newest { Err(self.drops.len()) } else { self.drops.binary_search_by(by_distance) };
        match place {
            Ok(index) => {
                let entry = &mut self.drops[index];
                let is_worse = entry.packet.code == DropCode::DeliveredCorrupt
                    && code != DropCode::DeliveredCorrupt
                    && entry.reported.is_none();
                if is_worse {
                    entry.packet = packet;
                }
                return is_worse;
            }
            Err(index) => self.drops.insert(index, DroppedEntry { packet, reported: None }),
        }
        if self.drops.len() > MAX_DROPS {
            self.drops.pop_front();
        }
        true
    }

    /// Number of bytes of options that [`Recorder::write`] would add, given as much room.
    pub fn encoded_len(&self, ack: SeqNo, room: usize) -> usize {
        let (_, blocks) = self.report(ack, room);
        if blocks == 0 { 0 } else { OPTION_HEADER + blocks }
    }

    /// Adds the pending reports to packet `sequence` of this end, which acknowledges `ack`; if `room`, in
    /// bytes, or one option is too small, the newer packets'. Reports that do not fit are too old to be of
    /// use, and are dropped.
    pub fn write(&mut self, sequence: SeqNo, ack: SeqNo, room: usize, options: &mut Options) {
        let reported = |entry: &DroppedEntry| !entry.packet.sequence.is_after(ack);
        let (count, _) = self.report(ack, room);
        if count == 0 {
            return;
        }
        let end = self.drops.iter().rposition(reported).map_or(0, |index| index + 1);
        self.drops.drain(..end - count);
        let mut builder = DataDroppedBuilder::new();
        let mut next = ack;
        for entry in self.drops.iter_mut().take(count).rev() {
            let DroppedPacket { sequence: dropped, code } = entry.packet;
            // RFC 4340, Section 11.7: all others go into Normal Blocks, received or not.
            builder.push(None, next.distance_from(dropped).unsigned_abs());
            builder.push(Some(code), 1);
            next = dropped.previous();
            entry.reported.get_or_insert(sequence);
        }
        options.extend(builder.into_options());
        if self.reports.len() == MAX_REPORTS {
            self.reports.pop_front();
        }
        self.reports.push_back(SentReport { sequence, oldest: next.next(), newest: ack });
    }

    /// Number of the packets up to `ack` that fit into `room` bytes, newest first, and number of blocks that
    /// they take.
    fn report(&self, ack: SeqNo, room: usize) -> (usize, usize) {
        let limit = room.saturating_sub(OPTION_HEADER).min(MAX_DATA_LEN);
        let (mut count, mut blocks) = (0, 0);
        let mut next = ack;
        let mut run: Option<Block> = None;
        for entry in self.drops.iter().rev() {
            let DroppedPacket { sequence, code } = entry.packet;
            let gap = next.distance_from(sequence);
            if gap < 0 {
                continue;
            }
            let joins = gap == 0 && run.is_some_and(|run| run.drop == Some(code) && run.byte() & 0xf < 0xf);
            if !joins {
                let normal = (gap as u64).div_ceil(u64::from(MAX_NORMAL_BLOCK));
                let more = usize::try_from(normal).unwrap_or(usize::MAX).saturating_add(1);
                if more > limit - blocks {
                    break;
                }
                blocks += more;
            }
            let packets = if joins { run.map_or(0, |run| run.packets) + 1 } else { 1 };
            run = Some(Block { drop: Some(code), packets });
            count += 1;
            next = sequence.previous();
        }
        (count, blocks)
    }

    /// The peer has received packet `sequence` of this end. Packets that it reported need not be reported
    /// again.
    pub fn on_acked(&mut self, sequence: SeqNo) {
        let by_distance = |report: &SentReport| report.sequence.distance_from(sequence).cmp(&0);
        let Ok(index) = self.reports.binary_search_by(by_distance) else { return };
        let SentReport { oldest, newest, .. } = self.reports[index];
        self.reports.drain(..=index);
        self.drops.retain(|entry| {
            let is_covered =
                !entry.packet.sequence.is_before(oldest) && !entry.packet.sequence.is_after(newest);
            let was_reported = entry.reported.is_some_and(|reported| !reported.is_after(sequence));
            !(is_covered && was_reported)
        });
    }
}
