use whimbrel_units::{Duration, Instant};
use whimbrel_wifi::Phy;
use whimbrel_wifi::aggregation::AggregateLimits;
use whimbrel_wifi::edca::{
    AccessCategory, CategoryParameters, EdcaConfig, Reservation, STATION_CATEGORIES, TransmitRate,
};
use whimbrel_wifi::phy::{Format, GuardInterval, Mode, Width};

use super::QosCell;
use AccessCategory::{BestEffort, Video};

/// IPv4, UDP, LLC and SNAP.
const HEADERS: u32 = 36;

fn mode(format: &str, mcs: &str, streams: &str, megahertz: &str, guard: &str) -> Mode {
    let format = match format {
        "ht" => Format::Ht,
        "vht" => Format::Vht,
        _ => Format::He,
    };
    let width = Width::from_megahertz(megahertz.parse().unwrap()).unwrap();
    let guard = Duration::from_nanos((guard.parse::<f64>().unwrap() * 1e3).round() as u64);
    let guard = GuardInterval::from_duration(guard).unwrap();
    Mode::new(format, mcs.parse().unwrap(), streams.parse().unwrap(), width, guard).unwrap()
}

fn ht7() -> Mode {
    mode("ht", "7", "1", "20", "0.8")
}

/// Every category with this limit of its opportunities.
fn with_txop(micros: u64) -> [CategoryParameters; 4] {
    STATION_CATEGORIES
        .map(|category| CategoryParameters { txop_limit: Duration::from_micros(micros), ..category })
}

/// A sender at 5 GHz with the largest A-MPDUs of its format and a window of 64, as long as one opportunity
/// has one exchange.
fn sender(mode: Mode) -> EdcaConfig {
    let config = EdcaConfig::station(Phy::ofdm(), TransmitRate::Mode(mode));
    // The sheet has the length of HE without its last extension.
    let largest = if mode.format() == Format::He { 4_194_303 } else { config.limits.ampdu_bytes };
    let limits = AggregateLimits { window: 64, ampdu_bytes: largest, ..config.limits };
    EdcaConfig { limits, buffer: 400, categories: with_txop(0), reservation: Reservation::Exchange, ..config }
}

/// Mbit/s of UDP payload of one sender.
fn goodput(config: &EdcaConfig, category: AccessCategory, payload: u32, time: Duration) -> f64 {
    let mut cell = QosCell::new(1);
    let [station, receiver] = [cell.add_qos(config), cell.add_qos(config)];
    cell.saturate(station, receiver, category, payload + HEADERS);
    cell.run_until(Instant::ZERO + time);
    assert_eq!(cell.deliveries().disordered, 0);
    let packets = cell.deliveries().packets[station as usize];
    packets as f64 * f64::from(payload) * 8.0 / time.as_secs_f64() / 1e6
}

/// ns-3's `wifi-aggregation.cc` (59 to 60, 30 to 31, 51 to 52, 58 to 59), as closed forms.
#[test]
fn one_sender_with_and_without_aggregation() {
    let limits = AggregateLimits { window: 64, ..AggregateLimits::of(Format::Ht) };
    let cases = [
        (limits, 59.7496),
        (AggregateLimits::NONE, 30.7869),
        (AggregateLimits { amsdu_bytes: 7_935, ..AggregateLimits::NONE }, 51.8995),
        (AggregateLimits { ampdu_bytes: 32_768, amsdu_bytes: 3_839, ..limits }, 59.0794),
    ];
    for (limits, expected) in cases {
        let config = EdcaConfig { limits, ..sender(ht7()) };
        let rate = goodput(&config, BestEffort, 1_472, Duration::from_secs(10));
        assert!((rate / expected - 1.0).abs() < 0.002, "{limits:?}: {rate}, not {expected}");
    }
}

/// ns-3's `wifi-txop-aggregation.cc`: the rest of the limit is filled, and freed by a CF-End.
#[test]
fn opportunities_are_filled_and_ended() {
    let limits = AggregateLimits { window: 64, ..AggregateLimits::of(Format::Ht) };
    let cases = [
        (limits, 58.5790),
        (AggregateLimits::NONE, 39.0526),
        (AggregateLimits { amsdu_bytes: 7_935, ..AggregateLimits::NONE }, 52.7702),
        (AggregateLimits { ampdu_bytes: 32_768, amsdu_bytes: 3_839, ..limits }, 58.7088),
    ];
    for (limits, expected) in cases {
        let (categories, reservation) = (with_txop(3_520), Reservation::Opportunity);
        let config = EdcaConfig { limits, categories, reservation, ..sender(ht7()) };
        let rate = goodput(&config, BestEffort, 1_472, Duration::from_secs(10));
        assert!((rate / expected - 1.0).abs() < 0.002, "{limits:?}: {rate}, not {expected}");
    }
}

/// The closed forms for 13 modes in seven cases: one sender at 5 GHz.
#[test]
fn one_sender_reaches_the_closed_forms() {
    let mut rows = 0;
    for row in include_str!("../../../wifi/tests/data/today/single.csv").lines().skip(1) {
        let columns: Vec<&str> = row.split(',').collect();
        let [format, mcs, streams, width, guard, payload, case, mpdus, _, _, _, _, used, mbps] = columns[..]
        else {
            panic!("{row}")
        };
        // The small payloads of some modes: their cost grows with the number of packets.
        if payload != "1472" && !(payload == "256" && case == "amsdu3839") {
            continue;
        }
        let base = sender(mode(format, mcs, streams, width, guard));
        let (limits, config) = (base.limits, base.clone());
        let (config, category) = match case {
            "none" => {
                (EdcaConfig { limits: AggregateLimits { ampdu_bytes: 0, ..limits }, ..config }, BestEffort)
            }
            "ampdu" => (config, BestEffort),
            "txop2528" => (EdcaConfig { categories: with_txop(2_528), ..config }, BestEffort),
            "amsdu3839" => {
                let limits = AggregateLimits { amsdu_bytes: 3_839, ..limits };
                (EdcaConfig { limits, buffer: 1_700, ..config }, BestEffort)
            }
            "window256" => {
                let limits = AggregateLimits { window: 256, ..limits };
                (EdcaConfig { limits, buffer: 600, ..config }, BestEffort)
            }
            "vi4096" => (EdcaConfig { categories: with_txop(4_096), ..config }, Video),
            "rts" => (EdcaConfig { rts_threshold: 0, ..config }, BestEffort),
            other => panic!("the case {other}"),
        };
        // The mean backoff is known to 0.1 % of an access.
        let access = used.parse::<f64>().unwrap() + 126.5;
        let accesses = (41.5 / access / 0.001).powi(2).max(300.0);
        let payload = payload.parse().unwrap();
        let rate =
            goodput(&config, category, payload, Duration::from_nanos((access * accesses * 1e3) as u64));
        let expected = mbps.parse::<f64>().unwrap();
        assert!((rate / expected - 1.0).abs() < 0.005, "{row}: {rate} with {mpdus} MPDUs");
        rows += 1;
    }
    assert_eq!(rows, 96);
}

/// Independent losses of MPDUs: goodput, aggregates, delays and bursts of in-order delivery.
#[test]
fn losses_of_mpdus_cost_what_a_monte_carlo_has() {
    let modes = [
        (ht7(), 64, "HT 20 MCS 7"),
        (mode("vht", "9", "2", "80", "0.4"), 64, "VHT 80 MCS 9 x 2"),
        (mode("he", "11", "2", "80", "0.8"), 256, "HE 80 MCS 11 x 2"),
    ];
    for row in include_str!("../../../wifi/tests/data/today/blockack.csv").lines().skip(1) {
        let columns: Vec<&str> = row.split(',').collect();
        let number = |column: usize| columns[column].parse::<f64>().unwrap();
        let (mode, window, _) = modes.into_iter().find(|(_, _, name)| *name == columns[0]).unwrap();
        // With a retry limit, the receiver is told of what is given up.
        let retry_limit = columns[2].parse().ok();
        let base = sender(mode);
        let limits = AggregateLimits { window, ..base.limits };
        // The Monte Carlo has a block acknowledgement in any case, and always the smallest window.
        let categories =
            base.categories.map(|category| CategoryParameters { cw_max: category.cw_min, ..category });
        let config = EdcaConfig { limits, buffer: 600, categories, ..base.synchronous() };
        let config = EdcaConfig { retry_limit, ..config };
        let mut cell = QosCell::new(7);
        let [station, receiver] = [cell.add_qos(&config), cell.add_qos(&config)];
        cell.saturate(station, receiver, BestEffort, 1_472 + HEADERS);
        cell.lose(number(3));
        cell.record();
        // About 8000 accesses.
        let time = if mode.format() == Format::Ht { 43.0 } else { 8.0 };
        cell.run_until(Instant::from_secs_f64(time));
        let done = cell.deliveries();
        assert_eq!(done.disordered, 0, "{row}");
        let rate = done.packets[station as usize] as f64 * 1_472.0 * 8.0 / time / 1e6;
        assert!((rate / number(5) - 1.0).abs() < 0.012, "{row}: {rate}");
        let mean = done.mpdus as f64 / done.transmissions as f64;
        assert!((mean / number(6) - 1.0).abs() < 0.015, "{row}: {mean} MPDUs");
        let mut delays = done.delays.clone();
        delays.sort_unstable();
        for (share, column, bar) in [(0.5, 8, 0.04), (0.95, 9, 0.04), (0.99, 10, 0.06)] {
            let delay = delays[(share * delays.len() as f64) as usize].as_secs_f64() * 1e3;
            assert!((delay / number(column) - 1.0).abs() < bar, "{row}: {share} within {delay} ms");
        }
        // Packets released by a request count as a burst here.
        if retry_limit.is_none() {
            let burst =
                done.bursts.iter().map(|&size| f64::from(size)).sum::<f64>() / done.bursts.len() as f64;
            assert!((burst / number(12) - 1.0).abs() < 0.03, "{row}: bursts of {burst}");
        }
    }
}
