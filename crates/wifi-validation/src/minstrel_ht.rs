//! Minstrel-HT of one saturated sender, compared with the best fixed mode at each ratio of signal to noise.

use whimbrel_units::{Duration, Instant};
use whimbrel_wifi::Phy;
use whimbrel_wifi::aggregation::AggregateLimits;
use whimbrel_wifi::edca::{AccessCategory, Adaptation, EdcaConfig, TransmitRate};
use whimbrel_wifi::phy::{Format, GuardInterval, Mode, Width};

use crate::qos_cell::QosCell;
use crate::scenes::Comparison;

/// Largest deviation from the best fixed modes' throughput over a range of ratios.
const BOUND: f64 = 0.06;
/// The same with 802.11ac, whose MCS 9 has losses where MCS 8 has few. Linux's estimate counts probabilities
/// above 90 % as 90 % and takes MCS 9; without that limit, the deviation is 3 %.
const VHT_BOUND: f64 = 0.08;
/// Largest deviation at one ratio, where the estimate takes a faster mode with losses.
const WORST: f64 = 0.2;
const PAYLOAD: u32 = 1_472;
const HEADERS: u32 = 36;

/// Mbit/s of a saturated sender in `mode`, or in modes up to it, in a time after the first five seconds.
fn throughput(mode: Mode, window: u16, adaptation: Adaptation, decibels: f64, time: Duration) -> f64 {
    let config = EdcaConfig::station(Phy::ofdm(), TransmitRate::Mode(mode));
    let limits = AggregateLimits { window, ..config.limits };
    let config = EdcaConfig { adaptation, limits, buffer: 2 * usize::from(window), ..config };
    let mut cell = QosCell::new(1);
    let [sender, receiver] = [cell.add_qos(&config), cell.add_qos(&config)];
    cell.saturate(sender, receiver, AccessCategory::BestEffort, PAYLOAD + HEADERS);
    cell.lose_at(decibels);
    let start =
        Instant::ZERO + if adaptation == Adaptation::Fixed { Duration::ZERO } else { Duration::from_secs(5) };
    cell.run_until(start);
    let before = cell.deliveries().packets[sender as usize];
    cell.run_until(start + time);
    let packets = cell.deliveries().packets[sender as usize] - before;
    packets as f64 * f64::from(PAYLOAD) * 8.0 / time.as_secs_f64() / 1e6
}

/// A sender's format, width, streams and window.
#[derive(Clone, Copy, Debug)]
pub struct Sender {
    /// The format.
    pub format: Format,
    /// The width.
    pub width: Width,
    /// Up to this number of streams.
    pub streams: u8,
    /// MPDUs that may be outstanding.
    pub window: u16,
}

/// One stream of 802.11n, two of 802.11ac and 802.11ax.
pub const SENDERS: [Sender; 3] = [
    Sender { format: Format::Ht, width: Width::Mhz20, streams: 1, window: 64 },
    Sender { format: Format::Vht, width: Width::Mhz80, streams: 2, window: 64 },
    Sender { format: Format::He, width: Width::Mhz80, streams: 2, window: 256 },
];

impl Sender {
    fn bound(self) -> f64 {
        if self.format == Format::Vht { VHT_BOUND } else { BOUND }
    }

    fn modes(self) -> Vec<Mode> {
        let guards = match self.format {
            Format::Ht | Format::Vht => &[GuardInterval::Ns800, GuardInterval::Ns400][..],
            _ => &[GuardInterval::Ns800],
        };
        let schemes =
            (1..=self.streams).flat_map(|streams| (0..self.format.schemes()).map(move |mcs| (streams, mcs)));
        schemes
            .flat_map(|(streams, mcs)| guards.iter().map(move |&guard| (streams, mcs, guard)))
            .filter_map(|(streams, mcs, guard)| Mode::new(self.format, mcs, streams, self.width, guard).ok())
            .collect()
    }

    /// The throughputs of Minstrel-HT and of the best fixed mode.
    pub fn compare(self, decibels: f64, time: Duration) -> [f64; 2] {
        let modes = self.modes();
        let of = |mode, adaptation| throughput(mode, self.window, adaptation, decibels, time);
        let best = modes.iter().map(|&mode| of(mode, Adaptation::Fixed)).fold(0.0, f64::max);
        let widest = modes.last().copied().expect("a format with modes");
        [of(widest, Adaptation::MinstrelHt), best]
    }
}

/// Rows of the page.
pub fn comparisons() -> Vec<Comparison> {
    let mut rows = Vec::new();
    for sender in SENDERS {
        let Sender { format, width, streams, .. } = sender;
        let name = format!("{format} x {streams}, {} MHz", width.megahertz());
        let row = |scene, [measured, theory]: [f64; 2], bound| Comparison {
            scene,
            quantity: "Mbit/s",
            measured,
            theory,
            bound,
        };
        let mut sums = [0.0; 2];
        for decibels in (4..=28).step_by(4) {
            let found = sender.compare(f64::from(decibels), Duration::from_secs(1));
            sums.iter_mut().zip(found).for_each(|(sum, found)| *sum += found);
            rows.push(row(format!("{name}, {decibels} dB"), found, WORST));
        }
        rows.push(row(format!("{name}, sum"), sums, sender.bound()));
    }
    rows
}

#[cfg(test)]
mod tests;
