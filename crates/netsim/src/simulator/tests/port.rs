//! A network that a driver runs against a clock of its own.

use std::sync::Arc;

use super::*;
use crate::{PacketId, Port};

/// Bytes that the network never looks at.
type Bytes = Arc<[u8]>;

fn packet(destination: NodeId, flow: FlowId, bytes: &[u8]) -> Packet<Bytes> {
    let size = bytes.len() as u32;
    let source = NodeId::default();
    Packet { id: PacketId(0), flow, source, destination, size, ecn: Ecn::NotEct, payload: Arc::from(bytes) }
}

#[test]
fn a_driver_exchanges_bytes_with_the_network_in_its_own_time() {
    let mut simulator: Simulator<Port<Bytes>> = Simulator::new(SimulationConfig::default());
    let (a, b) = (simulator.add_node("a"), simulator.add_node("b"));
    simulator.add_duplex(a, b, slow());
    let [near, far] = [a, b].map(|node| {
        let port = simulator.add_agent(node, FlowId(0), Port::default());
        simulator.receive_all_flows(port);
        port
    });
    // Time of the driver's clock when it wakes up; it wakes up late each time.
    let mut clock = Instant::ZERO;
    let lateness = Duration::from_micros(30);
    let mut received = Vec::new();
    simulator.agent_mut(near).send(packet(b, FlowId(0), &[1; 500]));
    simulator.agent_mut(near).send(packet(b, FlowId(77), &[2; 500]));
    while let Some(next) = simulator.next_event_at() {
        clock = clock.max(next) + lateness;
        simulator.run_until(clock);
        while let Some((at, packet)) = simulator.agent_mut(far).receive() {
            received.push((at, packet.flow, packet.payload[0]));
            if received.len() == 1 {
                simulator.agent_mut(far).send(super::port::packet(a, FlowId(77), &[3; 100]));
            }
        }
    }
    // Each arrival has its own time, however late the driver woke up.
    assert_eq!(received, [(micros(5_500), FlowId(0), 1), (micros(6_000), FlowId(77), 2)]);
    let (at, answer) = simulator.agent_mut(near).receive().unwrap();
    // Sent when the driver had received the first packet.
    assert_eq!((at, &answer.payload[..]), (micros(5_500 + 30 + 100 + 5_000), &[3; 100][..]));
    assert_eq!(simulator.packets_in_network(), 0);
}
