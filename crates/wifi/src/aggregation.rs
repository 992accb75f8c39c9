//! Aggregation and block acknowledgements of 802.11n, ac and ax (IEEE Std 802.11-2020, 9.7, 9.3.2.2, 10.25).
//!
//! - [`AggregateLimits`]: how many packets fit into an A-MSDU, and how many MPDUs into an A-MPDU.
//! - [`BlockAck`] and [`Scoreboard`]: the bitmap, and what a receiver notes for it.
//! - [`ReorderBuffer`]: the receiver's MPDUs in the order of their sequence numbers.
//! - [`TransmitWindow`]: the sender's MPDUs that are neither acknowledged nor given up, and the packets
//!   behind them.

mod block_ack;
mod limits;
mod reorder;
mod window;

pub use block_ack::{BlockAck, Scoreboard};
pub use limits::{AggregateLimits, amsdu_bytes};
pub use reorder::ReorderBuffer;
pub use window::{Fate, Mpdu, Packet, Room, TransmitWindow};

/// Bytes of the header of a QoS data frame with three addresses and of its frame check sequence.
pub const QOS_OVERHEAD_BYTES: u32 = 30;
/// Bytes of a BlockAckReq frame.
pub const BLOCK_ACK_REQUEST_BYTES: u32 = 24;
/// Bytes of the delimiter before each MPDU of an A-MPDU.
pub const DELIMITER_BYTES: u32 = 4;
/// The largest number of MPDUs for which a bitmap is kept.
pub const LARGEST_WINDOW: u16 = 256;

/// Sequence numbers are counted modulo 4096.
const SEQUENCES: u16 = 4096;
/// Numbers that are this far ahead, or farther, count as earlier ones.
const HALF: u16 = SEQUENCES / 2;

/// The distance from one sequence number to a later one, modulo 4096.
pub const fn sequences_between(from: u16, to: u16) -> u16 {
    to.wrapping_sub(from) % SEQUENCES
}

/// The sequence number `count` after another.
pub const fn sequence_after(sequence: u16, count: u16) -> u16 {
    sequence.wrapping_add(count) % SEQUENCES
}

/// `true` if a sequence number precedes another: it is up to 2048 behind.
pub const fn precedes(sequence: u16, other: u16) -> bool {
    sequences_between(other, sequence) >= HALF
}
