//! A simulated TCP, to compare with: Tahoe, Reno, NewReno and SACK, as the RFCs have them or as ns-2 does.
//!
//! The two ends are machines without I/O: [`TcpSender`] has data, [`TcpReceiver`] accepts it. Data flows in
//! one direction; a two-way exchange is two connections. Both are driven alike:
//!
//! ```
//! use whimbrel_lab::tcp::{TcpConfig, TcpReceiver, TcpSender, Variant};
//! use whimbrel_units::Instant;
//!
//! let config = TcpConfig::rfc(Variant::Sack);
//! let (mut sender, mut receiver) = (TcpSender::new(&config), TcpReceiver::new(&config));
//! sender.send(10_000);
//! let mut now = Instant::ZERO;
//! while !sender.is_finished() {
//!     // A network without delay: what one end sends the other gets at once.
//!     while let Some(segment) = sender.poll_transmit(now) {
//!         receiver.handle_segment(now, &segment);
//!     }
//!     while let Some(segment) = receiver.poll_transmit(now) {
//!         sender.handle_segment(now, &segment);
//!     }
//!     now = sender.poll_timeout().unwrap_or(now);
//! }
//! assert_eq!(receiver.snapshot().delivered, 10_000);
//! ```
//!
//! Scope:
//!
//! - Windows by any [`WindowLaw`](whimbrel_control::window::WindowLaw) (RFC 5681 unless another is given),
//!   the timer of RFC 6298, fast retransmit and recovery (RFC 5681, RFC 6582, RFC 6675; RACK-TLP, RFC 8985,
//!   with PRR, RFC 9937), limited transmit (RFC 3042), delayed acknowledgements (RFC 1122), timestamps (RFC
//!   7323), ECN (RFC 3168) with an echo or with counted marks (AccECN, RFC 9768), idle restart, Nagle's
//!   algorithm, an opening SYN, a closing FIN.
//! - The receiver's application reads at once, so the window offered never closes: there are no window
//!   probes.
//! - Duplicate SACKs (RFC 2883); with RACK, reductions for segments that were only late are undone (RFC 3708,
//!   RFC 4015), and more reordering is tolerated.
//! - No urgent data, no path MTU discovery, no F-RTO (RFC 5682).
//!   The third segment of the opening handshake carries the first data, and the receiving end does not close
//!   its own direction.
//! - [`TcpConfig::rfc`] follows the RFCs, [`TcpConfig::linux`] is near Linux's of today, [`TcpConfig::ns2`]
//!   follows ns-2.35 segment by segment; there is a table of the differences there.

use whimbrel_units::Instant;

mod config;
mod header;
mod ranges;
mod receiver;
mod scoreboard;
mod segment;
mod sender;
mod transmissions;

pub use config::{
    BurstLimits, DelayedAck, EcnMode, IdleRestart, LimitedTransmit, LossDetection, PartialAckTimer,
    ReceiverConfig, RecoveryConfig, RecoveryExit, ReductionBasis, SackRecovery, SendingConfig, TcpConfig,
    Variant, WindowConfig,
};
pub use header::{Addresses, WINDOW_SHIFT, write_tcp_header};
pub use ranges::ByteRange;
pub use receiver::{ReceiverSnapshot, TcpReceiver};
pub use segment::{EcnCounters, Flags, HeaderModel, SackBlocks, Segment, Timestamps};
pub use sender::{ExternalWindow, ModelSnapshot, SenderPhase, SenderProgress, SenderSnapshot, TcpSender};

/// The clock of the timestamps option: microseconds, modulo 2^32.
fn clock(now: Instant) -> u32 {
    (now.as_nanos() / 1_000) as u32
}

#[cfg(test)]
mod tests;
