//! The ends of flows, as the simulator sees them: one type, so that every call is static.

use whimbrel_control::reordering::LatenessSummary;
use whimbrel_netsim::{Agent, LinkId, LossCause, Packet};
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

/// What the congestion control of a flow's sender believes; NaN where it has no such notion or does
/// not know yet.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Belief {
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
    /// What it is about in a handover; empty where it has no such notion.
    pub freeze: &'static str,
}

impl Belief {
    /// Nothing.
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
    /// The instrument that this end carries.
    pub fn meter(&self) -> &Meter {
        match self {
            Self::Dccp(agent) => &agent.meter,
            Self::TcpSender(agent) => &agent.meter,
            Self::TcpReceiver(agent) => &agent.meter,
            Self::UdpSource(source) => &source.meter,
            Self::UdpSink(sink) => &sink.meter,
        }
    }

    /// Packets that arrived here and of which nothing has become yet: those that wait for others in the receiver's buffer, and
    /// those that the connection did not take.
    pub fn undelivered(&self) -> [u64; 2] {
        match self {
            Self::Dccp(agent) => agent.undelivered(),
            Self::TcpSender(_) | Self::TcpReceiver(_) | Self::UdpSource(_) | Self::UdpSink(_) => [0; 2],
        }
    }

    /// Somebody tells this end about a handover. Only DCCP listens.
    pub fn handle_command(&mut self, now: Instant, command: Command, scope: FreezeScope) {
        if let Self::Dccp(agent) = self {
            agent.handle_command(now, command, scope);
        }
    }

    /// How late packets reached this end that had been overtaken. Measured by DCCP only.
    pub fn lateness(&self) -> LatenessSummary {
        match self {
            Self::Dccp(agent) => agent.lateness(),
            _ => LatenessSummary::default(),
        }
    }

    /// What this end's congestion control believes about the data it sends.
    pub fn belief(&self) -> Belief {
        match self {
            Self::Dccp(agent) => agent.belief(),
            Self::TcpSender(agent) => agent.belief(),
            Self::TcpReceiver(_) | Self::UdpSource(_) | Self::UdpSink(_) => Belief::NONE,
        }
    }
}

impl Agent for FlowAgent {
    type Payload = Envelope;

    fn handle_packet(&mut self, now: Instant, packet: Packet<Envelope>) {
        match self {
            Self::Dccp(agent) => agent.handle_packet(now, packet),
            Self::TcpSender(agent) => agent.handle_packet(now, &packet),
            Self::TcpReceiver(agent) => agent.handle_packet(now, &packet),
            Self::UdpSource(_) => {}
            Self::UdpSink(sink) => sink.handle_packet(now, &packet),
        }
    }

    fn handle_timeout(&mut self, now: Instant) {
        match self {
            Self::Dccp(agent) => agent.handle_timeout(now),
            Self::TcpSender(agent) => agent.handle_timeout(now),
            Self::TcpReceiver(agent) => agent.handle_timeout(now),
            // A source has no timers but those that let it send.
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
