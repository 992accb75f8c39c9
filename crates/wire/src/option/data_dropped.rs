//! Data Dropped: received packets with data that did not reach the application, and the reasons (RFC 4340,
//! Section 11.7).
//!
//! One or more options hold blocks, the newest packet first, as an Ack Vector holds cells.

use super::{DccpOption, MAX_DATA_LEN, OptionBytes};
use crate::SeqNo;

#[cfg(test)]
mod tests;

/// Maximum number of packets in a Normal Block.
pub const MAX_NORMAL_BLOCK: u8 = 128;
/// Maximum number of packets in a Drop Block.
pub const MAX_DROP_BLOCK: u8 = 16;

/// Reason for dropping data (RFC 4340, Section 11.7, Table 7).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum DropCode {
    /// 0: protocol constraints, such as too low a checksum coverage.
    ProtocolConstraints,
    /// 1: the application is no longer listening.
    ApplicationNotListening,
    /// 2: a receive buffer was full.
    ReceiveBuffer,
    /// 3: the data was corrupt.
    Corrupt,
    /// 4 to 6: reserved.
    Reserved(u8),
    /// 7: the data was corrupt and delivered nevertheless.
    DeliveredCorrupt,
}

impl DropCode {
    /// The code in the low three bits of `bits`.
    pub const fn from_bits(bits: u8) -> Self {
        match bits & 0b111 {
            0 => Self::ProtocolConstraints,
            1 => Self::ApplicationNotListening,
            2 => Self::ReceiveBuffer,
            3 => Self::Corrupt,
            7 => Self::DeliveredCorrupt,
            reserved => Self::Reserved(reserved),
        }
    }

    /// The three bits.
    pub const fn bits(self) -> u8 {
        match self {
            Self::ProtocolConstraints => 0,
            Self::ApplicationNotListening => 1,
            Self::ReceiveBuffer => 2,
            Self::Corrupt => 3,
            Self::Reserved(bits) => bits & 0b111,
            Self::DeliveredCorrupt => 7,
        }
    }
}

/// One byte of the option: packets with the same drop state.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Block {
    /// Reason for dropping the data; `None` in a Normal Block.
    pub drop: Option<DropCode>,
    /// Number of packets: from 1 to [`MAX_NORMAL_BLOCK`] or [`MAX_DROP_BLOCK`], one more than the Run Length
    /// field.
    pub packets: u8,
}

impl Block {
    /// Decodes a block.
    pub const fn from_byte(byte: u8) -> Self {
        if byte & 0x80 == 0 {
            Self { drop: None, packets: byte + 1 }
        } else {
            Self { drop: Some(DropCode::from_bits(byte >> 4)), packets: (byte & 0xf) + 1 }
        }
    }

    /// Encodes the block. The number of packets is clamped to the block's limits.
    pub fn byte(self) -> u8 {
        let run_length = self.packets.clamp(1, max_block(self.drop)) - 1;
        match self.drop {
            None => run_length,
            Some(code) => 0x80 | code.bits() << 4 | run_length,
        }
    }
}

const fn max_block(drop: Option<DropCode>) -> u8 {
    if drop.is_none() { MAX_NORMAL_BLOCK } else { MAX_DROP_BLOCK }
}

/// A block with the sequence numbers it covers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Run {
    /// Reason for dropping the data; `None` if they were not dropped, or the packets not received.
    pub drop: Option<DropCode>,
    /// The highest sequence number.
    pub newest: SeqNo,
    /// The lowest.
    pub oldest: SeqNo,
}

/// The blocks of one option, the newest first.
pub fn blocks(vector: &[u8]) -> impl DoubleEndedIterator<Item = Block> + ExactSizeIterator + '_ {
    vector.iter().copied().map(Block::from_byte)
}

/// The runs that the Data Dropped options among `options` report on a packet with Acknowledgement
/// Number `ack`, the newest first.
pub fn runs(ack: SeqNo, options: &[DccpOption]) -> impl Iterator<Item = Run> + '_ {
    let vectors = options.iter().filter_map(|option| match option {
        DccpOption::DataDropped(blocks) => Some(blocks.as_slice()),
        _ => None,
    });
    let mut newest = ack;
    vectors.flat_map(blocks).map(move |block| {
        let oldest = newest.sub(u64::from(block.packets) - 1);
        let run = Run { drop: block.drop, newest, oldest };
        newest = oldest.previous();
        run
    })
}

/// Builds Data Dropped options from drop states in descending order of sequence numbers.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct DataDroppedBuilder {
    blocks: OptionBytes,
    drops: bool,
}

impl DataDroppedBuilder {
    /// A builder without packets.
    pub fn new() -> Self {
        Self::default()
    }

    /// Appends `packets` older packets with the same drop state.
    pub fn push(&mut self, drop: Option<DropCode>, packets: u64) {
        let max = max_block(drop);
        let mut left = packets;
        self.drops |= drop.is_some() && packets > 0;
        if let Some(last) = self.blocks.last_mut() {
            let block = Block::from_byte(*last);
            if block.drop == drop {
                let taken = left.min(u64::from(max - block.packets));
                *last += taken as u8;
                left -= taken;
            }
        }
        while left > 0 {
            let taken = left.min(u64::from(max));
            self.blocks.push(Block { drop, packets: taken as u8 }.byte());
            left -= taken;
        }
    }

    /// The options: as many as required at 253 blocks each. None if no data was dropped, as the absence of
    /// the option has the same meaning.
    pub fn into_options(self) -> impl Iterator<Item = DccpOption> {
        let blocks = if self.drops { self.blocks } else { OptionBytes::new() };
        super::split(blocks, MAX_DATA_LEN).map(DccpOption::DataDropped)
    }
}
