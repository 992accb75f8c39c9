//! Cells as a medium: a server, a gateway, three base stations and terminals on a road.

use proptest::prelude::*;
use whimbrel_cell::ResourceBlocks;
use whimbrel_cell::cell::CellConfig;
use whimbrel_cell::handover::{A3Config, CellIndex, HandoverConfig, HandoverEvent, RadioLinkConfig};
use whimbrel_cell::level::Decibels;
use whimbrel_cell::network::{
    Change, NetworkConfig, RadioConfig, ReportConfig, ShadowingConfig, SiteConfig, TerminalConfig,
};
use whimbrel_cell::radio::{Environment, Hertz, Metres, PathLoss, Place, Sight};
use whimbrel_cell::rlc::Mode;
use whimbrel_units::ByteCount;
use whimbrel_wifi::mobility::{Path, Position};

use super::*;
use crate::medium::CellularMedium;
use crate::queue::Discipline;
use crate::{MediumId, MediumLoss, QueueLimit};

fn site(x: f64) -> SiteConfig {
    let (carrier, blocks) = (Hertz::from_gigahertz(2.0), ResourceBlocks(50));
    let cell = CellConfig { rrc: None, ..CellConfig::lte(blocks) };
    let radio = RadioConfig {
        path_loss: PathLoss::new(Environment::Macro36942, carrier),
        sight: Some(Sight::Obstructed),
        ..RadioConfig::urban(carrier, blocks)
    };
    SiteConfig { place: Place { x, y: 0.0 }, cell, radio, background: None }
}

fn street() -> NetworkConfig {
    NetworkConfig {
        sites: [0.0, 500.0, 1000.0].map(site).into(),
        shadowing: ShadowingConfig { deviation: Decibels::ZERO, distance: Metres(50.0) },
        least_speed: 0.3,
        reports: ReportConfig {
            period: Duration::from_millis(5),
            delay: Duration::from_millis(6),
            error: Decibels(1.0),
        },
        a3: Some(A3Config {
            margin: Decibels(3.0),
            time_to_trigger: Duration::from_millis(256),
            period: Duration::from_millis(200),
            filter: 0,
        }),
        handover: HandoverConfig::lte(3),
        forwards: true,
        radio_link: RadioLinkConfig::DEFAULT,
        seed: 1,
    }
}

/// A drive along the road at 60 km/h.
fn drive() -> Path {
    let at = |x| Position { x, y: 30.0 };
    Path::through(&[(Instant::ZERO, at(0.0)), (Instant::from_secs(60), at(1000.0))]).unwrap()
}

struct Town {
    simulator: Simulator<Script>,
    medium: MediumId,
    server: NodeId,
    terminals: Vec<NodeId>,
}

/// A server 10 ms behind the gateway, and terminals that begin in the first cell.
fn town(config: NetworkConfig, paths: Vec<Path>) -> Town {
    let mut simulator = simulator();
    let first = TerminalConfig { cell: CellIndex(0), planned: Vec::new() };
    let own = vec![first; paths.len()];
    let count = paths.len();
    let medium = simulator.add_medium(CellularMedium::new(config, &own, paths).unwrap());
    let [server, gateway] = ["server", "gateway"].map(|name| simulator.add_node(name));
    let terminals: Vec<NodeId> = (0..count).map(|k| simulator.add_node(&format!("t{k}"))).collect();
    for node in [gateway].into_iter().chain(terminals.iter().copied()) {
        simulator.add_station(node, medium, &Discipline::DropTail, QueueLimit::Unlimited).unwrap();
    }
    let backhaul = LinkConfig::new(DataRate::from_megabits_per_second(1_000.0), Duration::from_millis(10));
    simulator.add_duplex(server, gateway, backhaul);
    simulator.record_losses();
    Town { simulator, medium, server, terminals }
}

#[test]
fn a_drive_hands_over_at_the_computed_times_and_loses_nothing() {
    let Town { mut simulator, medium, server, terminals } = town(street(), vec![drive()]);
    let times: Vec<u64> = (0..2_900).map(|k| k * 20_000).collect();
    simulator.add_agent(server, FLOW, sender(terminals[0], &times));
    let sink = simulator.add_agent(terminals[0], FLOW, Script::default());
    simulator.run_until(Instant::from_secs(60));
    let cells = simulator.medium::<CellularMedium>(medium).unwrap();
    let commands: Vec<u64> = cells
        .events()
        .iter()
        .filter(|event| matches!(event.change, Change::Handover(HandoverEvent::Commanded { .. })))
        .map(|event| event.at.as_nanos() / 1_000_000)
        .collect();
    assert_eq!(commands, [16_656 + 52, 46_656 + 52]);
    let received = &simulator.agent(sink).received;
    assert!(received.iter().map(|(_, tag)| *tag).eq(0..2_900), "{} of 2900", received.len());
    let in_gap = |at: &Instant| *at > micros(16_709_000) && *at < micros(16_742_000);
    assert!(!received.iter().any(|(at, _)| in_gap(at)));
    assert_eq!(simulator.packets_in_network(), 0);
}

#[test]
fn terminals_reach_each_other_through_the_gateway() {
    let at = |x| Path::fixed(Position { x, y: 30.0 });
    let Town { mut simulator, terminals, .. } = town(street(), vec![at(50.0), at(80.0)]);
    simulator.add_agent(terminals[0], FLOW, sender(terminals[1], &[0, 50_000]));
    let sink = simulator.add_agent(terminals[1], FLOW, Script::default());
    simulator.run_until(Instant::from_secs(1));
    assert_eq!(simulator.agent(sink).received.len(), 2);
}

#[test]
fn a_full_bearer_is_congestion_and_not_a_loss_of_the_radio() {
    let mut config = street();
    config.sites.iter_mut().for_each(|site| site.cell.bearer.queue.limit = ByteCount::new(10_000));
    let Town { mut simulator, server, terminals, .. } =
        town(config, vec![Path::fixed(Position { x: 50.0, y: 30.0 })]);
    simulator.add_agent(server, FLOW, sender(terminals[0], &[0; 40]));
    let sink = simulator.add_agent(terminals[0], FLOW, Script::default());
    simulator.run_until(Instant::from_secs(1));
    let losses = &simulator.agent(sink).losses;
    assert!(losses.len() > 20, "{}", losses.len());
    let is_full = |cause: &LossCause| matches!(cause, LossCause::Medium(_, MediumLoss::BearerQueue));
    assert!(losses.iter().all(|(_, _, cause)| is_full(cause) && cause.is_congestion()), "{losses:?}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]

    /// Each packet arrives once, in the order of its flow, or is lost with a cause.
    #[test]
    fn packets_are_conserved_over_handovers(
        mut down in prop::collection::vec(0_u64..20_000_000, 0..200),
        mut up in prop::collection::vec(0_u64..20_000_000, 0..200),
        is_acknowledged in any::<bool>(),
        forwards in any::<bool>(),
        power in -10.0_f64..46.0,
        seed in any::<u64>(),
    ) {
        let mut config = NetworkConfig { forwards, seed, ..street() };
        for site in &mut config.sites {
            site.radio.power = whimbrel_cell::PowerLevel(power);
            if !is_acknowledged {
                site.cell.bearer.mode = Mode::Unacknowledged;
            }
        }
        down.sort_unstable();
        up.sort_unstable();
        let Town { mut simulator, server, terminals, .. } = town(config, vec![drive(), drive()]);
        let mut sinks = Vec::new();
        for (flow, &terminal) in (10..).map(FlowId).zip(&terminals) {
            let send = |mut script: Script, flow| {
                script.sends.iter_mut().for_each(|send| send.flow = flow);
                script
            };
            simulator.add_agent(server, flow, send(sender(terminal, &down), flow));
            sinks.push((down.len(), simulator.add_agent(terminal, flow, Script::default())));
            let back = FlowId(flow.0 + 100);
            simulator.add_agent(terminal, back, send(sender(server, &up), back));
            sinks.push((up.len(), simulator.add_agent(server, back, Script::default())));
        }
        simulator.run_until(Instant::from_secs(100));
        let waiting = simulator.packets_in_network();
        let mut ended = 0;
        for (sent, sink) in sinks {
            let agent = simulator.agent(sink);
            let received: Vec<u64> = agent.received.iter().map(|(_, tag)| *tag).collect();
            prop_assert!(received.is_sorted(), "{received:?}");
            let mut all: Vec<u64> =
                agent.losses.iter().map(|(_, tag, _)| *tag).chain(received.iter().copied()).collect();
            all.sort_unstable();
            all.dedup();
            prop_assert_eq!(all.len(), agent.losses.len() + received.len());
            ended += all.len();
            if is_acknowledged && forwards && waiting == 0 {
                prop_assert_eq!(received.len(), sent);
            }
        }
        // Beyond all cells, packets wait for one to come.
        prop_assert_eq!(ended + waiting, 2 * (down.len() + up.len()));
    }
}
