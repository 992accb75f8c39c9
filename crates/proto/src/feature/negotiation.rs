//! One end's side of all feature negotiations of a connection.

mod ccids;

use std::collections::VecDeque;
use std::sync::Arc;

use whimbrel_units::{Duration, Instant};
use whimbrel_wire::option::{FeatureAction, FeatureNumber, FeatureOption};
use whimbrel_wire::{DccpOption, Options, PacketType, Reset, SeqNo};

use super::entry::{Entry, Phase, mandatory_error};
use super::exchange::{ChangeError, FeatureChange, ReceivedFeatures, SendContext};
use super::preferences::default_preference;
use super::{Location, Preferences, ValueList, Wish, bounds, half_connection};
use crate::{Ccid, Role};

/// Features numbered 1 to 9, which every connection has (RFC 4340, Section 6.4).
const COMMON: u8 = 9;
/// The round-trip time to assume without a measurement (RFC 4340, Section 3.4).
const DEFAULT_RTT: Duration = Duration::from_millis(200);
/// Lower bound on the interval before a Change is retransmitted, however short the path.
const MIN_INTERVAL: Duration = Duration::from_millis(200);
/// Upper bound on that interval (RFC 4340, Section 6.6.3).
const MAX_INTERVAL: Duration = Duration::from_secs(64);
/// The most refusals that wait for a packet. More in one round-trip time are an attack; a dropped refusal is
/// equivalent to a lost one.
const MAX_REFUSALS: usize = 64;

/// One end's side of all feature negotiations of a connection.
///
/// Use by the connection:
///
/// - [`handle_options`](Self::handle_options) for every sequence-valid packet, before its options are
///   processed otherwise; an error is the Reset to send.
/// - [`write_options`](Self::write_options) on every packet but Data and Reset, before other options take the
///   room.
/// - From PARTOPEN on, when [`poll_timeout`](Self::poll_timeout) has passed, it sends an Ack (or makes a
///   DataAck of the next data packet). Before that, its Requests and Responses carry the options.
/// - [`poll_event`](Self::poll_event) until it returns `None`.
#[derive(Debug)]
pub struct Negotiation {
    role: Role,
    preferences: Arc<Preferences>,
    /// Features 1 to 9, each at this end and at the other, ordered by number and location. Those that neither
    /// end has touched are not stored: they have their initial values and the default preferences.
    common: Vec<Entry>,
    /// The features that the CCIDs in force define, and the experimental ones that this end requests.
    specific: Vec<Entry>,
    /// The CCID last agreed on for the data of this end, and for the peer's.
    settled_ccids: [Option<Ccid>; 2],
    /// Empty Confirms of unknown features that wait for a packet.
    refusals: Vec<FeatureOption>,
    events: VecDeque<FeatureChange>,
    /// FGSR: the newest packet with a feature negotiation option; `None` before the first.
    fgsr: Option<SeqNo>,
    /// `true` if a Confirm waits for a packet.
    is_answering: bool,
    /// `true` if a Change waits for its first packet.
    is_wanting: bool,
    /// `true` if a Change is unanswered.
    is_changing: bool,
    /// Time of the retransmission of such Changes, and the next interval.
    repeat_at: Instant,
    repeat_interval: Duration,
    /// A feature whose options on the handshake are processed elsewhere.
    foreign: Option<FeatureNumber>,
    /// No packet is created for negotiation before that time: one per round-trip time (Section 6.6.1).
    quiet_until: Instant,
}

impl Negotiation {
    /// Starts the negotiation of a connection: all features have their initial values, and Changes for the
    /// CCIDs and the other wishes of `preferences` wait for the first packet.
    pub fn new(role: Role, preferences: impl Into<Arc<Preferences>>) -> Self {
        let mut negotiation = Self {
            role,
            common: Vec::new(),
            specific: Vec::new(),
            settled_ccids: [None; 2],
            refusals: Vec::new(),
            events: VecDeque::new(),
            fgsr: None,
            is_answering: false,
            is_wanting: false,
            is_changing: false,
            repeat_at: Instant::ZERO,
            repeat_interval: MIN_INTERVAL,
            foreign: None,
            quiet_until: Instant::ZERO,
            preferences: preferences.into(),
        };
        negotiation.ask_for_preferences();
        negotiation
    }

    fn ask_for_preferences(&mut self) {
        let preferences = self.preferences.clone();
        for location in Location::BOTH {
            let choices = preferences.ccids(location);
            let list: ValueList = choices.iter().map(|choice| choice.ccid.0).collect();
            let only = (choices.len() == 1).then(|| choices[0].ccid);
            let entry = self.common_mut(FeatureNumber::Ccid, location);
            entry.set_preference(list, true);
            entry.ask();
            // With a single CCID its requirements are known, and an immediate Change saves a round trip.
            // CCID-specific features wait (RFC 4340, Section 10.3).
            if let Some(ccid) = only {
                self.prefer_features_of(ccid, location, false);
            }
        }
        for wish in &preferences.wishes {
            self.grant(wish);
        }
        let entry = self.common_mut(FeatureNumber::SequenceWindow, Location::Local);
        entry.set_proposal(preferences.sequence_window);
        if !entry.is_content() {
            entry.ask();
        }
        self.refresh();
    }

    /// The value in force; 0 for a feature that does not exist.
    pub fn value(&self, feature: FeatureNumber, location: Location) -> u64 {
        match self.entry(feature, location) {
            Some(entry) => entry.value,
            None if is_common(feature) => feature.initial_value().unwrap_or(0),
            None => 0,
        }
    }

    /// The values in force of all existing features, including experimental and CCID-specific ones.
    pub fn values_in_force(&self) -> impl Iterator<Item = (FeatureNumber, Location, u64)> + use<'_> {
        let common = (1..=COMMON).map(FeatureNumber::from).flat_map(|feature| {
            Location::BOTH.map(|location| (feature, location, self.value(feature, location)))
        });
        let specific = self.specific.iter().map(|entry| (entry.feature, entry.location, entry.value));
        common.chain(specific)
    }

    /// `true` if a Boolean feature is on.
    pub fn is_on(&self, feature: FeatureNumber, location: Location) -> bool {
        self.value(feature, location) != 0
    }

    /// The CCID of the data that the end at `location` sends.
    pub fn ccid(&self, location: Location) -> Ccid {
        Ccid(self.value(FeatureNumber::Ccid, location) as u8)
    }

    /// `true` if no Change of this feature is pending or unanswered: both ends are assumed to agree.
    pub fn is_settled(&self, feature: FeatureNumber, location: Location) -> bool {
        self.entry(feature, location).is_none_or(|entry| entry.phase == Phase::Stable)
    }

    /// `true` if all features are settled and no answer is pending.
    pub fn is_quiet(&self) -> bool {
        !self.is_wanting && !self.is_changing && !self.is_answering
    }

    /// Number of features stored, and of pending refusals of others.
    pub fn entries(&self) -> usize {
        self.common.len() + self.specific.len() + self.refusals.len()
    }

    /// Requests a change of `feature`, at any time. For a server-priority feature `values` are those
    /// acceptable to this end from now on, in order of preference; for a non-negotiable one, which must be
    /// located here, a single number. If `required`, any other value resets the connection.
    ///
    /// Nothing is sent if the best value is in force already. CCIDs can only be taken from the
    /// [`Preferences`].
    pub fn request_change(
        &mut self,
        feature: FeatureNumber,
        location: Location,
        values: &[u64],
        required: bool,
    ) -> Result<(), ChangeError> {
        let bounds = bounds(feature);
        if values.is_empty() || !values.iter().all(|value| bounds.contains(value)) {
            return Err(ChangeError::Invalid(feature));
        }
        if feature == FeatureNumber::Ccid {
            let choices = self.preferences.ccids(location);
            if !values.iter().all(|value| choices.iter().any(|choice| u64::from(choice.ccid.0) == *value)) {
                return Err(ChangeError::Invalid(feature));
            }
        }
        let entry = self.entry_mut(feature, location).ok_or(ChangeError::Unknown(feature))?;
        if entry.is_negotiable() {
            entry.set_preference(values.iter().map(|value| *value as u8).collect(), required);
        } else if location == Location::Remote {
            return Err(ChangeError::NotNegotiable(feature));
        } else if let [number] = values {
            entry.set_proposal(*number);
        } else {
            return Err(ChangeError::Invalid(feature));
        }
        if !entry.is_content() {
            entry.ask();
        }
        self.refresh();
        Ok(())
    }

    /// Reads the feature negotiation options of a sequence-valid packet and enforces Mandatory for all its
    /// options: `understands` returns whether any other option is understood
    /// ([`is_understood`](super::is_understood) decides on those that do not depend on the CCID). An error is
    /// the Reset that ends the connection.
    pub fn handle_options(
        &mut self,
        received: ReceivedFeatures<'_>,
        mut understands: impl FnMut(&DccpOption) -> bool,
    ) -> Result<(), Reset> {
        if !DccpOption::Mandatory.counts_on(received.packet_type) {
            return Ok(());
        }
        let mut mandatory = false;
        let mut negotiated = false;
        for option in received.options {
            match option {
                DccpOption::Mandatory if mandatory => return Err(Reset::option_error(option)),
                DccpOption::Mandatory => {
                    mandatory = true;
                    continue;
                }
                DccpOption::Feature(option) => {
                    negotiated = true;
                    self.handle_option(&received, option, mandatory)?;
                }
                option if mandatory && !understands(option) => return Err(Reset::mandatory_error(option)),
                _ => {}
            }
            mandatory = false;
        }
        if mandatory {
            return Err(Reset::option_error(&DccpOption::Mandatory));
        }
        if negotiated {
            self.fgsr = Some(self.fgsr.map_or(received.sequence, |fgsr| fgsr.max(received.sequence)));
            self.refresh();
        }
        Ok(())
    }

    /// The pseudocode of RFC 4340, Section 6.6.2.
    fn handle_option(
        &mut self,
        received: &ReceivedFeatures<'_>,
        option: &FeatureOption,
        mandatory: bool,
    ) -> Result<(), Reset> {
        let feature = option.feature_number();
        let is_handshake = matches!(received.packet_type, PacketType::Request | PacketType::Response);
        if is_handshake && self.foreign == Some(feature) {
            return Ok(());
        }
        // "L" options come from the feature location.
        let location = if option.action.is_local() { Location::Remote } else { Location::Local };
        let is_reordered = self.fgsr.is_some_and(|fgsr| !received.sequence.is_after(fgsr));
        // The set of features is unknown while the CCID is. An answer now could contradict the one to a
        // repetition of the same Change; without an answer it is repeated.
        let half = half_connection(option.feature, location);
        let is_open = feature.is_ccid_specific() && !self.is_settled(FeatureNumber::Ccid, half);
        if is_open && !self.lacks_default_ccid(received.packet_type, half) {
            return Ok(());
        }
        let Some(entry) = self.entry_mut(feature, location) else {
            return match option.action.reply() {
                Some(_) if mandatory => Err(mandatory_error(option)),
                Some(reply) => {
                    self.refuse(reply, option.feature);
                    Ok(())
                }
                None => Ok(()),
            };
        };
        if is_reordered || entry.phase == Phase::Unstable {
            return Ok(());
        }
        let before = entry.value;
        let phase_before = entry.phase;
        let is_concluded = if option.action.is_change() {
            entry.on_change(option, mandatory)?
        } else {
            match received.ack {
                Some(ack) => entry.on_confirm(option, ack)?,
                None => false,
            }
        };
        if is_concluded {
            self.conclude(feature, location, before, phase_before != Phase::Stable);
        }
        Ok(())
    }

    /// The negotiation of that feature has ended.
    fn conclude(&mut self, feature: FeatureNumber, location: Location, before: u64, had_asked: bool) {
        let value = self.value(feature, location);
        let changed = value != before;
        if feature == FeatureNumber::Ccid {
            self.settle_ccid(Ccid(value as u8), location, changed);
        }
        if changed || had_asked {
            self.events.retain(|event| (event.feature, event.location) != (feature, location));
            self.events.push_back(FeatureChange { feature, location, value, changed });
        }
    }

    fn grant(&mut self, wish: &Wish) {
        let is_extra = wish.feature.is_ccid_specific() || wish.feature.is_experimental();
        if is_extra && self.entry(wish.feature, wish.location).is_none() {
            self.specific.reserve_exact(1);
            self.specific.push(Entry::new(self.role, wish.feature, wish.location, ValueList::new()));
        }
        let Some(entry) = self.entry_mut(wish.feature, wish.location) else { return };
        entry.set_preference(ValueList::from_slice(&wish.values), wish.required);
        if wish.ask && !entry.is_content() {
            entry.ask();
        }
    }

    /// Adds a wish of this end, before the handshake.
    pub fn wish(&mut self, wish: &Wish) {
        self.grant(wish);
        self.refresh();
    }

    /// Leaves the options of that feature on Requests and Responses to others. Afterwards it cannot be
    /// negotiated.
    pub(crate) fn leave_to_others(&mut self, feature: FeatureNumber) {
        self.foreign = Some(feature);
    }

    fn refuse(&mut self, action: FeatureAction, feature: u8) {
        let refusal = FeatureOption::empty(action, feature);
        if self.refusals.len() < MAX_REFUSALS && !self.refusals.contains(&refusal) {
            self.refusals.push(refusal);
        }
    }

    /// Adds pending options to a packet that is about to be sent, and returns their number of bytes.
    ///
    /// A Change is added to the next packet, regardless of its purpose. An unanswered one is repeated on
    /// every Request and Response, and on other packets when its timer has expired.
    pub fn write_options(&mut self, now: Instant, context: SendContext, options: &mut Options) -> usize {
        let may_carry =
            DccpOption::Mandatory.counts_on(context.packet_type) && context.packet_type != PacketType::Reset;
        if self.is_quiet() || !may_carry {
            return 0;
        }
        let mut room = context.room;
        let rtt = context.rtt.unwrap_or(DEFAULT_RTT);
        if context.packet_type.has_ack() {
            self.refusals.retain(|refusal| !append(refusal.clone(), false, &mut room, options));
        }
        let is_handshake = matches!(context.packet_type, PacketType::Request | PacketType::Response);
        let is_repeating = is_handshake || now >= self.repeat_at;
        let mut changes = Written::default();
        for entry in self.common.iter_mut().chain(&mut self.specific) {
            // An answer precedes a new Change of the same feature, as options are processed in order.
            if context.packet_type.has_ack()
                && let Some(confirm) = entry.confirm()
                && append(confirm, false, &mut room, options)
            {
                entry.answer = None;
            }
            let is_due = match entry.phase {
                Phase::Stable => false,
                Phase::Wanted | Phase::Unstable => true,
                Phase::Changing => is_repeating,
            };
            if !is_due {
                continue;
            }
            let (option, mandatory) = entry.change();
            if append(option, mandatory, &mut room, options) {
                changes.new |= matches!(entry.phase, Phase::Wanted | Phase::Unstable);
                changes.any = true;
                entry.on_change_sent(context.sequence);
            }
        }
        if changes.new {
            self.repeat_interval = (rtt * 2).max(MIN_INTERVAL);
        } else if changes.any && !is_handshake {
            self.repeat_interval = (self.repeat_interval * 2).min(MAX_INTERVAL);
        }
        if changes.any {
            self.repeat_at = now + self.repeat_interval;
        }
        self.quiet_until = now + rtt.max(Duration::from_nanos(1));
        self.refresh();
        context.room - room
    }

    /// Time at which a packet should be created for pending options, if none is sent before. May be in the
    /// past.
    pub fn poll_timeout(&self) -> Option<Instant> {
        let due = if self.is_wanting || self.is_answering {
            Instant::ZERO
        } else if self.is_changing {
            self.repeat_at
        } else {
            return None;
        };
        Some(due.max(self.quiet_until))
    }

    /// Returns the next completed negotiation.
    pub fn poll_event(&mut self) -> Option<FeatureChange> {
        let event = self.events.pop_front();
        if self.events.is_empty() {
            // Most are of the handshake: their memory is not kept.
            self.events = VecDeque::new();
        }
        event
    }

    /// Reports the greatest sequence number received, at least once in 2^46 packets. Otherwise the newest
    /// packet with an option would in time appear to be ahead of all others (RFC 4340, erratum 974).
    pub fn on_greatest_received(&mut self, gsr: SeqNo) {
        const WMAX: u64 = (1 << 46) - 1;
        if self.fgsr.is_some_and(|fgsr| gsr.distance_from(fgsr).unsigned_abs() > WMAX) {
            self.fgsr = Some(gsr.sub(WMAX));
        }
    }

    fn refresh(&mut self) {
        let entries = || self.common.iter().chain(&self.specific);
        self.is_answering = !self.refusals.is_empty() || entries().any(|entry| entry.answer.is_some());
        self.is_wanting = entries().any(|entry| matches!(entry.phase, Phase::Wanted | Phase::Unstable));
        self.is_changing = entries().any(|entry| entry.phase == Phase::Changing);
    }

    /// The stored entry of a feature.
    fn entry(&self, feature: FeatureNumber, location: Location) -> Option<&Entry> {
        if is_common(feature) {
            return self.common_place(feature, location).ok().map(|place| &self.common[place]);
        }
        self.specific.iter().find(|entry| entry.feature == feature && entry.location == location)
    }

    /// The entry of an existing feature; a common one is stored from now on.
    fn entry_mut(&mut self, feature: FeatureNumber, location: Location) -> Option<&mut Entry> {
        if is_common(feature) {
            return Some(self.common_mut(feature, location));
        }
        self.specific.iter_mut().find(|entry| entry.feature == feature && entry.location == location)
    }

    /// The entry of one of the features 1 to 9, which is stored from now on.
    fn common_mut(&mut self, feature: FeatureNumber, location: Location) -> &mut Entry {
        let place = self.common_place(feature, location).unwrap_or_else(|place| {
            let entry = Entry::new(self.role, feature, location, default_preference(feature, location));
            // There are few, and they stay.
            self.common.reserve_exact(1);
            self.common.insert(place, entry);
            place
        });
        &mut self.common[place]
    }

    /// The index of that entry, or the one at which it would be inserted.
    fn common_place(&self, feature: FeatureNumber, location: Location) -> Result<usize, usize> {
        let order = |feature: FeatureNumber, location| (u8::from(feature), location);
        self.common
            .binary_search_by_key(&order(feature, location), |entry| order(entry.feature, entry.location))
    }
}

/// The Changes that a packet carries.
#[derive(Default)]
struct Written {
    any: bool,
    new: bool,
}

/// `true` for the features 1 to 9.
fn is_common(feature: FeatureNumber) -> bool {
    (1..=COMMON).contains(&u8::from(feature))
}

/// Appends an option, preceded by Mandatory if requested, unless there is no room.
fn append(option: FeatureOption, mandatory: bool, room: &mut usize, options: &mut Options) -> bool {
    let option = DccpOption::Feature(option);
    let size = option.encoded_len() + usize::from(mandatory);
    if size > *room {
        return false;
    }
    *room -= size;
    if mandatory {
        options.push(DccpOption::Mandatory);
    }
    options.push(option);
    true
}
