//! Cost per packet of an egress with a drop-tail queue and no router law: the reference for the laws' costs.
//!
//! Run with `cargo bench -p whimbrel-netsim`. The packets also cost their sender's timer and their delivery.

use criterion::{Criterion, criterion_group, criterion_main};
use whimbrel_netsim::{
    Agent, Ecn, FlowId, LinkConfig, NodeId, Packet, PacketId, SimulationConfig, Simulator,
};
use whimbrel_units::{DataRate, Duration, Instant};

/// Packets per measured batch.
const PACKETS: u64 = 1024;
/// Time between packets of 1000 bytes at 100 Mbit/s.
const SPACING: Duration = Duration::from_micros(80);

/// Sends a packet each 80 us to its peer, if it has one.
struct Source {
    peer: Option<NodeId>,
    next: Instant,
    received: u64,
}

impl Agent for Source {
    type Payload = ();

    fn handle_packet(&mut self, _: Instant, _: Packet<()>) {
        self.received += 1;
    }

    fn handle_timeout(&mut self, _: Instant) {}

    fn poll_transmit(&mut self, now: Instant) -> Option<Packet<()>> {
        let destination = self.peer.filter(|_| self.next <= now)?;
        self.next += SPACING;
        let (source, ecn) = (NodeId::default(), Ecn::NotEct);
        Some(Packet { id: PacketId(0), flow: FlowId(1), source, destination, size: 1000, ecn, payload: () })
    }

    fn poll_timeout(&self) -> Option<Instant> {
        self.peer.map(|_| self.next)
    }
}

fn forward(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("egress");
    group.throughput(criterion::Throughput::Elements(PACKETS));
    let mut simulator = Simulator::new(SimulationConfig { seed: 1, run: 0 });
    let (from, to) = (simulator.add_node("from"), simulator.add_node("to"));
    simulator.add_duplex(
        from,
        to,
        LinkConfig::new(DataRate::from_megabits_per_second(120.0), Duration::from_millis(1)),
    );
    simulator.add_agent(from, FlowId(1), Source { peer: Some(to), next: Instant::ZERO, received: 0 });
    let sink = simulator.add_agent(to, FlowId(1), Source { peer: None, next: Instant::ZERO, received: 0 });
    let mut until = Instant::ZERO;
    group.bench_function("drop_tail", |bencher| {
        bencher.iter(|| {
            until += SPACING * PACKETS;
            simulator.run_until(until);
        });
    });
    assert!(simulator.agent(sink).received > 0);
    group.finish();
}

criterion_group!(benches, forward);
criterion_main!(benches);
