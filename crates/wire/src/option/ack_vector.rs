//! Ack Vectors: run-length encoded reception states of packets (RFC 4340, Section 11.4).
//!
//! One or more options hold cells, the newest packet first; the first cell starts at the packet with the
//! Acknowledgement Number, and each option continues after the previous one.

use super::{DccpOption, MAX_DATA_LEN, OptionBytes};
use crate::SeqNo;

#[cfg(test)]
mod tests;

/// Maximum number of packets in a cell.
pub const MAX_CELL: u8 = 64;

/// Reception state of a packet (RFC 4340, Section 11.4, Table 6).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
#[repr(u8)]
pub enum AckState {
    /// 0: received, not marked.
    Received = 0,
    /// 1: received with ECN codepoint CE.
    ReceivedEcnMarked = 1,
    /// 2: reserved.
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

    /// `true` if the packet was received, marked or not.
    pub const fn is_received(self) -> bool {
        matches!(self, Self::Received | Self::ReceivedEcnMarked)
    }
}

/// One byte of an Ack Vector: a state and the number of packets with it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Cell {
    /// State of all packets of the cell.
    pub state: AckState,
    /// Number of packets, from 1 to [`MAX_CELL`]: one more than the Run Length field.
    pub packets: u8,
}

impl Cell {
    /// Decodes a cell.
    pub const fn from_byte(byte: u8) -> Self {
        Self { state: AckState::from_bits(byte >> 6), packets: (byte & 0x3f) + 1 }
    }

    /// Encodes the cell. The number of packets is clamped to 1 to 64.
    pub const fn byte(self) -> u8 {
        let run_length = match self.packets {
            0 => 0,
            1..=MAX_CELL => self.packets - 1,
            _ => MAX_CELL - 1,
        };
        (self.state as u8) << 6 | run_length
    }
}

/// A cell with the sequence numbers it covers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Run {
    /// State of all packets of the run.
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

/// Builds Ack Vector options from states in descending order of sequence numbers.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct AckVectorBuilder {
    cells: OptionBytes,
}

impl AckVectorBuilder {
    /// A builder without packets.
    pub fn new() -> Self {
        Self::default()
    }

    /// Appends `packets` older packets with the same state.
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

    /// Number of packets covered by the cells.
    pub fn packets(&self) -> u64 {
        cells(&self.cells).map(|cell| u64::from(cell.packets)).sum()
    }

    /// The options: as many as required at 253 cells each; none without cells.
    pub fn into_options(self, nonce: bool) -> impl Iterator<Item = DccpOption> {
        super::split(self.cells, MAX_DATA_LEN).map(move |cells| DccpOption::AckVector { nonce, cells })
    }
}
