//! Packets of real programs in a simulated network.
//!
//! An [`Emulation`](crate::runner::Emulation) is a run whose flows end outside: a driver hands it the IP
//! packets of programs and takes the packets that have crossed the network, while a real clock advances.
//! Links, queues, media, routes and records are the same as in every other run. This module has the ends of
//! such flows and what they read and write in a packet: addresses, the ECN field and, for disciplines with a
//! queue per flow, the ports.

mod addresses;
mod end;
pub mod ip;
mod packet;

pub use addresses::AddressPlan;
pub use end::{Arrival, EmulatedEnd};
pub(crate) use end::{EmulatedTransport, SharedOutbox};
pub use packet::{BoxedPacket, EmulatedPacket, HEADROOM};

#[cfg(test)]
mod tests;
