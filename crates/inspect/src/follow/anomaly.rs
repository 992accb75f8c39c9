//! Protocol anomalies.

use std::collections::BTreeMap;

use serde::Serialize;

/// Kind of an anomaly in a connection.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum AnomalyKind {
    /// A wrong checksum: receivers must ignore the packet.
    BadChecksum,
    /// UDP without a checksum: receivers must drop the datagram (RFC 6773, Section 3.3).
    NoChecksum,
    /// A sequence number outside the window (RFC 4340, Section 7.5.1).
    OutsideWindow,
    /// The sequence numbers continue beyond the window: the capture or the path had a long gap.
    NumbersJumped,
    /// A sequence number that was captured before.
    RepeatedNumber,
    /// An Acknowledgement Number beyond the packets captured here.
    AcknowledgesUnseen,
    /// An Acknowledgement Number below the window (RFC 4340, Section 7.5.1).
    AcknowledgesTooOld,
    /// The other end has received packets that were not captured.
    MissedByCapture,
    /// A Response although no Request was captured.
    ResponseWithoutRequest,
    /// A Response with another Service Code than the Request.
    OtherServiceCode,
    /// A type of packet that only the other end may send.
    WrongEnd,
    /// Short sequence numbers that were not negotiated (RFC 4340, Section 7.6.1).
    ShortNumbersNotAllowed,
    /// An option on a type of packet where it must be ignored.
    IgnoredOption,
    /// An option with an invalid length, or one that extends beyond the options.
    MalformedOption,
    /// An option of an unknown type.
    UnknownOption,
    /// A Mandatory that ends the options or precedes another one (RFC 4340, Section 5.8.2).
    MisplacedMandatory,
    /// Application data that does not match its Data Checksum.
    WrongDataChecksum,
    /// Packets after the connection's end, other than Resets.
    AfterTheEnd,
    /// A Confirm for a value of a server-priority feature that was not proposed.
    UnaskedConfirm,
}

impl AnomalyKind {
    /// Description of the anomaly.
    pub const fn description(self) -> &'static str {
        match self {
            Self::BadChecksum => "wrong checksum: receivers ignore the packet",
            Self::NoChecksum => "no UDP checksum: receivers drop the datagram",
            Self::OutsideWindow => "sequence number outside the window, as estimated at the capture point",
            Self::NumbersJumped => "sequence numbers continue far beyond the window",
            Self::RepeatedNumber => "sequence number seen before",
            Self::AcknowledgesUnseen => "acknowledges a packet that was not captured",
            Self::AcknowledgesTooOld => "acknowledgement number below the window",
            Self::MissedByCapture => "received by the other end but not captured",
            Self::ResponseWithoutRequest => "Response without a Request",
            Self::OtherServiceCode => "Response with another Service Code than the Request's",
            Self::WrongEnd => "packet type that only the other end sends",
            Self::ShortNumbersNotAllowed => "short sequence numbers that were not negotiated",
            Self::IgnoredOption => "option that must be ignored on this packet",
            Self::MalformedOption => "option with an invalid length",
            Self::UnknownOption => "unknown option",
            Self::MisplacedMandatory => "Mandatory without an option after it",
            Self::WrongDataChecksum => "application data do not match their Data Checksum",
            Self::AfterTheEnd => "packet after the connection's end",
            Self::UnaskedConfirm => "Confirm without a Change",
        }
    }
}

/// An anomaly with its number of occurrences and its first packet.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Anomaly {
    /// Kind of the anomaly.
    pub kind: AnomalyKind,
    /// Description of the anomaly.
    pub meaning: &'static str,
    /// Number of occurrences.
    pub count: u64,
    /// The first packet: its number in the capture, from 1.
    pub first_packet: u64,
    /// Details of the first occurrence.
    pub detail: String,
}

/// Anomalies of a connection, in the order of their kinds.
#[derive(Clone, Debug, Default)]
pub(crate) struct Anomalies(BTreeMap<AnomalyKind, Anomaly>);

impl Anomalies {
    /// Adds an occurrence. `detail` is called for the first of a kind only.
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
            meaning: kind.description(),
            count: 0,
            first_packet: packet,
            detail: detail(),
        });
        entry.count += count;
    }

    pub(crate) fn into_list(self) -> Vec<Anomaly> {
        self.0.into_values().collect()
    }

    /// Total number of occurrences, to detect those added by a packet.
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
