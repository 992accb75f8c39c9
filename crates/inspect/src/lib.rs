//! Analysis of the streams of a capture: bytes in, report out.
//!
//! [`capture`] reads pcap and pcapng files frame by frame, [`dissect`] finds packets in the frames: DCCP
//! (over IP, or inside UDP), UDP and TCP. Each becomes a [`segment`], which knows what of it was captured;
//! packets that were captured more than once count [once](Viewpoint). [`follow`] tracks DCCP connections,
//! [`flows`] the RTP streams and all other flows, [`report`] contains the results, [`explain`] the rules of
//! its sentences. [`inspect()`] combines these; [`streams`] lists the packets of each stream, and [`losses`]
//! the times at which one lost packets. Nothing here opens a file, prints or reads a clock; no input causes a
//! panic, and memory is bounded by the number of tracked connections (for lists of packets, by their number).
//!
//! ```
//! use whimbrel_inspect::{FollowConfig, inspect};
//!
//! // The header of a pcap file without packets.
//! let mut file = vec![0xd4, 0xc3, 0xb2, 0xa1, 2, 0, 4, 0];
//! file.extend([0; 12]);
//! file.extend([1, 0, 0, 0]);
//! let report = inspect(file.as_slice(), FollowConfig::default(), &[])?;
//! assert!(report.connections.is_empty());
//! # Ok::<(), whimbrel_inspect::capture::CaptureError>(())
//! ```
//!
//! # Design
//!
//! - Explaining captures is a crate of its own, `inspect`, on top of `wire`, of `wifi` (frames on the air)
//!   and of the algorithms in `control` (lateness, and the estimators of capacity that `whimbrel capacity`
//!   feeds with a capture) alone: its fuzz target then needs no sockets and no simulator, and the reader of
//!   captures cannot print or open anything. It reads pcap and pcapng itself, because a reader that rejects a
//!   file for one odd packet is useless for finding the odd packet: the library that the tests compare it
//!   with rejects packets longer than the snap length and options without an end mark, and reports no
//!   offsets.
//! - All readers of captures share one `Segment`, which knows what of a packet was captured and which copy of
//!   it this is. Before a segment counts it waits for a second of the capture: the order of the points is
//!   known by then, so that reports need one pass and bounded memory. Copies are recognized by content and
//!   not by interface, as merged captures have lost their interfaces.
//! - Loss models are fitted in `inspect` (`loss_fit`), where the losses are found. The expectation step of
//!   Baum and Welch's algorithm goes over runs of equal packets, whose sums are powers of a matrix: its cost
//!   does not depend on the number of packets, and one implementation serves the two-state and the four-state
//!   chains.

pub mod air;
pub mod capacity;
pub mod capture;
pub mod cell_fit;
mod copies;
pub mod dissect;
pub mod explain;
pub mod fecframe;
pub mod flows;
pub mod follow;
mod inspector;
pub mod ip;
pub mod link;
pub mod loss_fit;
pub mod losses;
pub mod names;
pub mod option_length;
pub mod report;
pub mod segment;
pub mod streams;
#[cfg(test)]
mod tests_support;
pub mod traffic;

pub use copies::Viewpoint;
pub use follow::FollowConfig;
pub use inspector::{Inspector, Seen, inspect};
