//! Handover: from levels to another cell, with what the change costs.
//!
//! - [`A3`]: the report that a neighbour is better.
//! - [`RadioLink`]: the detection that the serving cell is lost.
//! - [`Handover`]: preparation, interruption, failure and re-establishment.
//!
//! Packets survive a change in RLC: [`Sender::reestablish`](crate::rlc::Sender::reestablish) keeps what is
//! not acknowledged under its numbers, and [`Receiver::reestablish`](crate::rlc::Receiver::reestablish) what
//! is complete, so that the new cell repeats the rest and nothing is reordered.

mod a3;
mod execution;
mod radio_link;

pub use a3::{A3, A3Config};
pub use execution::{Handover, HandoverConfig, HandoverEvent, InvalidHandover, Phase};
pub use radio_link::{RadioLink, RadioLinkConfig};

/// A cell, numbered among the cells of a network.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Debug)]
pub struct CellIndex(pub u32);
