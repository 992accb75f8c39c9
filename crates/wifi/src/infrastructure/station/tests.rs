use super::*;
use crate::SplitMix64;
use crate::infrastructure::{AccessPoint, AccessPointConfig, HandoverTrigger, Ssid};
use std::collections::BTreeMap;

const STATION: MacAddress = MacAddress::station(100);
/// Delay of every message.
const DELAY: Duration = Duration::from_micros(500);

fn ssid() -> Ssid {
    Ssid::new("net").unwrap()
}

fn at(micros: u64) -> Instant {
    Instant::ZERO + Duration::from_micros(micros)
}

/// A station and access points with ideal links of given power; 0 for none.
struct Cell {
    station: Client<SplitMix64>,
    aps: Vec<AccessPoint>,
    power: Vec<f64>,
    channel: u8,
    queue: BTreeMap<(Instant, u64), (Option<usize>, ManagementTransmit)>,
    inserted: u64,
    now: Instant,
    events: Vec<(Instant, StationEvent)>,
    sent: Vec<ManagementMessage>,
}

impl Cell {
    fn new(config: StationConfig, aps: &[(u8, f64)]) -> Self {
        assert_eq!(config.check(), Ok(()));
        let ap = |(number, &(channel, _)): (usize, &(u8, f64))| {
            let address = MacAddress::station(number as u32);
            let first_beacon = at(1_000 * number as u64);
            AccessPoint::new(AccessPointConfig {
                first_beacon,
                ..AccessPointConfig::new(address, ssid(), channel)
            })
        };
        Self {
            station: Client::new(config, SplitMix64::new(7)),
            aps: aps.iter().enumerate().map(ap).collect(),
            power: aps.iter().map(|&(_, power)| power).collect(),
            channel: 0,
            queue: BTreeMap::new(),
            inserted: 0,
            now: Instant::ZERO,
            events: Vec::new(),
            sent: Vec::new(),
        }
    }

    fn drain(&mut self) {
        while let Some(event) = self.station.poll_event() {
            if let StationEvent::SwitchChannel { channel } = event {
                self.channel = channel;
            }
            self.events.push((self.now, event));
        }
        while let Some(transmit) = self.station.poll_transmit() {
            self.sent.push(transmit.message);
            for (number, ap) in self.aps.iter().enumerate() {
                let is_meant = transmit.to.is_group() || transmit.to == ap.config().address;
                if is_meant && ap.config().channel == self.channel && self.power[number] > 0.0 {
                    self.inserted += 1;
                    self.queue.insert((self.now + DELAY, self.inserted), (Some(number), transmit));
                }
            }
        }
        for number in 0..self.aps.len() {
            while let Some(transmit) = self.aps[number].poll_transmit() {
                self.inserted += 1;
                // The sender in place of the receiver.
                let from = ManagementTransmit { to: self.aps[number].config().address, ..transmit };
                self.queue.insert((self.now + DELAY, self.inserted), (None, from));
            }
        }
    }

    fn run_until(&mut self, end: Instant) {
        self.drain();
        loop {
            let message = self.queue.first_key_value().map(|(&(at, _), _)| at);
            let beacon = self.aps.iter().filter_map(AccessPoint::poll_timeout).min();
            let timer = self.station.poll_timeout();
            let Some(next) = [message, beacon, timer].into_iter().flatten().min().filter(|&next| next <= end)
            else {
                break;
            };
            assert!(next >= self.now);
            self.now = next;
            if message == Some(next) {
                let Some((_, (to, transmit))) = self.queue.pop_first() else { break };
                match to {
                    Some(ap) => self.aps[ap].handle_packet(next, STATION, &transmit.message),
                    None => {
                        let ap = self.aps.iter().position(|ap| ap.config().address == transmit.to).unwrap();
                        if self.power[ap] > 0.0 && self.aps[ap].config().channel == self.channel {
                            self.station.handle_packet(next, transmit.to, self.power[ap], &transmit.message);
                        }
                    }
                }
            } else if beacon == Some(next) {
                self.aps.iter_mut().for_each(|ap| ap.handle_timeout(next));
            } else {
                self.station.handle_timeout(next);
                assert!(self.station.poll_timeout().is_none_or(|deadline| deadline > next));
            }
            self.drain();
        }
        self.now = end;
    }

    fn join(config: StationConfig, aps: &[(u8, f64)], start: Instant) -> Self {
        let mut cell = Self::new(config, aps);
        cell.run_until(start);
        cell.station.join(start);
        cell
    }

    fn reports(&self) -> Vec<HandoverReport> {
        let report = |(_, event): &(Instant, StationEvent)| match event {
            StationEvent::LinkUp(report) => Some(*report),
            _ => None,
        };
        self.events.iter().filter_map(report).collect()
    }
}

/// Three channels, active scanning, 2 ms to change a channel.
fn config() -> StationConfig {
    StationConfig::new(STATION, ssid(), std::vec![1, 6, 11])
}

#[test]
fn joining_takes_the_times_of_its_phases() {
    // No beacon is due between 10 ms and 102 ms.
    let mut cell = Cell::join(config(), &[(6, 1e-9)], at(10_000));
    cell.run_until(at(102_000));
    let report = cell.reports()[0];
    // Per channel 2 ms to change and 0.1 ms of ProbeDelay; 20 ms on the two empty ones, 40 ms on the other.
    let scan = 3 * 2_100 + 2 * 20_000 + 40_000;
    assert_eq!(report.scanned - report.detected, Duration::from_micros(scan));
    // A change of the channel, a request and a response; a request and a response.
    assert_eq!(report.authenticated - report.scanned, Duration::from_micros(2_000) + DELAY * 2);
    assert_eq!(report.associated - report.authenticated, DELAY * 2);
    assert_eq!((report.from, report.to), (None, MacAddress::station(0)));
    assert_eq!(cell.station.access_point(), Some(MacAddress::station(0)));
    assert!(cell.aps[0].is_associated(STATION));
}

#[test]
fn activity_of_others_keeps_the_station_on_a_channel() {
    let mut cell =
        Cell::join(StationConfig { channels: std::vec![1, 6], ..config() }, &[(6, 1e-9)], at(10_000));
    // A foreign frame on channel 1, 5 ms after the probe request.
    cell.run_until(at(10_000 + 2_100 + 5_000));
    cell.station.handle_activity(cell.now);
    cell.run_until(at(200_000));
    let report = cell.reports()[0];
    assert_eq!(report.scanned - report.detected, Duration::from_micros(2 * 2_100 + 2 * 40_000));
}

#[test]
fn passive_scanning_waits_for_beacons() {
    let scan = Scan::Passive { channel_time: Duration::from_millis(120) };
    let mut cell = Cell::join(StationConfig { scan, ..config() }, &[(11, 1e-9)], at(10_000));
    cell.run_until(at(500_000));
    let report = cell.reports()[0];
    assert_eq!(report.scanned - report.detected, Duration::from_millis(3 * 122));
    let is_probe = |sent: &ManagementMessage| matches!(sent, ManagementMessage::ProbeRequest { .. });
    assert!(!cell.sent.iter().any(is_probe), "{:?}", cell.sent);
}

#[test]
fn the_strongest_access_point_is_chosen_and_a_full_one_passed_over() {
    let mut cell = Cell::join(config(), &[(1, 1e-9), (6, 3e-9), (11, 2e-9)], at(10_000));
    cell.run_until(at(300_000));
    assert_eq!(cell.reports()[0].to, MacAddress::station(1));

    let mut cell = Cell::new(config(), &[(1, 1e-9), (6, 3e-9), (11, 2e-9)]);
    let full = AccessPointConfig { max_stations: 0, ..*cell.aps[1].config() };
    cell.aps[1] = AccessPoint::new(full);
    cell.run_until(at(10_000));
    cell.station.join(cell.now);
    cell.run_until(at(300_000));
    assert_eq!(cell.reports()[0].to, MacAddress::station(2));
}

#[test]
fn missed_beacons_lead_to_a_hand_over_whose_phases_add_up() {
    let mut cell = Cell::join(config(), &[(1, 2e-9), (6, 1e-9)], at(10_000));
    cell.run_until(at(1_000_000));
    assert_eq!(cell.station.access_point(), Some(MacAddress::station(0)));
    cell.power[0] = 0.0;
    cell.run_until(at(3_000_000));
    let report = cell.reports()[1];
    assert_eq!((report.from, report.to), (Some(MacAddress::station(0)), MacAddress::station(1)));
    // Seven intervals of 102.4 ms and a half.
    assert_eq!(report.detected - report.last_contact, Duration::from_micros(7 * 102_400 + 51_200));
    // The last beacon before 1 s: number 9, at 921.6 ms, received 0.5 ms later.
    assert_eq!(report.last_contact, at(921_600 + 500));
    assert!(report.detected < report.scanned && report.scanned < report.authenticated);
    assert_eq!(report.outage(), report.associated - report.detected);
    let down = StationEvent::LinkDown { access_point: MacAddress::station(0) };
    assert!(cell.events.contains(&(report.detected, down)));
}

/// A cell without beacons, in which the station hears of its access point every 50 ms until 10 s.
#[test]
fn data_and_acknowledgements_are_contact_as_beacons_are() {
    type Contact = fn(&mut Client<SplitMix64>, Instant);
    let contacts: [Contact; 2] = [Client::handle_success, Client::handle_data];
    for contact in contacts {
        let mut cell = Cell::join(config(), &[(1, 2e-9)], at(10_000));
        cell.run_until(at(1_000_000));
        cell.power[0] = 0.0;
        while cell.now < at(10_000_000) {
            contact(&mut cell.station, cell.now);
            cell.run_until(cell.now + Duration::from_millis(50));
        }
        let last = at(10_000_000 - 50_000);
        cell.run_until(last + Duration::from_micros(7 * 102_400 + 51_199));
        assert_eq!(cell.station.access_point(), Some(MacAddress::station(0)));
        cell.run_until(last + Duration::from_micros(7 * 102_400 + 51_200));
        assert_eq!(cell.station.access_point(), None);
    }
}

/// The times of the probe requests of a station that nothing answers.
fn probes_in_vain(mut station: Client<SplitMix64>, end: Instant) -> Vec<Instant> {
    station.join(Instant::ZERO);
    let mut probes = Vec::new();
    while let Some(now) = station.poll_timeout().filter(|&now| now < end) {
        station.handle_timeout(now);
        while station.poll_transmit().is_some() {
            probes.push(now);
        }
        while station.poll_event().is_some() {}
    }
    probes
}

#[test]
fn searches_in_vain_are_followed_by_random_pauses_that_grow() {
    let config = StationConfig { channels: std::vec![1], ..config() };
    let probes = |seed| {
        let station = Client::new(config.clone(), SplitMix64::new(seed));
        probes_in_vain(station, Instant::from_secs(1_000))
    };
    let times = probes(1);
    // From a probe request to the next one: 20 ms of waiting, the pause, 2 ms to change the channel and 0.1
    // ms of ProbeDelay.
    let pauses: Vec<f64> = times.windows(2).map(|pair| (pair[1] - pair[0]).as_secs_f64() - 0.0221).collect();
    let bounds = [0.1, 0.2, 0.4, 0.8, 1.6, 3.2];
    assert!(pauses.iter().zip(bounds).all(|(pause, bound)| *pause > 0.0 && *pause <= bound + 1e-8));
    let late = &pauses[6..];
    assert!(late.iter().all(|pause| *pause <= 5.0 + 1e-8), "{late:?}");
    // Uniform between 0 and 5 s: the mean of 390 pauses is known to 0.07 s.
    let mean = late.iter().sum::<f64>() / late.len() as f64;
    assert!((mean - 2.5).abs() < 0.25, "{mean}");
    // Two stations that start together do not stay together.
    assert_ne!(times[1], probes(2)[1]);
    // ns-2's station does not pause: 5 ms and 0.1 ms.
    let ns2 = StationConfig { channels: std::vec![1], ..StationConfig::ns2(STATION, ssid(), std::vec![1]) };
    let times = probes_in_vain(Client::new(ns2, SplitMix64::new(1)), Instant::from_secs(1));
    assert!(times.windows(2).all(|pair| pair[1] - pair[0] == Duration::from_micros(5_100)));
}

#[test]
fn ns2s_station_leaves_after_the_third_failed_retry_and_does_not_scan_again() {
    let config = StationConfig::ns2(STATION, ssid(), std::vec![1, 6, 11]);
    let mut cell = Cell::join(config, &[(1, 2e-9), (6, 1e-9)], at(10_000));
    cell.run_until(at(500_000));
    let join = cell.reports()[0];
    // Two channels with an answer and an empty one: 11 + 11 + 5 ms, with 0.1 ms of ProbeDelay each.
    assert_eq!(join.scanned - join.detected, Duration::from_micros(27_300));
    cell.power[0] = 0.0;
    cell.run_until(at(2_000_000));
    assert_eq!(cell.reports().len(), 1, "beacons do not count");
    cell.station.handle_failure(cell.now);
    cell.station.handle_failure(cell.now);
    cell.station.handle_success(cell.now);
    for _ in 0..2 {
        cell.station.handle_failure(cell.now);
        cell.drain();
        assert_eq!(cell.station.access_point(), Some(MacAddress::station(0)));
    }
    cell.station.handle_failure(cell.now);
    cell.drain();
    assert_eq!(cell.station.access_point(), None);
    cell.run_until(at(2_100_000));
    let report = cell.reports()[1];
    assert_eq!(report.to, MacAddress::station(1));
    assert_eq!(report.scanned, report.detected, "the access points are known");
    assert_eq!(report.outage(), DELAY * 4);
}

#[test]
fn a_table_that_is_out_of_date_is_learnt_again() {
    let config = StationConfig::ns2(STATION, ssid(), std::vec![1, 6, 11]);
    let mut cell = Cell::join(config, &[(1, 2e-9), (6, 0.0)], at(10_000));
    cell.run_until(at(500_000));
    cell.power = std::vec![0.0, 1e-9];
    (0..3).for_each(|_| cell.station.handle_failure(cell.now));
    cell.run_until(at(2_000_000));
    assert_eq!(cell.reports()[1].to, MacAddress::station(1));
}

#[test]
fn a_weak_signal_leads_to_a_better_access_point_and_to_no_worse_one() {
    let weak_signal = Some((1e-9, 2.0));
    let trigger = HandoverTrigger { failed_attempts: None, missed_beacons: None, weak_signal };
    let mut cell = Cell::join(StationConfig { trigger, ..config() }, &[(1, 2e-9), (6, 1e-12)], at(10_000));
    cell.run_until(at(1_000_000));
    // Weak, but the other is not twice as strong: the station stays, and searches once per second.
    cell.power = std::vec![0.8e-9, 1.5e-9];
    cell.run_until(at(4_000_000));
    assert_eq!(cell.station.access_point(), Some(MacAddress::station(0)));
    let stayed = StationEvent::Stayed { access_point: MacAddress::station(0) };
    let searches = cell.events.iter().filter(|&&(_, event)| event == stayed).count();
    assert!((2..=3).contains(&searches), "{searches}");
    cell.power[1] = 1.7e-9;
    cell.run_until(at(6_000_000));
    assert_eq!(cell.station.access_point(), Some(MacAddress::station(1)));
}

#[test]
fn requests_without_an_answer_are_repeated_then_the_search_begins_anew() {
    let mut cell = Cell::join(config(), &[(6, 1e-9)], at(10_000));
    // Within the scan of the last channel: the access point has answered and falls silent.
    cell.run_until(at(10_000 + 70_000));
    cell.power[0] = 0.0;
    cell.run_until(at(10_000 + 86_300 + 2_000 + 4 * 50_000));
    let requests = cell.sent.iter().filter(|&&sent| sent == ManagementMessage::AuthenticationRequest).count();
    assert_eq!(requests, 4, "the request and three repetitions");
    cell.power[0] = 1e-9;
    cell.run_until(at(1_000_000));
    assert_eq!(cell.station.access_point(), Some(MacAddress::station(0)));
}

#[test]
fn a_deauthenticated_station_joins_again() {
    let mut cell = Cell::join(config(), &[(6, 1e-9)], at(10_000));
    cell.run_until(at(200_000));
    cell.aps[0].handle_moved(STATION);
    cell.station.handle_packet(cell.now, MacAddress::station(0), 1e-9, &ManagementMessage::Deauthentication);
    cell.run_until(at(500_000));
    assert_eq!(cell.reports().len(), 2);
}

#[test]
fn impossible_parameters_are_refused() {
    let active = |min, max| Scan::Active {
        probe_delay: Duration::ZERO,
        min_channel_time: Duration::from_millis(min),
        max_channel_time: Duration::from_millis(max),
    };
    for (bad, name) in [
        (StationConfig { channels: Vec::new(), ..config() }, "channels"),
        (StationConfig { scan: active(9, 5), ..config() }, "max_channel_time"),
        (StationConfig { scan: active(0, 5), ..config() }, "min_channel_time"),
        (StationConfig { scan: Scan::Passive { channel_time: Duration::ZERO }, ..config() }, "channel_time"),
        (StationConfig { response_timeout: Duration::ZERO, ..config() }, "response_timeout"),
    ] {
        let crate::infrastructure::InvalidInfrastructure::Value { parameter, .. } = bad.check().unwrap_err()
        else {
            panic!("a value")
        };
        assert_eq!(parameter, name);
    }
}

#[test]
fn a_station_that_is_switched_off_reports_it_and_joins_afresh() {
    let mut cell = Cell::join(config(), &[(6, 1e-9)], at(0));
    cell.run_until(at(500_000));
    let access_point = MacAddress::station(0);
    assert_eq!(cell.station.access_point(), Some(access_point));
    cell.station.stop();
    assert_eq!(cell.station.poll_event(), Some(StationEvent::LinkDown { access_point }));
    assert_eq!((cell.station.access_point(), cell.station.poll_timeout()), (None, None));
    cell.run_until(at(1_000_000));
    cell.station.join(at(1_000_000));
    cell.run_until(at(1_500_000));
    // The report does not name the access point before.
    assert_eq!(cell.reports().last().map(|report| (report.from, report.to)), Some((None, access_point)));
}

/// The data waits for the keys; with fast transitions (802.11r), for a shorter time after a change of the
/// access point.
#[test]
fn the_link_is_up_once_the_keys_are_exchanged() {
    let (keys, fast) = (Duration::from_millis(50), Duration::from_millis(10));
    for (fast_transition, second) in [(None, keys), (Some(fast), fast)] {
        let config = StationConfig { key_exchange: keys, fast_transition, ..config() };
        let mut cell = Cell::join(config, &[(6, 1e-9)], at(10_000));
        cell.run_until(at(300_000));
        cell.aps[0].handle_moved(STATION);
        let message = ManagementMessage::Deauthentication;
        cell.station.handle_packet(cell.now, MacAddress::station(0), 1e-9, &message);
        cell.run_until(at(900_000));
        let reports = cell.reports();
        let times: Vec<Duration> = reports.iter().map(|report| report.association()).collect();
        assert_eq!(times.len(), 2, "{times:?}");
        for (time, keys) in times.into_iter().zip([keys, second]) {
            assert!(time >= keys && time < keys + Duration::from_millis(5), "{time:?}");
        }
    }
}
