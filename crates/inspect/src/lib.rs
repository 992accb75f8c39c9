//! Analysis of the DCCP connections of a capture: bytes in, report out.
//!
//! [`capture`] reads pcap and pcapng files frame by frame, [`dissect`] finds DCCP packets in the frames (over
//! IP, or inside UDP), [`follow`] tracks their connections, [`report`] contains the results. [`inspect()`]
//! combines these; [`arrivals`] lists the captured packets for loss differentiation, and [`losses`] the times
//! at which a DCCP or RTP stream lost packets. Nothing here opens a file, prints or reads a clock; no input
//! causes a panic, and memory is bounded by the number of tracked connections (for lists of packets, by their
//! number).
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

pub mod air;
pub mod arrivals;
pub mod capacity;
pub mod capture;
pub mod datagrams;
pub mod dissect;
pub mod follow;
mod inspector;
pub mod ip;
pub mod link;
pub mod loss_fit;
pub mod losses;
pub mod names;
pub mod option_length;
pub mod report;
pub mod rtp;

pub use follow::FollowConfig;
pub use inspector::{Inspector, Seen, inspect};
