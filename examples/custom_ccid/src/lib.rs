//! CCID 251: a rate that rises by one packet per round-trip time and halves on loss.
//!
//! An example of a congestion control outside Whimbrel's crates. Such a mechanism consists of four parts:
//!
//! 1. a [`Mechanism`] that builds both ends and declares the CCID's options and features ([`Aimd`]);
//! 2. an [`HcSender`] that decides when a data packet may leave ([`sender`]);
//! 3. an [`HcReceiver`] that decides when an acknowledgement is due and what its options
//!    hold ([`receiver`]);
//! 4. a [feature](SEND_RECEIVED_COUNT) and an [option](RECEIVED_COUNT) of its own.
//!
//! The receiver acknowledges once per round-trip time. If both ends have agreed on the feature, each
//! acknowledgement carries the number of data packets received so far, which the sender compares with the
//! number that it has sent. Without the feature the sender receives no loss reports, so it stays at one
//! packet per round-trip time.
//!
//! ```
//! use whimbrel_example_custom_ccid::{AIMD, Aimd};
//! use whimbrel_proto::Config;
//!
//! let mut config = Config::default();
//! config.ccids = config.ccids.with(Aimd::default());
//! config.sender_ccids = [AIMD].into_iter().collect();
//! config.receiver_ccids = [AIMD].into_iter().collect();
//! assert!(config.validate().is_ok());
//! ```

pub mod receiver;
pub mod sender;

use whimbrel_proto::Ccid;
use whimbrel_proto::ccid::{
    CcidProfile, FeaturePreference, HalfConnection, HalfEnd, HcReceiver, HcSender, Mechanism,
};
use whimbrel_units::Duration;
use whimbrel_wire::option::FeatureNumber;

/// The CCID's number, one of those for experiments (RFC 4340, Section 19.5).
pub const AIMD: Ccid = Ccid(251);

/// The feature "Send Received Count": the receiver adds [`RECEIVED_COUNT`] to its acknowledgements. Numbers
/// from 192 on belong to the end that receives the data (RFC 4340, Section 10.3).
pub const SEND_RECEIVED_COUNT: FeatureNumber = FeatureNumber::Other(193);

/// The option with the number of data packets received: four bytes, in network order.
pub const RECEIVED_COUNT: u8 = 200;

/// The round-trip time to assume without a measurement (RFC 4340, Section 3.4).
const DEFAULT_RTT: Duration = Duration::from_millis(200);

/// The mechanism, with its configuration.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Aimd {
    /// `true` if this end requests counts of losses.
    pub count: bool,
}

impl Default for Aimd {
    fn default() -> Self {
        Self { count: true }
    }
}

impl Mechanism for Aimd {
    fn ccid(&self) -> Ccid {
        AIMD
    }

    fn sender(&self, half: &HalfConnection) -> Box<dyn HcSender> {
        Box::new(sender::Sender::new(half.now, half.rtt.unwrap_or(DEFAULT_RTT)))
    }

    fn receiver(&self, half: &HalfConnection) -> Box<dyn HcReceiver> {
        Box::new(receiver::Receiver::new(half.rtt.unwrap_or(DEFAULT_RTT)))
    }

    fn profile(&self) -> CcidProfile {
        CcidProfile { options: &[RECEIVED_COUNT], ..CcidProfile::PLAIN }
    }

    fn features(&self, end: HalfEnd) -> Vec<FeaturePreference> {
        let value = u8::from(self.count);
        vec![match end {
            // The count helps the sender, so the sender opens the negotiation.
            HalfEnd::Sender if self.count => FeaturePreference::ask(SEND_RECEIVED_COUNT, value),
            _ => FeaturePreference::accept(SEND_RECEIVED_COUNT, value),
        }]
    }
}

/// The examples of the guide.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/congestion-control.md")]
struct Guide;
