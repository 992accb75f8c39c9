//! The figures of a direction, from the log of its arrivals.

use serde::Serialize;
use whimbrel_inspect::losses::LossRecording;
use whimbrel_units::Instant;

use super::Mode;
use super::probe::{Arrival, Class};

/// Bytes of a delivery opportunity of mahimahi's traces.
const OPPORTUNITY: u64 = 1_500;
/// Length of a step of the rate.
const STEP_US: i64 = 500_000;

/// A direction's arrivals on the client's clock, relative to the start of its load.
#[derive(Clone, Debug)]
pub(super) struct Direction {
    pub(super) mode: Mode,
    /// In the order of arrival; times in microseconds.
    pub(super) packets: Vec<Arrival>,
    /// Number of probes sent by class.
    pub(super) sent: [u64; 3],
    /// Length of the load in microseconds.
    pub(super) load_us: i64,
}

/// The summary of a direction.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub(super) struct Summary {
    /// Mean rate of the path, with headers: of what arrived under saturation, or the median of the trains.
    pub(super) rate_bps: Option<f64>,
    /// Probes of the load.
    pub(super) sent: u64,
    /// Of these, lost; under saturation mostly by the queue.
    pub(super) lost: u64,
    /// Mean length of the bursts of losses.
    pub(super) mean_burst: Option<f64>,
    /// One-way delays in seconds: of the empty path, and of the load.
    pub(super) delay_min_s: f64,
    pub(super) delay_p50_s: Option<f64>,
    pub(super) delay_p95_s: Option<f64>,
    pub(super) delay_max_s: Option<f64>,
}

impl Direction {
    fn of(&self, class: Class) -> impl Iterator<Item = &Arrival> {
        self.packets.iter().filter(move |packet| packet.class == class)
    }

    /// The probes of the load that arrived while it lasted, or shortly after.
    fn load(&self) -> impl Iterator<Item = &Arrival> {
        self.of(Class::Load)
    }

    /// The least delay of all probes, in microseconds.
    pub(super) fn base_delay_us(&self) -> i64 {
        self.packets.iter().map(|packet| packet.arrived_us - packet.sent_us).min().unwrap_or(0).max(0)
    }

    /// The milliseconds, on the clock of the path's exit, at which 1500 bytes had passed; mahimahi's trace.
    /// The last one is the end of the load.
    ///
    /// Time zero is a base delay after the beginning of the load: the earliest time a probe can arrive.
    pub(super) fn deliveries(&self) -> Vec<u64> {
        let (base, end) = (self.base_delay_us(), self.load_us);
        let mut arrivals: Vec<(i64, u64)> =
            self.load().map(|packet| (packet.arrived_us - base, u64::from(packet.bytes))).collect();
        arrivals.sort_unstable();
        let mut stamps = Vec::new();
        let mut bytes = 0;
        for (at, size) in arrivals.into_iter().filter(|(at, _)| (0..end).contains(at)) {
            bytes += size;
            while bytes >= OPPORTUNITY {
                bytes -= OPPORTUNITY;
                // The millisecond in which it passed; zero would be lost at the beginning of a replay.
                stamps.push((at.cast_unsigned() / 1000 + 1).min(end.cast_unsigned() / 1000));
            }
        }
        // The trace repeats at its last stamp. An end without a delivery needs one all the same.
        let last = end.cast_unsigned() / 1000;
        if stamps.last().is_some_and(|stamp| *stamp < last) {
            stamps.push(last);
        }
        stamps
    }

    /// The rate in steps: (second of the load, bit/s).
    pub(super) fn rates(&self) -> Vec<(f64, f64)> {
        match self.mode {
            Mode::Saturate => self.rates_of_load(),
            Mode::Gentle => self.rates_of_trains(),
        }
    }

    fn rates_of_load(&self) -> Vec<(f64, f64)> {
        let base = self.base_delay_us();
        let steps = (self.load_us / STEP_US).max(1);
        let mut bits = vec![0.0; steps as usize];
        for packet in self.load() {
            let at = packet.arrived_us - base;
            if let Ok(step) = usize::try_from(at.div_euclid(STEP_US))
                && step < bits.len()
            {
                bits[step] += 8.0 * f64::from(packet.bytes);
            }
        }
        let length = (STEP_US as f64 * 1e-6).min(self.load_us as f64 * 1e-6);
        (0..).zip(bits).map(|(step, bits)| (f64::from(step) * length, bits / length)).collect()
    }

    /// The dispersion of each train: the bytes behind its first packet by the time that they took to arrive.
    fn rates_of_trains(&self) -> Vec<(f64, f64)> {
        let mut found: Vec<(f64, f64)> = Vec::new();
        let mut packets: Vec<&Arrival> = self.of(Class::Train).collect();
        packets.sort_unstable_by_key(|packet| packet.number);
        for train in packets.chunk_by(|a, b| a.number / 16 == b.number / 16) {
            let [first, .., last] = train else { continue };
            let time = last.arrived_us - first.arrived_us;
            // With missing packets, the dispersion still covers the packets between, except for the lost
            // ones.
            if train.len() < 8 || time <= 0 {
                continue;
            }
            let bits: f64 = train[1..].iter().map(|packet| 8.0 * f64::from(packet.bytes)).sum();
            let at = (first.sent_us as f64 * 1e-6).max(0.0);
            if found.last().is_none_or(|(before, _)| *before < at) {
                found.push((at, bits / (time as f64 * 1e-6)));
            }
        }
        found
    }

    /// The losses of the load, in time by the sending of their neighbours.
    pub(super) fn losses(&self) -> Option<LossRecording> {
        let mut packets: Vec<&Arrival> = self.load().collect();
        packets.sort_unstable_by_key(|packet| packet.number);
        let at = |us: i64| Instant::from_nanos(us.max(0).cast_unsigned().saturating_mul(1000));
        let packets = packets.iter().map(|packet| (packet.number, at(packet.sent_us))).collect();
        LossRecording::of_packets("recorded probes".into(), packets)
    }

    /// The figures.
    pub(super) fn summary(&self) -> Summary {
        let mut delays: Vec<i64> = self.load().map(|packet| packet.arrived_us - packet.sent_us).collect();
        delays.sort_unstable();
        let quantile = |share: f64| {
            let index = ((delays.len() as f64 - 1.0) * share).round();
            delays.get(index.max(0.0) as usize).map(|us| *us as f64 / 1e6)
        };
        let mut rates: Vec<f64> = self.rates().into_iter().map(|(_, rate)| rate).collect();
        let rate = match self.mode {
            Mode::Saturate => (!rates.is_empty()).then(|| rates.iter().sum::<f64>() / rates.len() as f64),
            Mode::Gentle => {
                rates.sort_by(f64::total_cmp);
                rates.get(rates.len() / 2).copied()
            }
        };
        let mut numbers: Vec<u64> = self.load().map(|packet| packet.number).collect();
        numbers.sort_unstable();
        numbers.dedup();
        let sent = self.sent[Class::Load.index()];
        let losses = self.losses();
        let bursts: u64 = losses.iter().flat_map(|found| found.runs.bursts().into_values()).sum();
        Summary {
            rate_bps: rate,
            sent,
            lost: sent.saturating_sub(numbers.len() as u64),
            mean_burst: losses.filter(|_| bursts > 0).map(|found| found.runs.lost() as f64 / bursts as f64),
            delay_min_s: self.base_delay_us() as f64 / 1e6,
            delay_p50_s: quantile(0.5),
            delay_p95_s: quantile(0.95),
            delay_max_s: quantile(1.0),
        }
    }
}

#[cfg(test)]
mod tests;
