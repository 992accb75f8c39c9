//! The network of a plan.

use whimbrel_netsim::random::RandomStreams;
use whimbrel_netsim::{
    AgentId, Command, DownPolicy, FlowId, LinkId, LinkRate, NodeId, SimulationConfig, Simulator, Spread,
};
use whimbrel_units::Instant;

use crate::dccp_agent::{Attachment, DccpAgent};
use crate::flow_agent::FlowAgent;
use crate::metrics::{Meter, Recording};
use crate::scenario::freezing::FlowEnd;
use crate::scenario::link::WhenDown;
use crate::scenario::{EventPlan, FlowEventPlan, FlowPlan, Plan, TrafficPlan, TransportPlan};
use crate::tcp_agent::{TcpReceiverAgent, TcpSenderAgent};
use crate::traffic::{Bulk, Cbr, OnOff, Pattern, Playback, TrafficSource};
use crate::udp::{UdpSink, UdpSource};

type Network = (Simulator<FlowAgent>, Vec<LinkId>, Vec<[AgentId; 2]>);

/// Builds nodes, links and agents and schedules the events, in the order of the plan.
pub(super) fn network(
    plan: &Plan,
    events: &[EventPlan],
    flow_events: &[FlowEventPlan],
    seed: u64,
) -> Network {
    let mut simulator = Simulator::new(SimulationConfig { seed, run: 0 });
    let nodes: Vec<NodeId> = plan.nodes.iter().map(|name| simulator.add_node(name)).collect();
    let links: Vec<LinkId> = plan
        .links
        .iter()
        .map(|link| simulator.add_link(nodes[link.from], nodes[link.to], link.config.clone()))
        .collect();
    for event in events {
        for command in commands(event, links[event.link]) {
            simulator.schedule(event.at, command);
        }
    }
    for route in &plan.routes {
        let spread_over = route.links.iter().map(|&(link, weight)| (links[link], weight)).collect();
        let spread = Spread { links: spread_over, by: route.by };
        let (node, destination) = (nodes[route.node], nodes[route.destination]);
        let command = Command::SpreadRoute { node, destination, spread };
        // Packets that agents send at the very beginning come before the commands scheduled for then.
        match route.at {
            Instant::ZERO => simulator.apply(command),
            later => simulator.schedule(later, command),
        }
    }
    let flows: Vec<[AgentId; 2]> = plan
        .flows
        .iter()
        .zip(0u32..)
        .map(|(flow, number)| {
            let builder =
                FlowBuilder { plan, flow, id: FlowId(number), streams: simulator.streams(), links: &links };
            let [from, to] = [nodes[flow.from], nodes[flow.to]];
            let [sender, receiver] = builder.agents(from, to);
            [
                simulator.add_agent(from, FlowId(number), sender),
                simulator.add_agent(to, FlowId(number), receiver),
            ]
        })
        .collect();
    for event in flow_events {
        let [sender, receiver] = flows[event.flow];
        let agent = if event.end == FlowEnd::Sender { sender } else { receiver };
        let (command, scope) = (event.command, event.scope.of_protocol());
        let call = move |agent: &mut FlowAgent, now: Instant| agent.handle_command(now, command, scope);
        simulator.schedule(event.at, Command::agent(agent, call));
    }
    (simulator, links, flows)
}

fn commands(event: &EventPlan, link: LinkId) -> Vec<Command<FlowAgent>> {
    let mut commands = Vec::new();
    if let Some(rate) = event.rate {
        commands.push(Command::SetRate { link, rate: LinkRate::Constant(rate) });
    }
    if let Some(delay) = event.delay {
        commands.push(Command::SetDelay { link, delay });
    }
    if let Some(impairment) = &event.impairment {
        commands.push(Command::SetImpairment { link, impairment: impairment.clone() });
    }
    match event.up {
        Some(true) => commands.push(Command::LinkUp { link }),
        Some(false) => {
            let policy = match event.when_down {
                WhenDown::Hold => DownPolicy::Hold,
                WhenDown::DropQueue => DownPolicy::DropQueue,
                WhenDown::DropAll => DownPolicy::DropAll,
            };
            commands.push(Command::LinkDown { link, policy });
        }
        None => {}
    }
    commands
}

struct FlowBuilder<'a> {
    plan: &'a Plan,
    flow: &'a FlowPlan,
    id: FlowId,
    streams: RandomStreams,
    links: &'a [LinkId],
}

impl FlowBuilder<'_> {
    /// The sending and the receiving end.
    fn agents(&self, from: NodeId, to: NodeId) -> [FlowAgent; 2] {
        let flow = self.flow;
        let jitter = self.streams.stream(&flow.name, "start").uniform();
        let start = flow.start + flow.start_jitter.mul_f64(jitter);
        let source = self.source(start);
        match &flow.transport {
            TransportPlan::Udp => [
                FlowAgent::UdpSource(UdpSource::new(to, self.id, flow.headers, source, self.meter())),
                FlowAgent::UdpSink(UdpSink::new(self.meter())),
            ],
            TransportPlan::Tcp(config) => {
                let mut random = self.streams.stream(&flow.name, "tcp");
                let mut config = config.clone();
                config.rto.tick_phase = config.rto.tick.mul_f64(random.uniform());
                config.sending.jitter_seed = random.next_u64();
                [
                    FlowAgent::TcpSender(TcpSenderAgent::new(to, self.id, &config, source, self.meter())),
                    FlowAgent::TcpReceiver(TcpReceiverAgent::new(from, self.id, &config, self.meter())),
                ]
            }
            TransportPlan::Dccp(dccp) => {
                let mut random = self.streams.stream(&flow.name, "dccp");
                let at = |peer| Attachment { peer, flow: self.id, lower_headers: dccp.lower_headers };
                let seeds = [random.next_u64(), random.next_u64()];
                let receiver_meter = match dccp.classifier.0 {
                    Some(_) => self.meter().with_verdicts(),
                    None => self.meter(),
                };
                let config = &dccp.config;
                let client = DccpAgent::client(at(to), config.clone(), seeds[0], start, source, self.meter())
                    .with_clock_drift(dccp.clock_drift);
                let server = DccpAgent::server(at(from), config.clone(), seeds[1], receiver_meter);
                [FlowAgent::Dccp(client), FlowAgent::Dccp(server)]
            }
        }
    }

    fn meter(&self) -> Meter {
        let behind = &self.flow.path[self.flow.bottleneck..];
        let behind: Vec<LinkId> = behind.iter().map(|link| self.links[*link]).collect();
        let record = &self.plan.record;
        let recording = Recording {
            packets: record.packets && !self.flow.background,
            losses: record.losses && !self.flow.background,
        };
        Meter::new(self.plan.measured_from, &behind, recording)
    }

    fn source(&self, start: Instant) -> TrafficSource {
        let size = self.flow.payload;
        let pattern = match &self.flow.traffic {
            TrafficPlan::Bulk => Pattern::Bulk(Bulk::new(start, size)),
            TrafficPlan::Cbr { interval } => Pattern::Cbr(Cbr::new(start, *interval, size)),
            TrafficPlan::OnOff { interval, burst, idle } => {
                let random = self.streams.stream(&self.flow.name, "traffic");
                Pattern::OnOff(OnOff::new(start, *interval, size, *burst, *idle, random))
            }
            TrafficPlan::Playback { schedule, playout, repeat } => {
                Pattern::Playback(Playback::new(schedule.clone(), start, *playout, *repeat))
            }
        };
        if self.flow.stop < self.plan.end {
            TrafficSource::new(pattern, self.flow.stop)
        } else {
            TrafficSource::endless(pattern, self.plan.end)
        }
    }
}
