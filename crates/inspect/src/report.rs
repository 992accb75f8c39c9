//! What a capture says, as data. The field names are what `--json` prints: they stay.

use std::collections::BTreeMap;

use serde::Serialize;
use whimbrel_control::reordering::LatenessSummary;
use whimbrel_units::{Duration, Instant};
use whimbrel_wire::PacketType;

use crate::follow::anomaly::Anomaly;
use crate::follow::ending::End;
use crate::follow::features::Feature;
use crate::follow::handover::HandoverStep;
use crate::follow::side::Side;
use crate::follow::table::Interval;
use crate::follow::{Connection, Endpoint, Half, Roles, Spread, quiet};
use crate::words;

pub mod packet;

/// Everything that was found in a capture.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Report {
    /// The shape of this report: increased where a field changes its meaning or goes away.
    pub version: u32,
    /// The capture as a whole.
    pub capture: CaptureSummary,
    /// The connections, in the order in which they began.
    pub connections: Vec<ConnectionReport>,
}

/// A capture as a whole.
#[derive(Clone, PartialEq, Debug, Default, Serialize)]
pub struct CaptureSummary {
    /// Frames read.
    pub frames: u64,
    /// DCCP packets in them.
    pub dccp_packets: u64,
    /// When the first frame was captured, in seconds since 1970 (or since a simulation's start).
    pub start_s: f64,
    /// From the first frame to the last, in seconds.
    pub duration_s: f64,
    /// The capture's interfaces that had frames, by number.
    pub interfaces: BTreeMap<u32, InterfaceReport>,
    /// Frames that should hold DCCP and do not.
    pub malformed: u64,
    /// The first of them.
    pub malformed_first: Vec<MalformedReport>,
    /// Parts of IP datagrams with DCCP or UDP in them: they are not put together.
    pub fragments: u64,
    /// The frames of the first of them.
    pub fragments_first: Vec<u64>,
    /// Frames by unknown link type.
    pub unknown_links: BTreeMap<u16, u64>,
    /// DCCP packets of connections beyond the limit.
    pub beyond_limit: u64,
    /// Why the file could not be read to its end, with the place.
    pub error: Option<String>,
}

/// An interface of a capture.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct InterfaceReport {
    /// What the file calls it.
    pub name: Option<String>,
    /// What its frames begin with, in words.
    pub link: &'static str,
    /// Its frames.
    pub frames: u64,
}

/// A frame that should hold DCCP and does not.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct MalformedReport {
    /// The frame's number, from 1.
    pub packet: u64,
    /// Where its record begins in the file, in bytes.
    pub record_offset: u64,
    /// The header at fault: `IP`, `UDP` or `DCCP`.
    pub layer: &'static str,
    /// Where, in bytes from the start of that header.
    pub offset: usize,
    /// What is wrong or was expected.
    pub reason: String,
}

/// A connection.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct ConnectionReport {
    /// Its number, from 1.
    pub number: usize,
    /// The client's addresses; the last ones, where it moved.
    pub client: Endpoint,
    /// The server's.
    pub server: Endpoint,
    /// How it is known which is which.
    pub roles: Roles,
    /// Whether it is inside UDP (RFC 6773).
    pub in_udp: bool,
    /// Its first packet: the number in the capture.
    pub first_packet: u64,
    /// When that was, in seconds since the capture's first frame.
    pub start_s: f64,
    /// From its first packet to its last, in seconds.
    pub duration_s: f64,
    /// How it began.
    pub handshake: HandshakeReport,
    /// What the client sends, then what the server sends.
    pub halves: [HalfReport; 2],
    /// What the ends say of handovers: freezes, restarts, the client's moves.
    pub handovers: Vec<HandoverStep>,
    /// Why it ended.
    pub end: End,
    /// What should not be.
    pub anomalies: Vec<Anomaly>,
    /// How long an interval is, in seconds: longer than was asked for where there would be too many.
    pub interval_s: f64,
}

/// How a connection began.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct HandshakeReport {
    /// Requests, retransmissions included.
    pub requests: u64,
    /// Responses.
    pub responses: u64,
    /// Whether the client has answered the Response.
    pub completed: bool,
    /// The Service Code, as a number.
    pub service_code: Option<u32>,
    /// The Service Code, as RFC 4340, Section 8.1.2 writes it.
    pub service_code_text: Option<String>,
    /// The round-trip time from one end to the other, in seconds.
    pub rtt_s: Option<f64>,
    /// From here to the server and back, in seconds.
    pub to_server_s: Option<f64>,
    /// From here to the client and back, in seconds.
    pub to_client_s: Option<f64>,
    /// Application data on the last Request, in bytes.
    pub request_data_bytes: usize,
}

/// What one end sends, and what the other end reports of it.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct HalfReport {
    /// Who sends.
    pub sender: Side,
    /// The congestion control.
    pub ccid: Option<u64>,
    /// Whether that is known, rather than guessed from the options.
    pub ccid_is_known: bool,
    /// The capture's interface at which this direction is followed.
    pub interface: Option<u32>,
    /// Packets of this direction at other interfaces, which are not looked at.
    pub packets_elsewhere: u64,
    /// What passed.
    pub seen: SeenReport,
    /// What the receiver reports.
    pub reported: ReportedReport,
    /// The features that govern this half-connection.
    pub features: Vec<Feature>,
    /// Interval by interval.
    pub intervals: Vec<Interval>,
}

/// What passed here of one direction.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct SeenReport {
    /// Packets.
    pub packets: u64,
    /// Of these, packets with application data.
    pub datagrams: u64,
    /// Application data, in bytes.
    pub bytes: u64,
    /// Application data from the first to the last datagram, in bit/s.
    pub send_rate_bps: Option<f64>,
    /// Packets by type.
    pub types: BTreeMap<String, u64>,
    /// Packets by ECN codepoint.
    pub ecn: BTreeMap<&'static str, u64>,
    /// Packets by the value of their Checksum Coverage field.
    pub checksum_coverage: BTreeMap<u8, u64>,
    /// Options, without Padding.
    pub options: BTreeMap<String, u64>,
    /// Sequence numbers that did not pass, between the first and the last; `None` where no packet of this direction has passed.
    pub holes: Option<u64>,
    /// Packets that were overtaken.
    pub late: u64,
    /// How late these came (RFC 4737, Section 4.3); `None` where no packet was overtaken.
    pub lateness: Option<LatenessReport>,
    /// Packets with a number that had passed before.
    pub repeated: u64,
}

/// How late packets passed that had been overtaken, in seconds: the delay of a reorder buffer that would put that share into order.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct LatenessReport {
    /// Of half of them.
    pub median_s: f64,
    /// Of 95 %.
    pub p95_s: f64,
    /// Of 99 %.
    pub p99_s: f64,
    /// Of all.
    pub maximum_s: f64,
}

impl LatenessReport {
    fn of(summary: LatenessSummary) -> Option<Self> {
        (summary.overtaken > 0).then(|| Self {
            median_s: seconds(summary.median),
            p95_s: seconds(summary.p95),
            p99_s: seconds(summary.p99),
            maximum_s: seconds(summary.maximum),
        })
    }
}

/// What the receiver reports of one direction.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct ReportedReport {
    /// Application data received, in bytes, by Ack Vectors.
    pub acknowledged_bytes: Option<u64>,
    /// Packets not received, by Ack Vectors; `None` where none passed: under CCIDs without them, and where the other direction was
    /// not captured.
    pub lost: Option<i64>,
    /// Packets received with a mark of congestion, by Ack Vectors.
    pub marked: Option<u64>,
    /// The last loss event rate, from 0 to 1 (CCID 3 and 4).
    pub loss_event_rate: Option<f64>,
    /// The greatest.
    pub loss_event_rate_max: Option<f64>,
    /// The last Receive Rate, in bit/s (CCID 3 and 4).
    pub receive_rate_bps: Option<f64>,
    /// Packets lost or marked in the intervals that the last Dropped Packets named (CCID 4).
    pub dropped_packets: Option<u64>,
    /// From here to the receiver and back.
    pub rtt: Option<RttReport>,
    /// The round-trip time that the sender says it uses (RFC 6323).
    pub sender_rtt: Option<RttReport>,
}

/// Round-trip times, in seconds.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct RttReport {
    /// How many.
    pub samples: u64,
    /// The shortest.
    pub min_s: f64,
    /// Their mean.
    pub mean_s: f64,
    /// The longest.
    pub max_s: f64,
}

impl RttReport {
    fn of(spread: &Spread) -> Option<Self> {
        Some(Self {
            samples: spread.count,
            mean_s: seconds(spread.mean()?),
            min_s: seconds(spread.least),
            max_s: seconds(spread.greatest),
        })
    }
}

/// Seconds as they are printed: the number nearest to so many nanoseconds.
pub(crate) fn seconds(time: Duration) -> f64 {
    time.as_nanos() as f64 / 1e9
}

/// The report of a connection. `zero` and `end`: the capture's first and last frame.
pub(crate) fn connection(
    number: usize,
    connection: &Connection,
    zero: Instant,
    end: Instant,
    patience: Duration,
) -> ConnectionReport {
    let handshake = &connection.handshake;
    let some_seconds = |time: Option<Duration>| time.map(seconds);
    let silence = quiet(connection.last, end);
    let half = |sender| half_report(sender, connection, zero);
    ConnectionReport {
        number,
        client: connection.client,
        server: connection.server,
        roles: connection.roles,
        in_udp: connection.client.udp_port.is_some(),
        first_packet: connection.first_packet,
        start_s: seconds(connection.first.saturating_since(zero)),
        duration_s: seconds(connection.last.saturating_since(connection.first)),
        handshake: HandshakeReport {
            requests: handshake.requests,
            responses: handshake.responses,
            completed: handshake.completed.is_some(),
            service_code: handshake.service_code.map(|code| code.0),
            service_code_text: handshake.service_code.map(|code| code.to_string()),
            rtt_s: some_seconds(handshake.rtt()),
            to_server_s: some_seconds(handshake.to_server),
            to_client_s: some_seconds(handshake.to_client),
            request_data_bytes: handshake.request_data,
        },
        halves: Side::BOTH.map(half),
        handovers: connection.handovers.steps(zero),
        end: connection.ending.verdict(handshake, connection.opened, silence, patience),
        anomalies: connection.anomalies.clone().into_list(),
        interval_s: connection.half(Side::Client).table.width().as_secs_f64(),
    }
}

fn half_report(sender: Side, connection: &Connection, zero: Instant) -> HalfReport {
    let half = connection.half(sender);
    let (ccid, ccid_is_known) = connection.ccid(sender);
    HalfReport {
        sender,
        ccid,
        ccid_is_known,
        interface: half.interface,
        packets_elsewhere: half.counts.elsewhere,
        seen: seen(half),
        reported: reported(half),
        features: connection.features.of_half(sender),
        intervals: half.table.intervals(zero, connection.last),
    }
}

fn seen(half: &Half) -> SeenReport {
    let counts = &half.counts;
    let span = counts.data_span.map(|(first, last)| seconds(last.saturating_since(first)));
    let types = (0u8..).zip(counts.types).filter(|(_, count)| *count > 0);
    let type_name =
        |number| PacketType::from_number(number).map(|kind| format!("{kind:?}")).unwrap_or_default();
    let ecn = (0u8..).zip(counts.ecn).filter(|(_, count)| *count > 0);
    SeenReport {
        packets: counts.packets,
        datagrams: counts.datagrams,
        bytes: counts.bytes,
        send_rate_bps: span.filter(|span| *span > 0.0).map(|span| counts.bytes as f64 * 8.0 / span),
        types: types.map(|(number, count)| (type_name(number), count)).collect(),
        ecn: ecn.map(|(bits, count)| (words::ecn_name(whimbrel_wire::Ecn::from_bits(bits)), count)).collect(),
        checksum_coverage: (0u8..).zip(counts.coverage).filter(|(_, count)| *count > 0).collect(),
        options: counts.options.iter().map(|(kind, count)| (words::option_name(*kind), *count)).collect(),
        holes: half.sequence.greatest().map(|_| half.sequence.holes),
        late: half.sequence.late,
        lateness: LatenessReport::of(half.lateness.summary()),
        repeated: half.sequence.repeated,
    }
}

fn reported(half: &Half) -> ReportedReport {
    let reported = &half.reported;
    let by_ack_vector = reported.by_ack_vector;
    ReportedReport {
        acknowledged_bytes: by_ack_vector.then_some(reported.acknowledged),
        lost: by_ack_vector.then_some(reported.lost),
        marked: by_ack_vector.then_some(reported.marked),
        loss_event_rate: reported.loss_event_rate,
        loss_event_rate_max: reported.loss_event_rate.map(|_| reported.greatest_loss_event_rate),
        receive_rate_bps: reported.receive_rate.map(|rate| f64::from(rate) * 8.0),
        dropped_packets: reported.dropped,
        rtt: RttReport::of(&reported.rtt),
        sender_rtt: RttReport::of(&reported.sender_rtt),
    }
}
