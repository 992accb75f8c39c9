//! A deterministic discrete-event network that knows no transport.
//!
//! Nodes are joined by simplex links (a rate, a delay, a DropTail queue, an impairment). An
//! [`Agent`] is one end of a flow, or any source or sink of traffic: it receives packets and wake-ups
//! and is polled for packets to send, with the five verbs of a sans-IO connection. The content
//! of a packet concerns the agents alone: the network sees a size, an ECN codepoint and a destination.
//!
//! Events happen in the order *(time, insertion number)*. A packet's insertion number on a link is
//! given when it enters the link's queue, a timer's when it is armed. Random draws come from streams
//! named after the component that draws ([`random`]), so the same seed gives the same packets at the
//! same nanoseconds on every machine, and adding a node does not disturb other draws.
//!
//! ```
//! use whimbrel_netsim::{Agent, Ecn, FlowId, LinkConfig, NodeId, Packet, PacketId, SimulationConfig, Simulator};
//! use whimbrel_units::{DataRate, Duration, Instant};
//!
//! /// Sends one packet to `peer`, if there is one, and remembers when one came.
//! struct Ping { peer: Option<NodeId>, received: Option<Instant> }
//!
//! impl Agent for Ping {
//!     type Payload = ();
//!     fn handle_packet(&mut self, now: Instant, _: Packet<()>) { self.received = Some(now); }
//!     fn handle_timeout(&mut self, _: Instant) {}
//!     fn poll_transmit(&mut self, _: Instant) -> Option<Packet<()>> {
//!         let destination = self.peer.take()?;
//!         Some(Packet { id: PacketId::default(), flow: FlowId(1), source: NodeId::default(), destination, size: 1_250, ecn: Ecn::NotEct, payload: () })
//!     }
//!     fn poll_timeout(&self) -> Option<Instant> { None }
//! }
//!
//! let mut simulator = Simulator::new(SimulationConfig { seed: 1, run: 0 });
//! let (a, b) = (simulator.add_node("a"), simulator.add_node("b"));
//! let link = LinkConfig::new(DataRate::from_megabits_per_second(1.0), Duration::from_millis(20));
//! simulator.add_duplex(a, b, link);
//! simulator.add_agent(a, FlowId(1), Ping { peer: Some(b), received: None });
//! let sink = simulator.add_agent(b, FlowId(1), Ping { peer: None, received: None });
//! simulator.run_until(Instant::from_secs(1));
//! // 10 000 bits at 1 Mbit/s, then 20 ms on the way.
//! assert_eq!(simulator.agent(sink).received, Some(Instant::from_millis(30)));
//! ```

mod agents;
pub mod capture;
pub mod delay_variation;
mod events;
pub mod impairment;
mod loss;
pub mod netem;
mod network;
mod packets;
pub mod queue;
pub mod random;
mod simulator;
pub mod trace;

pub use agents::{AdHocRouter, Agent, Delivered, PassingPacket, Port, RoutingRequest, UnroutedPacket};
pub use impairment::Impairment;
pub use loss::{LossCause, LossRecord, MediumLoss};
pub use network::medium;
pub use network::{
    ControlledPacket, Controller, Count, DownPolicy, Egress, FixedRoutes, HostConfig, HostStats, LinkConfig,
    LinkRate, LinkStats, NextHop, QueueLimit, QueueSnapshot, RouteTable, Routing, Shim, ShortestPath, Spread,
    SpreadBy, StationId, TokenBucketConfig, Topology,
};
pub use packets::{AgentId, FlowId, LinkId, MediumId, NodeId, Packet, StoredPacket};
pub use simulator::{AgentCall, Command, Progress, RunOutcome, SimulationConfig, Simulator, SimulatorCall};
pub use whimbrel_units::Ecn;
pub use whimbrel_wifi::{PacketId, StationIndex};
