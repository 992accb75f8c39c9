//! Ack Vectors: which packets have arrived, in runs (RFC 4340, Section 11.4).
//!
//! One or more options hold cells, the newest packet first; the first cell's newest packet is the
//! one that the Acknowledgement Number names, and each option goes on where the last one ended.

use super::{DccpOption, MAX_DATA_LEN, OptionBytes};
use crate::SeqNo;

#[cfg(test)]
mod tests;

/// How many packets one cell covers at most.
pub const MAX_CELL: u8 = 64;

/// What became of a packet (RFC 4340, Section 11.4, Table 6).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
#[repr(u8)]
pub enum AckState {
    /// 0: received, not marked.
    Received = 0,
    /// 1: received with ECN codepoint CE.
    ReceivedEcnMarked = 1,
    /// 2: without a meaning.
    Reserved = 2,
    /// 3: not yet received.
    NotReceived = 3,
}

impl AckState {
    /// The state in the low two bits of `bits`.
    pub const fn from_bits(bits: u8) -> Self {
        match bits & 0b11 {
            0 => Self::Received,
            1 => Self::ReceivedEcnMarked,
            2 => Self::Reserved,
            _ => Self::NotReceived,
        }
    }
    /// Whether the packet has arrived, marked or not.
    pub const fn is_received(self) -> bool {
        matches!(self, Self::Received | Self::ReceivedEcnMarked)
    }
}

/// One byte of an Ack Vector: a state and how many packets have it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Cell {
    /// The state of all of them.
    pub state: AckState,
    /// How many, from 1 to [`MAX_CELL`]: one more than the Run Length field.
    pub packets: u8,
}

impl Cell {
    /// The cell that `byte` means.
    pub const fn from_byte(byte: u8) -> Self {
        Self { state: AckState::from_bits(byte >> 6), packets: (byte & 0x3f) + 1 }
    }
    /// The byte. A number of packets outside 1 to 64 is taken for the nearer of the two.
    pub const fn byte(self) -> u8 {
        let run_length = match self.packets {
            0 => 0,
            1..=MAX_CELL => self.packets - 1,
            _ => MAX_CELL - 1,
        };
        (self.state as u8) << 6 | run_length
    }
}

/// A cell with the sequence numbers it speaks of.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Run {
    /// The state of all packets of the run.
    pub state: AckState,
    /// The highest sequence number.
    pub newest: SeqNo,
    /// The lowest.
    pub oldest: SeqNo,
}

/// The cells of one option, the newest first.
pub fn cells(vector: &[u8]) -> impl DoubleEndedIterator<Item = Cell> + ExactSizeIterator + '_ {
    vector.iter().copied().map(Cell::from_byte)
}

/// The runs that the Ack Vector options among `options` report on a packet with Acknowledgement
/// Number `ack`, the newest first.
pub fn runs(ack: SeqNo, options: &[DccpOption]) -> impl Iterator<Item = Run> + '_ {
    let vectors = options.iter().filter_map(|option| match option {
        DccpOption::AckVector { cells, .. } => Some(cells.as_slice()),
        _ => None,
    });
    let mut newest = ack;
    vectors.flat_map(cells).map(move |cell| {
        let oldest = newest.sub(u64::from(cell.packets) - 1);
        let run = Run { state: cell.state, newest, oldest };
        newest = oldest.previous();
        run
    })
}

/// Collects states from the newest packet down and makes options of them.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct AckVectorBuilder {
    cells: OptionBytes,
}

impl AckVectorBuilder {
    /// A builder that covers nothing yet.
    pub fn new() -> Self {
        Self::default()
    }
    /// Goes on, towards older packets, with `packets` of one state.
    pub fn push(&mut self, state: AckState, packets: u64) {
        let mut left = packets;
        if let Some(last) = self.cells.last_mut() {
            let cell = Cell::from_byte(*last);
            if cell.state == state {
                let taken = left.min(u64::from(MAX_CELL - cell.packets));
                *last += taken as u8;
                left -= taken;
            }
        }
        while left > 0 {
            let taken = left.min(u64::from(MAX_CELL));
            self.cells.push(Cell { state, packets: taken as u8 }.byte());
            left -= taken;
        }
    }
    /// The cells so far.
    pub fn cells(&self) -> &[u8] {
        &self.cells
    }
    /// How many packets the cells cover.
    pub fn packets(&self) -> u64 {
        cells(&self.cells).map(|cell| u64::from(cell.packets)).sum()
    }
    /// The options: as many as 253 cells each need, none for none.
    pub fn into_options(self, nonce: bool) -> impl Iterator<Item = DccpOption> {
        super::split(self.cells, MAX_DATA_LEN).map(move |cells| DccpOption::AckVector { nonce, cells })
    }
}
