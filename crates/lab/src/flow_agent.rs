//! The ends of flows, as the simulator sees them: one type, so that every call is static.

use whimbrel_control::reordering::LatenessSummary;
use whimbrel_netsim::{Agent, Ecn, LinkId, LossCause, Packet, StoredPacket};
use whimbrel_proto::FreezeScope;
use whimbrel_units::Instant;

use crate::dccp_agent::DccpAgent;
use crate::metrics::Meter;
use crate::payload::Envelope;
use crate::scenario::freezing::Command;
use crate::tcp_agent::{TcpReceiverAgent, TcpSenderAgent};
use crate::udp::{UdpSink, UdpSource};

/// One end of a flow.
#[derive(Debug)]
#[allow(
    clippy::large_enum_variant,
    reason = "agents are few, and a pointer would cost a cache miss per packet"
)]
pub enum FlowAgent {
    /// Either end of a DCCP connection.
    Dccp(DccpAgent),
    /// The end of a TCP connection that sends data.
    TcpSender(TcpSenderAgent),
    /// The end of a TCP connection that receives data.
    TcpReceiver(TcpReceiverAgent),
    /// The end of a UDP flow that sends.
    UdpSource(UdpSource),
    /// The end of a UDP flow that receives.
    UdpSink(UdpSink),
}

/// Estimates of the congestion control of a flow's sender; NaN if it has none or none yet.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct SenderEstimate {
    /// The congestion window in packets.
    pub cwnd: f64,
    /// The rate allowed, in bit/s.
    pub allowed_rate: f64,
    /// The smoothed round-trip time in seconds.
    pub rtt: f64,
    /// The loss event rate, 0 to 1.
    pub loss_event_rate: f64,
    /// X_recv, as the receiver last reported it, in bit/s.
    pub receive_rate: f64,
    /// The freeze state in a handover; empty without one.
    pub freeze: &'static str,
}

impl SenderEstimate {
    /// No estimates.
    pub const NONE: Self = Self {
        cwnd: f64::NAN,
        allowed_rate: f64::NAN,
        rtt: f64::NAN,
        loss_event_rate: f64::NAN,
        receive_rate: f64::NAN,
        freeze: "",
    };
}

impl FlowAgent {
    /// The meter of this end.
    pub fn meter(&self) -> &Meter {
        match self {
            Self::Dccp(agent) => &agent.meter,
            Self::TcpSender(agent) => &agent.meter,
            Self::TcpReceiver(agent) => &agent.meter,
            Self::UdpSource(source) => &source.meter,
            Self::UdpSink(sink) => &sink.meter,
        }
    }

    /// Packets that arrived here and are neither delivered nor discarded: those in the receiver's reorder buffer, and
    /// those that the connection did not accept.
    pub fn undelivered(&self) -> [u64; 2] {
        match self {
            Self::Dccp(agent) => agent.undelivered(),
            Self::TcpSender(_) | Self::TcpReceiver(_) | Self::UdpSource(_) | Self::UdpSink(_) => [0; 2],
        }
    }

    /// Notifies this end of a handover; ignored by all transports but DCCP.
    pub fn handle_command(&mut self, now: Instant, command: Command, scope: FreezeScope) {
        if let Self::Dccp(agent) = self {
            agent.handle_command(now, command, scope);
        }
    }

    /// Lateness of the overtaken packets at this end. Measured by DCCP only.
    pub fn lateness(&self) -> LatenessSummary {
        match self {
            Self::Dccp(agent) => agent.lateness(),
            _ => LatenessSummary::default(),
        }
    }

    /// The estimates of this end's congestion control for the data that it sends.
    pub fn estimate(&self) -> SenderEstimate {
        match self {
            Self::Dccp(agent) => agent.estimate(),
            Self::TcpSender(agent) => agent.estimate(),
            Self::TcpReceiver(_) | Self::UdpSource(_) | Self::UdpSink(_) => SenderEstimate::NONE,
        }
    }
}

impl FlowAgent {
    /// A packet arrived. DCCP takes what it keeps of the content.
    #[inline]
    fn receive(&mut self, now: Instant, size: u32, ecn: Ecn, envelope: &mut Envelope) {
        match self {
            Self::Dccp(agent) => agent.handle_packet(now, size, ecn, envelope),
            Self::TcpSender(agent) => agent.handle_packet(now, envelope),
            Self::TcpReceiver(agent) => agent.handle_packet(now, size, ecn, envelope),
            Self::UdpSource(_) => {}
            Self::UdpSink(sink) => sink.handle_packet(now, size, ecn, envelope),
        }
    }
}

impl Agent for FlowAgent {
    type Payload = Envelope;

    fn handle_packet(&mut self, now: Instant, packet: Packet<Envelope>) {
        let Packet { size, ecn, mut payload, .. } = packet;
        self.receive(now, size, ecn, &mut payload);
    }

    #[inline]
    fn handle_stored(&mut self, now: Instant, packet: StoredPacket<'_, Envelope>) {
        if let Some(payload) = packet.payload {
            self.receive(now, packet.size, packet.ecn, payload);
        }
    }

    fn handle_timeout(&mut self, now: Instant) {
        match self {
            Self::Dccp(agent) => agent.handle_timeout(now),
            Self::TcpSender(agent) => agent.handle_timeout(now),
            Self::TcpReceiver(agent) => agent.handle_timeout(now),
            // A source has no timers but that of its next datagram.
            Self::UdpSource(_) | Self::UdpSink(_) => {}
        }
    }

    fn poll_transmit(&mut self, now: Instant) -> Option<Packet<Envelope>> {
        match self {
            Self::Dccp(agent) => agent.poll_transmit(now),
            Self::TcpSender(agent) => agent.poll_transmit(now),
            Self::TcpReceiver(agent) => agent.poll_transmit(now),
            Self::UdpSource(source) => source.poll_transmit(now),
            Self::UdpSink(_) => None,
        }
    }

    fn poll_timeout(&self) -> Option<Instant> {
        match self {
            Self::Dccp(agent) => agent.poll_timeout(),
            Self::TcpSender(agent) => agent.poll_timeout(),
            Self::TcpReceiver(agent) => agent.poll_timeout(),
            Self::UdpSource(source) => source.poll_timeout(),
            Self::UdpSink(_) => None,
        }
    }

    fn handle_loss(&mut self, now: Instant, packet: Packet<Envelope>, cause: LossCause) {
        match self {
            Self::Dccp(agent) => agent.handle_loss(now, &packet, cause),
            Self::TcpSender(agent) => agent.handle_loss(),
            Self::TcpReceiver(agent) => agent.handle_loss(now, &packet, cause),
            Self::UdpSource(_) => {}
            Self::UdpSink(sink) => sink.handle_loss(now, &packet, cause),
        }
    }

    fn handle_damaged(&mut self, now: Instant, packet: Packet<Envelope>, link: LinkId) {
        match self {
            Self::Dccp(agent) => agent.handle_damaged(now, packet, link),
            // The checksums of TCP and UDP cover everything.
            _ => self.handle_loss(now, packet, LossCause::Wireless(link)),
        }
    }
}
