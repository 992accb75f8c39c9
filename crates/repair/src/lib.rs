//! Repair of lost datagrams within a latency budget, sans I/O.
//!
//! Live media need each frame at its time. This crate brings back what the network loses, if that is possible
//! in time, at the least cost: it repeats what still arrives before the deadline, sends coded packets where
//! no round trip is left, and gives up at once what cannot be saved. It takes any transport of unreliable
//! datagrams; time is an argument and no memory grows without bound.
//!
//! - [`sender::Sender`] and [`receiver::Receiver`] are the two ends, with the verbs of a connection:
//!   `handle_packet`, `handle_timeout`, `poll_transmit`, `poll_timeout` and `poll_event` or `poll_delivery`.
//!   Their datagrams are described in [`wire`].
//! - [`encoder`] and [`decoder`] are the sliding-window code of RFC 8681 (random linear codes over GF(2^8),
//!   for FECFRAME), on the formats of [`fecframe`], the coefficients of [`rlc`], and the arithmetic of
//!   [`field`] and [`kernel`].
//! - Where a transport delivers damaged packets, datagrams go in [parts](wire::parts): what of them is whole
//!   is used.
//! - [`decision`] is the optimization that chooses between parity and repeats, for the [`channel`] as it is
//!   estimated.
//! - [`playout`] maps the sender's timestamps to times of delivery; [`frames`] knows what a lost frame makes
//!   useless.
//!
//! The latency of both ends is what repair may use: the time from the capture of a frame to its delivery,
//! less the delay of the path.
//!
//! ```
//! use whimbrel_repair::receiver::{Receiver, ReceiverConfig};
//! use whimbrel_repair::sender::{Mark, Sender, SenderConfig};
//! use whimbrel_units::{Duration, Instant};
//!
//! let (latency, path) = (Duration::from_millis(100), Duration::from_millis(20));
//! let mut sender = Sender::new(SenderConfig::new(1200, latency));
//! let mut receiver = Receiver::new(ReceiverConfig::new(1200, latency));
//! let (mut packet, mut delivered) = (Vec::new(), Vec::new());
//! for millisecond in 0..400 {
//!     let now = Instant::from_millis(1_000 + millisecond);
//!     if millisecond % 20 == 0 && millisecond < 200 {
//!         sender.send(now, format!("frame {}", millisecond / 20).as_bytes(), Mark::SINGLE)?;
//!     }
//!     sender.handle_timeout(now);
//!     receiver.handle_timeout(now);
//!     while sender.poll_transmit(now, &mut packet).is_some() {
//!         // The path loses the original of the third frame.
//!         if millisecond != 40 {
//!             receiver.handle_packet(now + path, &packet)?;
//!         }
//!     }
//!     while receiver.poll_transmit(now + path, &mut packet).is_some() {
//!         sender.handle_packet(now + path + path, &packet)?;
//!     }
//!     while receiver.poll_delivery(now + path, &mut packet).is_some() {
//!         delivered.push(String::from_utf8(packet.clone())?);
//!     }
//! }
//! assert_eq!(delivered.len(), 10);
//! assert_eq!(delivered[2], "frame 2");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![no_std]
extern crate alloc;
#[cfg(test)]
extern crate std;

pub mod channel;
mod columns;
pub mod decision;
pub mod decoder;
pub mod encoder;
pub mod fecframe;
pub mod field;
pub mod frames;
pub mod kernel;
mod lateness;
pub mod playout;
pub mod receiver;
pub mod rlc;
pub mod sender;
pub mod tinymt;
pub mod wire;

#[cfg(test)]
mod tests_support;
