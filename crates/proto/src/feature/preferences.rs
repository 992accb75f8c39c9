//! What one end would accept of each feature, and what it asks for.

use smallvec::SmallVec;
use whimbrel_wire::option::FeatureNumber;

use super::{Location, ValueList};
use crate::ccid::{HalfEnd, Mechanism};
use crate::config::{DataChecksumUse, IntegrityConfig, MAX_COVERAGE};
use crate::{Ccid, Config};

/// What one end would accept of each feature, and what it asks for from the start.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Preferences {
    /// For the data this end sends, best first.
    pub sender_ccids: CcidChoices,
    /// For the data this end receives, best first.
    pub receiver_ccids: CcidChoices,
    /// What else this end wants, whatever the CCIDs.
    pub wishes: Wishes,
    /// How many packets this end expects to have in flight (RFC 4340, Section 7.5.2).
    pub sequence_window: u64,
}

/// The congestion controls that a half-connection may use, best first.
pub type CcidChoices = SmallVec<[CcidChoice; 2]>;

/// What an end wants of some features.
pub type Wishes = SmallVec<[Wish; 2]>;

/// A congestion control that one half-connection may use, with the features that go with it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CcidChoice {
    /// Which.
    pub ccid: Ccid,
    /// What this end wants of other features once that CCID is agreed on. CCID-specific features
    /// exist only while they are in this list.
    pub wishes: Wishes,
}

/// What an end wants of one server-priority feature.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Wish {
    /// Which feature.
    pub feature: FeatureNumber,
    /// Where it is located.
    pub location: Location,
    /// The values that this end would accept, best first.
    pub values: SmallVec<[u8; 2]>,
    /// Whether to ask for the best, rather than only to answer.
    pub ask: bool,
    /// Whether the connection is of no use with any other value.
    pub required: bool,
}

impl Preferences {
    /// What follows from an application's choices.
    pub fn new(config: &Config) -> Self {
        let choices = |ccids: &[Ccid], data_from| -> CcidChoices {
            let choice = |ccid: &Ccid| {
                let mechanism = config.ccids.mechanism(*ccid);
                let wishes = mechanism.map_or_else(Wishes::new, |m| wishes_of(m, data_from, config));
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
        Self {
            sender_ccids: choices(&config.sender_ccids, Location::Local),
            receiver_ccids: choices(&config.receiver_ccids, Location::Remote),
            wishes,
            sequence_window: config.sequence_window,
        }
    }

    /// The congestion controls for the data of the end at `location`.
    pub(super) fn ccids(&self, location: Location) -> &CcidChoices {
        match location {
            Location::Local => &self.sender_ccids,
            Location::Remote => &self.receiver_ccids,
        }
    }
}

impl Wish {
    /// Nothing but `value` will do.
    fn demand(feature: FeatureNumber, location: Location, value: u8) -> Self {
        Self { feature, location, values: SmallVec::from_slice(&[value]), ask: true, required: true }
    }
    /// `value` would be good, the other one of a Boolean feature will do.
    fn ask(feature: FeatureNumber, location: Location, value: u8) -> Self {
        Self { ask: true, ..Self::accept(feature, location, value) }
    }
    /// Nothing but `value` is accepted, but not asked for.
    fn only(feature: FeatureNumber, location: Location, value: u8) -> Self {
        Self { feature, location, values: SmallVec::from_slice(&[value]), ask: false, required: false }
    }
    /// Leaves it to the other end, but sides with `value`.
    fn accept(feature: FeatureNumber, location: Location, value: u8) -> Self {
        let values = SmallVec::from_slice(&[value, 1 - value]);
        Self { feature, location, values, ask: false, required: false }
    }
}

/// What this end wants of the features that protect application data (RFC 4340, Section 9).
fn wishes_of_integrity(integrity: &IntegrityConfig) -> Wishes {
    let mut wishes = Wishes::new();
    let coverage = FeatureNumber::MinimumChecksumCoverage;
    if integrity.minimum_coverage > 0 {
        // A minimum of 0 accepts full coverage only, and greater ones less and less partial ones: all do
        // that promise no more than this end accepts.
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

/// What a CCID makes this end want of other features, on the half-connection with data from `data_from`.
pub(super) fn wishes_of(mechanism: &dyn Mechanism, data_from: Location, config: &Config) -> Wishes {
    let mut wishes = Wishes::new();
    let data_to = data_from.opposite();
    let end = if data_from == Location::Local { HalfEnd::Sender } else { HalfEnd::Receiver };
    if mechanism.profile().needs_ack_vector {
        // The sender of the data must ask for it (RFC 4341, Section 4). If the receiver, who may
        // well be the first to know the CCID, asks as well, that can save a round trip.
        let required = end == HalfEnd::Sender;
        wishes.push(Wish { required, ..Wish::demand(FeatureNumber::SendAckVector, data_to, 1) });
    }
    wishes.extend(mechanism.features(end, config).into_iter().map(|preference| Wish {
        feature: preference.feature,
        // RFC 4340, Section 10.3.
        location: if u8::from(preference.feature) < 192 { data_from } else { data_to },
        values: SmallVec::from_vec(preference.values),
        ask: preference.ask,
        required: false,
    }));
    wishes
}

/// What this end accepts of a common feature as long as nobody says otherwise: everything that it
/// can honour, and first what it would do unasked.
pub(super) fn default_preference(feature: FeatureNumber, location: Location) -> ValueList {
    match (feature, location) {
        // The least coverage that this end accepts is a full one, as applications expect intact data.
        (FeatureNumber::MinimumChecksumCoverage, Location::Local) => ValueList::from_slice(&[0]),
        (FeatureNumber::MinimumChecksumCoverage, Location::Remote) => (0..=15).collect(),
        // Every Data Checksum is checked anyway.
        (FeatureNumber::CheckDataChecksum, Location::Local) => ValueList::from_slice(&[1, 0]),
        (FeatureNumber::SequenceWindow | FeatureNumber::AckRatio, _) => ValueList::new(),
        _ => ValueList::from_slice(&[0, 1]),
    }
}
