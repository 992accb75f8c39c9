//! The two ends of a flow under explicit rate control.

use whimbrel_control::explicit_rate::{FlowHeader, XcpReceiver};
use whimbrel_netsim::{Ecn, FlowId, LossCause, NodeId, Packet, PacketId, Shim};
use whimbrel_units::{ByteCount, DataRate, Duration, Instant};

use super::Scheme;
use super::control::Control;
use crate::metrics::Meter;
use crate::payload::{Envelope, SimPayload};
use crate::tcp::{HeaderModel, Segment, TcpConfig};
use crate::transport::tcp::{TcpContent, TcpReceiverAgent, TcpSenderAgent};
use crate::transport::{Content, FlowEnd, FlowSetup, IpHeaders, SenderEstimate};

/// The content of a packet: a segment and the header that routers write.
#[derive(Clone, PartialEq, Debug)]
pub struct ExplicitContent {
    /// The segment.
    pub tcp: TcpContent,
    /// The header of a packet from the sender. In one from the receiver, which routers do not write, its
    /// allocation is the one that is returned.
    pub shim: Shim,
    /// The form of the header in a capture.
    pub format: HeaderFormat,
}

/// A header for routers between the IP header and the TCP header, as it counts in the size of packets and
/// appears in captures.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum HeaderFormat {
    /// The header of draft-falk-xcp-spec-03, Section 3.
    Xcp,
    /// Two rates, the round-trip time and the next protocol.
    Rcp,
    /// None: the mark is in the IP header.
    None,
}

impl HeaderFormat {
    /// Bytes: 20 for XCP (draft-falk-xcp-spec-03, Section 3). The 12 of RCP are an assumption: two rates of 4
    /// bytes each, and RTT, next protocol and padding in another 4. The authors' code for ns-2 has a
    /// structure without a wire format, and no specification was at hand.
    pub const fn size(self) -> u32 {
        match self {
            Self::Xcp => 20,
            Self::Rcp => 12,
            Self::None => 0,
        }
    }
}

impl Content for ExplicitContent {
    fn data_length(&self) -> u32 {
        self.tcp.segment.length
    }

    fn shim(&mut self) -> Option<&mut Shim> {
        self.tcp.from_sender.then_some(&mut self.shim)
    }

    fn numbers(&self) -> (u64, u64) {
        self.tcp.numbers()
    }

    fn capture_bytes(&self, headers: &IpHeaders, out: &mut Vec<u8>) -> u8 {
        match self.format {
            HeaderFormat::Xcp => self.write_xcp(out),
            HeaderFormat::Rcp => self.write_rcp(out),
            HeaderFormat::None => return self.tcp.capture_bytes(headers, out),
        }
        self.tcp.capture_bytes(headers, out);
        EXPERIMENT
    }
}

impl ExplicitContent {
    /// The returned and the requested allocation.
    fn allocations(&self) -> (Option<f64>, Option<f64>) {
        let allocation = Some(self.shim.allocation);
        if self.tcp.from_sender { (None, allocation) } else { (allocation, None) }
    }

    /// The header of draft-falk-xcp-spec-03, Section 3, for which no IP protocol number was assigned: X and
    /// RTT are seconds with 28 fraction bits, feedback is in byte/s.
    fn write_xcp(&self, out: &mut Vec<u8>) {
        const STANDARD: u8 = 0x31;
        const MINIMAL: u8 = 0x32;
        let seconds = |time: Duration| (time.as_secs_f64() * f64::from(1u32 << 28)) as u32;
        let bytes_per_second = |rate: Option<f64>| rate.map_or(0, |rate| (rate / 8.0) as i32);
        let Shim { rtt, rate, allocation } = self.shim;
        let format = if self.tcp.from_sender || allocation.is_finite() { STANDARD } else { MINIMAL };
        out.extend([TCP, HeaderFormat::Xcp.size() as u8, format, 0]);
        let size = HeaderModel::Standard.size(&self.tcp.segment) + HeaderFormat::Xcp.size();
        let spacing = if rate.is_zero() { Duration::ZERO } else { ByteCount::new(u64::from(size)) / rate };
        out.extend(seconds(spacing).to_be_bytes());
        out.extend(seconds(rtt).to_be_bytes());
        let (reverse, delta) = self.allocations();
        out.extend(bytes_per_second(reverse).to_be_bytes());
        out.extend(bytes_per_second(delta).to_be_bytes());
    }

    /// A header of the size that is counted; RCP has no specified format. The requested and the returned rate
    /// are in byte/s, all ones without a limit, and the round-trip time is in units of 100 us.
    fn write_rcp(&self, out: &mut Vec<u8>) {
        let bytes_per_second = |rate: Option<f64>| rate.map_or(0, |rate| (rate / 8.0) as u32);
        let (returned, requested) = self.allocations();
        out.extend(bytes_per_second(requested).to_be_bytes());
        out.extend(bytes_per_second(returned).to_be_bytes());
        let rtt = (self.shim.rtt.as_secs_f64() * 1e4).round() as u16;
        out.extend(rtt.to_be_bytes());
        out.extend([TCP, 0]);
    }
}

/// IP protocol number of TCP.
const TCP: u8 = 6;

/// IP protocol number for experiments (RFC 3692).
const EXPERIMENT: u8 = 253;

/// Bytes of the IP and TCP headers of a probe, without options.
const PROBE_HEADERS: u32 = 40;

/// Addresses of the packets of an end.
#[derive(Clone, Copy, Debug)]
struct Address {
    peer: NodeId,
    flow: FlowId,
    from_sender: bool,
    format: HeaderFormat,
}

impl Address {
    fn packet(self, now: Instant, segment: Segment, shim: Shim, size: u32) -> Packet<Envelope> {
        let tcp = TcpContent { segment, from_sender: self.from_sender };
        Packet {
            id: PacketId(0),
            flow: self.flow,
            source: NodeId::default(),
            destination: self.peer,
            size,
            ecn: Ecn::NotEct,
            payload: Envelope {
                sent: now,
                content: ExplicitContent { tcp, shim, format: self.format }.into(),
            },
        }
    }
}

/// The end that sends data.
#[derive(Debug)]
pub struct ExplicitSender {
    address: Address,
    tcp: TcpSenderAgent,
    control: Control,
    /// A segment is held back until its time.
    is_held: bool,
    is_started: bool,
}

impl ExplicitSender {
    pub(super) fn new(
        flow: &FlowSetup<'_>,
        config: &TcpConfig,
        format: HeaderFormat,
        control: Control,
    ) -> Self {
        let tcp = TcpSenderAgent::new(flow.to, flow.id, config, flow.source(), flow.meter());
        Self {
            address: Address { peer: flow.to, flow: flow.id, from_sender: true, format },
            tcp: tcp.with_shim(format.size()),
            control,
            is_held: false,
            is_started: false,
        }
    }

    /// The probe that is due, if any: a header without data.
    fn poll_probe(&mut self, now: Instant) -> Option<Packet<Envelope>> {
        if !self.is_started || self.control.next_probe().is_none_or(|due| now < due) {
            return None;
        }
        self.control.on_sent(now, 0);
        let size = PROBE_HEADERS + self.address.format.size();
        self.tcp.note_probe(size);
        let shim = self.control.header(self.tcp.sender.progress().smoothed_rtt);
        Some(self.address.packet(now, Segment::default(), shim, size))
    }
}

impl FlowEnd for ExplicitSender {
    fn meter(&self) -> &Meter {
        self.tcp.meter()
    }

    fn handle_packet(&mut self, now: Instant, _: u32, _: Ecn, envelope: &mut Envelope) {
        if let SimPayload::Explicit(content) = &envelope.content {
            self.tcp.sender.handle_segment(now, &content.tcp.segment);
            self.control.update(now, &mut self.tcp.sender, Some(content.shim.allocation));
        }
    }

    fn handle_timeout(&mut self, now: Instant) {
        self.tcp.handle_timeout(now);
        self.control.update(now, &mut self.tcp.sender, None);
    }

    fn poll_transmit(&mut self, now: Instant) -> Option<Packet<Envelope>> {
        self.is_held = self.control.not_before().is_some_and(|due| now < due);
        let polled = if self.is_held {
            // The application writes meanwhile.
            self.tcp.feed(now);
            None
        } else {
            self.tcp.poll_segment(now)
        };
        let Some((segment, size)) = polled else { return self.poll_probe(now) };
        self.is_started = true;
        self.control.on_sent(now, segment.length);
        let shim = self.control.header(self.tcp.sender.progress().smoothed_rtt);
        Some(self.address.packet(now, segment, shim, size))
    }

    fn poll_timeout(&self) -> Option<Instant> {
        let held = self.control.not_before().filter(|_| self.is_held);
        let probe = self.control.next_probe().filter(|_| self.is_started);
        let times = [self.tcp.poll_timeout(), held, probe];
        times.into_iter().flatten().filter(|time| *time < Instant::FAR_FUTURE).min()
    }

    fn handle_loss(&mut self, now: Instant, packet: Packet<Envelope>, cause: LossCause) {
        self.tcp.handle_loss(now, packet, cause);
    }

    fn estimate(&self) -> SenderEstimate {
        SenderEstimate { allowed_rate: self.control.allowed_rate(), ..self.tcp.estimate() }
    }
}

/// The end that receives data and returns allocations.
#[derive(Debug)]
pub struct ExplicitReceiver {
    address: Address,
    tcp: TcpReceiverAgent,
    scheme: Scheme,
    sum: XcpReceiver,
    /// The last allocation of RCP or ABC.
    last: f64,
    owes_answer: bool,
}

impl ExplicitReceiver {
    pub(super) fn new(flow: &FlowSetup<'_>, config: &TcpConfig, scheme: Scheme) -> Self {
        let format = scheme.format();
        Self {
            address: Address { peer: flow.from, flow: flow.id, from_sender: false, format },
            tcp: TcpReceiverAgent::new(flow.from, flow.id, config, flow.meter()).with_shim(format.size()),
            scheme,
            sum: XcpReceiver::new(),
            last: f64::INFINITY,
            owes_answer: false,
        }
    }

    fn header(&mut self) -> Shim {
        let allocation = match self.scheme {
            Scheme::Xcp(..) => self.sum.take_feedback(),
            Scheme::Rcp(_) | Scheme::Abc => self.last,
        };
        Shim { rtt: Duration::ZERO, rate: DataRate::ZERO, allocation }
    }
}

impl FlowEnd for ExplicitReceiver {
    fn meter(&self) -> &Meter {
        self.tcp.meter()
    }

    fn handle_packet(&mut self, now: Instant, size: u32, ecn: Ecn, envelope: &mut Envelope) {
        let SimPayload::Explicit(content) = &envelope.content else { return };
        let Shim { rtt, rate, allocation } = content.shim;
        self.sum.on_packet(&FlowHeader { rtt, rate, allocation });
        self.last = allocation;
        let segment = &content.tcp.segment;
        self.owes_answer |= !segment.occupies_sequence_space();
        self.tcp.handle_segment(now, segment, envelope.packet_info(size), ecn);
    }

    fn handle_timeout(&mut self, now: Instant) {
        self.tcp.handle_timeout(now);
    }

    fn poll_transmit(&mut self, now: Instant) -> Option<Packet<Envelope>> {
        if let Some((segment, size)) = self.tcp.poll_segment(now) {
            self.owes_answer = false;
            let shim = self.header();
            return Some(self.address.packet(now, segment, shim, size));
        }
        if !core::mem::take(&mut self.owes_answer) {
            return None;
        }
        let size = PROBE_HEADERS + self.address.format.size();
        self.tcp.note_probe(size);
        let shim = self.header();
        Some(self.address.packet(now, Segment::default(), shim, size))
    }

    fn poll_timeout(&self) -> Option<Instant> {
        self.tcp.poll_timeout()
    }

    fn handle_loss(&mut self, now: Instant, packet: Packet<Envelope>, cause: LossCause) {
        self.tcp.handle_loss(now, packet, cause);
    }
}
