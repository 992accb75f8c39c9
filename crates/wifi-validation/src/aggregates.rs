//! Compares saturated stations of 802.11ax with full aggregates with Bianchi's model and a Monte Carlo of the
//! rule of EDCA.

use whimbrel_units::{Duration, Instant};
use whimbrel_wifi::Phy;
use whimbrel_wifi::aggregation::{AggregateLimits, QOS_OVERHEAD_BYTES};
use whimbrel_wifi::edca::{AccessCategory, CategoryParameters, EdcaConfig, Reservation, TransmitRate};
use whimbrel_wifi::phy::{Format, GuardInterval, Mode, Width};
use whimbrel_wifi::random::{Random, SplitMix64};

use crate::qos_cell::QosCell;
use crate::theory::{AggregateTimes, BackoffChain, HeSingleUser};

/// Bytes of a UDP payload, and of its headers up to LLC.
const PAYLOAD: u32 = 1_472;
const HEADERS: u32 = 36;
/// MPDUs of a block acknowledgement.
const WINDOW: u16 = 64;

/// Busy periods of a batch, of which each of 50 stations takes part in hundreds.
const BATCH: u64 = 5_000;

/// Numbers of stations of the table.
pub const STATIONS: [u32; 10] = [5, 10, 15, 20, 25, 30, 35, 40, 45, 50];

/// All modes of the table: 12 schemes in channels of four widths, one stream.
pub fn modes() -> impl Iterator<Item = Mode> {
    let mode = |mcs, width| {
        Mode::new(Format::He, mcs, 1, width, GuardInterval::Ns800).expect("HE has the scheme at every width")
    };
    (0..12).flat_map(move |mcs| Width::ALL.map(|width| mode(mcs, width)))
}

/// A saturated cell.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Point {
    /// The mode.
    pub mode: Mode,
    /// Saturated stations of best effort.
    pub stations: u32,
}

/// Figures of a cell.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Figures {
    /// Mbit/s of UDP payload.
    pub throughput: f64,
    /// Probability that a transmission collides.
    pub collision: f64,
}

/// Outcomes of busy periods of the rule itself: the winner does not depend on the modes.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Drawn {
    /// Idle slots between AIFS and the busy period, in the mean.
    idle_slots: f64,
    /// Share of busy periods with one transmission.
    success: f64,
    /// Probability that a transmission collides.
    collision: f64,
}

impl Point {
    fn config(self) -> EdcaConfig {
        let config = EdcaConfig::station(Phy::ofdm(), TransmitRate::Mode(self.mode)).synchronous();
        let limits = AggregateLimits { window: WINDOW, ..config.limits };
        let categories =
            config.categories.map(|category| CategoryParameters { txop_limit: Duration::ZERO, ..category });
        EdcaConfig {
            limits,
            categories,
            reservation: Reservation::Exchange,
            buffer: 2 * WINDOW as usize,
            ..config
        }
    }

    fn times(self) -> AggregateTimes {
        let mode = self.mode;
        let (scheme, streams, megahertz) = (mode.mcs(), mode.streams(), mode.width().megahertz());
        HeSingleUser { scheme, streams, megahertz }.full_aggregates(PAYLOAD + HEADERS + QOS_OVERHEAD_BYTES)
    }

    fn bits(self) -> f64 {
        f64::from(PAYLOAD) * 8.0
    }

    /// Bianchi's model (2000), in which every busy period lasts as long: a success has a full aggregate.
    pub fn model(self) -> Figures {
        let times = self.times();
        let operation = BackoffChain::new(15, 1_023).solve(self.stations);
        let stations = f64::from(self.stations);
        let idle = libm::pow(1.0 - operation.transmission, stations);
        let success =
            stations * operation.transmission * libm::pow(1.0 - operation.transmission, stations - 1.0);
        let time = idle * times.slot + (1.0 - idle) * times.success;
        Figures {
            throughput: success * f64::from(times.mpdus) * self.bits() / time,
            collision: operation.collision,
        }
    }

    /// The figures of drawn busy periods.
    pub fn of_drawn(self, drawn: &Drawn) -> Figures {
        let times = self.times();
        let time = drawn.idle_slots * times.slot + times.success;
        let throughput = drawn.success * f64::from(times.mpdus) * self.bits() / time;
        Figures { throughput, collision: drawn.collision }
    }

    /// The figures of the machines on the medium. The run ends when the throughput is known to `precision`:
    /// half of its interval of 95 %, as a share.
    pub fn measure(self, precision: f64, seed: u64) -> Figures {
        let config = self.config();
        let mut cell = QosCell::new(seed);
        let receiver = cell.add_qos(&config);
        let category = AccessCategory::BestEffort;
        let senders: Vec<u32> = (0..self.stations).map(|_| cell.add_qos(&config)).collect();
        for &sender in &senders {
            cell.saturate(sender, receiver, category, PAYLOAD + HEADERS);
        }
        let packets = |cell: &QosCell| cell.deliveries().packets.iter().sum::<u64>();
        let batch = Duration::from_nanos((self.times().success * 1e3) as u64) * BATCH;
        // The first batch does not count.
        let mut end = Instant::ZERO + batch;
        cell.run_until(end);
        let mut batches = BatchMeans::default();
        while !batches.is_known_to(precision) {
            let before = packets(&cell);
            end += batch;
            cell.run_until(end);
            batches.add((packets(&cell) - before) as f64);
        }
        let throughput = batches.mean() * self.bits() / batch.as_secs_f64() / 1e6;
        let counters: Vec<_> = senders.iter().map(|&sender| cell.qos(sender).counters(category)).collect();
        let attempts: u64 = counters.iter().map(|counters| counters.attempts).sum();
        let failed: u64 = counters.iter().map(|counters| counters.failed_attempts).sum();
        Figures { throughput, collision: failed as f64 / attempts.max(1) as f64 }
    }
}

/// The mean of a process by the means of batches that are long enough to be independent.
#[derive(Default)]
struct BatchMeans {
    count: f64,
    sum: f64,
    squares: f64,
}

impl BatchMeans {
    fn add(&mut self, value: f64) {
        self.count += 1.0;
        self.sum += value;
        self.squares += value * value;
    }

    fn mean(&self) -> f64 {
        self.sum / self.count
    }

    /// `true` if half of the interval of 95 % is at most this share of the mean. A few batches prove
    /// nothing: runs whose variance seems small would end too early.
    fn is_known_to(&self, precision: f64) -> bool {
        let variance = (self.squares - self.sum * self.mean()) / (self.count - 1.0);
        let half = 2.0 * libm::sqrt(variance / self.count);
        self.count >= 40.0 && half <= precision * self.mean()
    }
}

/// Draws busy periods of saturated stations of best effort after a tenth of them, which do not count: the
/// counter of a station is decremented at each boundary, also at that at which others transmit.
pub fn draw(stations: usize, periods: u64, seed: u64) -> Drawn {
    let mut random = SplitMix64::new(seed);
    let mut windows = vec![15_u64; stations];
    let mut counters: Vec<u64> = windows.iter().map(|window| random.below(window + 1)).collect();
    let (mut idle, mut won, mut attempts, mut failed) = (0, 0_u64, 0, 0);
    for period in 0..periods + periods / 10 {
        if period == periods / 10 {
            (idle, won, attempts, failed) = (0, 0, 0, 0);
        }
        let boundary = counters.iter().copied().min().unwrap_or(0);
        let senders = counters.iter().filter(|&&counter| counter == boundary).count() as u64;
        idle += boundary;
        won += u64::from(senders == 1);
        attempts += senders;
        failed += if senders == 1 { 0 } else { senders };
        for (counter, window) in counters.iter_mut().zip(&mut windows) {
            if *counter == boundary {
                *window = if senders == 1 { 15 } else { (*window * 2 + 1).min(1_023) };
                *counter = random.below(*window + 1);
            } else {
                *counter -= boundary + 1;
            }
        }
    }
    let share = |count: u64, of: u64| count as f64 / of as f64;
    Drawn {
        idle_slots: share(idle, periods),
        success: share(won, periods),
        collision: share(failed, attempts),
    }
}

#[cfg(test)]
mod tests;
