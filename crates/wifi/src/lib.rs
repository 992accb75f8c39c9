//! IEEE 802.11 as machines without I/O: PHY timing, the medium, the distributed coordination function.
//!
//! Nothing here reads a clock, opens a file or draws entropy: `now` is the first argument, deadlines are absolute
//! and random numbers come from a [`Random`] stream that the driver supplies. The crate knows no transport.
//!
//! - [`phy`]: rates, preambles, interframe spaces, the time of a frame on the air.
//! - [`frame`]: frames as typed values.
//! - [`random`]: the interface to random streams.
#![no_std]

extern crate alloc;
#[cfg(test)]
extern crate std;

pub mod frame;
pub mod phy;
pub mod random;

pub use frame::{Frame, FrameKind, MacAddress};
pub use phy::{Phy, Preamble, Rate, RateSet};
pub use random::{Random, SplitMix64};
