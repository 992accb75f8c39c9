//! Radio link control: packets become parts of blocks and are put together again (TS 36.322, TS 38.322).
//!
//! One model for LTE and NR: a packet has a number, and a part of it a range of bytes, as in NR. What a lost
//! block took along is missed with the next block that arrives; after t-Reassembly (LTE's t-Reordering) UM
//! gives it up and AM asks for it by a status.
//!
//! - [`Sender`]: fills blocks from the bearer's queue, repeats what a status misses, polls.
//! - [`Receiver`]: reassembles packets, in the order of their completion.
//!   [`Reordering`](crate::pdcp::Reordering) restores the order.

mod receiver;
mod sender;

use alloc::vec::Vec;

use whimbrel_units::Duration;

use crate::packet::{Gap, Number};

pub use receiver::Receiver;
pub use sender::{Filled, Sender};

/// The mode of a bearer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mode {
    /// UM: what is missing is given up.
    Unacknowledged,
    /// AM: what is missing is asked for.
    Acknowledged {
        /// t-PollRetransmit: how long a poll waits for its status.
        poll_retransmit: Duration,
        /// t-StatusProhibit: the least time between two statuses.
        status_prohibit: Duration,
        /// The most repetitions of a packet; one more is a failure of the radio link.
        repetitions: u32,
    },
}

/// Received and missing packets in AM.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Status {
    /// All packets before this number have arrived, but for the gaps.
    pub next: Number,
    /// Missing parts.
    pub gaps: Vec<Gap>,
}

#[cfg(test)]
mod tests;
