//! The receiving end: reassembly and acknowledgements.

use whimbrel_units::Instant;

use super::clock;
use super::config::{EcnMode, LossDetection, TcpConfig};
use super::ranges::{ByteRange, RangeSet};
use super::segment::{EcnCounters, Flags, SackBlocks, Segment, Timestamps};

mod unordered;

use unordered::Unordered;

/// The statistics of a receiver.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
#[non_exhaustive]
pub struct ReceiverSnapshot {
    /// Bytes given to the application: in order unless losses are repaired at the end, each once.
    pub delivered: u64,
    /// Bytes that wait for earlier ones.
    pub buffered: u64,
    /// Segments with data that arrived, duplicates included.
    pub segments: u64,
    /// Segments without new data.
    pub duplicates: u64,
    /// Segments ahead of a gap.
    pub out_of_order: u64,
    /// Segments beyond the offered window, which were dropped.
    pub beyond_window: u64,
    /// Segments with a congestion mark.
    pub marked: u64,
    /// Acknowledgements sent.
    pub acks: u64,
    /// `true` if the other end's FIN and all data before it has arrived.
    pub finished: bool,
}

/// The receiver's side of AccECN (RFC 9768).
#[derive(Clone, Debug)]
struct AccurateEcn {
    /// Packets received with CE, with the offset of the field.
    packets: u64,
    bytes: EcnCounters,
    /// Marked packets that no acknowledgement has reported.
    unreported: u32,
    /// The last segment was marked.
    was_marked: bool,
    /// The counters of the last option sent.
    sent: EcnCounters,
}

impl AccurateEcn {
    /// Marked packets that are acknowledged at once (RFC 9768, Section 3.2.2.5.1).
    const AT_ONCE: u32 = 2;

    /// The initial values of RFC 9768, Section 3.2.1.
    const fn new() -> Self {
        let bytes = EcnCounters { ect1: 1, ce: 0 };
        Self { packets: 5, bytes, unreported: 0, was_marked: false, sent: bytes }
    }

    fn count(&mut self, segment: &Segment) {
        let is_marked = segment.flags.contains(Flags::CE);
        if is_marked {
            self.packets += 1;
            self.unreported += 1;
            self.bytes.ce = (self.bytes.ce + segment.length) % EcnCounters::MODULUS;
        } else if segment.flags.contains(Flags::ECT1) {
            self.bytes.ect1 = (self.bytes.ect1 + segment.length) % EcnCounters::MODULUS;
        }
    }

    /// `true` if the marking of a segment is to be reported without delay: it has changed, or several have
    /// been marked.
    fn is_urgent(&mut self, segment: &Segment) -> bool {
        let is_marked = segment.flags.contains(Flags::CE);
        let has_changed = core::mem::replace(&mut self.was_marked, is_marked) != is_marked;
        has_changed || self.unreported >= Self::AT_ONCE
    }
}

/// The receiving end of a connection, without I/O and without a clock of its own.
///
/// Driven like every endpoint: [`handle_segment`](Self::handle_segment) and
/// [`handle_timeout`](Self::handle_timeout) in, [`poll_transmit`](Self::poll_transmit) until it returns
/// `None`, then [`poll_timeout`](Self::poll_timeout). The application takes data at once, so the window
/// offered is always the whole one.
#[derive(Clone, Debug)]
pub struct TcpReceiver {
    config: TcpConfig,
    sack_limit: usize,
    /// RCV.NXT: the next byte expected in order.
    next: u64,
    /// Data received beyond `next`.
    buffered: RangeSet,
    /// A byte of each block, the most recently changed first, for the order of SACK blocks.
    recent: [u64; SackBlocks::MAX],
    recent_count: usize,
    /// Data received twice, to be reported in the next acknowledgement (RFC 2883).
    duplicate: Option<ByteRange>,
    /// Acknowledgements to send now.
    owed: u32,
    /// An answer to a SYN is to be sent.
    owes_syn_ack: bool,
    /// Segments in order that no acknowledgement covers yet.
    unacknowledged: u32,
    delayed_until: Option<Instant>,
    /// TS.Recent and Last.ACK.sent (RFC 7323, Section 4.3).
    recent_timestamp: u32,
    last_ack_sent: u64,
    /// Echo congestion until the other end signals its reaction (RFC 3168, Section 6.1.3).
    echo_congestion: bool,
    accurate_ecn: AccurateEcn,
    buffered_bytes: u64,
    /// The data instead of `next` and `buffered`, if losses are repaired at the end.
    unordered: Option<Unordered>,
    fin: Option<u64>,
    seen: ReceiverSnapshot,
}

impl TcpReceiver {
    /// A receiver that has received nothing.
    pub fn new(config: &TcpConfig) -> Self {
        // Timestamps leave room for three blocks (RFC 2018, Section 3).
        let room = if config.timestamps { 3 } else { SackBlocks::MAX };
        Self {
            sack_limit: usize::from(config.receiver.sack_blocks).min(room),
            config: config.clone(),
            next: 0,
            buffered: RangeSet::default(),
            recent: [0; SackBlocks::MAX],
            recent_count: 0,
            duplicate: None,
            owed: 0,
            owes_syn_ack: false,
            unacknowledged: 0,
            delayed_until: None,
            recent_timestamp: 0,
            last_ack_sent: 0,
            echo_congestion: false,
            accurate_ecn: AccurateEcn::new(),
            buffered_bytes: 0,
            unordered: (config.recovery.detection == LossDetection::AtTheEnd).then(Unordered::default),
            fin: None,
            seen: ReceiverSnapshot::default(),
        }
    }

    /// A segment arrived.
    pub fn handle_segment(&mut self, now: Instant, segment: &Segment) {
        if segment.flags.contains(Flags::SYN) {
            self.recent_timestamp = segment.timestamps.map_or(0, |timestamps| timestamps.value);
            self.owes_syn_ack = true;
            return;
        }
        if !segment.occupies_sequence_space() {
            return;
        }
        self.seen.segments += 1;
        self.note_congestion(segment);
        if let Some(unordered) = &mut self.unordered {
            // The round-trip time of the latest packet.
            self.recent_timestamp = segment.timestamps.map_or(0, |timestamps| timestamps.value);
            let is_new = unordered.handle_segment(segment);
            self.seen.duplicates += u64::from(segment.length > 0 && !is_new);
            return;
        }
        self.note_timestamp(segment);
        if segment.end() > self.next + u64::from(self.config.receiver.window) {
            self.seen.beyond_window += 1;
            self.acknowledge_now();
            return;
        }
        if segment.flags.contains(Flags::FIN) {
            self.fin = Some(segment.end());
        }
        if segment.end() <= self.next {
            self.seen.duplicates += 1;
            self.note_duplicate(segment);
            let last = segment.end() == self.next && self.buffered.is_empty();
            if last && self.config.receiver.delayed_ack.is_some_and(|delay| delay.repeats_wait) {
                self.acknowledge_in_order(now, segment);
            } else {
                self.acknowledge_now();
            }
        } else if segment.seq > self.next {
            self.note_duplicate(segment);
            self.buffer(ByteRange::new(segment.seq, segment.end()));
            self.acknowledge_now();
        } else if self.buffered.is_empty() {
            if segment.seq < self.next {
                self.note_duplicate(segment);
            }
            self.next = segment.end();
            self.acknowledge_in_order(now, segment);
        } else {
            self.note_duplicate(segment);
            self.next = segment.end();
            self.take_from_buffer();
            // RFC 5681, Section 4.2: a segment that fills a gap is acknowledged at once.
            self.acknowledge_now();
        }
    }

    /// The deadline of [`poll_timeout`](Self::poll_timeout) was reached.
    pub fn handle_timeout(&mut self, now: Instant) {
        if self.delayed_until.is_some_and(|deadline| deadline <= now) {
            self.acknowledge_now();
        }
    }

    /// The next acknowledgement to send.
    pub fn poll_transmit(&mut self, now: Instant) -> Option<Segment> {
        if self.owes_syn_ack {
            self.owes_syn_ack = false;
            return Some(self.syn_ack(now));
        }
        if let Some(unordered) = &mut self.unordered {
            let segment = unordered.poll_transmit()?;
            self.seen.acks += 1;
            let timestamps = self.timestamps(now);
            let window = self.config.receiver.window;
            return Some(Segment { window, flags: Flags::ACK, timestamps, ..segment });
        }
        self.owed = self.owed.checked_sub(1)?;
        self.last_ack_sent = self.next;
        self.seen.acks += 1;
        let mut flags = Flags::ACK;
        let sack = self.sack_blocks();
        let mut ecn = None;
        match self.config.ecn {
            EcnMode::Accurate => {
                flags = flags.with_ace(self.accurate_ecn.packets);
                ecn = self.ecn_option(sack.len());
                self.accurate_ecn.unreported = 0;
            }
            _ if self.echo_congestion => flags |= Flags::ECE,
            _ => {}
        }
        Some(Segment {
            ack: self.next,
            window: self.config.receiver.window,
            flags,
            timestamps: self.timestamps(now),
            sack,
            ecn,
            ..Segment::default()
        })
    }

    /// Deadline of a delayed acknowledgement.
    pub fn poll_timeout(&self) -> Option<Instant> {
        self.delayed_until
    }

    /// Bytes delivered to the application.
    pub fn delivered(&self) -> u64 {
        match &self.unordered {
            Some(unordered) => unordered.bytes,
            None => self.next - u64::from(self.has_finished()),
        }
    }

    fn has_finished(&self) -> bool {
        self.fin == Some(self.next)
    }

    /// The statistics so far.
    pub fn snapshot(&self) -> ReceiverSnapshot {
        ReceiverSnapshot {
            delivered: self.delivered(),
            buffered: self.buffered_bytes,
            finished: self.has_finished(),
            ..self.seen
        }
    }

    fn note_congestion(&mut self, segment: &Segment) {
        if self.config.ecn == EcnMode::Off {
            return;
        }
        if self.config.ecn == EcnMode::Accurate {
            self.accurate_ecn.count(segment);
            self.seen.marked += u64::from(segment.flags.contains(Flags::CE));
            return;
        }
        if segment.flags.contains(Flags::CWR) {
            self.echo_congestion = false;
        }
        if segment.flags.contains(Flags::CE) {
            self.echo_congestion = true;
            self.seen.marked += 1;
        }
    }

    /// RFC 7323, Section 4.3, step 2: a delayed acknowledgement echoes the earliest segment it covers.
    fn note_timestamp(&mut self, segment: &Segment) {
        if let Some(timestamps) = segment.timestamps
            && segment.seq <= self.last_ack_sent
            // The original of a retransmission that has arrived before it is older.
            && timestamps.value.wrapping_sub(self.recent_timestamp) < 1 << 31
        {
            self.recent_timestamp = timestamps.value;
        }
    }

    fn acknowledge_now(&mut self) {
        self.owed += 1;
        self.unacknowledged = 0;
        self.delayed_until = None;
    }

    fn acknowledge_in_order(&mut self, now: Instant, segment: &Segment) {
        self.unacknowledged += 1;
        let is_urgent = self.config.ecn == EcnMode::Accurate && self.accurate_ecn.is_urgent(segment);
        match self.config.receiver.delayed_ack {
            _ if is_urgent => self.acknowledge_now(),
            Some(delay) if self.unacknowledged < delay.segments && !segment.flags.contains(Flags::FIN) => {
                self.delayed_until.get_or_insert(now + delay.timeout);
            }
            _ => self.acknowledge_now(),
        }
    }

    /// Remembers the first part of a segment that has been received before (RFC 2883, Section 4).
    fn note_duplicate(&mut self, segment: &Segment) {
        if !self.config.receiver.duplicate_sack || self.sack_limit == 0 {
            return;
        }
        let (start, end) = (segment.seq, segment.end());
        let part = if start < self.next {
            ByteRange::new(start, end.min(self.next))
        } else {
            let block = self.buffered.containing_or_after(start).unwrap_or_default();
            ByteRange::new(start.max(block.start), end.min(block.end))
        };
        if part.length() > 0 {
            self.duplicate = Some(part);
        }
    }

    fn buffer(&mut self, range: ByteRange) {
        let before = self.buffered_bytes;
        let bytes = &mut self.buffered_bytes;
        self.buffered.insert(range, |piece| *bytes += piece.length());
        if self.buffered_bytes == before {
            self.seen.duplicates += 1;
        } else {
            self.seen.out_of_order += 1;
        }
        if self.sack_limit == 0 {
            return;
        }
        // One byte represents a block as it grows; the bytes of blocks that it has absorbed are removed.
        let block = self.buffered.containing_or_after(range.start).unwrap_or(range);
        let mut kept = [range.start; SackBlocks::MAX];
        let mut count = 1;
        for &byte in &self.recent[..self.recent_count] {
            if (byte < block.start || byte >= block.end) && count < SackBlocks::MAX {
                kept[count] = byte;
                count += 1;
            }
        }
        (self.recent, self.recent_count) = (kept, count);
    }

    fn take_from_buffer(&mut self) {
        if let Some(range) = self.buffered.containing_or_after(self.next)
            && range.start <= self.next
        {
            self.next = range.end;
        }
        let bytes = &mut self.buffered_bytes;
        self.buffered.remove_below(self.next, |piece| *bytes -= piece.length());
        if self.buffered.is_empty() {
            self.recent_count = 0;
        }
    }

    fn sack_blocks(&mut self) -> SackBlocks {
        let mut blocks = SackBlocks::new();
        let duplicate = self.duplicate.take();
        if let Some(range) = duplicate {
            blocks.push(range);
        }
        if self.buffered.is_empty() {
            return blocks;
        }
        // A duplicate of a whole block is followed by that block.
        let first = blocks.len();
        for &byte in &self.recent[..self.recent_count] {
            // The block of a byte may have been delivered since, or joined with another one.
            if byte >= self.next
                && blocks.len() < self.sack_limit
                && let Some(block) = self.buffered.containing_or_after(byte)
                && !blocks[first..].contains(&block)
            {
                blocks.push(block);
            }
        }
        blocks
    }

    /// The AccECN option, whenever a counter has changed and the other options leave room.
    fn ecn_option(&mut self, sack_blocks: usize) -> Option<EcnCounters> {
        let AccurateEcn { bytes, sent, .. } = &mut self.accurate_ecn;
        let blocks = if sack_blocks == 0 { 0 } else { 4 + 8 * sack_blocks as u32 };
        let room = 40 - if self.config.timestamps { 12 } else { 0 } - blocks;
        if bytes == sent || room < EcnCounters::LENGTH {
            return None;
        }
        *sent = *bytes;
        Some(*bytes)
    }

    fn syn_ack(&self, now: Instant) -> Segment {
        let mut flags = Flags::SYN | Flags::ACK;
        match self.config.ecn {
            EcnMode::Off => {}
            EcnMode::Classic => flags |= Flags::ECE,
            // RFC 9768, Section 3.1.1, table 2: the SYN arrived without ECT.
            EcnMode::Accurate => flags |= Flags::CWR,
        }
        if self.sack_limit > 0 {
            flags |= Flags::SACK_PERMITTED;
        }
        Segment {
            ack: self.next,
            window: self.config.receiver.window,
            flags,
            mss: self.config.segment_size.min(u32::from(u16::MAX)) as u16,
            timestamps: self.timestamps(now),
            ..Segment::default()
        }
    }

    fn timestamps(&self, now: Instant) -> Option<Timestamps> {
        self.config.timestamps.then(|| Timestamps { value: clock(now), echo: self.recent_timestamp })
    }
}

#[cfg(test)]
mod tests;
