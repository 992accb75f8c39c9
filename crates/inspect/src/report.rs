//! The results for a capture, as data. The field names are the keys printed by `--json` and must not change.

use std::collections::BTreeMap;

use serde::Serialize;
use whimbrel_control::reordering::LatenessSummary;
use whimbrel_units::{Duration, Instant};
use whimbrel_wire::PacketType;

use crate::fecframe::FecReport;
use crate::follow::anomaly::Anomaly;
use crate::follow::ending::End;
use crate::follow::features::Feature;
use crate::follow::handover::HandoverStep;
use crate::follow::repair::RepairReport;
use crate::follow::side::Side;
use crate::follow::table::Interval;
use crate::follow::{Connection, Endpoint, Follower, Half, Roles, Spread, quiet};
use crate::names::{self, seconds};
use crate::traffic::TrafficReport;

pub mod flow;
pub mod packet;

use crate::flows::gaps::GapReport;
use flow::FlowReport;

/// Results for a capture.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Report {
    /// Version of this format: increased if a field changes its meaning or is removed.
    pub version: u32,
    /// Summary of the capture.
    pub capture: CaptureSummary,
    /// The connections, in order of their first packets.
    pub connections: Vec<ConnectionReport>,
    /// The streams without DCCP, in order of their first packets: RTP, UDP and TCP, each direction for
    /// itself.
    pub flows: Vec<FlowReport>,
    /// Sources with repair flows (FECFRAME), as the SDP file has them.
    pub fecframe: Vec<FecReport>,
    /// QoS data frames and A-MPDUs of 802.11.
    pub wireless: TrafficReport,
}

/// Summary of a capture.
#[derive(Clone, PartialEq, Debug, Default, Serialize)]
pub struct CaptureSummary {
    /// Frames read.
    pub frames: u64,
    /// DCCP packets in them, without copies.
    pub dccp_packets: u64,
    /// UDP datagrams without DCCP, without copies.
    pub udp_packets: u64,
    /// TCP segments, without copies.
    pub tcp_packets: u64,
    /// Copies of packets that were captured at other points as well, which do not count.
    pub copies: u64,
    /// Frames that were not captured completely.
    pub cut_frames: u64,
    /// DCCP packets whose options were not captured completely.
    pub cut_options: u64,
    /// Capture time of the first frame, in seconds since 1970 (or since a simulation's start).
    pub start_s: f64,
    /// Time from the first frame to the last, in seconds.
    pub duration_s: f64,
    /// The capture's interfaces with frames, by number.
    pub interfaces: BTreeMap<u32, InterfaceReport>,
    /// Number of malformed DCCP frames.
    pub malformed: u64,
    /// The first of them.
    pub malformed_first: Vec<MalformedReport>,
    /// IP datagrams that were put together from fragments.
    pub reassembled: u64,
    /// Fragments of datagrams of which others are missing.
    pub fragments: u64,
    /// Frame numbers of the first fragment of the first of these.
    pub fragments_first: Vec<u64>,
    /// Frames that were not read, by the reason.
    pub not_read: NotReadSummary,
    /// Frames by unknown link type.
    pub unknown_links: BTreeMap<u16, u64>,
    /// Packets of connections and flows beyond the limit.
    pub beyond_limit: u64,
    /// The error, with its offset, that ended the reading of the file.
    pub error: Option<String>,
}

/// Frames that were not read, by the reason.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize)]
pub struct NotReadSummary {
    /// Other protocols than IP, and frames of the link layer itself.
    pub not_ip: u64,
    /// IP packets of other protocols, by their number.
    pub protocols: BTreeMap<u8, u64>,
    /// Frames that end before their ports or numbers.
    pub cut: u64,
    /// Encrypted 802.11 frames.
    pub encrypted: u64,
    /// 802.11 frames with a wrong frame check sequence.
    pub damaged: u64,
    /// Fragments of the 802.11 layer.
    pub wireless_fragments: u64,
    /// Packets with an invalid UDP or TCP header.
    pub invalid: u64,
}

/// An interface of a capture.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct InterfaceReport {
    /// Name of the interface in the file.
    pub name: Option<String>,
    /// Name of its link type.
    pub link: &'static str,
    /// Number of its frames.
    pub frames: u64,
}

/// A malformed DCCP frame.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct MalformedReport {
    /// The frame's number, from 1.
    pub packet: u64,
    /// Offset of its record in the file, in bytes.
    pub record_offset: u64,
    /// The header at fault: `IP`, `UDP` or `DCCP`.
    pub layer: &'static str,
    /// Offset of the error from the start of that header, in bytes.
    pub offset: usize,
    /// The error, or the expected content.
    pub reason: String,
}

/// A connection.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct ConnectionReport {
    /// Its number, from 1.
    pub number: usize,
    /// The client's addresses; the last ones, if it moved.
    pub client: Endpoint,
    /// The server's addresses.
    pub server: Endpoint,
    /// Evidence for the roles of the two ends.
    pub roles: Roles,
    /// `true` if it is inside UDP (RFC 6773).
    pub in_udp: bool,
    /// Number in the capture of its first packet.
    pub first_packet: u64,
    /// Capture time of the first packet, in seconds since the capture's first frame.
    pub start_s: f64,
    /// Time from its first packet to its last, in seconds.
    pub duration_s: f64,
    /// The handshake.
    pub handshake: HandshakeReport,
    /// The client's direction, then the server's.
    pub halves: [HalfReport; 2],
    /// Handover signalling: freezes, restarts, the client's address changes.
    pub handovers: Vec<HandoverStep>,
    /// The end of the connection.
    pub end: End,
    /// Anomalies.
    pub anomalies: Vec<Anomaly>,
    /// Length of an interval, in seconds: longer than requested if there would be too many.
    pub interval_s: f64,
}

/// The handshake of a connection.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct HandshakeReport {
    /// Requests, retransmissions included.
    pub requests: u64,
    /// Responses.
    pub responses: u64,
    /// `true` if the client has answered the Response.
    pub completed: bool,
    /// The Service Code, as a number.
    pub service_code: Option<u32>,
    /// The Service Code, as written in RFC 4340, Section 8.1.2.
    pub service_code_text: Option<String>,
    /// Round-trip time between the ends, in seconds.
    pub rtt_s: Option<f64>,
    /// Round-trip time from the capture point to the server, in seconds.
    pub to_server_s: Option<f64>,
    /// Round-trip time from the capture point to the client, in seconds.
    pub to_client_s: Option<f64>,
    /// Application data on the last Request, in bytes.
    pub request_data_bytes: usize,
}

/// One direction: the packets of one end, and the other end's reports on them.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct HalfReport {
    /// The sending end.
    pub sender: Side,
    /// The CCID.
    pub ccid: Option<u64>,
    /// `true` if the CCID is known and not inferred from options.
    pub ccid_is_known: bool,
    /// The capture's interface at which this direction counts, or did last.
    pub interface: Option<u32>,
    /// Copies of packets of this direction at other points of the capture, which do not count.
    pub packets_elsewhere: u64,
    /// Packets whose options were not captured completely.
    pub cut_options: u64,
    /// Times without data.
    pub gaps: Vec<GapReport>,
    /// Number of gaps, including those that are not listed.
    pub gaps_total: u64,
    /// Captured packets.
    pub seen: SeenReport,
    /// Values reported by the receiver.
    pub reported: ReportedReport,
    /// Repair of lost datagrams; `None` if the ends do not repair.
    pub repair: Option<RepairReport>,
    /// The features that govern this half-connection.
    pub features: Vec<Feature>,
    /// Statistics per interval.
    pub intervals: Vec<Interval>,
}

/// Captured packets of one direction.
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
    /// Sequence numbers between the first and the last that were not captured; `None` if no packet of this
    /// direction was captured.
    pub holes: Option<u64>,
    /// Packets that were reordered.
    pub late: u64,
    /// Late times of these (RFC 4737, Section 4.3); `None` if no packet was reordered.
    pub lateness: Option<LatenessReport>,
    /// Packets with a number that was captured before.
    pub repeated: u64,
}

/// Late times of reordered packets, in seconds: the delay of a reorder buffer that would put that share into
/// order.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct LatenessReport {
    /// Median.
    pub median_s: f64,
    /// 95th percentile.
    pub p95_s: f64,
    /// 99th percentile.
    pub p99_s: f64,
    /// Maximum.
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

/// Values reported by the receiver of one direction.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct ReportedReport {
    /// Application data received, in bytes, by Ack Vectors.
    pub acknowledged_bytes: Option<u64>,
    /// Packets not received, by Ack Vectors; `None` if none was captured: under CCIDs without them, and if
    /// the other direction was not captured, or not all of its options.
    pub lost: Option<i64>,
    /// Packets received with a mark of congestion, by Ack Vectors.
    pub marked: Option<u64>,
    /// The last loss event rate, from 0 to 1 (CCID 3 and 4).
    pub loss_event_rate: Option<f64>,
    /// The maximum loss event rate.
    pub loss_event_rate_max: Option<f64>,
    /// The last Receive Rate, in bit/s (CCID 3 and 4).
    pub receive_rate_bps: Option<f64>,
    /// Packets lost or marked in the intervals of the last Dropped Packets option (CCID 4).
    pub dropped_packets: Option<u64>,
    /// Round-trip time from the capture point to the receiver.
    pub rtt: Option<RttReport>,
    /// The round-trip time signalled by the sender (RFC 6323).
    pub sender_rtt: Option<RttReport>,
}

/// Round-trip times, in seconds.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct RttReport {
    /// Number of samples.
    pub samples: u64,
    /// Minimum.
    pub min_s: f64,
    /// Mean.
    pub mean_s: f64,
    /// Maximum.
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

/// Reports on the connections that a follower has tracked.
pub fn connections(follower: &Follower) -> Vec<ConnectionReport> {
    let (zero, end) = follower.span().unwrap_or_default();
    let report =
        |(index, one): (usize, &Connection)| connection(index + 1, one, zero, end, follower.idle_timeout());
    follower.connections().iter().enumerate().map(report).collect()
}

/// Creates the report on a connection. `zero` and `end`: the capture's first and last frame.
fn connection(
    number: usize,
    connection: &Connection,
    zero: Instant,
    end: Instant,
    idle_timeout: Duration,
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
        end: connection.ending.end_state(handshake, connection.opened, silence, idle_timeout),
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
        packets_elsewhere: 0,
        cut_options: half.cut_options,
        gaps: half.gaps.report(zero, true),
        gaps_total: half.gaps.total().0,
        seen: seen(half),
        reported: reported(half, connection.half(sender.other()).cut_options > 0),
        repair: half.repair.report(),
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
        ecn: ecn.map(|(bits, count)| (names::ecn_name(whimbrel_wire::Ecn::from_bits(bits)), count)).collect(),
        checksum_coverage: (0u8..).zip(counts.coverage).filter(|(_, count)| *count > 0).collect(),
        options: counts.options.iter().map(|(kind, count)| (names::option_name(*kind), *count)).collect(),
        holes: half.sequence.greatest().map(|_| half.sequence.holes),
        late: half.sequence.late,
        lateness: LatenessReport::of(half.lateness.summary()),
        repeated: half.sequence.repeated,
    }
}

/// `is_cut`: options of the receiver are unknown, and with them what its Ack Vectors add up to.
fn reported(half: &Half, is_cut: bool) -> ReportedReport {
    let reported = &half.reported;
    let by_ack_vector = reported.by_ack_vector && !is_cut;
    ReportedReport {
        acknowledged_bytes: by_ack_vector.then_some(reported.acknowledged),
        lost: by_ack_vector.then_some(reported.lost),
        marked: by_ack_vector.then_some(reported.marked),
        loss_event_rate: reported.loss_event_rate,
        loss_event_rate_max: reported
            .loss_event_rate
            .filter(|_| !reported.has_cut_rates)
            .map(|_| reported.greatest_loss_event_rate),
        receive_rate_bps: reported.receive_rate.map(|rate| f64::from(rate) * 8.0),
        dropped_packets: reported.dropped,
        rtt: RttReport::of(&reported.rtt),
        sender_rtt: RttReport::of(&reported.sender_rtt),
    }
}
