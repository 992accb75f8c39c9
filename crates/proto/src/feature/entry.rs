//! One feature at one location: its value, the values acceptable to this end, and the state machine of RFC
//! 4340, Section 6.6.2.

use whimbrel_wire::option::{FeatureAction, FeatureNumber, FeatureOption, Reconciliation};
use whimbrel_wire::{OptionBytes, Reset, ResetCode, SeqNo};

use super::{Location, ValueList, bounds, reconcile};
use crate::Role;

/// Negotiation state (RFC 4340, Section 6.6.2).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Phase {
    /// The value is known and assumed to be the peer's as well.
    Stable,
    /// As `Stable`, but a Change waits for a packet. The RFC has no name for this state: CHANGING begins when
    /// the Change is sent.
    Wanted,
    /// A Change was sent and not answered.
    Changing,
    /// The values acceptable to this end have changed since the last Change, and no new one was sent yet.
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
    /// Values acceptable to this end, in order of preference (server-priority features).
    preference: ValueList,
    /// The value that this end announces (non-negotiable features).
    proposal: u64,
    /// `true` if the connection cannot work with a value outside `preference`.
    required: bool,
    pub(super) phase: Phase,
    /// The packet that first carried the latest Change: the feature's FGSS (Section 6.6.4).
    latest_change: Option<SeqNo>,
    /// Number of unanswered packets with the latest Change.
    unanswered: u32,
    /// Number of packets with earlier Changes of other contents that may still be answered.
    earlier: u32,
    /// The values of the Confirm that waits for a packet; an empty list answers an invalid Change.
    pub(super) answer: Option<Box<OptionBytes>>,
    /// `true` if this end ever answered a Change with a value.
    has_answered: bool,
    /// `true` if this end would now answer differently than it did. The peer may accept the first answer or
    /// receive the second, so a new Change is required.
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
        // The features of other CCIDs than 3 and 4 are assumed to be server-priority like theirs.
        self.feature.reconciliation().unwrap_or(Reconciliation::ServerPriority)
    }

    pub(super) fn is_negotiable(&self) -> bool {
        self.rule() == Reconciliation::ServerPriority
    }

    /// Changes the values acceptable to this end. An answer to a Change with other values no longer counts
    /// (RFC 4340, Section 6.6.5).
    ///
    /// Unless `required`, the value in force is acceptable as well, in the last place. Without a shared value
    /// both ends would keep their values, which differ if a Confirm was lost.
    pub(super) fn set_preference(&mut self, mut preference: ValueList, required: bool) {
        if !required && !preference.iter().any(|value| u64::from(*value) == self.value) {
            // Every stored value of a server-priority feature came from a list of bytes.
            preference.push(self.value as u8);
        }
        self.required = required;
        if self.preference == preference {
            return;
        }
        self.preference = preference;
        // A pending answer would be out of date. Without one, the peer repeats the Change.
        self.answer = None;
        match self.phase {
            Phase::Changing => self.phase = Phase::Unstable,
            // The value in force was in the peer's list, so it stays the server's choice if it is the
            // server's first, and either end's if it is the only one.
            Phase::Stable
                if self.is_content() && (self.role == Role::Server || self.preference.len() == 1) => {}
            Phase::Stable | Phase::Wanted if self.has_answered => {
                self.must_ask = true;
                self.phase = Phase::Wanted;
            }
            _ => {}
        }
    }

    /// Accepts only the value in force from now on. A pending answer stays valid.
    pub(super) fn hold(&mut self) {
        let answers = self.answer.is_some();
        self.set_preference(ValueList::from_slice(&[self.value as u8]), true);
        if answers {
            self.answer = Some(Box::new(self.confirmation()));
        }
    }

    /// Contents of the Confirm of a server-priority feature: the value in force and this end's preferences.
    fn confirmation(&self) -> OptionBytes {
        let mut values = OptionBytes::from_slice(&[self.value as u8]);
        values.extend_from_slice(&self.preference);
        values
    }

    /// Changes the value that this end announces of a non-negotiable feature of its own.
    pub(super) fn set_proposal(&mut self, proposal: u64) {
        if self.phase == Phase::Changing && self.proposal != proposal {
            self.phase = Phase::Unstable;
        }
        self.proposal = proposal;
    }

    /// `true` if the value in force is this end's first preference.
    pub(super) fn is_content(&self) -> bool {
        match self.rule() {
            Reconciliation::ServerPriority => {
                self.preference.first().is_some_and(|best| u64::from(*best) == self.value)
            }
            Reconciliation::NonNegotiable => self.proposal == self.value,
        }
    }

    /// Requests a Change on the next packet that can carry one.
    pub(super) fn ask(&mut self) {
        if self.phase == Phase::Stable {
            self.phase = Phase::Wanted;
        }
    }

    /// `true` if the connection must end because of the value in force.
    fn is_unacceptable(&self) -> bool {
        self.required && !self.preference.iter().any(|value| u64::from(*value) == self.value)
    }

    /// The Confirm that waits for a packet.
    pub(super) fn confirm(&self) -> Option<FeatureOption> {
        let action = match self.location {
            Location::Local => FeatureAction::ConfirmL,
            Location::Remote => FeatureAction::ConfirmR,
        };
        let values = self.answer.as_ref()?;
        Some(FeatureOption { action, feature: self.feature.into(), values: (**values).clone() })
    }

    /// The current Change, and whether Mandatory precedes it because the value in force is not acceptable.
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
        (option, self.is_unacceptable())
    }

    /// The Change was sent in packet `sequence`.
    pub(super) fn on_change_sent(&mut self, sequence: SeqNo) {
        if matches!(self.phase, Phase::Wanted | Phase::Unstable) {
            self.phase = Phase::Changing;
            self.earlier = self.earlier.saturating_add(core::mem::take(&mut self.unanswered));
            self.latest_change = Some(sequence);
        }
        self.unanswered = self.unanswered.saturating_add(1);
    }

    /// Processes a Change that arrived in order: the third part of the pseudocode of RFC 4340, Section 6.6.2.
    /// Returns `true` if it was valid.
    pub(super) fn on_change(&mut self, option: &FeatureOption, mandatory: bool) -> Result<bool, Reset> {
        let Some(theirs) = self.valid_change(option) else {
            // Sections 6.6.8 and 6.6.9.
            if mandatory {
                return Err(mandatory_error(option));
            }
            self.answer = Some(Box::default());
            return Ok(false);
        };
        match theirs {
            Proposal::Number(number) => {
                self.value = number;
                self.answer = Some(Box::new(option.values.clone()));
            }
            Proposal::Preference(list) => {
                let chosen = self.reconcile(list);
                match chosen {
                    Some(chosen) => self.value = u64::from(chosen),
                    None if mandatory => return Err(mandatory_error(option)),
                    None if self.is_unacceptable() => return Err(option_error(option)),
                    None => {}
                }
                // Section 6.6.6 lets two Changes that cross answer each other. But the received one may be
                // outdated, and the sent one may get another answer: so this end continues until its own is
                // confirmed. Without a shared value both ends would adopt the other's, so the server keeps
                // its own.
                let goes_on = match self.phase {
                    Phase::Changing => chosen.is_some() || self.role == Role::Client,
                    _ => self.must_ask,
                };
                if !goes_on {
                    self.phase = Phase::Stable;
                }
                self.has_answered = true;
                self.answer = Some(Box::new(self.confirmation()));
            }
        }
        Ok(true)
    }

    /// Processes a Confirm that arrived in order, on a packet with Acknowledgement Number `ack`: the fourth
    /// part of the pseudocode. Returns `true` if that ended the negotiation.
    pub(super) fn on_confirm(&mut self, option: &FeatureOption, ack: SeqNo) -> Result<bool, Reset> {
        match self.phase {
            Phase::Changing if self.latest_change.is_some_and(|since| !ack.is_before(since)) => {}
            Phase::Stable => {
                self.unanswered = self.unanswered.saturating_sub(1);
                self.suspect(option, ack);
                return Ok(false);
            }
            _ => return Ok(false),
        }
        if option.values.is_empty() {
            // The peer does not know the feature or did not accept the value (Section 6.6.7).
            if self.feature.is_required() || self.is_unacceptable() {
                return Err(option_error(option));
            }
            self.on_answered();
            return Ok(true);
        }
        let Some(value) = self.valid_confirm(option) else {
            // RFC 4340, Section 6.6.8 resets the connection. But the acknowledgement shows only that the
            // packet is not older than the latest Change, not that the Change arrived: if it was lost, this
            // may be the correct answer to an earlier one with other contents. Each packet with such a Change
            // has one answer.
            let Some(earlier) = self.earlier.checked_sub(1) else { return Err(option_error(option)) };
            self.earlier = earlier;
            return Ok(false);
        };
        self.value = value;
        // A pending answer has the previous value.
        self.answer = None;
        if self.is_unacceptable() {
            return Err(option_error(option));
        }
        self.on_answered();
        Ok(true)
    }

    /// The latest Change is answered. The peer has processed it and ignores the options of older packets
    /// (Section 6.6.4), so that only repetitions of this one may still be answered.
    fn on_answered(&mut self) {
        self.settle();
        (self.unanswered, self.earlier) = (self.unanswered.saturating_sub(1), 0);
    }

    /// Processes an unexpected Confirm, which does not count. But if it confirms the latest Change with
    /// another value, the previous answer was one to an earlier Change, and the ends disagree.
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
        // Some peers omit their list: it is assumed to hold the value, if this end offered it.
        let theirs = if theirs.is_empty() { &option.values[..] } else { theirs };
        let is_right = match self.reconcile(theirs) {
            Some(expected) => chosen == expected,
            // No shared value: the peer states the value that it has (Section 6.3.1). That differs from this
            // end's if an earlier Change took effect there and its Confirm was lost.
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

/// Contents of a valid Change.
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
