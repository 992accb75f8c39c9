//! Tracking of flows without DCCP: UDP with the RTP streams in it, and TCP.
//!
//! Nothing here reads a file or a clock. Memory is bounded by the number of flows, each of which keeps a
//! bounded number of packets, streams, gaps and intervals.

use std::collections::BTreeMap;

use whimbrel_units::{Duration, Instant};

use crate::follow::FollowConfig;
use crate::follow::table::Table;
use crate::segment::{Datagram, Flow, Segment, TcpHeader};

pub mod gaps;
pub mod rtp;
pub mod tcp;

use gaps::Gaps;
use rtp::{RtpPlace, RtpStreams};
use tcp::{TcpPlace, TcpState};

/// Result of tracking a UDP datagram.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct UdpFollowed {
    /// The flow's number, from 1; `None` beyond the limit.
    pub flow: Option<usize>,
    /// Its place in a stream, if it may be RTP.
    pub rtp: Option<RtpPlace>,
}

/// Result of tracking a TCP segment.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TcpFollowed {
    /// The flow's number, from 1; `None` beyond the limit.
    pub flow: Option<usize>,
    /// The place of its application data.
    pub data: Option<TcpPlace>,
}

/// Packets and bytes of a flow or a stream.
#[derive(Clone, Debug)]
pub(crate) struct Tally {
    pub(crate) first: Instant,
    pub(crate) last: Instant,
    pub(crate) first_packet: u64,
    pub(crate) packets: u64,
    /// Of these, packets with application data, and its bytes.
    pub(crate) datagrams: u64,
    pub(crate) bytes: u64,
    /// Packets that were not captured completely.
    pub(crate) cut: u64,
    /// Packets with a mark of congestion.
    pub(crate) marked: u64,
    pub(crate) gaps: Gaps,
    pub(crate) table: Table,
}

impl Tally {
    fn new<P>(segment: &Segment<P>, interval: Duration) -> Self {
        Self {
            first: segment.at,
            last: segment.at,
            first_packet: segment.number,
            packets: 0,
            datagrams: 0,
            bytes: 0,
            cut: 0,
            marked: 0,
            gaps: Gaps::default(),
            table: Table::new(segment.at, interval),
        }
    }

    /// Counts a packet with `size` bytes of application data.
    fn count<P>(&mut self, segment: &Segment<P>, size: u32) {
        let is_marked = segment.ecn == whimbrel_wire::Ecn::Ce;
        self.last = self.last.max(segment.at);
        self.packets += 1;
        self.cut += u64::from(!segment.is_whole);
        self.marked += u64::from(is_marked);
        let row = self.table.row(segment.at);
        row.packets += 1;
        row.marked_here += u64::from(is_marked);
        if size > 0 {
            row.datagrams += 1;
            row.bytes += u64::from(size);
            self.datagrams += 1;
            self.bytes += u64::from(size);
        }
    }
}

/// A flow.
#[derive(Clone, Debug)]
pub(crate) struct FlowState {
    pub(crate) flow: Flow,
    pub(crate) interface: u32,
    pub(crate) tally: Tally,
    pub(crate) content: FlowContent,
}

/// State of a flow's protocol.
#[derive(Clone, Debug)]
pub(crate) enum FlowContent {
    Udp(Box<RtpStreams>),
    Tcp(Box<TcpState>),
}

/// Tracks the flows of a capture.
#[derive(Clone, Debug)]
pub struct Flows {
    interval: Duration,
    max_flows: usize,
    flows: Vec<FlowState>,
    index: BTreeMap<Flow, usize>,
    refused: u64,
}

impl Flows {
    /// A tracker without packets. Each direction of a connection is a flow.
    pub fn new(config: FollowConfig) -> Self {
        Self {
            interval: config.interval,
            max_flows: config.max_connections.saturating_mul(2),
            flows: Vec::new(),
            index: BTreeMap::new(),
            refused: 0,
        }
    }

    /// Number of packets of flows beyond the limit.
    pub fn refused(&self) -> u64 {
        self.refused
    }

    /// The flows, in order of their first packets.
    pub(crate) fn flows(&self) -> &[FlowState] {
        &self.flows
    }

    /// A flow.
    pub(crate) fn flow(&self, flow: Flow) -> Option<&FlowState> {
        self.index.get(&flow).map(|index| &self.flows[*index])
    }

    /// Processes a UDP datagram.
    pub fn on_udp(&mut self, segment: &Segment<Datagram>) -> UdpFollowed {
        let interval = self.interval;
        let new = || FlowContent::Udp(Box::default());
        let Some(index) = self.find(Flow::of_udp(segment), segment, new) else {
            return UdpFollowed { flow: None, rtp: None };
        };
        let state = &mut self.flows[index];
        let size = segment.packet.size;
        state.tally.count(segment, size);
        if size > 0 {
            state.tally.gaps.on_packet(segment.at, size);
        }
        let rtp = match &mut state.content {
            FlowContent::Udp(streams) => streams.on_datagram(segment, interval),
            FlowContent::Tcp(_) => None,
        };
        UdpFollowed { flow: Some(index + 1), rtp }
    }

    /// Processes a TCP segment.
    pub fn on_tcp(&mut self, segment: &Segment<TcpHeader>) -> TcpFollowed {
        let flow = Flow::of_tcp(segment);
        let Some(index) = self.find(flow, segment, || FlowContent::Tcp(Box::default())) else {
            return TcpFollowed { flow: None, data: None };
        };
        if let Some(ack) = segment.packet.ack
            && let Some(&other) = self.index.get(&flow.reversed())
            && let FlowContent::Tcp(state) = &mut self.flows[other].content
            && let Some(rtt) = state.on_ack(segment.at, ack)
        {
            self.flows[other].tally.table.row(segment.at).rtt.add(rtt);
        }
        let FlowState { tally, content, .. } = &mut self.flows[index];
        let FlowContent::Tcp(state) = content else {
            return TcpFollowed { flow: Some(index + 1), data: None };
        };
        tally.count(segment, segment.packet.size);
        let data = state.on_segment(segment);
        if let Some(place) = data {
            let row = tally.table.row(segment.at);
            row.retransmitted += u64::from(place.is_retransmission);
            row.holes += place.missing.cast_signed();
            tally.gaps.on_packet(segment.at, segment.packet.size);
            tally.gaps.on_missing(place.missing, true);
        }
        TcpFollowed { flow: Some(index + 1), data }
    }

    fn find<P>(
        &mut self,
        flow: Flow,
        segment: &Segment<P>,
        content: impl FnOnce() -> FlowContent,
    ) -> Option<usize> {
        if let Some(&index) = self.index.get(&flow) {
            return Some(index);
        }
        if self.flows.len() >= self.max_flows {
            self.refused += 1;
            return None;
        }
        self.flows.push(FlowState {
            flow,
            interface: segment.interface,
            tally: Tally::new(segment, self.interval),
            content: content(),
        });
        self.index.insert(flow, self.flows.len() - 1);
        Some(self.flows.len() - 1)
    }
}
