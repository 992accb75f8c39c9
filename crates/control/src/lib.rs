//! Congestion control laws as pure state machines.
//!
//! A law is fed numbers (sequence numbers, sizes, instants, round-trip times) and answers with
//! numbers (a rate, a window, a deadline). Nothing here knows a packet format, opens a socket or
//! reads a clock, so the same code serves DCCP, the simulated TCP, or somebody's RTP or QUIC.
//!
//! - [`tfrc`]: TCP-Friendly Rate Control (RFC 5348): the loss event rate at the receiver, the
//!   allowed sending rate at the sender.
//! - [`freeze`]: TFRC over a handover: stop, restore the rate, probe for more.
//! - [`loss_differentiation`]: telling losses on a wireless link from losses to congestion.
//! - [`handover_model`]: what a handover costs a TFRC sender, in equations.
//! - [`reordering`]: putting packets back into order within a bounded delay.
//! - [`window`]: congestion windows (RFC 5681) and the retransmission timeout (RFC 6298).
#![no_std]

extern crate alloc;
#[cfg(test)]
extern crate std;

pub mod freeze;
pub mod handover_model;
pub mod loss_differentiation;
pub mod reordering;
pub mod tfrc;
pub mod window;
