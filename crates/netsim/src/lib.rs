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
//!
//! # Design
//!
//! - `netsim::medium::WifiMedium` gives these machines time, nodes and queues. A packet is delivered when its
//!   receiver's MAC delivers it, and the report to its sender follows when the sender's MAC is done: where
//!   only acknowledgements were lost, a delivered packet counts as failed there. A packet that was not
//!   delivered has the cause of the loss of its last transmission. With roles (`InfrastructureConfig`),
//!   clients associate with access points through management frames that contend like all others; routes lead
//!   from a client to its access point and, by the distribution system, from that to the client, and are
//!   computed again after each association. A client's packets wait while it has no access point; an access
//!   point loses the packets of a client that has left (`MediumLoss::NotAssociated`). With `WifiConfig::arp`,
//!   ad hoc stations resolve addresses (RFC 826) through the same MAC: when a packet leaves the queue, in
//!   ns-2 before it comes to it.
//! - `netsim` has four rooms, each of which owns its state: `network` (nodes, egresses, media, routes),
//!   `agents`, `events` (clock, event queue, agenda) and `packets`. `simulator` holds one of each. Its rooms
//!   return what comes next for a packet (`Next`: forward, offer, lose, deliver, ...), and
//!   `simulator/forward` dispatches it, so that no room calls another one back.
//! - Packets leave a node through an *egress*: a link, or a station on a shared medium (`netsim::medium`). A
//!   route is one word, the number of a link or something else; forwarding over a link tests it once, and all
//!   other cases (stations, spreads, broadcasts, no route) are behind that test. A medium is a sans-IO
//!   machine: it takes packets from its stations' queue disciplines, and its effects (deliveries, losses,
//!   observations) are applied after each call, in order, so that an agent's response cannot overtake them.
//!   The ideal medium is a reference for others.
//! - Routes come from a policy (`Routing`: shortest path, or fixed), from commands, or from routing agents: a
//!   node's routing agent is offered the packets without a route, which wait in the packet store, and
//!   requests changes of its node's routes. `AdHocRouter` makes such an agent of a protocol of
//!   `wifi::routing`. Its messages have `FlowId::ROUTING`: the sender's station sends them to the neighbour
//!   without a route. A station that has given a frame up takes its next packet only when the agent has
//!   processed the failure, and may have flushed the queue of what waits for the lost neighbour; the frame's
//!   packet may wait for another route (`Agent::handle_undelivered`).
//! - A medium handles its timeouts in one call as long as nothing else in the network comes first and no
//!   effect waits (`MediumIo::advance`), and the air reports all arrivals of a frame in one loop
//!   (`Listener::advances`), with the same results as one event per arrival.
//! - Further event sources are a `Medium` and a `Controller` at an egress (a control interval; each arrival
//!   and departure). A header that routers write (`Shim`) is part of the payload of the packets that have one
//!   (`Agent::shim`), so that other packets have no field for it. A `Port` exchanges packets of any payload
//!   with a driver that runs the network against another clock.
//! - `netsim` does not depend on `control`: media hand out observations as data. Radio losses are drawn when
//!   a packet reaches the link's end, in FIFO order, so that a change of the link's rate cannot distort a
//!   model defined in time.
//! - `netsim` has its own event queue: one entry per *source* (a link's next arrival, the next release of its
//!   delay stage, the next service of its queue discipline, the timer of a medium, controller or agent) in a
//!   calendar whose days follow the events' distance. It takes two thirds of the instructions of a 4-ary heap
//!   with stale entries, which was a tenth faster than a general heap. The calendar affects the search time
//!   of an event, never the order by (time, insertion number).
//! - A host (`network/host`) is a FIFO with one server between the agents of a node and the network. Its
//!   packets' times are known when they arrive, as on a link, so it needs one event per packet; the agents of
//!   other nodes pay one comparison per packet.
//! - A delay stage at a link's end (`link/delay_stage`) takes its delays from NetEm, where packets overtake,
//!   or from RFC 8868's variation, which keeps the order of each flow. A link has one or the other.
//! - A link without a queue discipline plans departures when packets arrive, and needs no event for its
//!   transmitter. Every other discipline (`netsim::queue`) precedes that plan and passes it one packet at a
//!   time (`link/managed`, `simulator/service`), so that rate changes, outages and traces have one
//!   implementation, and drop-tail costs nothing. A property test compares drop-tail as a discipline with the
//!   built-in drop-tail. Periodic updates (PIE, DualPI2) run when the next packet arrives, with the times at
//!   which they were due: between calls only time passes.
//! - A link's queue stays FIFO. Reordering happens behind it: packets that have reached a link's end may be
//!   delayed there individually (`netsim::netem`, `link/delay_stage`), or take different links
//!   (`routing/spread`). NetEm's arithmetic is reimplemented in integers and checked against iproute2's
//!   tables, because results are compared with test beds that use it.
//! - A paper's radio is a physical model in `netsim` (`impairment/rayleigh`), calibrated by one number on one
//!   line of its table, so that the other lines are results.
//! - In the simulator, a route may be spread by the sender (`SpreadBy::Sender`): a packet's content names its
//!   path, asked for only at nodes with such routes, so that other packets cost nothing.

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
