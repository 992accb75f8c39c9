//! IEEE 802.11 as machines without I/O: PHY timing, the medium, the distributed coordination function.
//!
//! Nothing here reads a clock, opens a file or draws entropy: `now` is the first argument, deadlines are absolute
//! and random numbers come from a [`Random`] stream that the driver supplies. The crate knows no transport.
//!
//! - [`phy`]: rates, preambles, interframe spaces, the time of a frame on the air.
//! - [`frame`]: frames as typed values.
//! - [`dcf`]: one station's MAC.
//! - [`medium`]: reception, carrier sense, capture and collisions.
//! - [`site`]: the stations of a network and the links between them.
//! - [`deadlines`]: the earliest of many machines' deadlines.
//! - [`infrastructure`]: access points, scanning, association, hand-over.
//! - [`mobility`]: positions as functions of time.
//! - [`propagation`]: received power, fading, error rates, the nodes within a range.
//! - [`random`]: the interface to random streams.
//! - [`rate_control`]: rate adaptation.
//! - [`routing`]: DSDV and AODV.
#![no_std]

extern crate alloc;
#[cfg(test)]
extern crate std;

pub mod dcf;
pub mod deadlines;
pub mod frame;
mod id;
pub mod infrastructure;
pub mod medium;
pub mod mobility;
pub mod phy;
pub mod propagation;
pub mod random;
pub mod rate_control;
pub mod routing;
pub mod site;

pub use dcf::{Dcf, MacConfig, MacRules};
pub use frame::{Addressing, Frame, FrameKind, MacAddress};
pub use id::{PacketId, StationIndex};
pub use phy::{Phy, Preamble, Rate, RateSet};
pub use random::{Random, SplitMix64};
pub use rate_control::RateControl;
