//! What should not be.

use std::collections::BTreeMap;

use serde::Serialize;

/// What should not be in a connection.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum AnomalyKind {
    /// A wrong checksum: the packet is to be ignored.
    BadChecksum,
    /// UDP without a checksum: the datagram is to be dropped (RFC 6773, Section 3.3).
    NoChecksum,
    /// A sequence number outside the window (RFC 4340, Section 7.5.1).
    OutsideWindow,
    /// The sequence numbers went on beyond the window: the capture or the path had a long gap.
    NumbersJumped,
    /// A sequence number that has passed before.
    RepeatedNumber,
    /// An Acknowledgement Number beyond what has passed here.
    AcknowledgesUnseen,
    /// An Acknowledgement Number below the window (RFC 4340, Section 7.5.1).
    AcknowledgesTooOld,
    /// The other end has received packets that have not passed here.
    MissedByCapture,
    /// A Response although no Request has passed.
    ResponseWithoutRequest,
    /// A Response to another Service Code than was asked for.
    OtherServiceCode,
    /// A type of packet that only the other end may send.
    WrongEnd,
    /// Short sequence numbers although they have not been agreed on (RFC 4340, Section 7.6.1).
    ShortNumbersNotAllowed,
    /// An option on a type of packet where it must be ignored.
    IgnoredOption,
    /// An option with a length that its type cannot have, or that leads beyond the options.
    MalformedOption,
    /// An option of an unknown type.
    UnknownOption,
    /// A Mandatory that ends the options or precedes another one (RFC 4340, Section 5.8.2).
    MisplacedMandatory,
    /// Application data that do not match their Data Checksum.
    WrongDataChecksum,
    /// Packets after the connection's end, other than Resets.
    AfterTheEnd,
    /// A number of a server-priority feature confirmed that nobody had proposed.
    UnaskedConfirm,
}

impl AnomalyKind {
    /// In words.
    pub const fn words(self) -> &'static str {
        match self {
            Self::BadChecksum => "wrong checksum: receivers ignore the packet",
            Self::NoChecksum => "no UDP checksum: receivers drop the datagram",
            Self::OutsideWindow => "sequence number outside the window, as seen from here",
            Self::NumbersJumped => "sequence numbers went on far beyond the window",
            Self::RepeatedNumber => "sequence number seen before",
            Self::AcknowledgesUnseen => "acknowledges what has not passed here",
            Self::AcknowledgesTooOld => "acknowledges what is below the window",
            Self::MissedByCapture => "received by the other end without having passed here",
            Self::ResponseWithoutRequest => "Response without a Request",
            Self::OtherServiceCode => "Response with another Service Code than the Request's",
            Self::WrongEnd => "sent by the wrong end",
            Self::ShortNumbersNotAllowed => "short sequence numbers without agreement",
            Self::IgnoredOption => "option that must be ignored on this packet",
            Self::MalformedOption => "option with an impossible length",
            Self::UnknownOption => "option that is not known",
            Self::MisplacedMandatory => "Mandatory without an option after it",
            Self::WrongDataChecksum => "application data do not match their Data Checksum",
            Self::AfterTheEnd => "packet after the connection's end",
            Self::UnaskedConfirm => "Confirm of what nobody asked for",
        }
    }
}

/// How often, where first.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Anomaly {
    /// What.
    pub kind: AnomalyKind,
    /// In words.
    pub meaning: &'static str,
    /// How often.
    pub count: u64,
    /// The first packet: its number in the capture, from 1.
    pub first_packet: u64,
    /// More about the first.
    pub detail: String,
}

/// All of a connection's, in the order of their kinds.
#[derive(Clone, Debug, Default)]
pub(crate) struct Anomalies(BTreeMap<AnomalyKind, Anomaly>);

impl Anomalies {
    /// One more. `detail` is asked for the first of a kind only.
    pub(crate) fn add(&mut self, kind: AnomalyKind, packet: u64, detail: impl FnOnce() -> String) {
        self.add_many(kind, 1, packet, detail);
    }
    pub(crate) fn add_many(
        &mut self,
        kind: AnomalyKind,
        count: u64,
        packet: u64,
        detail: impl FnOnce() -> String,
    ) {
        if count == 0 {
            return;
        }
        let entry = self.0.entry(kind).or_insert_with(|| Anomaly {
            kind,
            meaning: kind.words(),
            count: 0,
            first_packet: packet,
            detail: detail(),
        });
        entry.count += count;
    }
    pub(crate) fn into_list(self) -> Vec<Anomaly> {
        self.0.into_values().collect()
    }
    /// How often each has been seen: to tell what one packet brought.
    pub(crate) fn total(&self) -> u64 {
        self.0.values().map(|anomaly| anomaly.count).sum()
    }
    pub(crate) fn kinds_since(&self, before: &[(AnomalyKind, u64)]) -> Vec<AnomalyKind> {
        let count_before =
            |kind| before.iter().find(|(other, _)| *other == kind).map_or(0, |(_, count)| *count);
        self.0.values().filter(|now| now.count > count_before(now.kind)).map(|now| now.kind).collect()
    }
    pub(crate) fn counts(&self) -> Vec<(AnomalyKind, u64)> {
        self.0.values().map(|anomaly| (anomaly.kind, anomaly.count)).collect()
    }
}
