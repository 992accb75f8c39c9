//! One feature at one location: its value, what this end would accept, and the state machine of
//! RFC 4340, Section 6.6.2.

use whimbrel_wire::option::{FeatureAction, FeatureNumber, FeatureOption, Reconciliation};
use whimbrel_wire::{OptionBytes, Reset, ResetCode, SeqNo};

use super::{Location, ValueList, bounds, reconcile};
use crate::Role;

/// How far the agreement is (RFC 4340, Section 6.6.2).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Phase {
    /// The value is known and believed to be the other end's, too.
    Stable,
    /// As `Stable`, but a Change waits for a packet. The RFC has no name for it: CHANGING begins
    /// when the Change is sent.
    Wanted,
    /// A Change was sent and not answered. `since` is the packet that first had it: the feature's FGSS (Section 6.6.4).
    Changing {
        /// That packet.
        since: SeqNo,
    },
    /// What this end would accept has changed since the last Change, and nothing was sent yet.
    Unstable,
}

/// One feature at one location.
#[derive(Clone, Debug)]
pub(super) struct Entry {
    role: Role,
    pub(super) feature: FeatureNumber,
    pub(super) location: Location,
    /// The value in force.
    pub(super) value: u64,
    /// What this end would accept, best first (server-priority features).
    preference: ValueList,
    /// What this end tells (non-negotiable features).
    proposal: u64,
    /// Whether the connection is of no use with a value outside `preference`.
    required: bool,
    pub(super) phase: Phase,
    /// The packet that first had the latest Change.
    latest_change: Option<SeqNo>,
    /// How many packets had the latest Change and were not answered yet.
    unanswered: u32,
    /// How many packets had earlier Changes, with other contents, and may still be answered.
    earlier: u32,
    /// The values of the Confirm that waits for a packet; none at all answer an invalid Change.
    pub(super) answer: Option<OptionBytes>,
    /// Whether this end ever answered a Change with a value.
    has_answered: bool,
    /// Whether this end would now answer otherwise than it did. The other end may be content with
    /// the first answer or get to see the second, so it must be asked.
    must_ask: bool,
}

impl Entry {
    pub(super) fn new(role: Role, feature: FeatureNumber, location: Location, preference: ValueList) -> Self {
        let value = feature.initial_value().unwrap_or(0);
        Self {
            role,
            feature,
            location,
            value,
            preference,
            proposal: value,
            required: false,
            phase: Phase::Stable,
            latest_change: None,
            unanswered: 0,
            earlier: 0,
            answer: None,
            has_answered: false,
            must_ask: false,
        }
    }

    fn rule(&self) -> Reconciliation {
        // The features of other CCIDs than 3 and 4 are taken to be like theirs.
        self.feature.reconciliation().unwrap_or(Reconciliation::ServerPriority)
    }

    pub(super) fn is_negotiable(&self) -> bool {
        self.rule() == Reconciliation::ServerPriority
    }

    /// Changes what this end would accept. An answer to a Change that said otherwise no longer
    /// counts (RFC 4340, Section 6.6.5).
    ///
    /// If nothing is `required`, the value in force is acceptable, too, and goes last. With nothing
    /// shared both ends would keep the value they have, which is not the same where a Confirm was lost.
    pub(super) fn set_preference(&mut self, mut preference: ValueList, required: bool) {
        if !required && !preference.iter().any(|value| u64::from(*value) == self.value) {
            // Every value of a server-priority feature that is stored came out of a list of bytes.
            preference.push(self.value as u8);
        }
        self.required = required;
        if self.preference == preference {
            return;
        }
        self.preference = preference;
        // An answer that waits would be out of date. Without one, the Change is repeated.
        self.answer = None;
        match self.phase {
            Phase::Changing { .. } => self.phase = Phase::Unstable,
            // The value in force was in the other end's list, so it stays the server's choice if it
            // is the server's best, and anybody's if there is no other.
            Phase::Stable
                if self.is_content() && (self.role == Role::Server || self.preference.len() == 1) => {}
            Phase::Stable | Phase::Wanted if self.has_answered => {
                self.must_ask = true;
                self.phase = Phase::Wanted;
            }
            _ => {}
        }
    }

    /// Accepts nothing but the value in force from now on. An answer that waits stays true.
    pub(super) fn hold(&mut self) {
        let answers = self.answer.is_some();
        self.set_preference(ValueList::from_slice(&[self.value as u8]), true);
        if answers {
            self.answer = Some(self.confirmation());
        }
    }
    /// What a Confirm of a server-priority feature holds: the value in force and this end's preferences.
    fn confirmation(&self) -> OptionBytes {
        let mut values = OptionBytes::from_slice(&[self.value as u8]);
        values.extend_from_slice(&self.preference);
        values
    }

    /// Changes what this end tells of a non-negotiable feature of its own.
    pub(super) fn set_proposal(&mut self, proposal: u64) {
        if matches!(self.phase, Phase::Changing { .. }) && self.proposal != proposal {
            self.phase = Phase::Unstable;
        }
        self.proposal = proposal;
    }

    /// Whether the value in force is what this end wants most.
    pub(super) fn is_content(&self) -> bool {
        match self.rule() {
            Reconciliation::ServerPriority => {
                self.preference.first().is_some_and(|best| u64::from(*best) == self.value)
            }
            Reconciliation::NonNegotiable => self.proposal == self.value,
        }
    }

    /// Has a Change sent with the next packet that can take one.
    pub(super) fn ask(&mut self) {
        if self.phase == Phase::Stable {
            self.phase = Phase::Wanted;
        }
    }

    /// Whether the connection must end because of the value in force.
    fn is_unbearable(&self) -> bool {
        self.required && !self.preference.iter().any(|value| u64::from(*value) == self.value)
    }

    /// The Confirm that waits for a packet.
    pub(super) fn confirm(&self) -> Option<FeatureOption> {
        let action = match self.location {
            Location::Local => FeatureAction::ConfirmL,
            Location::Remote => FeatureAction::ConfirmR,
        };
        let values = self.answer.clone()?;
        Some(FeatureOption { action, feature: self.feature.into(), values })
    }

    /// The Change as it stands now, and whether Mandatory goes before it: when things cannot stay
    /// as they are.
    pub(super) fn change(&self) -> (FeatureOption, bool) {
        let action = match self.location {
            Location::Local => FeatureAction::ChangeL,
            Location::Remote => FeatureAction::ChangeR,
        };
        let option = match self.rule() {
            Reconciliation::ServerPriority => {
                FeatureOption::preferences(action, self.feature, &self.preference)
            }
            Reconciliation::NonNegotiable => FeatureOption::number(action, self.feature, self.proposal),
        };
        (option, self.is_unbearable())
    }

    /// The Change left in packet `sequence`.
    pub(super) fn on_change_sent(&mut self, sequence: SeqNo) {
        if matches!(self.phase, Phase::Wanted | Phase::Unstable) {
            self.phase = Phase::Changing { since: sequence };
            self.earlier = self.earlier.saturating_add(core::mem::take(&mut self.unanswered));
            self.latest_change = Some(sequence);
        }
        self.unanswered = self.unanswered.saturating_add(1);
    }

    /// A Change arrived in order: the third part of the pseudocode of RFC 4340, Section 6.6.2.
    /// Tells whether it was valid.
    pub(super) fn on_change(&mut self, option: &FeatureOption, mandatory: bool) -> Result<bool, Reset> {
        let Some(theirs) = self.valid_change(option) else {
            // Sections 6.6.8 and 6.6.9.
            if mandatory {
                return Err(mandatory_error(option));
            }
            self.answer = Some(OptionBytes::new());
            return Ok(false);
        };
        match theirs {
            Proposal::Number(number) => {
                self.value = number;
                self.answer = Some(option.values.clone());
            }
            Proposal::Preference(list) => {
                let chosen = self.reconcile(list);
                match chosen {
                    Some(chosen) => self.value = u64::from(chosen),
                    None if mandatory => return Err(mandatory_error(option)),
                    None if self.is_unbearable() => return Err(option_error(option)),
                    None => {}
                }
                // Section 6.6.6 lets two Changes that cross answer each other. But the one that came
                // may be old news, and the one that went be answered with new: so this end goes on
                // until its own is confirmed. Where nothing is shared both would then take over the
                // other's value, so there the server keeps its own.
                let goes_on = match self.phase {
                    Phase::Changing { .. } => chosen.is_some() || self.role == Role::Client,
                    _ => self.must_ask,
                };
                if !goes_on {
                    self.phase = Phase::Stable;
                }
                self.has_answered = true;
                self.answer = Some(self.confirmation());
            }
        }
        Ok(true)
    }

    /// A Confirm arrived in order, on a packet with Acknowledgement Number `ack`: the fourth part
    /// of the pseudocode. Tells whether that ended the negotiation.
    pub(super) fn on_confirm(&mut self, option: &FeatureOption, ack: SeqNo) -> Result<bool, Reset> {
        match self.phase {
            Phase::Changing { since } if !ack.is_before(since) => {}
            Phase::Stable => {
                self.unanswered = self.unanswered.saturating_sub(1);
                self.suspect(option, ack);
                return Ok(false);
            }
            _ => return Ok(false),
        }
        if option.values.is_empty() {
            // The other end does not know the feature or did not like the value (Section 6.6.7).
            if self.feature.is_required() || self.is_unbearable() {
                return Err(option_error(option));
            }
            self.on_answered();
            return Ok(true);
        }
        let Some(value) = self.valid_confirm(option) else {
            // RFC 4340, Section 6.6.8 has the connection reset. But the acknowledgement says only
            // that the packet is not older than the latest Change, not that the Change arrived: if
            // it was lost, this may be the honest answer to an earlier one with other contents. Each
            // packet that had such a Change has one answer.
            let Some(earlier) = self.earlier.checked_sub(1) else { return Err(option_error(option)) };
            self.earlier = earlier;
            return Ok(false);
        };
        self.value = value;
        // An answer that waits tells the value before.
        self.answer = None;
        if self.is_unbearable() {
            return Err(option_error(option));
        }
        self.on_answered();
        Ok(true)
    }
    /// The latest Change is answered. The other end has processed it and ignores the options of older packets
    /// (Section 6.6.4), so that only repetitions of this one may still be answered.
    fn on_answered(&mut self) {
        self.settle();
        (self.unanswered, self.earlier) = (self.unanswered.saturating_sub(1), 0);
    }

    /// A Confirm that nobody waits for does not count. But if it confirms the latest Change with
    /// another value, the answer taken for it was one to an earlier Change, and the ends disagree.
    fn suspect(&mut self, option: &FeatureOption, ack: SeqNo) {
        let confirmed = match self.rule() {
            Reconciliation::ServerPriority => option.values.first().copied().map(u64::from),
            Reconciliation::NonNegotiable => option.as_number(),
        };
        let is_recent = self.latest_change.is_some_and(|latest| !ack.is_before(latest));
        if is_recent && confirmed.is_some_and(|value| value != self.value) {
            self.ask();
        }
    }

    fn settle(&mut self) {
        self.phase = Phase::Stable;
        self.must_ask = false;
    }

    fn valid_change<'a>(&self, option: &'a FeatureOption) -> Option<Proposal<'a>> {
        match self.rule() {
            // Change R of a non-negotiable feature must not be sent (Section 6.3.2).
            Reconciliation::NonNegotiable if self.location == Location::Local => None,
            Reconciliation::NonNegotiable => self.valid_number(option).map(Proposal::Number),
            Reconciliation::ServerPriority if option.values.is_empty() => None,
            Reconciliation::ServerPriority => Some(Proposal::Preference(&option.values)),
        }
    }

    fn valid_confirm(&self, option: &FeatureOption) -> Option<u64> {
        if !self.is_negotiable() {
            return self.valid_number(option).filter(|number| *number == self.proposal);
        }
        let (chosen, theirs) = option.as_confirmation()?;
        // Some peers leave out their list: they are believed if this end offered the value.
        let theirs = if theirs.is_empty() { &option.values[..] } else { theirs };
        let is_right = match self.reconcile(theirs) {
            Some(expected) => chosen == expected,
            // Nothing shared: the other end tells the value it has (Section 6.3.1). That differs
            // from this end's where an earlier Change took effect there and its Confirm was lost.
            None => bounds(self.feature).contains(&u64::from(chosen)),
        };
        is_right.then(|| u64::from(chosen))
    }

    fn valid_number(&self, option: &FeatureOption) -> Option<u64> {
        option.as_number().filter(|number| bounds(self.feature).contains(number))
    }

    fn reconcile(&self, theirs: &[u8]) -> Option<u8> {
        match self.role {
            Role::Server => reconcile(&self.preference, theirs),
            Role::Client => reconcile(theirs, &self.preference),
        }
    }
}

/// What a valid Change holds.
enum Proposal<'a> {
    Number(u64),
    Preference(&'a [u8]),
}

/// Reset Code 6 for that option (RFC 4340, Sections 5.6 and 6.6.9).
pub(super) fn mandatory_error(option: &FeatureOption) -> Reset {
    Reset::with_data(ResetCode::MandatoryError, reset_data(option))
}

/// Reset Code 5 for that option.
fn option_error(option: &FeatureOption) -> Reset {
    Reset::with_data(ResetCode::OptionError, reset_data(option))
}

fn reset_data(option: &FeatureOption) -> [u8; 3] {
    [option.action as u8, option.feature, option.values.first().copied().unwrap_or(0)]
}
