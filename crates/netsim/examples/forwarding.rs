//! Cost of forwarding a packet over a link.
//!
//! Twenty pairs of nodes talk over three hops: 1 Gbit/s access links, a bottleneck of 100 Mbit/s. The
//! senders keep a fixed number of packets in the network, each packet is answered by a small one, and
//! the bottleneck's queue overflows now and then. Prints the CPU time per link crossed, endpoints included.
//!
//! ```sh
//! cargo run --release -p whimbrel-netsim --example forwarding [SECONDS]
//! ```

use std::fs;

use whimbrel_netsim::{
    Agent, Ecn, FlowId, LinkConfig, LossCause, NodeId, Packet, PacketId, SimulationConfig, Simulator,
};
use whimbrel_units::{DataRate, Duration, Instant};

/// As large as a typed transport packet.
type Payload = [u64; 32];

const PAIRS: u32 = 20;
const DATA: u32 = 1_000;
const ANSWER: u32 = 40;

/// Sends a packet whenever fewer than `window` are in the network; answers what it receives if it has
/// no window.
struct End {
    flow: FlowId,
    peer: NodeId,
    window: u32,
    in_network: u32,
    answers_due: u32,
    timer: Option<Instant>,
    received: u64,
}

impl End {
    fn new(flow: FlowId, peer: NodeId, window: u32) -> Self {
        Self { flow, peer, window, in_network: 0, answers_due: 0, timer: None, received: 0 }
    }
}

impl Agent for End {
    type Payload = Payload;

    fn handle_packet(&mut self, now: Instant, packet: Packet<Payload>) {
        self.received += packet.payload[0];
        if self.window == 0 {
            self.answers_due += 1;
        } else {
            self.in_network -= 1;
            // A retransmission timer that is put off by every answer.
            self.timer = Some(now + Duration::from_millis(200));
        }
    }

    fn handle_timeout(&mut self, now: Instant) {
        if self.timer.is_some_and(|timer| timer <= now) {
            // Everything was lost.
            self.in_network = 0;
            self.timer = None;
        }
    }

    fn poll_transmit(&mut self, _: Instant) -> Option<Packet<Payload>> {
        let size = if self.answers_due > 0 {
            self.answers_due -= 1;
            ANSWER
        } else if self.in_network < self.window {
            self.in_network += 1;
            DATA
        } else {
            return None;
        };
        let payload = [1; 32];
        Some(Packet {
            id: PacketId(0),
            flow: self.flow,
            source: self.peer,
            destination: self.peer,
            size,
            ecn: Ecn::NotEct,
            payload,
        })
    }

    fn poll_timeout(&self) -> Option<Instant> {
        self.timer
    }

    fn handle_loss(&mut self, _: Instant, _: Packet<Payload>, _: LossCause) {
        // The packet is answered all the same, so that the windows stay full.
        self.answers_due += 1;
    }
}

fn main() {
    let seconds = std::env::args().nth(1).and_then(|text| text.parse().ok()).unwrap_or(60);
    let mut simulator = Simulator::new(SimulationConfig { seed: 1, run: 0 });
    let (left, right) = (simulator.add_node("left"), simulator.add_node("right"));
    let bottleneck = LinkConfig::new(DataRate::from_megabits_per_second(100.0), Duration::from_millis(10));
    simulator.add_duplex(left, right, bottleneck.with_packet_limit(250));
    let access = LinkConfig::new(DataRate::from_megabits_per_second(1_000.0), Duration::from_millis(1));
    let access = access.with_packet_limit(50);
    for pair in 0..PAIRS {
        let source = simulator.add_node(&format!("source {pair}"));
        let sink = simulator.add_node(&format!("sink {pair}"));
        simulator.add_duplex(source, left, access.clone());
        simulator.add_duplex(right, sink, access.clone());
        let flow = FlowId(pair);
        simulator.add_agent(source, flow, End::new(flow, sink, 27));
        simulator.add_agent(sink, flow, End::new(flow, source, 0));
    }

    let before = cpu_time();
    simulator.run_until(Instant::from_secs(seconds));
    let after = cpu_time();

    let now = simulator.links().map(|link| simulator.link_stats(link));
    let (forwards, drops) =
        now.fold((0, 0), |(f, d), stats| (f + stats.departed.packets, d + stats.dropped.packets));
    let received: u64 = simulator.agents().map(|(_, agent)| agent.received).sum();
    println!(
        "{forwards} links crossed, {drops} drops, {received} packets received, {} events",
        simulator.events_handled()
    );
    match (before, after) {
        (Some(before), Some(after)) => {
            let nanos = after - before;
            println!("{:.3} CPU s, {:.1} ns per link crossed", nanos * 1e-9, nanos / forwards as f64);
        }
        _ => println!("this system does not tell CPU times in /proc/self/schedstat"),
    }
}

/// CPU time of this process in nanoseconds.
fn cpu_time() -> Option<f64> {
    fs::read_to_string("/proc/self/schedstat").ok()?.split_whitespace().next()?.parse().ok()
}
