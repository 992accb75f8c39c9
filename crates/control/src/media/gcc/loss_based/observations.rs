//! Observations of losses, each over at least 250 ms of sending time.

use alloc::collections::VecDeque;
use alloc::vec::Vec;

use whimbrel_units::{ByteCount, Duration, Instant};

use super::LossBasedConfig;
use crate::media::PacketReport;

/// Observations from which the extremes are left out of the average.
const FROM_WHICH_TRIMMED: u32 = 4;

/// Bytes sent and lost in an observation.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Observation {
    /// Size of all packets, in 1000 bytes.
    pub(super) size: f64,
    /// Size of the lost packets, in 1000 bytes.
    pub(super) lost: f64,
    /// Sending rate, in bit/s.
    pub(super) rate: f64,
}

/// The last observations, the latest first.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Observations {
    window: usize,
    duration: Duration,
    weight: f64,
    median_factor: f64,
    observations: VecDeque<Observation>,
    count: u32,
    last_sent: Option<Instant>,
    average_loss: f64,
    /// Bytes of the observation that is not complete, and its lost packets, which may still be reported as
    /// arrived.
    size: ByteCount,
    lost: Vec<(u64, ByteCount)>,
    /// Sending rates in order, for the median.
    rates: Vec<f64>,
}

impl Observations {
    pub(super) fn new(config: &LossBasedConfig) -> Self {
        Self {
            window: config.window.max(2),
            duration: config.observation,
            weight: config.temporal_weight,
            median_factor: config.median_factor,
            observations: VecDeque::new(),
            count: 0,
            last_sent: None,
            average_loss: 0.0,
            size: ByteCount::ZERO,
            lost: Vec::new(),
            rates: Vec::new(),
        }
    }

    /// Number of observations so far.
    pub(super) const fn count(&self) -> u32 {
        self.count
    }

    /// Sending time of the last packet of the last observation.
    pub(super) const fn last_sent(&self) -> Instant {
        match self.last_sent {
            Some(at) => at,
            None => Instant::ZERO,
        }
    }

    /// Average loss ratio, without the observations of the least and the greatest loss.
    pub(super) const fn average_loss(&self) -> f64 {
        self.average_loss
    }

    /// The observations with their weights, the latest first.
    pub(super) fn weighted(&self) -> impl Iterator<Item = (f64, Observation)> {
        let mut weight = 1.0 / self.weight;
        self.observations.iter().map(move |observation| {
            weight *= self.weight;
            (weight, *observation)
        })
    }

    /// Records the packets of a report; `true` if an observation is complete.
    pub(super) fn record(&mut self, packets: &[PacketReport]) -> bool {
        let (Some(first), Some(last)) = (
            packets.iter().map(|packet| packet.sent.sent_at).min(),
            packets.iter().map(|packet| packet.sent.sent_at).max(),
        ) else {
            return false;
        };
        for packet in packets {
            let sent = packet.sent;
            if packet.arrival().is_none() {
                self.lost.push((sent.sequence, sent.size));
            } else if let Some(index) = self.lost.iter().position(|(lost, _)| *lost == sent.sequence) {
                // The packet was reported missing within this observation, and counted then.
                self.lost.swap_remove(index);
                continue;
            }
            self.size += sent.size;
        }
        let duration = last.saturating_since(*self.last_sent.get_or_insert(first));
        if duration.is_zero() || duration < self.duration {
            return false;
        }
        self.last_sent = Some(last);
        let size = core::mem::replace(&mut self.size, ByteCount::ZERO);
        let lost: ByteCount = self.lost.drain(..).map(|(_, size)| size).sum();
        if self.observations.len() >= self.window {
            self.observations.pop_back();
        }
        let rate = (size / duration).as_bits_per_second();
        self.observations.push_front(Observation {
            size: size.as_f64() / 1e3,
            lost: lost.as_f64() / 1e3,
            rate,
        });
        self.count = self.count.saturating_add(1);
        self.average_loss = self.compute_average_loss();
        true
    }

    fn compute_average_loss(&mut self) -> f64 {
        let (mut size, mut lost) = (0.0, 0.0);
        let (mut least, mut greatest) = (1.0, 0.0);
        // Weighted sizes and losses of the observations of the least and the greatest loss.
        let (mut least_lost, mut least_size, mut greatest_lost, mut greatest_size) = (0.0, 0.0, 0.0, 0.0);
        let mut greatest_rate = 0.0;
        for (weight, observation) in self.weighted() {
            size += weight * observation.size;
            lost += weight * observation.lost;
            let loss = if observation.size > 0.0 { observation.lost / observation.size } else { 0.0 };
            if self.count < FROM_WHICH_TRIMMED {
                continue;
            }
            if loss > greatest {
                (greatest, greatest_rate) = (loss, observation.rate);
                (greatest_lost, greatest_size) = (weight * observation.lost, weight * observation.size);
            }
            if loss < least {
                least = loss;
                (least_lost, least_size) = (weight * observation.lost, weight * observation.size);
            }
        }
        if size <= 0.0 {
            return 0.0;
        }
        let trimmed = size - least_size - greatest_size;
        // Losses of a sender that suddenly sends much more are no outlier.
        if self.median_rate() * self.median_factor <= greatest_rate || trimmed <= 1e-9 * size {
            return lost / size;
        }
        (lost - least_lost - greatest_lost) / trimmed
    }

    fn median_rate(&mut self) -> f64 {
        self.rates.clear();
        self.rates.extend(self.observations.iter().map(|observation| observation.rate));
        self.rates.sort_unstable_by(f64::total_cmp);
        let middle = self.rates.len() / 2;
        match self.rates.as_slice() {
            [] => 0.0,
            rates if rates.len() % 2 == 0 => (rates[middle - 1] + rates[middle]) / 2.0,
            rates => rates[middle],
        }
    }
}
