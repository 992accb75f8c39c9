//! Stations of 802.11ax.

use whimbrel_wifi::Phy;
use whimbrel_wifi::edca::{EdcaConfig, TransmitRate};
use whimbrel_wifi::medium::MediumConfig;
use whimbrel_wifi::mobility::Presence;
use whimbrel_wifi::phy::{Format, GuardInterval, Mode, Width};

use super::wireless::{add_stations, at_metre, site, tags};
use super::*;
use crate::medium::{QosConfig, QosMedium};
use crate::{MediumLoss, StationIndex};

fn config() -> QosConfig {
    let mode = Mode::new(Format::He, 7, 2, Width::Mhz80, GuardInterval::Ns800).unwrap();
    let mac = EdcaConfig::station(Phy::ofdm(), TransmitRate::Mode(mode));
    QosConfig {
        air: MediumConfig::additive(),
        access_point: mac.clone(),
        mac,
        cells: Vec::new(),
        noise: None,
        seed: 1,
    }
}

/// The loss of half of the MPDUs: everything arrives once, in order, and nothing is left.
#[test]
fn packets_arrive_once_and_in_order_in_spite_of_noise() {
    let mut simulator = simulator();
    let paths = [0.0, 30.0].map(|metre| (at_metre(metre), Presence::ALWAYS));
    let site = site(paths);
    // HE MCS 7 x 2 at 80 MHz loses half of its MPDUs of 1458 bytes at 20.7 dB.
    let power = site.power(StationIndex(0), StationIndex(1), Instant::ZERO);
    let noise = Some(power / whimbrel_wifi::propagation::from_decibels(20.7));
    let (_, nodes, stations) =
        add_stations(&mut simulator, QosMedium::new(site, QosConfig { noise, ..config() }), 2, 800);
    let times: Vec<u64> = (0..600).collect();
    simulator.add_agent(nodes[0], FLOW, sender(nodes[1], &times));
    let sink = simulator.add_agent(nodes[1], FLOW, Script::default());
    simulator.run_until(Instant::from_secs(2));
    assert_eq!(tags(&simulator, sink), times);
    assert_eq!(simulator.packets_in_network(), 0);
    let medium: &QosMedium = simulator.medium(stations[0].medium()).unwrap();
    let counters = medium.counters(StationIndex(0));
    assert_eq!((counters.acknowledged, counters.given_up), (600, 0));
    // Repetitions, in far fewer transmissions than packets.
    assert!(counters.mpdus > 900 && counters.mpdus < 1_600, "{counters:?}");
    assert!(counters.transmissions < 60, "{counters:?}");
}

#[test]
fn clients_reach_each_other_through_the_access_point() {
    let mut simulator = simulator();
    let site = site([0.0, 10.0, 20.0].map(|metre| (at_metre(metre), Presence::ALWAYS)));
    let cells = vec![Some(StationIndex(1)), None, Some(StationIndex(1))];
    let medium = QosMedium::new(site, QosConfig { cells, ..config() });
    let (_, nodes, stations) = add_stations(&mut simulator, medium, 3, 100);
    simulator.add_agent(nodes[0], FLOW, sender(nodes[2], &[0, 10, 20]));
    let sink = simulator.add_agent(nodes[2], FLOW, Script::default());
    simulator.run_until(Instant::from_secs(1));
    assert_eq!(tags(&simulator, sink), [0, 1, 2]);
    assert_eq!(simulator.station_stats(stations[1]).taken.packets, 3);
}

#[test]
fn a_receiver_out_of_range_is_the_cause_of_the_loss() {
    let mut simulator = simulator();
    let site = site([0.0, 240.0].map(|metre| (at_metre(metre), Presence::ALWAYS)));
    // The noise is stronger than the signal.
    let config = QosConfig { noise: Some(1e-8), ..config() };
    let (_, nodes, stations) = add_stations(&mut simulator, QosMedium::new(site, config), 2, 100);
    let source = simulator.add_agent(nodes[0], FLOW, sender(nodes[1], &[0]));
    simulator.observe(stations[0], source);
    let sink = simulator.add_agent(nodes[1], FLOW, Script::default());
    simulator.run_until(Instant::from_secs(5));
    assert!(tags(&simulator, sink).is_empty());
    let [(_, _, Observation::Failed(report))] = simulator.agent(source).observations[..] else {
        panic!("{:?}", simulator.agent(source).observations)
    };
    assert_eq!(report.attempts, 7);
    let causes: Vec<LossCause> = simulator.agent(sink).losses.iter().map(|&(_, _, cause)| cause).collect();
    assert_eq!(causes, [LossCause::Medium(stations[0], MediumLoss::Noise)]);
    assert_eq!(simulator.packets_in_network(), 0);
}
