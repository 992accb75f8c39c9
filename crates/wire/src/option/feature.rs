//! Features: their numbers, and the options that negotiate them (RFC 4340, Section 6).

use super::OptionBytes;

#[cfg(test)]
mod tests;

/// Change L, Confirm L, Change R or Confirm R of one feature.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FeatureOption {
    /// The type of the option.
    pub action: FeatureAction,
    /// Feature number (Section 6.4).
    pub feature: u8,
    /// The value, or the preference list.
    pub values: OptionBytes,
}

/// The four options of feature negotiation.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
#[repr(u8)]
#[allow(missing_docs, reason = "the names are the RFC's")]
pub enum FeatureAction {
    ChangeL = 32,
    ConfirmL = 33,
    ChangeR = 34,
    ConfirmR = 35,
}

impl FeatureAction {
    /// The action with that option type.
    pub const fn from_kind(kind: u8) -> Option<Self> {
        Some(match kind {
            32 => Self::ChangeL,
            33 => Self::ConfirmL,
            34 => Self::ChangeR,
            35 => Self::ConfirmR,
            _ => return None,
        })
    }

    /// `true` for a Change, which opens a negotiation, `false` for a Confirm.
    pub const fn is_change(self) -> bool {
        matches!(self, Self::ChangeL | Self::ChangeR)
    }

    /// `true` if the feature is located at the sender of the option ("L"), `false` if at its receiver ("R").
    pub const fn is_local(self) -> bool {
        matches!(self, Self::ChangeL | Self::ConfirmL)
    }

    /// The answer to a Change: Confirm R to Change L and vice versa (Section 6.2).
    pub const fn reply(self) -> Option<Self> {
        match self {
            Self::ChangeL => Some(Self::ConfirmR),
            Self::ChangeR => Some(Self::ConfirmL),
            Self::ConfirmL | Self::ConfirmR => None,
        }
    }
}

impl FeatureOption {
    /// A Change of a server-priority feature, whose values are one byte each: the sender's
    /// preferences, best first (Section 6.3.1).
    pub fn preferences(action: FeatureAction, feature: impl Into<u8>, preferences: &[u8]) -> Self {
        Self { action, feature: feature.into(), values: OptionBytes::from_slice(preferences) }
    }

    /// A Confirm of a server-priority feature: the value chosen, then the confirmer's preferences
    /// (Section 6.3.1).
    pub fn confirmation(
        action: FeatureAction,
        feature: impl Into<u8>,
        chosen: u8,
        preferences: &[u8],
    ) -> Self {
        let mut values = OptionBytes::from_slice(&[chosen]);
        values.extend_from_slice(preferences);
        Self { action, feature: feature.into(), values }
    }

    /// An option of a non-negotiable feature: one number (Section 6.3.2), with the width of the feature or,
    /// if that is unknown, the minimum width.
    ///
    /// A number too large for the width is truncated to its low bytes.
    pub fn number(action: FeatureAction, feature: impl Into<u8>, number: u64) -> Self {
        let feature = feature.into();
        let width =
            FeatureNumber::from(feature).value_len().unwrap_or_else(|| super::NdpCount::new(number).width());
        let values = OptionBytes::from_slice(&number.to_be_bytes()[8 - width..]);
        Self { action, feature, values }
    }

    /// An empty Confirm, which answers a Change of an unknown feature or to an invalid value (Section 6.2).
    pub fn empty(action: FeatureAction, feature: impl Into<u8>) -> Self {
        Self { action, feature: feature.into(), values: OptionBytes::new() }
    }

    /// The feature.
    pub fn feature_number(&self) -> FeatureNumber {
        self.feature.into()
    }

    /// The number of a non-negotiable feature: one to six bytes, and as many as the feature requires if that
    /// is known.
    pub fn as_number(&self) -> Option<u64> {
        let wanted = self.feature_number().value_len().unwrap_or(self.values.len());
        if self.values.len() != wanted {
            return None;
        }
        super::NdpCount::from_data(&self.values).map(super::NdpCount::count)
    }

    /// The chosen value and the confirmer's preferences of a Confirm of a server-priority feature;
    /// `None` if it is empty.
    pub fn as_confirmation(&self) -> Option<(u8, &[u8])> {
        self.values.split_first().map(|(chosen, preferences)| (*chosen, preferences))
    }
}

/// Reconciliation rule of a feature (RFC 4340, Section 6.3).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum Reconciliation {
    /// The first of the server's preferences that the client shares.
    ServerPriority,
    /// The value of the end at which the feature is located.
    NonNegotiable,
}

/// Features (RFC 4340, Section 6.4, Table 4; RFC 4342, Section 8; RFC 6323, Section 3.2.2; RFC 9897,
/// Section 3).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
#[non_exhaustive]
pub enum FeatureNumber {
    /// 1: Congestion Control ID (Section 10).
    Ccid,
    /// 2: Allow Short Sequence Numbers (Section 7.6.1).
    AllowShortSequenceNumbers,
    /// 3: Sequence Window (Section 7.5.2).
    SequenceWindow,
    /// 4: ECN Incapable (Section 12.1).
    EcnIncapable,
    /// 5: Ack Ratio (Section 11.3).
    AckRatio,
    /// 6: Send Ack Vector (Section 11.5).
    SendAckVector,
    /// 7: Send NDP Count (Section 7.7.2).
    SendNdpCount,
    /// 8: Minimum Checksum Coverage (Section 9.2.1).
    MinimumChecksumCoverage,
    /// 9: Check Data Checksum (Section 9.3.1).
    CheckDataChecksum,
    /// 10: Multipath Capable, the versions of MP-DCCP in the high four bits of each value (RFC 9897, Section
    /// 3.1).
    MultipathCapable,
    /// 120: Freezing, 1 if the end where it is located implements freezing: the options Freeze and Unfreeze,
    /// and with CCIDs 3 and 4 also Restoring, Probing and Unfrozen. Experimental.
    Freezing,
    /// 121: Mobility, 1 if the end where it is located may change its address. Experimental, with a number
    /// reserved for experiments (RFC 4340, Section 19.4: 120 to 126).
    Mobility,
    /// 122: Repair, 1 if the data that the end where it is located sends are in the formats of
    /// `whimbrel-repair`, 2 if they are in parts with checksums. Experimental, with a number reserved for
    /// experiments.
    Repair,
    /// 128, with CCIDs 3 and 4: Send RTT Estimate (RFC 6323, Section 3.2.2).
    SendRttEstimate,
    /// 184, with CCIDs 3 and 4: Send Timestamps, 1 if the HC-sender sends a timestamp on each data packet.
    /// Experimental, with a number reserved for experiments (RFC 4342, Section 11.3).
    SendTimestamps,
    /// 192, with CCIDs 3 and 4: Send Loss Event Rate (RFC 4342, Section 8.4).
    SendLossEventRate,
    /// Any other.
    Other(u8),
}

impl FeatureNumber {
    /// The reconciliation rule, if it is known.
    pub const fn reconciliation(self) -> Option<Reconciliation> {
        match self {
            Self::SequenceWindow | Self::AckRatio => Some(Reconciliation::NonNegotiable),
            Self::Other(_) => None,
            _ => Some(Reconciliation::ServerPriority),
        }
    }

    /// Length of a value in bytes, if it is known.
    pub const fn value_len(self) -> Option<usize> {
        match self {
            Self::SequenceWindow => Some(6),
            Self::AckRatio => Some(2),
            Self::Other(_) => None,
            _ => Some(1),
        }
    }

    /// The initial value of new connections, if it is known.
    pub const fn initial_value(self) -> Option<u64> {
        match self {
            Self::Ccid | Self::AckRatio => Some(2),
            Self::SequenceWindow => Some(100),
            Self::Other(_) => None,
            _ => Some(0),
        }
    }

    /// `true` if every implementation must understand the feature.
    pub const fn is_required(self) -> bool {
        matches!(self, Self::Ccid | Self::AllowShortSequenceNumbers | Self::SequenceWindow)
    }

    /// `true` for an experimental feature, which is only available if it is configured.
    pub const fn is_experimental(self) -> bool {
        matches!(self, Self::Freezing | Self::Mobility | Self::Repair | Self::Other(120..=126))
    }

    /// `true` if the number belongs to the CCID in use (Section 10.3).
    pub const fn is_ccid_specific(self) -> bool {
        matches!(
            self,
            Self::SendRttEstimate | Self::SendTimestamps | Self::SendLossEventRate | Self::Other(128..)
        )
    }
}

impl From<u8> for FeatureNumber {
    fn from(number: u8) -> Self {
        match number {
            1 => Self::Ccid,
            2 => Self::AllowShortSequenceNumbers,
            3 => Self::SequenceWindow,
            4 => Self::EcnIncapable,
            5 => Self::AckRatio,
            6 => Self::SendAckVector,
            7 => Self::SendNdpCount,
            8 => Self::MinimumChecksumCoverage,
            9 => Self::CheckDataChecksum,
            10 => Self::MultipathCapable,
            120 => Self::Freezing,
            121 => Self::Mobility,
            122 => Self::Repair,
            128 => Self::SendRttEstimate,
            184 => Self::SendTimestamps,
            192 => Self::SendLossEventRate,
            other => Self::Other(other),
        }
    }
}

impl From<FeatureNumber> for u8 {
    fn from(feature: FeatureNumber) -> Self {
        match feature {
            FeatureNumber::Ccid => 1,
            FeatureNumber::AllowShortSequenceNumbers => 2,
            FeatureNumber::SequenceWindow => 3,
            FeatureNumber::EcnIncapable => 4,
            FeatureNumber::AckRatio => 5,
            FeatureNumber::SendAckVector => 6,
            FeatureNumber::SendNdpCount => 7,
            FeatureNumber::MinimumChecksumCoverage => 8,
            FeatureNumber::CheckDataChecksum => 9,
            FeatureNumber::MultipathCapable => 10,
            FeatureNumber::Freezing => 120,
            FeatureNumber::Mobility => 121,
            FeatureNumber::Repair => 122,
            FeatureNumber::SendRttEstimate => 128,
            FeatureNumber::SendTimestamps => 184,
            FeatureNumber::SendLossEventRate => 192,
            FeatureNumber::Other(number) => number,
        }
    }
}
