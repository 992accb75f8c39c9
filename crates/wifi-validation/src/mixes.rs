//! Saturated classes of EDCA in one cell, and stations without quality of service: a Monte Carlo of the rule,
//! by another program (`crates/wifi/tests/data/today/edca.csv`), and the machines.

use whimbrel_units::{Duration, Instant};
use whimbrel_wifi::Phy;
use whimbrel_wifi::dcf::{AfterCollision, MacConfig};
use whimbrel_wifi::edca::{
    AccessCategory, CategoryCounters, CategoryParameters, EdcaConfig, Reservation, STATION_CATEGORIES,
    TransmitRate,
};
use whimbrel_wifi::phy::Rate;

use crate::qos_cell::QosCell;
use AccessCategory::{Background, BestEffort, Video, Voice};

/// IPv4, UDP, LLC and SNAP.
const HEADERS: u32 = 36;
/// Classes with more Mbit/s have the narrower bars.
const LARGE: f64 = 2.0;

/// A class of saturated stations, or of categories of one station.
struct Class {
    category: Option<AccessCategory>,
    stations: u32,
}

/// A class in a mix: the machines' figures, and the expected ones.
#[derive(Clone, Debug)]
pub struct Row {
    /// The mix.
    pub case: String,
    /// The class.
    pub class: String,
    /// Mbit/s of UDP payload.
    pub rate: [f64; 2],
    /// Collision probability; not a number for stations without quality of service.
    pub collision: [f64; 2],
    /// Internal collisions in a second, where they are expected.
    pub internal: Option<[f64; 2]>,
}

impl Row {
    /// `true` if rate and collision probability are within `slack` times their bars: 1 % and 0.003 of a class
    /// with more than 2 Mbit/s, else 4 % of the rate. Internal collisions have 5 %.
    pub fn holds(&self, slack: f64) -> bool {
        let within =
            |[found, expected]: [f64; 2], bar: f64| (found - expected).abs() <= bar * expected + 1e-3;
        let [_, expected] = self.rate;
        let is_large = expected > LARGE;
        let bar = if is_large { 0.01 } else { 0.04 } * slack;
        let [found, drawn] = self.collision;
        let collides = !is_large || found.is_nan() || (found - drawn).abs() < 0.003 * slack;
        let internal = self.internal.is_none_or(|pair| within(pair, bar.max(0.05)));
        within(self.rate, bar) && collides && internal
    }
}

/// Runs a mix of classes of 802.11a at 54 Mbit/s with 1472 bytes: rate and collision probability of each.
fn mix(classes: &[Class], is_shared: bool, txop: bool, time: f64) -> Vec<(f64, f64, f64)> {
    let mut categories =
        STATION_CATEGORIES.map(|category| CategoryParameters { txop_limit: Duration::ZERO, ..category });
    if txop {
        categories[Video as usize].txop_limit = Duration::from_micros(3_008);
    }
    let plain = EdcaConfig {
        categories,
        reservation: Reservation::Exchange,
        buffer: 20,
        ..EdcaConfig::station(Phy::ofdm(), TransmitRate::Legacy(Rate::Ofdm54)).synchronous()
    };
    let dcf = MacConfig {
        header_bytes: 30,
        short_retry_limit: None,
        long_retry_limit: None,
        ..MacConfig::synchronous(Phy::ofdm(), Rate::Ofdm54, AfterCollision::Eifs)
    };
    let mut cell = QosCell::new(3);
    let receiver = cell.add_qos(&plain);
    let one = is_shared.then(|| cell.add_qos(&plain));
    let mut all = Vec::new();
    for class in classes {
        let mut stations = Vec::new();
        for _ in 0..class.stations {
            let station = match (one, class.category) {
                (Some(station), _) => station,
                (None, Some(_)) => cell.add_qos(&plain),
                (None, None) => cell.add_dcf(&dcf),
            };
            cell.saturate(station, receiver, class.category.unwrap_or(BestEffort), 1_472 + HEADERS);
            stations.push(station);
        }
        all.push(stations);
    }
    cell.run_until(Instant::from_secs_f64(time));
    let rate = |packets: u64| packets as f64 * 1_472.0 * 8.0 / time / 1e6;
    let measured = all.iter().zip(classes).map(|(stations, class)| match class.category {
        Some(category) => {
            let counters: Vec<_> =
                stations.iter().map(|&station| cell.qos(station).counters(category)).collect();
            let sum = |of: fn(&CategoryCounters) -> u64| counters.iter().map(of).sum::<u64>();
            let attempts = sum(|counters| counters.attempts).max(1);
            (
                rate(sum(|counters| counters.acknowledged)),
                sum(|counters| counters.failed_attempts) as f64 / attempts as f64,
                sum(|counters| counters.internal_collisions) as f64 / time,
            )
        }
        None => {
            let packets = stations.iter().map(|&station| cell.deliveries().packets[station as usize]).sum();
            (rate(packets), f64::NAN, 0.0)
        }
    });
    measured.collect()
}

fn class(name: &str, stations: u32) -> Class {
    let category = match name {
        "bk" => Some(Background),
        "be" => Some(BestEffort),
        "vi" => Some(Video),
        "vo" => Some(Voice),
        "dcf" => None,
        other => panic!("the class {other}"),
    };
    Class { category, stations }
}

/// Classes of the mixes of the table, by name.
fn classes(case: &str) -> Vec<Class> {
    match case {
        "one station: VI and BE" => vec![class("vi", 1), class("be", 1)],
        "one station: VO, VI, BE, BK" => ["vo", "vi", "be", "bk"].map(|name| class(name, 1)).into(),
        _ => {
            let part = |part: &str| {
                let mut words = part.split_whitespace();
                let count = words.next().and_then(|word| word.parse().ok()).expect("a number");
                class(&words.next().expect("a class").to_lowercase(), count)
            };
            case.split(", ").map(part).collect()
        }
    }
}

/// All rows of the table, each mix over this time in seconds.
pub fn rows(time: f64) -> Vec<Row> {
    let table = include_str!("../../wifi/tests/data/today/edca.csv");
    let mut expected: Vec<(&str, Vec<&str>)> = Vec::new();
    for line in table.lines().skip(1) {
        let quoted = line.strip_prefix('"').and_then(|line| line.split_once("\","));
        let (case, rest) = quoted.or_else(|| line.split_once(',')).expect("a case");
        expected.push((case, rest.split(',').collect()));
    }
    expected.retain(|(_, columns)| columns[0] == "edca");
    let mut rows = Vec::new();
    while let Some((case, _)) = expected.get(rows.len()) {
        let classes = classes(case);
        let measured = mix(&classes, case.starts_with("one station"), case.contains("TXOP"), time);
        let of_case = expected[rows.len()..].iter().zip(measured);
        let row = |((case, columns), (rate, collision, internal)): (&(&str, Vec<&str>), (f64, f64, f64))| {
            let number = |column: usize| columns[column].parse::<f64>();
            Row {
                case: (*case).to_owned(),
                class: columns[1].to_owned(),
                rate: [rate, number(2).expect("a rate")],
                collision: [collision, number(4).unwrap_or(f64::NAN)],
                internal: number(5).ok().map(|expected| [internal, expected]),
            }
        };
        rows.extend(of_case.map(row).collect::<Vec<_>>());
    }
    rows
}

#[cfg(test)]
mod tests;
