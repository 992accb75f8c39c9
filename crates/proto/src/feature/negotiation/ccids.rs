//! Negotiation of the CCIDs, and its effects on other features.

use whimbrel_wire::PacketType;
use whimbrel_wire::option::FeatureNumber;

use super::{Negotiation, is_common};
use crate::Ccid;
use crate::feature::entry::Entry;
use crate::feature::preferences::default_preference;
use crate::feature::{Location, ValueList, Wish, half_connection};

impl Negotiation {
    /// Makes only the CCID in force acceptable for the data of the end at `location`, as RFC 4340, Section
    /// 10.5 allows, until
    /// [`Negotiation::release_ccids`].
    pub fn hold_ccid(&mut self, location: Location) {
        self.common_mut(FeatureNumber::Ccid, location).hold();
        self.refresh();
    }

    /// Makes all CCIDs of the [`Preferences`](crate::feature::Preferences) acceptable again, those in force
    /// first. A client that has answered a Change meanwhile sends one Change, so that both ends agree.
    pub fn release_ccids(&mut self) {
        for location in Location::BOTH {
            let value = self.value(FeatureNumber::Ccid, location);
            let choices = self.preferences.ccids(location);
            let all = choices.iter().map(|choice| choice.ccid.0);
            // The CCID in force stays the first choice: nothing happens until a Change arrives.
            let mut list = ValueList::from_iter(all.clone().filter(|ccid| u64::from(*ccid) == value));
            list.extend(all.filter(|ccid| u64::from(*ccid) != value));
            self.common_mut(FeatureNumber::Ccid, location).set_preference(list, true);
        }
        self.refresh();
    }

    /// RFC 4340, Section 10.3: `true` if features of CCID 2 on a Request are ignored here, regardless of the
    /// CCID agreed on later.
    pub(super) fn lacks_default_ccid(&self, packet_type: PacketType, half: Location) -> bool {
        let has_default = || self.preferences.ccids(half).iter().any(|choice| choice.ccid == Ccid::TCP_LIKE);
        packet_type == PacketType::Request && !has_default()
    }

    /// The negotiation of the CCID for the data of the end at `location` has ended.
    pub(super) fn settle_ccid(&mut self, ccid: Ccid, location: Location, changed: bool) {
        let belongs = |entry: &Entry| {
            entry.feature.is_ccid_specific()
                && half_connection(entry.feature.into(), entry.location) == location
        };
        if changed {
            self.specific.retain(|entry| !belongs(entry));
        }
        let settled = &mut self.settled_ccids[usize::from(location == Location::Remote)];
        let last = settled.replace(ccid);
        if last != Some(ccid) {
            self.prefer_features_of(ccid, location, true);
        }
        if last.is_some_and(|last| last != ccid) {
            // The new CCID's features start with their initial values here. The peer may have missed an
            // intermediate CCID, so a Change is required.
            self.specific.iter_mut().filter(|entry| belongs(entry)).for_each(Entry::ask);
        }
    }

    /// Adopts the wishes for other features that belong to the CCID of the half-connection with data from
    /// `data_from`.
    pub(super) fn prefer_features_of(&mut self, ccid: Ccid, data_from: Location, with_specific: bool) {
        let preferences = self.preferences.clone();
        let choices = preferences.ccids(data_from);
        let wishes =
            choices.iter().find(|choice| choice.ccid == ccid).map_or(&[][..], |choice| &choice.wishes);
        // Wishes of another CCID of this half-connection no longer count.
        let is_kept = |other: &Wish| {
            wishes.iter().any(|wish| (wish.feature, wish.location) == (other.feature, other.location))
        };
        let others = choices.iter().flat_map(|choice| &choice.wishes);
        for &Wish { feature, location, .. } in others.filter(|other| !is_kept(other)) {
            if is_common(feature)
                && let Ok(place) = self.common_place(feature, location)
            {
                self.common[place].set_preference(default_preference(feature, location), false);
            }
        }
        for wish in wishes {
            if with_specific || !wish.feature.is_ccid_specific() {
                self.grant(wish);
            }
        }
    }
}
