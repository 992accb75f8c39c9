//! Congestion control laws as pure state machines.
//!
//! A law takes numbers (sequence numbers, sizes, instants, round-trip times) and returns numbers (a rate, a
//! window, a deadline). Nothing here parses packets, opens sockets or reads a clock, so that the same code
//! serves DCCP, the simulated TCP, and RTP or QUIC implementations.
//!
//! - [`tfrc`]: TCP-Friendly Rate Control (RFC 5348): the loss event rate at the receiver, the
//!   allowed sending rate at the sender.
//! - [`explicit_rate`]: routers that write rates into packets: XCP, RCP, their variants for wireless media, ABC.
//! - [`capacity`]: capacity and available bandwidth of an 802.11 medium, from observed frames.
//! - [`freeze`]: TFRC over a handover: stop, restore the rate, probe for more.
//! - [`media`]: rates for encoders of live media, from delay, loss and marks.
//! - [`loss_detection`]: holes in the sequence numbers that were not filled in time.
//! - [`loss_differentiation`]: classification of losses into wireless and congestion losses.
//! - [`handover_model`]: the cost of a handover for a TFRC sender, in equations.
//! - [`multipath`]: the path of each datagram.
//! - [`reordering`]: putting packets back into order within a bounded delay.
//! - [`window`]: congestion windows (RFC 5681) and the retransmission timeout (RFC 6298).
#![no_std]

extern crate alloc;
#[cfg(test)]
extern crate std;

pub mod capacity;
pub mod explicit_rate;
pub mod freeze;
pub mod handover_model;
pub mod loss_detection;
pub mod loss_differentiation;
pub mod media;
pub mod multipath;
pub mod reordering;
pub mod tfrc;
pub mod window;
