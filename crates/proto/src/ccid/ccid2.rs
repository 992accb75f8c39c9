//! CCID 2: TCP-like congestion control (RFC 4341).
//!
//! The sender keeps a congestion window in packets, as SACK TCP does, and learns from Ack Vectors which
//! packets left the network. There are no retransmissions, so "recovery" means only that one congested window
//! causes one reaction. Unlike TCP, the sender also detects congestion of the acknowledgements and reduces
//! their rate by the Ack Ratio.
//!
//! | part | does | RFC 4341 |
//! |---|---|---|
//! | `flight` | packets in flight; loss detection by three later arrivals | Section 5 |
//! | `reordering` | the wait for packets that are only late; needless reductions undone | RFC 8985, RFC 4015 |
//! | `window` | slow start, congestion avoidance, halving, idle periods | Sections 5, 5.1 |
//! | `ack_ratio` | congestion control of the acknowledgements | Section 6.1 |
//! | [`Sender`] | combines these; the transmit timer | Sections 5, 6.2 |
//! | [`Receiver`] | time of acknowledgements | Section 6; RFC 4340, Section 11.3 |
//!
//! ECN nonces (Section 7) are not computed (RFC 8311, Section 6).

use whimbrel_control::window::{LawPrototype, NewReno};
use whimbrel_units::Duration;

use super::drop_reaction::{self, DropPolicy};
use super::{Ccid, CcidProfile, HalfConnection, HcReceiver, HcSender, Mechanism};

mod ack_ratio;
mod flight;
mod receiver;
mod reordering;
mod sender;
mod window;

use ack_ratio::AckRatio;

/// The Ack Ratio before a change is negotiated (RFC 4340, Section 11.3).
pub const INITIAL_ACK_RATIO: u64 = AckRatio::INITIAL;
pub use receiver::Receiver;
pub use sender::Sender;

/// Time for which a receiver delays an acknowledgement (RFC 4340, Section 11.3).
const DELAYED_ACK: Duration = Duration::from_millis(200);
/// The round-trip time to assume without a measurement (RFC 4340, Section 3.4).
const DEFAULT_RTT: Duration = Duration::from_millis(200);
/// Number of later packets whose arrival makes a packet lost (RFC 4341, Section 5).
const NUMDUPACK: usize = 3;

/// CCID 2, or an experiment with another window law, and its parameters.
///
/// ```
/// use whimbrel_control::window::NewReno;
/// use whimbrel_proto::ccid::{Registry, ccid2::Ccid2};
/// use whimbrel_proto::{Ccid, Config};
///
/// // CCID 2's mechanics with the window of RFC 5681, as CCID 251.
/// let law = NewReno::rfc5681();
/// let mut config = Config::default().ccids(Registry::default().with(Ccid2::with_law(Ccid(251), law)));
/// config.sender_ccids = [Ccid(251)].into();
/// config.receiver_ccids = [Ccid(251)].into();
/// assert!(config.validate().is_ok());
/// ```
#[derive(Clone, Debug)]
pub struct Ccid2 {
    /// The CCID: 2, or one of those for experiments, 248 to 254 (RFC 4340, Section 19.5).
    pub ccid: Ccid,
    /// Name in messages and on command lines.
    pub name: &'static str,
    /// The window law.
    pub law: LawPrototype,
    /// The sender's reaction to data dropped by the receiving host.
    pub drop_policy: DropPolicy,
    /// The most packets that one acknowledgement may release. RFC 4341, Section 5 has no limit; a small one
    /// prevents a burst after a lost acknowledgement. A packet is always released if none is in the network.
    pub max_burst: Option<u32>,
}

impl Ccid2 {
    /// CCID 2's mechanics with another window law, under the number of an experiment.
    pub fn with_law(ccid: Ccid, law: impl Into<LawPrototype>) -> Self {
        Self {
            ccid,
            name: "an experiment",
            law: law.into(),
            drop_policy: drop_reaction::standard,
            max_burst: None,
        }
    }

    /// The same with a name.
    #[must_use]
    pub fn named(self, name: &'static str) -> Self {
        Self { name, ..self }
    }
}

impl Default for Ccid2 {
    fn default() -> Self {
        Self::with_law(Ccid::TCP_LIKE, NewReno::rfc4341(AckRatio::INITIAL)).named("TCP-like")
    }
}

impl Mechanism for Ccid2 {
    fn ccid(&self) -> Ccid {
        self.ccid
    }

    fn name(&self) -> &'static str {
        self.name
    }

    fn sender(&self, half: &HalfConnection) -> Box<dyn HcSender> {
        Box::new(Sender::new(half, self))
    }

    fn receiver(&self, half: &HalfConnection) -> Box<dyn HcReceiver> {
        Box::new(Receiver::new(half.rtt))
    }

    /// CCID 2 depends on Ack Vectors and controls the Ack Ratio (RFC 4341, Sections 4 and 6).
    fn profile(&self) -> CcidProfile {
        CcidProfile {
            needs_ack_vector: true,
            uses_ack_ratio: true,
            is_scalable: self.law.law().is_scalable(),
            ..CcidProfile::PLAIN
        }
    }
}

#[cfg(test)]
mod tests;
