//! An access point that always has packets for three stations, one of which is slow.

use whimbrel_units::{Duration, Instant};
use whimbrel_wifi::Phy;
use whimbrel_wifi::aggregation::AggregateLimits;
use whimbrel_wifi::edca::{DEFAULT_WEIGHT, EdcaConfig, TransmitRate, Turns};
use whimbrel_wifi::phy::{Format, GuardInterval, Mode, Width};

use crate::qos_cell::QosCell;
use crate::scenes::Comparison;

/// Bytes of an IP packet with LLC and SNAP headers, and without.
const MSDU: u32 = 1_508;
const PACKET: u32 = 1_500;
/// Airtime of the exchanges with a full aggregate, and packets in it: at most 4 ms and 32 packets.
const EXCHANGES: [(f64, f64); 3] = [(2_828.0, 32.0), (2_828.0, 32.0), (3_544.0, 2.0)];

/// A rule, and its shares of airtime and rates in Mbit/s by a computation on paper of the deficits.
pub struct Case {
    /// Rule.
    pub name: &'static str,
    turns: Turns,
    weights: [u16; 3],
    is_aggregated: bool,
    shares: [f64; 3],
    rates: [f64; 3],
}

/// All cases.
pub const CASES: [Case; 4] = [
    Case {
        name: "one packet each in turn",
        turns: Turns::Transmissions,
        weights: [DEFAULT_WEIGHT; 3],
        is_aggregated: false,
        shares: [0.0799, 0.0799, 0.8401],
        rates: [4.832; 3],
    },
    Case {
        name: "one aggregate each in turn",
        turns: Turns::Transmissions,
        weights: [DEFAULT_WEIGHT; 3],
        is_aggregated: true,
        shares: [0.3074, 0.3074, 0.3852],
        rates: [40.287, 40.287, 2.518],
    },
    Case {
        name: "airtime",
        turns: Turns::Airtime,
        weights: [DEFAULT_WEIGHT; 3],
        is_aggregated: true,
        shares: [0.3333, 0.3333, 0.3334],
        rates: [43.668, 43.668, 2.178],
    },
    Case {
        name: "airtime, weights 2 : 1 : 1",
        turns: Turns::Airtime,
        weights: [2 * DEFAULT_WEIGHT, DEFAULT_WEIGHT, DEFAULT_WEIGHT],
        is_aggregated: true,
        shares: [0.5000, 0.2500, 0.2501],
        rates: [65.459, 32.730, 1.633],
    },
];

impl Case {
    /// The rates in Mbit/s, and, with aggregates, the shares of the exchanges' airtime.
    pub fn measure(&self, time: Duration) -> ([f64; 3], Option<[f64; 3]>) {
        let mode = |mcs, streams| Mode::new(Format::Ht, mcs, streams, Width::Mhz20, GuardInterval::Ns400);
        let modes = [mode(7, 2), mode(7, 2), mode(0, 1)].map(|mode| mode.expect("a mode of 802.11n"));
        let limits = AggregateLimits {
            ampdu_time: Duration::from_millis(4),
            window: if self.is_aggregated { 32 } else { 1 },
            ..AggregateLimits::of(Format::Ht)
        };
        let config = EdcaConfig {
            turns: self.turns,
            ..EdcaConfig::station(Phy::ofdm(), TransmitRate::Mode(modes[0]))
        };
        let mut cell = QosCell::new(1);
        let point = cell.add_qos(&config);
        let stations = modes.map(|mode| {
            let station = cell.add_qos(&config);
            cell.saturate_in(point, station, MSDU, mode, limits);
            station
        });
        stations.iter().zip(self.weights).for_each(|(&station, weight)| {
            cell.set_weight(point, station, weight);
        });
        cell.run_until(Instant::ZERO + time);
        let packets = stations.map(|station| cell.deliveries().received[station as usize] as f64);
        let rates = packets.map(|packets| packets * f64::from(PACKET) * 8.0 / time.as_secs_f64() / 1e6);
        let used: [f64; 3] = core::array::from_fn(|n| packets[n] / EXCHANGES[n].1 * EXCHANGES[n].0);
        let sum: f64 = used.iter().sum();
        (rates, self.is_aggregated.then(|| used.map(|used| used / sum)))
    }
}

/// All cases as rows of the page, over 30 s.
pub fn comparisons() -> Vec<Comparison> {
    let mut rows = Vec::new();
    for case in &CASES {
        let (rates, shares) = case.measure(Duration::from_secs(30));
        for station in 0..3 {
            let scene = format!("{}, station {}", case.name, station + 1);
            let row = |quantity, measured, theory, bound| Comparison {
                scene: scene.clone(),
                quantity,
                measured,
                theory,
                bound,
            };
            rows.push(row("Mbit/s", rates[station], case.rates[station], 0.01));
            if let Some(shares) = shares {
                rows.push(row("share of airtime", shares[station], case.shares[station], 0.01));
            }
        }
    }
    rows
}

#[cfg(test)]
mod tests;
