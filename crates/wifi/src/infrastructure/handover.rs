//! The report of a handover.

use whimbrel_units::{Duration, Instant};

use crate::frame::MacAddress;

/// The phases of a handover, or of joining a network, as times.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct HandoverReport {
    /// The access point before; `None` if the station joined.
    pub from: Option<MacAddress>,
    /// The access point now.
    pub to: MacAddress,
    /// Last sign of the access point before: a beacon, data, or an acknowledgement. Without one, as
    /// `detected`.
    pub last_contact: Instant,
    /// The station gave the access point up, or began to join: end of the detection phase.
    pub detected: Instant,
    /// End of the scanning phase.
    pub scanned: Instant,
    /// End of the authentication phase.
    pub authenticated: Instant,
    /// End of the association phase.
    pub associated: Instant,
}

impl HandoverReport {
    /// The time without a link: from the decision to the new association.
    pub fn outage(&self) -> Duration {
        self.associated - self.detected
    }

    /// The detection phase: from the last sign of the access point before to the decision.
    pub fn detection(&self) -> Duration {
        self.detected - self.last_contact
    }

    /// The search phase: from the decision to the end of the scan.
    pub fn search(&self) -> Duration {
        self.scanned - self.detected
    }

    /// The authentication phase, with the change of the channel and access points that were tried in vain.
    pub fn authentication(&self) -> Duration {
        self.authenticated - self.scanned
    }

    /// The association phase.
    pub fn association(&self) -> Duration {
        self.associated - self.authenticated
    }
}
