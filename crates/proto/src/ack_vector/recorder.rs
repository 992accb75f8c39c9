//! The receiver's history of packets (RFC 4340, Section 11.4 and Appendix A).

use std::collections::VecDeque;

use whimbrel_wire::option::ack_vector::{AckState, Cell, MAX_CELL};
use whimbrel_wire::option::{MAX_DATA_LEN, OptionBytes};
use whimbrel_wire::{DccpOption, Ecn, Options, SeqNo};

/// The most cells stored: two full options. Beyond that the oldest are dropped, so the sender counts packets
/// that were never reported to it as lost.
const MAX_CELLS: usize = 2 * MAX_DATA_LEN;
/// Number of cells that an option stores inline. Up to twice as many go into two options, which costs two
/// bytes on the wire and saves an allocation for each acknowledgement of a window of 1000 packets.
const CELLS_IN_PLACE: usize = 16;
/// The most vectors stored until one of them is acknowledged.
const MAX_SENT: usize = 4096;

/// The receiver's history of packets, as cells in wire format.
///
/// The history covers the Acknowledgement Window: all packets from the newest down to the oldest that may be
/// unknown to the peer (RFC 4340, Section 11.4.2). In the usual case a new packet lengthens the newest cell.
#[derive(Clone, Debug, Default)]
pub struct Recorder {
    /// The cells, newest first.
    cells: VecDeque<u8>,
    /// The packet with which the first cell starts; it was received.
    newest: SeqNo,
    /// Number of packets that the cells cover.
    packets: u64,
    /// The vectors sent and not acknowledged, oldest first.
    sent: VecDeque<SentVector>,
}

/// A vector that was sent.
#[derive(Clone, Copy, Debug)]
struct SentVector {
    /// The packet of this end that carried it.
    sequence: SeqNo,
    /// The newest packet such that the vector reported it and all earlier ones completely.
    acked: SeqNo,
}

/// Classification of a received packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Recorded {
    /// Newer than all before.
    New,
    /// An older one that had been missing.
    Late,
    /// A packet that had arrived before. The first arrival counts (RFC 4340, Section 11.4.1 leaves the
    /// choice).
    Duplicate,
    /// A packet too old for the history, so it cannot be reported any more; it may be a duplicate.
    TooOld,
}

impl Recorder {
    /// Creates a history without packets.
    pub fn new() -> Self {
        Self::default()
    }

    /// The newest packet, if any: the Acknowledgement Number that belongs to an Ack Vector.
    pub fn newest(&self) -> Option<SeqNo> {
        (self.packets > 0).then_some(self.newest)
    }

    /// Number of packets that the history covers.
    pub fn packets(&self) -> u64 {
        self.packets
    }

    /// Number of vectors sent and not known to have arrived.
    pub fn unacknowledged(&self) -> usize {
        self.sent.len()
    }

    /// Number of bytes of options for the history.
    pub fn encoded_len(&self) -> usize {
        self.cells.len() + 2 * self.cells.len().div_ceil(self.cells_per_option())
    }

    fn cells_per_option(&self) -> usize {
        if self.cells.len() <= 2 * CELLS_IN_PLACE { CELLS_IN_PLACE } else { MAX_DATA_LEN }
    }

    /// Records a received packet whose options have been processed, with data or without.
    pub fn record(&mut self, sequence: SeqNo, ecn: Ecn) -> Recorded {
        let state = if ecn == Ecn::Ce { AckState::ReceivedEcnMarked } else { AckState::Received };
        if self.packets == 0 {
            self.newest = sequence.previous();
        }
        match sequence.distance_from(self.newest) {
            step @ 1.. => {
                self.push_missing(step as u64 - 1);
                self.push(state);
                self.newest = sequence;
                self.truncate();
                Recorded::New
            }
            back => self.fill(sequence, back.unsigned_abs(), state),
        }
    }

    fn push(&mut self, state: AckState) {
        self.packets += 1;
        match self.cells.front_mut() {
            Some(cell) if Cell::from_byte(*cell).state == state && run(*cell) < MAX_CELL => *cell += 1,
            _ => self.cells.push_front(Cell { state, packets: 1 }.byte()),
        }
    }

    fn push_missing(&mut self, gap: u64) {
        let longest = (MAX_CELLS as u64 - 1) * u64::from(MAX_CELL);
        if gap > longest {
            // No state from before the gap will fit.
            self.cells.clear();
            self.packets = 0;
        }
        let mut left = gap.min(longest);
        self.packets += left;
        while left > 0 {
            let packets = left.min(u64::from(MAX_CELL)) as u8;
            self.cells.push_front(Cell { state: AckState::NotReceived, packets }.byte());
            left -= u64::from(packets);
        }
    }

    /// Records a packet that is `back` older than the newest.
    fn fill(&mut self, sequence: SeqNo, back: u64, state: AckState) -> Recorded {
        if back >= self.packets {
            return Recorded::TooOld;
        }
        let mut before = 0;
        let mut index = 0;
        while before + u64::from(run(self.cells[index])) <= back {
            before += u64::from(run(self.cells[index]));
            index += 1;
        }
        let cell = Cell::from_byte(self.cells[index]);
        if cell.state != AckState::NotReceived {
            return Recorded::Duplicate;
        }
        let newer = (back - before) as u8;
        let older = cell.packets - newer - 1;
        self.split(index, newer, state, older);
        // A vector in flight reports this packet as missing: it is no longer complete from here on (RFC 4340,
        // Appendix A.3, last paragraph).
        for sent in self.sent.iter_mut().rev() {
            if sent.acked.is_before(sequence) {
                break;
            }
            sent.acked = sequence.previous();
        }
        self.truncate();
        Recorded::Late
    }

    /// Replaces the cell of missing packets at `index` by `newer` missing packets, one of that state and
    /// `older` missing ones, and merges adjacent cells.
    fn split(&mut self, index: usize, newer: u8, state: AckState, older: u8) {
        let missing = |packets| Cell { state: AckState::NotReceived, packets }.byte();
        let can_join = |cell: &u8| Cell::from_byte(*cell).state == state && run(*cell) < MAX_CELL;
        let joins_newer = newer == 0 && index > 0 && can_join(&self.cells[index - 1]);
        let joins_older = older == 0 && self.cells.get(index + 1).is_some_and(can_join);
        if joins_newer {
            self.cells[index - 1] += 1;
            if older > 0 {
                self.cells[index] = missing(older);
            } else {
                self.cells.remove(index);
                self.join(index - 1);
            }
        } else if joins_older {
            self.cells[index + 1] += 1;
            if newer > 0 {
                self.cells[index] = missing(newer);
            } else {
                self.cells.remove(index);
            }
        } else {
            self.cells[index] = Cell { state, packets: 1 }.byte();
            if older > 0 {
                self.cells.insert(index + 1, missing(older));
            }
            if newer > 0 {
                self.cells.insert(index, missing(newer));
            }
        }
    }

    /// Merges the cell at `index` with the next older one if they have the same state and fit in one.
    fn join(&mut self, index: usize) {
        let Some(older) = self.cells.get(index + 1) else { return };
        let (newer, older) = (Cell::from_byte(self.cells[index]), Cell::from_byte(*older));
        if newer.state == older.state && newer.packets + older.packets <= MAX_CELL {
            self.cells[index] += older.packets;
            self.cells.remove(index + 1);
        }
    }

    fn truncate(&mut self) {
        while self.cells.len() > MAX_CELLS {
            if let Some(cell) = self.cells.pop_back() {
                self.packets -= u64::from(run(cell));
            }
        }
    }

    /// Adds the history to packet `sequence` of this end, which acknowledges `ack`, in as many options as
    /// necessary; if `room`, in bytes, is too small, its newer part. Returns the number of bytes added: none
    /// unless `ack` is the newest packet.
    pub fn write(&mut self, sequence: SeqNo, ack: SeqNo, room: usize, options: &mut Options) -> usize {
        if self.newest() != Some(ack) {
            return 0;
        }
        let (first, second) = self.cells.as_slices();
        let mut start = 0;
        let mut left = room;
        while start < self.cells.len() && left > 2 {
            let end = self.cells.len().min(start + self.cells_per_option().min(left - 2));
            let mut cells = OptionBytes::new();
            let middle = first.len();
            cells.extend_from_slice(&first[start.min(middle)..end.min(middle)]);
            cells.extend_from_slice(&second[start.max(middle) - middle..end.max(middle) - middle]);
            options.push(DccpOption::AckVector { nonce: false, cells });
            left -= 2 + (end - start);
            start = end;
        }
        if start > 0 {
            if self.sent.len() == MAX_SENT {
                self.sent.pop_front();
            }
            // State that did not fit is old and was reported before: it is dropped.
            self.sent.push_back(SentVector { sequence, acked: ack });
        }
        room - left
    }

    /// The peer has received packet `sequence` of this end. State reported by a vector on it need not be
    /// reported again (RFC 4340, Appendix A.3).
    pub fn on_acked(&mut self, sequence: SeqNo) {
        let by_distance = |sent: &SentVector| sent.sequence.distance_from(sequence).cmp(&0);
        let Ok(index) = self.sent.binary_search_by(by_distance) else { return };
        let acked = self.sent[index].acked;
        self.sent.drain(..=index);
        // The newest packet is kept, as a vector has to start with it.
        let last = acked.distance_from(self.newest.previous()).min(0);
        let kept = 1 + last.unsigned_abs();
        while self.packets > kept {
            let surplus = self.packets - kept;
            let Some(cell) = self.cells.back_mut() else { return };
            let packets = u64::from(run(*cell));
            if packets > surplus {
                *cell -= surplus as u8;
                self.packets = kept;
            } else {
                self.cells.pop_back();
                self.packets -= packets;
            }
        }
    }
}

/// Number of packets that a cell covers.
fn run(cell: u8) -> u8 {
    Cell::from_byte(cell).packets
}
