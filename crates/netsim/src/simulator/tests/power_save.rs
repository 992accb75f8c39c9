//! Clients of 802.11ax that save power, and group frames.

use whimbrel_wifi::edca::AccessCategory;
use whimbrel_wifi::infrastructure::{AccessPointConfig, PowerSaveConfig, StationConfig, Uapsd};
use whimbrel_wifi::mobility::Presence;
use whimbrel_wifi::propagation::success_probability;
use whimbrel_wifi::{MacAddress, Rate};

use super::qos::config;
use super::wireless::{add_stations, at_metre, site, ssid};
use super::*;
use crate::medium::{InfrastructureConfig, QosConfig, QosMedium, StationRole};
use crate::{MediumLoss, StationIndex};

const INTERVAL: f64 = 102.4;
const GROUP: FlowId = FlowId(9);
/// Flows of category voice, from a client and to it.
const VOICE: [FlowId; 2] = [FlowId(10), FlowId(11)];

/// An access point and clients, associated within the first second.
struct Cell {
    simulator: Simulator<Script>,
    nodes: Vec<NodeId>,
    stations: Vec<StationId>,
}

/// An access point.
fn point(dtim_period: u8) -> AccessPointConfig {
    let point = AccessPointConfig::new(MacAddress::station(0), ssid(), 36);
    AccessPointConfig { dtim_period: Some(dtim_period), ..point }
}

impl Cell {
    fn new(dtim_period: u8, clients: &[Option<PowerSaveConfig>]) -> Self {
        Self::with_point(point(dtim_period), clients, &Presence::ALWAYS)
    }

    /// The clients are on at these times.
    fn with_point(
        point: AccessPointConfig,
        clients: &[Option<PowerSaveConfig>],
        presence: &Presence,
    ) -> Self {
        let mut roles = vec![StationRole::AccessPoint(point)];
        roles.extend((1..).zip(clients).map(|(number, &power_save)| {
            let config = StationConfig::new(MacAddress::station(number), ssid(), vec![36]);
            StationRole::client(StationConfig { power_save, ..config })
        }));
        let presence = |number| if number == 0 { Presence::ALWAYS } else { presence.clone() };
        let site = site((0..roles.len()).map(|number| (at_metre(number as f64), presence(number))));
        let roles = InfrastructureConfig::new(roles);
        let count = roles.roles.len();
        let categories = VOICE.map(|flow| (flow, AccessCategory::Voice)).into();
        let config = QosConfig { categories, ..config() };
        let medium = QosMedium::with_infrastructure(site, config, &roles).expect("sound roles");
        let mut simulator = simulator();
        let (_, nodes, stations) = add_stations(&mut simulator, medium, count, 1_000);
        Self { simulator, nodes, stations }
    }

    /// Packets of a flow at these milliseconds from a node to others. Returns the receivers.
    fn flow<const N: usize>(
        &mut self,
        flow: FlowId,
        from: usize,
        to: [usize; N],
        times: &[f64],
    ) -> [AgentId; N] {
        let times: Vec<u64> = times.iter().map(|time| (time * 1e3) as u64).collect();
        let destination = if flow == GROUP { NodeId::BROADCAST } else { self.nodes[to[0]] };
        let mut script = sender(destination, &times);
        script.sends.iter_mut().for_each(|send| send.flow = flow);
        self.simulator.add_agent(self.nodes[from], flow, script);
        to.map(|to| self.simulator.add_agent(self.nodes[to], flow, Script::default()))
    }

    /// Milliseconds from the sending of each packet to its arrival.
    fn delays(&self, sink: AgentId, times: &[f64]) -> Vec<f64> {
        let received = &self.simulator.agent(sink).received;
        let delay =
            |&(at, tag): &(Instant, u64)| (at - Instant::ZERO).as_secs_f64() * 1e3 - times[tag as usize];
        received.iter().map(delay).collect()
    }
}

/// Milliseconds of `count` packets with this gap, from the third second on.
fn every(gap: f64, count: u32) -> Vec<f64> {
    (0..count).map(|number| 3_000.0 + gap * f64::from(number)).collect()
}

fn delays_of_unicast(listen_interval: u16, dtim_period: u8, gap: f64, count: u32) -> Vec<f64> {
    let client = PowerSaveConfig { listen_interval, ..PowerSaveConfig::default() };
    let mut cell = Cell::new(dtim_period, &[Some(client)]);
    let times = every(gap, count);
    let [sink] = cell.flow(FLOW, 0, [1], &times);
    cell.simulator.run_until(Instant::from_millis(5_000 + (gap * f64::from(count)) as u64));
    assert_eq!(cell.simulator.packets_in_network(), 0);
    let delays = cell.delays(sink, &times);
    assert_eq!(delays.len(), count as usize);
    delays
}

/// The largest distance between the distribution of values and the uniform one from 0 to `longest`.
fn distance_to_uniform(mut values: Vec<f64>, longest: f64) -> f64 {
    values.sort_by(f64::total_cmp);
    let count = values.len() as f64;
    let at =
        |(number, value): (usize, f64)| ((value / longest).min(1.0) - (number as f64 + 0.5) / count).abs();
    values.into_iter().enumerate().map(at).fold(0.0, f64::max)
}

/// Beacons are 102.4 ms apart, and packets 500 ms, so that 128 packets come at 128 phases of the beacons, at
/// equal distances. A beacon, a null frame and the packet take about a millisecond.
#[test]
fn a_packet_for_a_dozing_client_waits_for_the_next_beacon_that_the_client_listens_to() {
    let delays = delays_of_unicast(1, 2, 500.0, 128);
    let distance = distance_to_uniform(delays, INTERVAL);
    assert!(distance < 0.02, "{distance}");
    let delays = delays_of_unicast(3, 3, 500.0, 384);
    let distance = distance_to_uniform(delays, 3.0 * INTERVAL);
    assert!(distance < 0.01, "{distance}");
}

/// The law of a timeout of 100 ms: with packets 150 ms apart, 53.5 % are late, by 36.80 ms on average over
/// all; with 50 ms, none is.
#[test]
fn dense_traffic_keeps_a_client_awake() {
    let delays = delays_of_unicast(1, 2, 50.0, 200);
    // Packets before the first beacon may be late.
    assert!(delays[3..].iter().all(|delay| *delay < 2.0), "{delays:?}");
    let delays = delays_of_unicast(1, 2, 150.0, 1_024);
    let late = delays.iter().filter(|delay| **delay > 2.0).count() as f64 / 1_024.0;
    let mean = delays.iter().sum::<f64>() / 1_024.0;
    assert!((late - 0.535).abs() < 0.02, "{late}");
    assert!((mean - 36.80).abs() < 1.5, "{mean}");
}

/// The client is awake as soon as it has something to send, and the answer does not wait.
#[test]
fn a_client_wakes_up_for_its_own_packets() {
    let mut cell = Cell::new(2, &[Some(PowerSaveConfig::default())]);
    let (requests, answers) =
        (every(1_000.0, 50), every(1_000.0, 50).iter().map(|at| at + 20.0).collect::<Vec<_>>());
    let [server] = cell.flow(FLOW, 1, [0], &requests);
    let [client] = cell.flow(FlowId(2), 0, [1], &answers);
    cell.simulator.run_until(Instant::from_secs(60));
    let delays = [cell.delays(server, &requests), cell.delays(client, &answers)];
    for delays in delays {
        assert_eq!(delays.len(), 50);
        assert!(delays.iter().all(|delay| *delay < 2.0), "{delays:?}");
    }
}

/// The access point keeps 64 packets for a dozing client, the newest ones.
#[test]
fn packets_beyond_the_buffer_are_lost_with_a_cause_of_their_own() {
    let mut cell = Cell::new(2, &[Some(PowerSaveConfig::default())]);
    let [sink] = cell.flow(FLOW, 0, [1], &[3_000.0; 100]);
    cell.simulator.run_until(Instant::from_secs(5));
    let received: Vec<u64> = cell.simulator.agent(sink).received.iter().map(|&(_, tag)| tag).collect();
    let losses: Vec<(u64, LossCause)> =
        cell.simulator.agent(sink).losses.iter().map(|&(_, tag, cause)| (tag, cause)).collect();
    let cause = LossCause::Medium(cell.stations[0], MediumLoss::PowerSave);
    assert_eq!(received, (36..100).collect::<Vec<_>>());
    assert_eq!(losses, (0..36).map(|tag| (tag, cause)).collect::<Vec<_>>());
    assert_eq!(MediumLoss::PowerSave.name(), "power-save");
    assert_eq!(cell.simulator.packets_in_network(), 0);
}

/// The access point keeps packets for a second, or for two listen intervals if these are longer. They
/// are lost at the first beacon after that, if the client has left without notice.
#[test]
fn packets_that_were_kept_for_too_long_are_lost() {
    for (listen_interval, lifetime) in [(1_u16, 1_000.0), (20, 40.0 * INTERVAL)] {
        let client = PowerSaveConfig { listen_interval, ..PowerSaveConfig::default() };
        let point = AccessPointConfig { power_save_lifetime: Duration::from_secs(1), ..point(2) };
        let presence = Presence::except(&[(Instant::from_secs(3), Instant::FAR_FUTURE)]).unwrap();
        let mut cell = Cell::with_point(point, &[Some(client)], &presence);
        let times = [3_010.0, 3_500.0, 3_510.0];
        let [sink] = cell.flow(FLOW, 0, [1], &times);
        cell.simulator.run_until(Instant::from_secs(10));
        assert!(cell.delays(sink, &times).is_empty());
        let losses = &cell.simulator.agent(sink).losses;
        assert_eq!(losses.len(), 3);
        let cause = LossCause::Medium(cell.stations[0], MediumLoss::PowerSave);
        for &(at, tag, found) in losses {
            let age = (at - Instant::ZERO).as_secs_f64() * 1e3 - times[tag as usize];
            assert!((lifetime..lifetime + INTERVAL).contains(&age), "{age} ms");
            assert_eq!(found, cause);
        }
        assert_eq!(cell.simulator.packets_in_network(), 0);
    }
}

/// A client whose frames of category voice trigger deliveries in it.
fn with_delivery() -> PowerSaveConfig {
    PowerSaveConfig { uapsd: Uapsd::default().with(AccessCategory::Voice), ..PowerSaveConfig::default() }
}

/// The share of the time until `end` that the client dozes, from 3 s on.
fn share_of_doze(cell: &mut Cell, end: u64) -> f64 {
    let instants = 30_000..end * 10_000;
    let count = (end * 10_000 - 30_000) as f64;
    let dozes = instants.filter(|&tenth| {
        cell.simulator.run_until(Instant::from_nanos(tenth * 100_000));
        let medium: &QosMedium = cell.simulator.medium(cell.stations[0].medium()).unwrap();
        medium.is_dozing(StationIndex(1))
    });
    dozes.count() as f64 / count
}

/// The law of automatic delivery: with a call's packets 20 ms apart in both directions, one for the client
/// waits for the client's next one, 0 to 20 ms, and the client dozes in between. The packets are 20 ms and
/// 40 us apart, so that they come at 500 phases. Without the delivery, the call keeps the client awake.
#[test]
fn packets_of_a_call_wait_for_the_clients_next_one() {
    for (client, longest) in [(with_delivery(), 20.0), (PowerSaveConfig::default(), 2.0)] {
        let mut cell = Cell::new(2, &[Some(client)]);
        let (up, down) = (every(20.0, 510), every(20.04, 500));
        let [server] = cell.flow(VOICE[0], 1, [0], &up);
        let [phone] = cell.flow(VOICE[1], 0, [1], &down);
        let dozes = share_of_doze(&mut cell, 13);
        cell.simulator.run_until(Instant::from_secs(14));
        let [up, down] = [cell.delays(server, &up), cell.delays(phone, &down)];
        assert_eq!((up.len(), down.len()), (510, 500));
        assert!(up.iter().all(|delay| *delay < 2.0), "{up:?}");
        if longest > 2.0 {
            let distance = distance_to_uniform(down, longest);
            assert!(distance < 0.04, "{distance}");
            assert!(dozes > 0.85, "{dozes}");
        } else {
            assert!(down[3..].iter().all(|delay| *delay < longest), "{down:?}");
            assert!(dozes < 0.01, "{dozes}");
        }
        assert_eq!(cell.simulator.packets_in_network(), 0);
    }
}

/// If nothing is kept, a null frame of the access point ends the service period.
#[test]
fn a_trigger_without_packets_is_answered_by_the_end_of_its_period() {
    let mut cell = Cell::new(2, &[Some(with_delivery())]);
    let up = every(20.0, 500);
    let [server] = cell.flow(VOICE[0], 1, [0], &up);
    assert!(share_of_doze(&mut cell, 13) > 0.9);
    assert_eq!(cell.delays(server, &up).len(), 500);
}

/// Packets of another category wait for a beacon, as without automatic delivery.
#[test]
fn automatic_delivery_concerns_its_categories_alone() {
    let mut cell = Cell::new(2, &[Some(with_delivery())]);
    let times = every(500.0, 128);
    let [sink] = cell.flow(FLOW, 0, [1], &times);
    let up = every(200.0, 320);
    let [server] = cell.flow(VOICE[0], 1, [0], &up);
    cell.simulator.run_until(Instant::from_secs(70));
    let distance = distance_to_uniform(cell.delays(sink, &times), INTERVAL);
    assert!(distance < 0.03, "{distance}");
    assert_eq!(cell.delays(server, &up).len(), 320);
}

/// Group frames wait for a DTIM, at most every third beacon here, if any client dozes; then all follow, also
/// to the client that is awake. Without dozing clients they are sent at once.
#[test]
fn group_frames_follow_the_beacons_that_announce_them() {
    let saver = Some(PowerSaveConfig::default());
    for (clients, waits) in [([saver, None], true), ([None, None], false)] {
        let mut cell = Cell::new(3, &clients);
        // Pairs of packets, at 384 phases.
        let mut times = every(500.0, 384);
        times.extend(every(500.0, 384));
        times.sort_by(f64::total_cmp);
        let sinks = cell.flow(GROUP, 0, [1, 2], &times);
        cell.simulator.run_until(Instant::from_secs(200));
        for sink in sinks {
            let delays = cell.delays(sink, &times);
            assert_eq!(delays.len(), times.len(), "nothing is lost");
            if waits {
                let distance = distance_to_uniform(delays, 3.0 * INTERVAL);
                assert!(distance < 0.02, "{distance}");
            } else {
                assert!(delays.iter().all(|delay| *delay < 5.0), "{delays:?}");
            }
        }
        assert_eq!(cell.simulator.packets_in_network(), 0);
    }
}

/// Group frames are not retransmitted: noise destroys the same share of them as of single transmissions.
#[test]
fn group_frames_are_not_acknowledged() {
    let mut cell = Cell::new(1, &[None]);
    let times = every(10.0, 500);
    let [sink] = cell.flow(GROUP, 0, [1], &times);
    cell.simulator.run_until(Instant::from_secs(10));
    assert_eq!(cell.delays(sink, &times).len(), 500);
    let medium: &QosMedium = cell.simulator.medium(cell.stations[0].medium()).unwrap();
    let counters = medium.counters(StationIndex(0));
    assert!(counters.mpdus >= 500 && counters.attempts < 20, "{counters:?}");
}

/// Noise destroys a third of the frames of 1038 bytes at 6 Mbit/s, and so a third of the packets are lost.
#[test]
fn group_frames_are_lost_as_often_as_noise_destroys_one() {
    const BITS: f64 = 1_038.0 * 8.0;
    let mut simulator = simulator();
    let site = site([0.0, 10.0].map(|metre| (at_metre(metre), Presence::ALWAYS)));
    let (mut low, mut high) = (0.1, 10.0);
    for _ in 0..60 {
        let ratio = (low + high) / 2.0;
        let is_too_low = success_probability(Rate::Ofdm6, ratio, BITS) < 2.0 / 3.0;
        *(if is_too_low { &mut low } else { &mut high }) = ratio;
    }
    let noise = Some(site.power(StationIndex(0), StationIndex(1), Instant::ZERO) / low);
    let medium = QosMedium::new(site, QosConfig { noise, ..config() });
    let (_, nodes, _) = add_stations(&mut simulator, medium, 2, 100);
    let times: Vec<u64> = (0..9_000).map(|number| number * 3_000).collect();
    let mut script = sender(NodeId::BROADCAST, &times);
    script.sends.iter_mut().for_each(|send| send.flow = GROUP);
    simulator.add_agent(nodes[0], GROUP, script);
    let sink = simulator.add_agent(nodes[1], GROUP, Script::default());
    simulator.run_until(Instant::from_secs(30));
    let arrived = simulator.agent(sink).received.len() as f64 / 9_000.0;
    // Three standard deviations.
    assert!((arrived - 2.0 / 3.0).abs() < 0.015, "{arrived}");
}
