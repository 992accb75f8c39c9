//! The values of each feature acceptable to one end, and the changes that it requests.

use smallvec::SmallVec;
use whimbrel_wire::option::FeatureNumber;

use super::{Location, ValueList};
use crate::ccid::{HalfEnd, Mechanism};
use crate::config::{DataChecksumUse, IntegrityConfig, MAX_COVERAGE};
use crate::{Ccid, Config};

/// The values of each feature acceptable to one end, and the changes that it requests from the start.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Preferences {
    /// CCIDs for the data that this end sends, in order of preference.
    pub sender_ccids: CcidChoices,
    /// CCIDs for the data that this end receives, in order of preference.
    pub receiver_ccids: CcidChoices,
    /// Further wishes of this end, regardless of the CCIDs.
    pub wishes: Wishes,
    /// Number of packets that this end expects to have in flight (RFC 4340, Section 7.5.2).
    pub sequence_window: u64,
}

/// The CCIDs that a half-connection may use, in order of preference.
pub type CcidChoices = SmallVec<[CcidChoice; 2]>;

/// The wishes of an end for some features.
pub type Wishes = SmallVec<[Wish; 2]>;

/// A CCID that one half-connection may use, with the associated features.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CcidChoice {
    /// The CCID.
    pub ccid: Ccid,
    /// Wishes of this end for other features once that CCID is agreed on. CCID-specific features exist only
    /// while they are in this list.
    pub wishes: Wishes,
}

/// The wish of an end for one server-priority feature.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Wish {
    /// The feature.
    pub feature: FeatureNumber,
    /// Its location.
    pub location: Location,
    /// The values acceptable to this end, in order of preference.
    pub values: SmallVec<[u8; 2]>,
    /// `true` to open the negotiation, rather than only to respond.
    pub ask: bool,
    /// `true` if the connection cannot work with any other value.
    pub required: bool,
}

impl Preferences {
    /// The preferences that follow from a configuration.
    pub fn new(config: &Config) -> Self {
        let choices = |ccids: &[Ccid], data_from| -> CcidChoices {
            let choice = |ccid: &Ccid| {
                let mechanism = config.ccids.mechanism(*ccid);
                let wishes = mechanism.map_or_else(Wishes::new, |m| wishes_of(m, data_from));
                CcidChoice { ccid: *ccid, wishes }
            };
            ccids.iter().map(choice).collect()
        };
        let mut wishes = Wishes::new();
        if !config.ecn {
            // RFC 4340, Section 12.1.
            wishes.push(Wish::demand(FeatureNumber::EcnIncapable, Location::Local, 1));
        }
        let short = FeatureNumber::AllowShortSequenceNumbers;
        if config.short_sequence_numbers {
            wishes.push(Wish::ask(short, Location::Local, 1));
            wishes.push(Wish::accept(short, Location::Remote, 1));
        } else {
            // RFC 4340, Section 7.6.1: an endpoint can require that all packets use long numbers.
            wishes.push(Wish::only(short, Location::Remote, 0));
        }
        wishes.extend(wishes_of_integrity(&config.integrity));
        if config.freeze.offer {
            wishes.extend(Location::BOTH.map(|location| Wish::ask(FeatureNumber::Freezing, location, 1)));
        }
        if config.repair {
            let values = if config.repair_in_parts { &[2, 1, 0][..] } else { &[1, 0] };
            wishes.extend(Location::BOTH.map(|location| Wish {
                values: SmallVec::from_slice(values),
                ..Wish::ask(FeatureNumber::Repair, location, 1)
            }));
        }
        Self {
            sender_ccids: choices(&config.sender_ccids, Location::Local),
            receiver_ccids: choices(&config.receiver_ccids, Location::Remote),
            wishes,
            sequence_window: config.sequence_window,
        }
    }

    /// The CCIDs for the data of the end at `location`.
    pub(super) fn ccids(&self, location: Location) -> &CcidChoices {
        match location {
            Location::Local => &self.sender_ccids,
            Location::Remote => &self.receiver_ccids,
        }
    }
}

impl Wish {
    /// Opens the negotiation and accepts nothing but `value`.
    fn demand(feature: FeatureNumber, location: Location, value: u8) -> Self {
        Self { feature, location, values: SmallVec::from_slice(&[value]), ask: true, required: true }
    }

    /// Opens the negotiation of a Boolean feature with `value`, and accepts the other one.
    pub(crate) fn ask(feature: FeatureNumber, location: Location, value: u8) -> Self {
        Self { ask: true, ..Self::accept(feature, location, value) }
    }

    /// Accepts nothing but `value`, and only responds.
    fn only(feature: FeatureNumber, location: Location, value: u8) -> Self {
        Self { feature, location, values: SmallVec::from_slice(&[value]), ask: false, required: false }
    }

    /// Prefers `value`, accepts the other one, and only responds.
    pub(crate) fn accept(feature: FeatureNumber, location: Location, value: u8) -> Self {
        let values = SmallVec::from_slice(&[value, 1 - value]);
        Self { feature, location, values, ask: false, required: false }
    }
}

/// Wishes for the features that protect application data (RFC 4340, Section 9).
fn wishes_of_integrity(integrity: &IntegrityConfig) -> Wishes {
    let mut wishes = Wishes::new();
    let coverage = FeatureNumber::MinimumChecksumCoverage;
    if integrity.minimum_coverage > 0 {
        // A minimum of 0 accepts full coverage only, and greater ones accept less and less: all are
        // acceptable that promise no more than this end accepts.
        let values = (integrity.minimum_coverage..=MAX_COVERAGE).chain([0]).collect();
        wishes.push(Wish {
            feature: coverage,
            location: Location::Local,
            values,
            ask: true,
            required: false,
        });
    }
    if integrity.checksum_coverage > 0 {
        let values = (0..=integrity.checksum_coverage).rev().collect();
        wishes.push(Wish {
            feature: coverage,
            location: Location::Remote,
            values,
            ask: true,
            required: false,
        });
    }
    let check = FeatureNumber::CheckDataChecksum;
    match integrity.data_checksum {
        DataChecksumUse::Off => {}
        DataChecksumUse::Offer => wishes.push(Wish::ask(check, Location::Remote, 1)),
        DataChecksumUse::Require => wishes.push(Wish::demand(check, Location::Remote, 1)),
    }
    wishes
}

/// Wishes for other features that belong to a CCID, on the half-connection with data from `data_from`.
pub(super) fn wishes_of(mechanism: &dyn Mechanism, data_from: Location) -> Wishes {
    let mut wishes = Wishes::new();
    let data_to = data_from.opposite();
    let end = if data_from == Location::Local { HalfEnd::Sender } else { HalfEnd::Receiver };
    if mechanism.profile().needs_ack_vector {
        // The sender of the data must request it (RFC 4341, Section 4). If the receiver, which may know the
        // CCID first, requests it as well, that can save a round trip.
        let required = end == HalfEnd::Sender;
        wishes.push(Wish { required, ..Wish::demand(FeatureNumber::SendAckVector, data_to, 1) });
    }
    wishes.extend(mechanism.features(end).into_iter().map(|preference| Wish {
        feature: preference.feature,
        // RFC 4340, Section 10.3.
        location: if u8::from(preference.feature) < 192 { data_from } else { data_to },
        values: SmallVec::from_vec(preference.values),
        ask: preference.ask,
        required: false,
    }));
    wishes
}

/// The default preferences for a common feature: all values that this end supports, first the one that it
/// would use unasked.
pub(super) fn default_preference(feature: FeatureNumber, location: Location) -> ValueList {
    match (feature, location) {
        // The default minimum is full coverage, as applications expect intact data.
        (FeatureNumber::MinimumChecksumCoverage, Location::Local) => ValueList::from_slice(&[0]),
        (FeatureNumber::MinimumChecksumCoverage, Location::Remote) => (0..=15).collect(),
        // Every Data Checksum is verified anyway.
        (FeatureNumber::CheckDataChecksum, Location::Local) => ValueList::from_slice(&[1, 0]),
        (FeatureNumber::SequenceWindow | FeatureNumber::AckRatio, _) => ValueList::new(),
        _ => ValueList::from_slice(&[0, 1]),
    }
}
