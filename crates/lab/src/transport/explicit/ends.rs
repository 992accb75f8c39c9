//! The two ends of a flow under explicit rate control.

use whimbrel_control::explicit_rate::{FlowHeader, XcpReceiver};
use whimbrel_netsim::{Ecn, FlowId, LossCause, NodeId, Packet, Shim};
use whimbrel_units::{DataRate, Duration, Instant};

use super::Scheme;
use super::control::Control;
use crate::metrics::Meter;
use crate::payload::{Envelope, SimPayload};
use crate::tcp::{Segment, TcpConfig};
use crate::transport::tcp::{TcpContent, TcpReceiverAgent, TcpSenderAgent};
use crate::transport::{Content, FlowEnd, FlowSetup, IpHeaders, SenderEstimate};

/// The content of a packet: a segment and the header that routers write.
#[derive(Clone, PartialEq, Debug)]
pub struct ExplicitContent {
    /// The segment.
    pub tcp: TcpContent,
    /// The header of a packet from the sender. In one from the receiver, which routers do not write, its allocation is the
    /// one that is returned.
    pub shim: Shim,
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

    /// XCP has the header of draft-falk-xcp-spec-03, Section 3, for which no IP protocol number was assigned. All schemes are
    /// written with it.
    fn capture_bytes(&self, headers: &IpHeaders, out: &mut Vec<u8>) -> u8 {
        const TCP: u8 = 6;
        const STANDARD: u8 = 0x31;
        const MINIMAL: u8 = 0x32;
        // 28 fraction bits.
        let seconds = |time: Duration| (time.as_secs_f64() * f64::from(1u32 << 28)) as u32;
        let bytes_per_second = |rate: f64| (rate / 8.0) as i32;
        let Shim { rtt, rate, allocation } = self.shim;
        let from_sender = self.tcp.from_sender;
        let format = if from_sender || allocation.is_finite() { STANDARD } else { MINIMAL };
        out.extend([TCP, 20, format, 0]);
        let size = f64::from(self.tcp.segment.length) * 8.0;
        let spacing = if rate.is_zero() { 0.0 } else { size / rate.as_bits_per_second() };
        out.extend(seconds(Duration::from_secs_f64(spacing)).to_be_bytes());
        out.extend(seconds(rtt).to_be_bytes());
        let (reverse, delta) = if from_sender { (0.0, allocation) } else { (allocation, 0.0) };
        out.extend(bytes_per_second(reverse).to_be_bytes());
        out.extend(bytes_per_second(delta).to_be_bytes());
        self.tcp.capture_bytes(headers, out);
        EXPERIMENT
    }
}

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
}

impl Address {
    fn packet(self, now: Instant, segment: Segment, shim: Shim, size: u32) -> Packet<Envelope> {
        let tcp = TcpContent { segment, from_sender: self.from_sender };
        Packet {
            id: 0,
            flow: self.flow,
            source: NodeId::default(),
            destination: self.peer,
            size,
            ecn: Ecn::NotEct,
            payload: Envelope { sent: now, content: ExplicitContent { tcp, shim }.into() },
        }
    }
}

/// The end that sends data.
#[derive(Debug)]
pub struct ExplicitSender {
    address: Address,
    shim_size: u32,
    tcp: TcpSenderAgent,
    control: Control,
    /// A segment is held back until its time.
    is_held: bool,
    is_started: bool,
}

impl ExplicitSender {
    pub(super) fn new(flow: &FlowSetup<'_>, config: &TcpConfig, shim_size: u32, control: Control) -> Self {
        let tcp = TcpSenderAgent::new(flow.to, flow.id, config, flow.source(), flow.meter());
        Self {
            address: Address { peer: flow.to, flow: flow.id, from_sender: true },
            shim_size,
            tcp: tcp.with_shim(shim_size),
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
        let size = PROBE_HEADERS + self.shim_size;
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
    shim_size: u32,
    tcp: TcpReceiverAgent,
    scheme: Scheme,
    sum: XcpReceiver,
    /// The last allocation of RCP or ABC.
    last: f64,
    owes_answer: bool,
}

impl ExplicitReceiver {
    pub(super) fn new(flow: &FlowSetup<'_>, config: &TcpConfig, shim_size: u32, scheme: Scheme) -> Self {
        Self {
            address: Address { peer: flow.from, flow: flow.id, from_sender: false },
            shim_size,
            tcp: TcpReceiverAgent::new(flow.from, flow.id, config, flow.meter()).with_shim(shim_size),
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
        let size = PROBE_HEADERS + self.shim_size;
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
