use proptest::prelude::*;
use whimbrel_units::{DataRate, Duration, Instant};

use super::{FLOW, Script, Send, micros, simulator, slow};
use crate::random::RandomStream;
use crate::{
    Agent, Ecn, FlowId, Impairment, LinkConfig, NodeId, Packet, PacketId, SimulationConfig, Simulator,
};

/// Sends at exponential intervals; a sink adds up how long packets were under way.
struct Poisson {
    to: Option<NodeId>,
    interval: Duration,
    next: Instant,
    random: RandomStream,
    received: u64,
    total_delay: Duration,
}

impl Agent for Poisson {
    type Payload = Instant;

    fn handle_packet(&mut self, now: Instant, packet: Packet<Instant>) {
        self.received += 1;
        self.total_delay += now - packet.payload;
    }

    fn handle_timeout(&mut self, _: Instant) {}
    fn poll_transmit(&mut self, now: Instant) -> Option<Packet<Instant>> {
        let destination = self.to.filter(|_| self.next <= now)?;
        let sent = self.next;
        self.next += self.random.exponential_duration(self.interval);
        Some(Packet {
            id: PacketId(0),
            flow: FLOW,
            source: destination,
            destination,
            size: 1_000,
            ecn: Ecn::NotEct,
            payload: sent,
        })
    }

    fn poll_timeout(&self) -> Option<Instant> {
        self.to.map(|_| self.next)
    }
}

/// Pollaczek and Khinchine: with constant service the mean wait is `rho / (2 (1 - rho))` services.
#[test]
fn a_poisson_source_waits_as_long_as_theory_says() {
    for (rho, tolerance) in [(0.3, 0.01), (0.6, 0.012), (0.8, 0.025)] {
        let mut simulator = Simulator::new(SimulationConfig { seed: 11, run: 0 });
        let (a, b) = (simulator.add_node("a"), simulator.add_node("b"));
        simulator.add_link(a, b, slow());
        let random = |name| simulator.streams().stream(name, "intervals");
        let interval = Duration::from_micros(1_000).mul_f64(1.0 / rho);
        let end = |to, random| Poisson {
            to,
            interval,
            next: Instant::ZERO,
            random,
            received: 0,
            total_delay: Duration::ZERO,
        };
        let (source, sink) = (end(Some(b), random("source")), end(None, random("sink")));
        simulator.add_agent(a, FLOW, source);
        let sink = simulator.add_agent(b, FLOW, sink);
        simulator.run_until(Instant::from_secs_f64(1_000.0 / rho));
        let sink = simulator.agent(sink);
        let services = sink.total_delay / Duration::from_millis(1) / sink.received as f64;
        let waiting = services - 6.0;
        let theory = rho / (2.0 * (1.0 - rho));
        assert!((waiting / theory - 1.0).abs() < tolerance, "load {rho}: waited {waiting}, theory {theory}");
    }
}

#[derive(Clone, Debug)]
struct Flow {
    from: usize,
    to: usize,
    times: Vec<u64>,
}

fn flows() -> impl Strategy<Value = Vec<Flow>> {
    let flow = (0..6usize, 0..6usize, prop::collection::vec(0u64..30_000, 1..40)).prop_map(
        |(from, to, mut times)| {
            times.sort_unstable();
            Flow { from, to, times }
        },
    );
    prop::collection::vec(flow, 1..8)
}

fn impairment() -> impl Strategy<Value = Impairment> {
    prop_oneof![
        Just(Impairment::None),
        (0.0f64..0.5).prop_map(|loss| Impairment::Bernoulli { loss }),
        Just(Impairment::RunLength { loss_rate: 0.3, runs: vec![0.7, 0.25, 0.05] }),
    ]
}

proptest! {
    /// In a network of six nodes in a ring, at any time: sent = delivered + lost + in the network, and
    /// each flow's packets arrive in the order sent.
    #[test]
    fn every_packet_is_somewhere_and_none_overtakes(
        flows in flows(),
        impairment in impairment(),
        limit in 1u32..6,
        until in 0u64..60_000,
    ) {
        let mut simulator = simulator();
        simulator.record_losses();
        let nodes: Vec<NodeId> = (0..6).map(|k| simulator.add_node(&format!("{k}"))).collect();
        for k in 0..6 {
            let rate = DataRate::from_bytes_per_second(1e6 * (1 + k % 3) as f64);
            let config = LinkConfig::new(rate, Duration::from_micros(300 * k as u64)).with_packet_limit(limit);
            simulator.add_duplex(nodes[k], nodes[(k + 1) % 6], config.with_impairment(impairment.clone()));
        }
        let mut sinks = Vec::new();
        for (number, flow) in (0..).zip(&flows) {
            let sends = (0..).zip(&flow.times).map(|(tag, &at)| Send {
                at: micros(at), flow: FlowId(2 * number), to: nodes[flow.to], size: 1_000, tag,
            });
            // The sender listens to a flow of its own, as the receiver may be on the same node.
            let script = Script { sends: sends.collect(), ..Script::default() };
            simulator.add_agent(nodes[flow.from], FlowId(2 * number + 1), script);
            sinks.push(simulator.add_agent(nodes[flow.to], FlowId(2 * number), Script::default()));
        }
        simulator.run_until(micros(until));
        let sent: usize = flows.iter().flat_map(|flow| &flow.times).filter(|&&at| at <= until).count();
        prop_assert_eq!(simulator.packets_sent(), sent as u64);
        let received: usize = sinks.iter().map(|&sink| simulator.agent(sink).received.len()).sum();
        let reported: usize = sinks.iter().map(|&sink| simulator.agent(sink).losses.len()).sum();
        prop_assert_eq!(reported, simulator.losses().len());
        prop_assert_eq!(sent, received + reported + simulator.packets_in_network());
        for &sink in &sinks {
            let received = &simulator.agent(sink).received;
            prop_assert!(received.windows(2).all(|pair| pair[0].1 < pair[1].1 && pair[0].0 <= pair[1].0));
        }
        for link in simulator.links() {
            let stats = simulator.link_stats(link);
            let snapshot = simulator.queue_snapshot(link);
            prop_assert_eq!(stats.enqueued.packets, stats.departed.packets + snapshot.queued.packets);
            let gone = stats.delivered.packets + stats.wireless_lost.packets;
            prop_assert_eq!(stats.departed.packets, gone + snapshot.under_way.packets);
            prop_assert!(snapshot.queued.packets <= u64::from(limit));
        }
    }
}
