//! Reports on streams without DCCP. The field names are the keys printed by `--json` and must not change.

use std::net::SocketAddr;

use serde::Serialize;
use whimbrel_units::Instant;

use super::{LatenessReport, RttReport};
use crate::flows::gaps::GapReport;
use crate::flows::rtp::RtpStream;
use crate::flows::tcp::TcpState;
use crate::flows::{FlowContent, FlowState, Flows, Tally};
use crate::follow::table::Interval;
use crate::names::seconds;
use crate::segment::{Flow, Protocol};

/// One direction of a stream.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct FlowReport {
    /// Its number, from 1.
    pub number: usize,
    /// The protocol below: `udp` or `tcp`.
    pub protocol: Protocol,
    /// The sender.
    pub source: SocketAddr,
    /// The receiver.
    pub destination: SocketAddr,
    /// The capture's interface of its first packet.
    pub interface: u32,
    /// Copies at other points of the capture, which do not count.
    pub packets_elsewhere: u64,
    /// Number of points at which the capture has it.
    pub points: usize,
    /// Number in the capture of its first packet.
    pub first_packet: u64,
    /// Capture time of the first packet, in seconds since the capture's first frame.
    pub start_s: f64,
    /// Time from its first packet to its last, in seconds.
    pub duration_s: f64,
    /// Packets.
    pub packets: u64,
    /// Of these, packets with application data.
    pub datagrams: u64,
    /// Application data in bytes; headers of RTP are part of them.
    pub bytes: u64,
    /// The same from the first packet to the last, in bit/s.
    pub rate_bps: Option<f64>,
    /// Packets that were not captured completely.
    pub cut: u64,
    /// Packets with the ECN codepoint CE.
    pub marked: u64,
    /// The RTP stream, if it is one.
    pub rtp: Option<RtpReport>,
    /// The TCP connection's direction, if it is one.
    pub tcp: Option<TcpReport>,
    /// Times without data.
    pub gaps: Vec<GapReport>,
    /// Number of gaps, including those that are not listed.
    pub gaps_total: u64,
    /// Sum of the gaps, in seconds.
    pub gaps_s: f64,
    /// Length of an interval, in seconds: longer than requested if there would be too many.
    pub interval_s: f64,
    /// Statistics per interval.
    pub intervals: Vec<FlowInterval>,
}

/// An RTP stream.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct RtpReport {
    /// Synchronization source.
    pub ssrc: u32,
    /// Payload type of its first packet.
    pub payload_type: u8,
    /// Packets missing by their sequence numbers.
    pub missing: u64,
    /// Packets that were overtaken.
    pub late: u64,
    /// Their late times; `None` if there were none.
    pub lateness: Option<LatenessReport>,
    /// Packets with a number that was captured before.
    pub repeated: u64,
    /// Times that the numbers began anew.
    pub restarts: u64,
    /// Clock rate of the timestamps in Hz; `None` if they do not show it.
    pub clock_hz: Option<f64>,
    /// Interarrival jitter at the end (RFC 3550, Section 6.4.1), in seconds.
    pub jitter_s: Option<f64>,
    /// Frames: packets with the same timestamp.
    pub frames: u64,
    /// Frames without a missing packet.
    pub whole_frames: u64,
}

/// One direction of a TCP connection.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct TcpReport {
    /// Segments whose data was sent before.
    pub retransmissions: u64,
    /// Their repeated bytes.
    pub retransmitted_bytes: u64,
    /// Of these, segments whose first copy was lost before the capture point.
    pub lost_before: u64,
    /// Segments that were overtaken.
    pub late: u64,
    /// Bytes that were not captured at all.
    pub missing_bytes: u64,
    /// Round-trip time from the capture point to the receiver.
    pub rtt: Option<RttReport>,
    /// The sender has closed its direction.
    pub closed: bool,
    /// The sender has reset the connection.
    pub reset: bool,
}

/// An interval's row.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct FlowInterval {
    /// Start of the interval, in seconds since the capture's first packet.
    pub start_s: f64,
    /// Length in seconds; intervals without packets are one.
    pub length_s: f64,
    /// Packets.
    pub packets: u64,
    /// Application data, in bit/s.
    pub rate_bps: f64,
    /// Packets missing, minus those that were late; `None` without numbers.
    pub missing: Option<i64>,
    /// Retransmitted segments of TCP.
    pub retransmissions: Option<u64>,
    /// Mean round-trip time from the capture point to the receiver, in seconds.
    pub rtt_s: Option<f64>,
}

impl FlowReport {
    /// The flow.
    pub fn flow(&self) -> Flow {
        Flow { protocol: self.protocol, source: self.source, destination: self.destination }
    }

    fn new(state: &FlowState, tally: &Tally, zero: Instant, has_numbers: bool) -> Self {
        let Flow { protocol, source, destination } = state.flow;
        let duration = seconds(tally.last.saturating_since(tally.first));
        let (gaps_total, gaps) = tally.gaps.total();
        let is_tcp = protocol == Protocol::Tcp;
        let interval = |row: Interval| FlowInterval {
            start_s: row.start_s,
            length_s: row.length_s,
            packets: row.packets,
            rate_bps: row.send_rate_bps,
            missing: row.holes.filter(|_| has_numbers),
            retransmissions: is_tcp.then_some(row.retransmitted),
            rtt_s: row.rtt_s,
        };
        Self {
            number: 0,
            protocol,
            source,
            destination,
            interface: state.interface,
            packets_elsewhere: 0,
            points: 1,
            first_packet: tally.first_packet,
            start_s: seconds(tally.first.saturating_since(zero)),
            duration_s: duration,
            packets: tally.packets,
            datagrams: tally.datagrams,
            bytes: tally.bytes,
            rate_bps: (duration > 0.0).then(|| tally.bytes as f64 * 8.0 / duration),
            cut: tally.cut,
            marked: tally.marked,
            rtp: None,
            tcp: None,
            gaps: tally.gaps.report(zero, has_numbers),
            gaps_total,
            gaps_s: seconds(gaps),
            interval_s: tally.table.width().as_secs_f64(),
            intervals: tally.table.intervals(zero, tally.last).into_iter().map(interval).collect(),
        }
    }
}

/// Reports on the streams that have been tracked. A UDP flow with RTP is reported by its streams, and once
/// more if it has other datagrams as well.
pub fn flows(flows: &Flows, zero: Instant) -> Vec<FlowReport> {
    let mut reports = Vec::new();
    for state in flows.flows() {
        match &state.content {
            FlowContent::Tcp(tcp) => {
                let report = FlowReport::new(state, &state.tally, zero, true);
                reports.push(FlowReport { tcp: Some(tcp_report(tcp)), ..report });
            }
            FlowContent::Udp(streams) => {
                let mut in_streams = 0;
                for stream in streams.confirmed() {
                    in_streams += stream.tally.packets;
                    let report = FlowReport::new(state, &stream.tally, zero, true);
                    reports.push(FlowReport { rtp: Some(rtp_report(stream)), ..report });
                }
                if in_streams < state.tally.packets {
                    reports.push(FlowReport::new(state, &state.tally, zero, false));
                }
            }
        }
    }
    for (index, report) in reports.iter_mut().enumerate() {
        report.number = index + 1;
    }
    reports
}

fn rtp_report(stream: &RtpStream) -> RtpReport {
    let (frames, whole_frames) = stream.frames.totals();
    RtpReport {
        ssrc: stream.ssrc,
        payload_type: stream.payload_type,
        missing: stream.numbers.missing(),
        late: stream.numbers.late(),
        lateness: LatenessReport::of(stream.lateness.summary()),
        repeated: stream.numbers.repeated(),
        restarts: stream.numbers.restarts,
        clock_hz: stream.jitter.clock_rate(),
        jitter_s: stream.jitter.seconds(),
        frames,
        whole_frames,
    }
}

fn tcp_report(tcp: &TcpState) -> TcpReport {
    TcpReport {
        retransmissions: tcp.retransmissions,
        retransmitted_bytes: tcp.retransmitted_bytes,
        lost_before: tcp.lost_before,
        late: tcp.late,
        missing_bytes: tcp.missing_bytes(),
        rtt: RttReport::of(&tcp.rtt),
        closed: tcp.is_closed,
        reset: tcp.is_reset,
    }
}
