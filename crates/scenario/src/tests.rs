//! Scenarios without transports: what an emulator reads.

use whimbrel_netsim::{Ecn, FlowId, NodeId, Packet, PacketId, Port};
use whimbrel_units::Instant;

use super::*;

const TEXT: &str = r#"
flow = []
[simulation]
duration = "10 s"
[[node]]
name = "here"
[[node]]
name = "there"
[[link]]
name = "radio"
between = ["here", "there"]
rate = "1 Mbit/s"
delay = "20 ms"
queue = "13 packets"
[[event]]
time = "1 s"
link = "radio"
rate = "500 kbit/s"
"#;

fn document() -> Document<NoTransports> {
    Document::from_toml(TEXT).unwrap()
}

#[test]
fn a_network_is_built_without_transports_and_carries_packets_of_any_kind() {
    let plan = document().plan().unwrap();
    assert_eq!(plan.flows.len(), 0);
    let Network { mut simulator, nodes, links, .. } =
        Network::<Port<&'static str>>::new(&plan, &plan.events_with(&[]), 1);
    assert_eq!((nodes.len(), links.len(), simulator.link_name(links[0])), (2, 2, "here>there"));
    let [here, there] = [0, 1].map(|node| simulator.add_agent(nodes[node], FlowId(0), Port::default()));
    let packet = |payload| Packet {
        id: PacketId(0),
        flow: FlowId(0),
        source: NodeId::default(),
        destination: nodes[1],
        size: 1_250,
        ecn: Ecn::NotEct,
        payload,
    };
    simulator.agent_mut(here).send(packet("at 1 Mbit/s"));
    simulator.run_until(Instant::from_secs(2));
    simulator.agent_mut(here).send(packet("at half of it"));
    simulator.run_until(plan.end);
    let mut received = || simulator.agent_mut(there).receive().map(|(at, packet)| (at, packet.payload));
    assert_eq!(received(), Some((Instant::from_millis(30), "at 1 Mbit/s")));
    assert_eq!(received(), Some((Instant::from_millis(2_040), "at half of it")));
    assert_eq!(received(), None);
}

#[test]
fn a_flow_needs_a_transport_that_there_is() {
    let mut document = document();
    let flow = serde_json::json!([{ "name": "f", "from": "here", "to": "there", "transport": "dccp" }]);
    document.set_value("flow", flow).unwrap();
    let error = document.plan().unwrap_err().to_string();
    assert_eq!(error, "flow[0].transport = \"dccp\": expected nothing here");
    document.set_value("flow[0].ccid", 3.into()).unwrap();
    let error = document.plan().unwrap_err().to_string();
    assert!(error.starts_with("flow[0].ccid: unknown key, expected one of name, count,"), "{error}");
}
