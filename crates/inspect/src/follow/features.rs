//! Features and their negotiation (RFC 4340, Section 6).

use std::collections::BTreeMap;

use serde::Serialize;
use whimbrel_wire::option::{FeatureAction, FeatureNumber, FeatureOption, Reconciliation};
use whimbrel_wire::{DccpOption, PacketType};

use super::anomaly::{Anomalies, AnomalyKind};
use super::side::Side;
use crate::names;

#[cfg(test)]
mod tests;

/// Maximum number of steps kept for a negotiation; further ones are counted.
const MAX_STEPS: usize = 6;

/// One option of a negotiation.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct FeatureStep {
    /// Number in the capture of the first packet with it.
    pub packet: u64,
    /// Number of packets with it, as options are repeated until they are answered.
    pub times: u64,
    /// The sending end.
    pub by: Side,
    /// `Change L`, `Confirm R` and so on.
    pub action: &'static str,
    /// The values: one number, or a list in order of preference (of a Confirm the chosen one first).
    pub values: String,
    /// `true` if it was preceded by a Mandatory option.
    pub mandatory: bool,
}

/// A feature of one end.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize)]
pub struct Feature {
    /// Feature number.
    pub number: u8,
    /// Feature name.
    pub name: String,
    /// The value in force, if it is known: the last one confirmed, or the initial one.
    pub value: Option<u64>,
    /// Initial value of new connections.
    pub initial: Option<u64>,
    /// `true` if the other end has signalled that it does not know the feature or the value.
    pub refused: bool,
    /// The first steps of the negotiation.
    pub steps: Vec<FeatureStep>,
    /// Number of steps. If not all are kept, repetitions of those that are not count as well.
    pub steps_total: u64,
}

/// The features of both ends, by location.
#[derive(Clone, Debug, Default)]
pub(crate) struct Features(BTreeMap<(Side, u8), Feature>);

impl Features {
    /// Processes the options of a packet from `by`. Options that must be ignored on this packet have no
    /// effect.
    pub(crate) fn on_options(
        &mut self,
        by: Side,
        packet: u64,
        packet_type: PacketType,
        options: &[DccpOption],
        anomalies: &mut Anomalies,
    ) {
        let mut mandatory = false;
        for option in options {
            if let DccpOption::Feature(feature) = option
                && option.counts_on(packet_type)
            {
                self.on_option(by, packet, mandatory, feature, anomalies);
            }
            mandatory = matches!(option, DccpOption::Mandatory);
        }
    }

    fn on_option(
        &mut self,
        by: Side,
        packet: u64,
        mandatory: bool,
        option: &FeatureOption,
        anomalies: &mut Anomalies,
    ) {
        let location = if option.action.is_local() { by } else { by.other() };
        let number = FeatureNumber::from(option.feature);
        let feature = self.0.entry((location, option.feature)).or_insert_with(|| Feature {
            number: option.feature,
            name: names::feature_name(option.feature),
            value: number.initial_value(),
            initial: number.initial_value(),
            ..Feature::default()
        });
        let asks = if option.action == FeatureAction::ConfirmL { "Change R" } else { "Change L" };
        if !option.action.is_change()
            && feature.steps_total == feature.steps.len() as u64
            && !feature.steps.iter().any(|step| step.by != by && step.action == asks)
        {
            anomalies.add(AnomalyKind::UnaskedConfirm, packet, || {
                format!("{} of {} by the {}", names::action_name(option.action), feature.name, by.name())
            });
        }
        let step = FeatureStep {
            packet,
            times: 1,
            by,
            action: names::action_name(option.action),
            values: names::feature_values(option),
            mandatory,
        };
        let is_same = |other: &&mut FeatureStep| {
            (other.by, other.action, &other.values) == (step.by, step.action, &step.values)
        };
        if let Some(same) = feature.steps.iter_mut().find(is_same) {
            same.times += 1;
        } else {
            feature.steps_total += 1;
            if feature.steps.len() < MAX_STEPS {
                feature.steps.push(step);
            }
        }
        if !option.action.is_change() {
            feature.refused = option.values.is_empty();
            if let Some(value) = confirmed(option) {
                feature.value = Some(value);
            }
        }
    }

    /// The value in force at `location`; the initial one if it was not negotiated.
    pub(crate) fn value(&self, location: Side, number: FeatureNumber) -> Option<u64> {
        match self.0.get(&(location, number.into())) {
            Some(feature) => feature.value,
            None => number.initial_value(),
        }
    }

    /// `true` if any option named the feature.
    pub(crate) fn was_named(&self, location: Side, number: FeatureNumber) -> bool {
        self.0.contains_key(&(location, number.into()))
    }

    /// The Sequence Window of `sender`, within its bounds (RFC 4340, Section 7.5.2).
    pub(crate) fn sequence_window(&self, sender: Side) -> u64 {
        self.value(sender, FeatureNumber::SequenceWindow).unwrap_or(100).clamp(32, (1 << 46) - 1)
    }

    /// The features of the half-connection with data from `sender`: those located at it that govern the
    /// sender, and those located at the other end that govern the receiver.
    pub(crate) fn of_half(&self, sender: Side) -> Vec<Feature> {
        let belongs = |location: Side, number: u8| (location == sender) == governs_sender(number);
        self.0
            .iter()
            .filter(|((location, number), _)| belongs(*location, *number))
            .map(|(_, feature)| feature.clone())
            .collect()
    }
}

/// `true` if a feature is located at the end that sends data (RFC 4340, Sections 6.4, 7 and 9 to 12; RFC
/// 6323, Section 3.2.2), and not at the one that receives them (RFC 4342, Section 8.4).
fn governs_sender(number: u8) -> bool {
    !matches!(
        FeatureNumber::from(number),
        FeatureNumber::EcnIncapable
            | FeatureNumber::SendAckVector
            | FeatureNumber::MinimumChecksumCoverage
            | FeatureNumber::CheckDataChecksum
            | FeatureNumber::SendLossEventRate
            | FeatureNumber::Other(192..)
    )
}

/// The value put in force by a Confirm.
fn confirmed(option: &FeatureOption) -> Option<u64> {
    match option.feature_number().reconciliation() {
        Some(Reconciliation::NonNegotiable) => option.as_number(),
        _ => option.as_confirmation().map(|(chosen, _)| u64::from(chosen)),
    }
}
