//! CCID 250, an experiment: [CCID 3](super::ccid3) whose sender does not reduce its rate for packets reported
//! as corrupt.
//!
//! RFC 4340, Section 11.7.2, has CCIDs 2 to 4 treat Drop Codes 3 (Corrupt) and 7 (Delivered Corrupt) as
//! congestion marks until research has found a better reaction; Section 19.5 reserves CCIDs 248 to 254 for
//! that research. Here a packet that arrived with an intact header and data that fail the Data Checksum does
//! not reduce the rate: a full queue drops whole packets, so corruption is no sign of congestion. Everything
//! else is as in CCID 3: losses and ECN marks count, and so do reserved Drop Codes.
//!
//! The mechanism needs a path that delivers damaged packets: DCCP over IP, not over UDP, whose checksum
//! covers everything (RFC 6773, Section 3.3.1); a Checksum Coverage that excludes the data, and the Data
//! Checksum option ([`IntegrityConfig`](crate::config::IntegrityConfig)). A receiver that misreports
//! corruption gains no more than by misreporting losses, which CCID 3 has it report as well.
//!
//! No registry has it by default, so that no peer can negotiate it without the application's consent:
//!
//! ```
//! use whimbrel_proto::ccid::{Registry, ccid250};
//! use whimbrel_proto::{Ccid, Config};
//!
//! let mut config = Config::default().ccids(Registry::default().with(ccid250::mechanism()));
//! config.sender_ccids = [Ccid::TFRC_EXPLICIT, Ccid::TFRC, Ccid::TCP_LIKE].into();
//! config.receiver_ccids = [Ccid::TFRC_EXPLICIT, Ccid::TFRC, Ccid::TCP_LIKE].into();
//! assert!(config.validate().is_ok());
//! ```

use whimbrel_wire::option::data_dropped::DropCode;

use super::drop_reaction::{self, DropReaction};
use super::tfrc::{Tfrc, Variant};
use super::{Ccid, ccid3};

/// CCID 250.
pub const VARIANT: Variant = Variant {
    ccid: Ccid::TFRC_EXPLICIT,
    name: "an experiment",
    drop_policy: corruption_is_no_congestion,
    ..ccid3::VARIANT
};

/// CCID 250, for a [`Registry`](super::Registry).
pub fn mechanism() -> Tfrc {
    Tfrc::new(VARIANT)
}

/// Named corruption causes no reaction; other codes RFC 4340's.
fn corruption_is_no_congestion(code: DropCode) -> DropReaction {
    match code {
        DropCode::Corrupt | DropCode::DeliveredCorrupt => DropReaction::Ignore,
        other => drop_reaction::standard(other),
    }
}

#[cfg(test)]
mod tests;
