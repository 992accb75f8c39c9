//! Congestion control: the interface between a connection and its CCIDs.
//!
//! A DCCP connection is two half-connections, each with its own CCID (RFC 4340, Section 10). A
//! CCID is therefore a pair: an [`HcSender`] at the end that sends the data and an [`HcReceiver`]
//! at the end that sends the feedback. The connection owns sequence numbers, Ack Vectors, feature
//! negotiation and the send queue; a CCID decides *when* a data packet may leave and when an acknowledgement
//! is due, and it writes and reads its own options.

use core::fmt;

pub mod ccid2;
pub mod ccid250;
pub mod ccid252;
pub mod ccid3;
pub mod ccid4;
pub mod drop_reaction;
mod extensions;
mod hc_receiver;
mod hc_sender;
mod packets;
mod profile;
pub mod registry;
mod snapshot;
pub mod tfrc;
pub mod window_laws;

pub use extensions::{Freezing, LossClassifier, OrderedReceiver, PathFollower, Resume};
pub use hc_receiver::HcReceiver;
pub use hc_sender::{FeatureRequest, HcSender, SendVerdict};
pub use packets::{DroppedPacket, Feedback, ReceivedPacket, SenderMarks, SentPacket};
pub use profile::CcidProfile;
pub use registry::{FeaturePreference, HalfConnection, HalfEnd, Mechanism, Registry};
pub use snapshot::{ReceiverSnapshot, SenderSnapshot};

/// A congestion control identifier (RFC 4340, Section 10, Table 5).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Ccid(pub u8);

impl Ccid {
    /// TCP-like (RFC 4341).
    pub const TCP_LIKE: Self = Self(2);
    /// TFRC (RFC 4342).
    pub const TFRC: Self = Self(3);
    /// TFRC for small packets (RFC 5622).
    pub const TFRC_SP: Self = Self(4);
    /// TFRC that spares corruption named by Data Dropped, [an experiment](ccid250).
    pub const TFRC_EXPLICIT: Self = Self(250);
    /// CCID 2 with the window of CUBIC, [an experiment](window_laws).
    pub const CUBIC: Self = Self(248);
    /// CCID 2 with the window of Veno, [an experiment](window_laws).
    pub const VENO: Self = Self(249);
    /// TFRC with a bounded queueing delay, [an experiment](ccid252).
    pub const DELAY_AWARE: Self = Self(252);
    /// CCID 2 with the window of Westwood+, [an experiment](window_laws).
    pub const WESTWOOD: Self = Self(253);
    /// CCID 2 with a Prague-like window for L4S, [an experiment](window_laws).
    pub const PRAGUE: Self = Self(254);
}

impl fmt::Debug for Ccid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "CCID {}", self.0)
    }
}
impl fmt::Display for Ccid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "CCID {}", self.0)
    }
}
