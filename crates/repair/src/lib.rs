//! Repair of lost datagrams within a latency budget, sans I/O.
//!
//! - [`encoder`] and [`decoder`] are the sliding-window code of RFC 8681 (random linear codes over GF(2^8), for FECFRAME), on the
//!   formats of [`fecframe`], the coefficients of [`rlc`], and the arithmetic of [`field`] and [`kernel`].
#![no_std]
extern crate alloc;
#[cfg(test)]
extern crate std;

pub mod channel;
pub mod decision;
pub mod decoder;
pub mod encoder;
pub mod fecframe;
pub mod field;
pub mod frames;
pub mod kernel;
pub mod playout;
pub mod receiver;
pub mod rlc;
pub mod sender;
pub mod tinymt;
pub mod wire;

#[cfg(test)]
mod tests_support;
