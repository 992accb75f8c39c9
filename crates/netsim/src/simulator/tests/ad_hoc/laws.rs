//! Laws of routing over a real MAC: no loops, conservation of packets, for any changes of the topology.

use proptest::prelude::*;

use super::*;
use whimbrel_wifi::routing::aodv::LocalRepair;

/// Random waypoints of a node in a square of 700 m: from one second to the next the node may cross it.
fn paths() -> impl Strategy<Value = Vec<(Path, Presence)>> {
    let waypoint = (0.0..700.0f64, 0.0..700.0f64);
    let path = proptest::collection::vec(waypoint, 6).prop_map(|waypoints| {
        let waypoints: Vec<(u64, f64, f64)> =
            (0..).step_by(4).zip(waypoints).map(|(at, (x, y))| (at, x, y)).collect();
        moving(&waypoints)
    });
    proptest::collection::vec(path, 3..8)
}

/// Runs a mesh with random flows, and checks the next-hop graphs of all destinations after every 10 ms; then
/// that every packet was delivered once or lost once.
fn obeys_the_laws<R: RoutingAgent>(mut mesh: Mesh<R>, flows: &[(usize, usize)]) -> Result<(), TestCaseError> {
    let count = mesh.nodes.len();
    for &(from, to) in flows {
        let (from, to) = (from % count, to % count);
        if from != to {
            mesh.send(from, to, (500..20_000).step_by(250));
        }
    }
    for tick in 0..2_200 {
        mesh.run(f64::from(tick) * 0.01);
        for destination in 0..count {
            for source in 0..count {
                mesh.hops(source, destination);
            }
        }
    }
    // The protocols send for ever: one of their messages may be on the air at any instant.
    let is_empty = (0..10).any(|step| {
        mesh.run(120.0 + f64::from(step) * 0.05);
        mesh.simulator.packets_in_network() == 0
    });
    prop_assert!(is_empty, "{} packets remain", mesh.simulator.packets_in_network());
    for sink in 0..mesh.sinks.len() {
        let lost = mesh.sink(sink).losses.iter().map(|&(_, tag, _)| tag);
        let mut all: Vec<u64> = mesh.tags(sink).into_iter().chain(lost).collect();
        all.sort_unstable();
        prop_assert_eq!(all, (0..78).collect::<Vec<u64>>());
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn dsdv_has_no_loops_and_conserves_packets(
        stations in paths(),
        flows in proptest::collection::vec((0usize..8, 0usize..8), 1..5),
        feedback in any::<bool>(),
        seed in any::<u64>(),
    ) {
        // Short periods, so that many updates fall into the movement.
        let period = Duration::from_secs(2);
        let config = DsdvConfig { period, link_layer_feedback: feedback, ..DsdvConfig::default() };
        obeys_the_laws(Mesh::new(stations, seed, dsdv(config)), &flows)?;
    }

    #[test]
    fn aodv_has_no_loops_and_conserves_packets(
        stations in paths(),
        flows in proptest::collection::vec((0usize..8, 0usize..8), 1..5),
        (repairs, salvages, hellos) in any::<(bool, bool, bool)>(),
        seed in any::<u64>(),
    ) {
        let local_repair = if repairs { LocalRepair::Rfc3561 } else { LocalRepair::Never };
        let config = AodvConfig { local_repair, salvages, hellos, ..AodvConfig::default() };
        obeys_the_laws(Mesh::new(stations, seed, aodv(config)), &flows)?;
    }
}
