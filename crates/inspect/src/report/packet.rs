//! Report on a single packet. The field names are the keys printed by `--packets --json`.

use serde::Serialize;
use whimbrel_wire::{DccpOption, Kind};

use crate::dissect::Malformed;
use crate::follow::anomaly::AnomalyKind;
use crate::follow::side::Side;
use crate::follow::{Endpoint, Followed};
use crate::names;
use crate::segment::{Checksum, Segment};

/// A DCCP packet or a malformed frame.
#[derive(Clone, PartialEq, Debug, Serialize)]
#[serde(tag = "record", rename_all = "snake_case")]
#[non_exhaustive]
pub enum FrameReport {
    /// A DCCP packet.
    Packet(Box<PacketReport>),
    /// A malformed DCCP frame.
    Malformed(MalformedFrame),
}

/// A malformed DCCP frame.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct MalformedFrame {
    /// The frame's number, from 1.
    pub packet: u64,
    /// Capture time, in seconds since the first frame.
    pub time_s: f64,
    /// The header at fault: `IP`, `UDP` or `DCCP`.
    pub layer: &'static str,
    /// The place of the error, in bytes from the start of that header.
    pub offset: usize,
    /// The error, or the value that was expected.
    pub reason: String,
}

/// A DCCP packet.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct PacketReport {
    /// The number of its frame, from 1.
    pub packet: u64,
    /// Capture time, in seconds since the first frame.
    pub time_s: f64,
    /// The capture's interface, by number.
    pub interface: u32,
    /// The connection's number, from 1; `None` beyond the limit of connections.
    pub connection: Option<usize>,
    /// The end that sent it.
    pub sender: Side,
    /// The sender's address and ports.
    pub source: Endpoint,
    /// The receiver's address and ports.
    pub destination: Endpoint,
    /// Its type.
    pub r#type: String,
    /// Full sequence number.
    pub sequence: u64,
    /// Acknowledgement Number, with the 48 or 24 bits carried by the packet.
    pub acknowledgement: Option<u64>,
    /// `true` if its sequence numbers have 48 bits, `false` if 24.
    pub extended: bool,
    /// CCVal, used by the sender's CCID: under CCID 3 the window counter (RFC 4342, Section 8.1).
    pub ccval: u8,
    /// CsCov, the Checksum Coverage (RFC 4340, Section 9.2).
    pub checksum_coverage: u8,
    /// Bytes of application data covered by the checksum, in addition to header and options; `None` if the
    /// packet has less data than CsCov requires, which receivers ignore.
    pub covered_bytes: Option<usize>,
    /// Result of checking its checksum: DCCP's own over IP, UDP's inside UDP.
    pub checksum: Checksum,
    /// The ECN codepoint of its IP header.
    pub ecn: &'static str,
    /// Application data, in bytes.
    pub bytes: usize,
    /// The Service Code of a Request, Response or Listen.
    pub service_code: Option<u32>,
    /// The content of a Reset.
    pub reset: Option<ResetReport>,
    /// Number of this copy of the packet, from 1: more if others passed before.
    pub copy: u32,
    /// `false` if options are missing because the capture has cut the packet off.
    pub has_all_options: bool,
    /// Its options, without Padding.
    pub options: Vec<OptionReport>,
    /// The anomalies found in it.
    pub anomalies: Vec<AnomalyKind>,
}

/// The content of a Reset (RFC 4340, Section 5.6).
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct ResetReport {
    /// The Reset Code.
    pub reset_code: u8,
    /// Data 1 to 3.
    pub reset_data: [u8; 3],
    /// Description of both.
    pub reason: String,
}

/// An option.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct OptionReport {
    /// Its type's number.
    pub number: u8,
    /// Its type's name.
    pub name: String,
    /// Description of name and content.
    pub text: String,
}

impl FrameReport {
    /// Report on a packet captured `time_s` seconds after the first frame.
    pub fn of_packet(time_s: f64, segment: &Segment, followed: &Followed) -> Self {
        let packet = &segment.packet;
        let options = packet.options.iter().filter(|option| !matches!(option, DccpOption::Padding));
        Self::Packet(Box::new(PacketReport {
            packet: segment.number,
            time_s,
            interface: segment.interface,
            connection: followed.connection,
            sender: followed.by,
            source: Endpoint::source(segment),
            destination: Endpoint::destination(segment),
            r#type: format!("{:?}", packet.packet_type()),
            sequence: followed.sequence.value(),
            acknowledgement: packet.ack().map(|ack| ack.value()),
            extended: packet.extended,
            ccval: packet.ccval,
            checksum_coverage: packet.checksum_coverage.field(),
            covered_bytes: packet.checksum_coverage.covered(packet.payload.len()),
            checksum: segment.checksum,
            ecn: names::ecn_name(segment.ecn),
            bytes: packet.payload.len(),
            service_code: match packet.kind {
                Kind::Request { service_code }
                | Kind::Response { service_code, .. }
                | Kind::Listen { service_code } => Some(service_code.0),
                _ => None,
            },
            reset: match packet.kind {
                Kind::Reset { reset, .. } => Some(ResetReport {
                    reset_code: reset.code.into(),
                    reset_data: reset.data,
                    reason: names::reset_description(reset),
                }),
                _ => None,
            },
            copy: segment.copy,
            has_all_options: segment.has_all_options,
            options: options
                .map(|option| OptionReport {
                    number: option.kind(),
                    name: names::option_name(option.kind()),
                    text: names::option_description(option),
                })
                .collect(),
            anomalies: followed.anomalies.clone(),
        }))
    }

    /// Report on a frame captured `time_s` seconds after the first one.
    pub fn of_malformed(time_s: f64, malformed: &Malformed) -> Self {
        let Malformed { number, layer, offset, reason, .. } = malformed;
        Self::Malformed(MalformedFrame {
            packet: *number,
            time_s,
            layer,
            offset: *offset,
            reason: reason.clone(),
        })
    }
}
