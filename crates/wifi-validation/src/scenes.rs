//! Small scenes for which theory has an answer: one sender, protection, hidden and exposed senders, capture.

use whimbrel_units::{Duration, Instant};
use whimbrel_wifi::dcf::{AfterCollision, MacConfig, Protection};
use whimbrel_wifi::medium::{CaptureRule, Link, MediumConfig};
use whimbrel_wifi::phy::{ACK_BYTES, CTS_BYTES, Phy, Preamble, RTS_BYTES, Rate, RateSet};

use super::{PAYLOAD_BYTES, megabits};
use crate::cell::Cell;
use crate::theory::{BackoffChain, HiddenPair, MonteCarlo, NearFar, SharingPair, SingleSender, monte_carlo};
use whimbrel_wifi::StationIndex;

/// A quantity that was measured in a run of the machines, and its value by theory.
#[derive(Clone, PartialEq, Debug)]
pub struct Comparison {
    /// Description of the scene.
    pub scene: String,
    /// Name and unit of the quantity.
    pub quantity: &'static str,
    /// The quantity in the run.
    pub measured: f64,
    /// The quantity by theory.
    pub theory: f64,
    /// Bound of the relative deviation.
    pub bound: f64,
}

impl Comparison {
    /// Relative deviation from theory.
    pub fn deviation(&self) -> f64 {
        self.measured / self.theory - 1.0
    }

    /// `true` if the deviation is within its bound.
    pub fn holds(&self) -> bool {
        self.deviation().abs() <= self.bound
    }
}

const MBIT: &str = "throughput, Mbit/s";

/// Links of equal power: each station reaches the stations of its list.
fn links(reached: &[&[u32]]) -> Vec<Vec<Link>> {
    let link =
        |&station: &u32| Link { station: StationIndex(station), delay: 0, power: 1e-9, is_corrupted: false };
    reached.iter().map(|stations| stations.iter().map(link).collect()).collect()
}

fn cell(medium: MediumConfig, links: Vec<Vec<Link>>, config: &MacConfig) -> Cell {
    let stations = links.len();
    Cell::new(medium, links, std::iter::repeat_n(config.clone(), stations), 1)
}

/// Additive interference; receivers leave a frame for a stronger one.
fn switching() -> MediumConfig {
    MediumConfig {
        rule: CaptureRule::Interference { switches_to_stronger: true },
        ..MediumConfig::additive()
    }
}

/// Payloads that stations have sent and seen acknowledged, per second of a run.
fn sent_per_second<const N: usize>(cell: &mut Cell, seconds: u64, stations: [usize; N]) -> [f64; N] {
    cell.run_until(Instant::from_secs(seconds));
    stations.map(|station| cell.machines()[station].counters().sent as f64 / seconds as f64)
}

/// 802.11b with control frames at 1 Mbit/s.
fn dsss(data_rate: Rate, rts_threshold: u32) -> MacConfig {
    let phy = Phy { basic: RateSet::new(&[Rate::Dsss1]), ..Phy::hr_dsss(Preamble::Long) };
    MacConfig { rts_threshold, ..MacConfig::standard(phy, data_rate) }
}

const BASIC: u32 = 3_000;
const WITH_RTS: u32 = 0;

fn access(rts_threshold: u32) -> &'static str {
    if rts_threshold == WITH_RTS { "RTS/CTS" } else { "basic access" }
}

/// The maximum throughput of one sender, equation 3 of the paper `winf`: 1500 bytes and 34 bytes of header at
/// each rate of 802.11b. The equation does not round times to microseconds.
pub fn single_sender() -> Vec<Comparison> {
    let rates = [Rate::Dsss1, Rate::Dsss2, Rate::Hr5_5, Rate::Hr11];
    let cases = rates.into_iter().flat_map(|rate| [(rate, BASIC), (rate, WITH_RTS)]);
    let compare = |(rate, rts_threshold)| {
        let config = MacConfig { header_bytes: 34, ..dsss(rate, rts_threshold) };
        let mut cell = Cell::saturated(&config, 1, PAYLOAD_BYTES, 1);
        let [_, sent] = sent_per_second(&mut cell, 200, [0, 1]);
        let theory = SingleSender::new(&config.phy, rate, Rate::Dsss1, 34, rts_threshold == WITH_RTS);
        Comparison {
            scene: format!("802.11b, {rate}, {}", access(rts_threshold)),
            quantity: MBIT,
            measured: megabits(sent),
            theory: theory.megabits_per_second(PAYLOAD_BYTES),
            bound: 0.002,
        }
    };
    cases.map(compare).collect()
}

/// The cost of protection: one 802.11g sender at 54 Mbit/s with the short slot, with the long slot that
/// 802.11b stations require, and with frames that reserve the medium at 11 Mbit/s in addition.
pub fn protection() -> Vec<Comparison> {
    let reserving = Rate::Hr11;
    let mixed = || Phy::erp_mixed(Preamble::Long);
    let cases = [
        ("short slot", Phy::erp_ofdm(), Protection::None),
        ("long slot", mixed(), Protection::None),
        ("long slot, CTS-to-self", mixed(), Protection::CtsToSelf { rate: reserving }),
        ("long slot, RTS/CTS", mixed(), Protection::RtsCts { rate: reserving }),
    ];
    let compare = |(name, phy, protection): (&str, Phy, Protection)| {
        let config = MacConfig { protection, ..MacConfig::standard(phy.clone(), Rate::Ofdm54) };
        let mut cell = Cell::saturated(&config, 1, PAYLOAD_BYTES, 1);
        let [_, sent] = sent_per_second(&mut cell, 60, [0, 1]);
        let micros = |time: Duration| time.as_nanos() as f64 / 1e3;
        let control = |bytes| micros(phy.duration(reserving, bytes) + phy.sifs);
        let reservation = match protection {
            Protection::None => 0.0,
            Protection::CtsToSelf { .. } => control(CTS_BYTES),
            Protection::RtsCts { .. } => control(RTS_BYTES) + control(CTS_BYTES),
        };
        let data = phy.duration(Rate::Ofdm54, PAYLOAD_BYTES + config.header_bytes);
        let ack = phy.duration(Rate::Ofdm24, ACK_BYTES);
        let backoff = f64::from(phy.cw_min) / 2.0 * micros(phy.slot);
        let period = micros(phy.difs() + data + phy.sifs + ack) + backoff + reservation;
        Comparison {
            scene: format!("802.11g, 54 Mbit/s, {name}"),
            quantity: MBIT,
            measured: megabits(sent),
            theory: megabits(1e6 / period),
            bound: 0.001,
        }
    };
    cases.into_iter().map(compare).collect()
}

/// Two senders that do not sense each other, and a receiver between them: frames without acknowledgements,
/// short ones, about as long as an RTS, and long ones.
pub fn hidden() -> Vec<Comparison> {
    let phy = Phy::hr_dsss(Preamble::Long);
    let frames = [(217_u32, 350_u64, 31), (217, 350, 255), (1_536, 1_310, 255), (1_536, 1_310, 1_023)];
    let compare = |(bytes, micros, window): (u32, u64, u16)| {
        let phy = Phy { cw_min: window, cw_max: window, ..phy.clone() };
        debug_assert_eq!(phy.duration(Rate::Hr11, bytes), Duration::from_micros(micros));
        let group_rate = Rate::Hr11;
        let config = MacConfig { group_rate, ..MacConfig::standard(phy, Rate::Hr11) };
        let mut cell = cell(MediumConfig::additive(), links(&[&[1], &[0, 2], &[1]]), &config);
        for sender in [0, 2] {
            cell.saturate_group(sender, bytes - config.header_bytes);
        }
        cell.run_until(Instant::from_secs(400));
        let theory = HiddenPair { window: u64::from(window) + 1, slot: 20, difs: 50, frame: micros };
        let sent: u64 = cell.machines().iter().map(|machine| machine.counters().sent).sum();
        Comparison {
            scene: format!("frames of {micros} us, backoff 0 to {window}"),
            quantity: "share received",
            measured: cell.machines()[1].counters().delivered as f64 / sent as f64,
            theory: theory.success_probability(),
            bound: 0.005,
        }
    };
    frames.map(compare).into()
}

/// Time of an exchange of data frames of 1536 bytes, with the DIFS after it, in nanoseconds.
fn exchange(config: &MacConfig) -> u64 {
    let phy = &config.phy;
    let control = |bytes| phy.duration(config.response_rate(config.data_rate), bytes) + phy.sifs;
    let mut time = phy.duration(config.data_rate, 1_536) + control(ACK_BYTES) + phy.difs();
    if config.uses_rts(1_536) {
        time += control(RTS_BYTES) + control(CTS_BYTES);
    }
    time.as_nanos()
}

fn sharing(config: &MacConfig, extra: [Duration; 2]) -> [f64; 2] {
    SharingPair {
        window: u64::from(config.phy.cw_min) + 1,
        slot: config.phy.slot.as_nanos(),
        exchange: exchange(config),
        extra: extra.map(Duration::as_nanos),
    }
    .rates()
}

/// Exposed senders: two senders that sense each other, two receivers that sense their own sender only. Both
/// could send at once; they share one channel instead, and RTS/CTS makes it no better. The exchanges that
/// begin in the same slot both succeed.
pub fn exposed() -> Vec<Comparison> {
    let mut found = Vec::new();
    for (rate, rts_threshold) in
        [(Rate::Hr11, BASIC), (Rate::Hr11, WITH_RTS), (Rate::Dsss2, BASIC), (Rate::Dsss2, WITH_RTS)]
    {
        let config = dsss(rate, rts_threshold);
        let pair = links(&[&[1, 2], &[0], &[0, 3], &[2]]);
        let mut cell = cell(MediumConfig::additive(), pair, &config);
        cell.saturate(0, 1, 1_508);
        cell.saturate(2, 3, 1_508);
        let [one, other] = sent_per_second(&mut cell, 200, [0, 2]);
        let [theory, _] = sharing(&config, [Duration::ZERO; 2]);
        let scene = format!("{rate}, {}", access(rts_threshold));
        found.push(Comparison {
            scene: format!("{scene}, both"),
            quantity: "frames/s",
            measured: one + other,
            theory: 2.0 * theory,
            bound: 0.002,
        });
        found.push(Comparison {
            scene: format!("{scene}, one of the two"),
            quantity: "frames/s",
            measured: one,
            theory,
            bound: 0.01,
        });
    }
    found
}

/// EIFS as a cause of unfairness: the pairs of [`exposed`], but the second sender is so far from the first
/// pair that it notices its frames and acknowledgements and cannot decode them, while the first sender
/// decodes the second pair's. After each exchange of the first pair the second sender waits for EIFS, 314 us
/// or 15.7 slots more than DIFS.
pub fn extended_space() -> Vec<Comparison> {
    let config = dsss(Rate::Hr11, BASIC);
    let link = |station, power, is_corrupted| Link { station, delay: 0, power, is_corrupted };
    // If both pairs have sent, both acknowledgements reach each sender; its own is the stronger.
    let links = [
        [link(StationIndex(1), 1e-8, false), link(StationIndex(2), 1e-9, true)].to_vec(),
        [link(StationIndex(0), 1e-8, false), link(StationIndex(2), 1e-10, true)].to_vec(),
        [link(StationIndex(3), 1e-8, false), link(StationIndex(0), 1e-9, false)].to_vec(),
        [link(StationIndex(2), 1e-8, false), link(StationIndex(0), 1e-10, false)].to_vec(),
    ];
    let medium = MediumConfig { receive_threshold: 1e-11, ..switching() };
    let mut cell = cell(medium, links.to_vec(), &config);
    cell.saturate(0, 1, 1_508);
    cell.saturate(2, 3, 1_508);
    let sent = sent_per_second(&mut cell, 400, [0, 2]);
    let theory = sharing(&config, [Duration::ZERO, config.phy.eifs() - config.phy.difs()]);
    let compare = |index: usize, scene: &str| Comparison {
        scene: scene.into(),
        quantity: "frames/s",
        measured: sent[index],
        theory: theory[index],
        bound: 0.005,
    };
    [compare(0, "11 Mbit/s, the sender that waits for DIFS"), compare(1, "the sender that waits for EIFS")]
        .into()
}

/// Capture: senders near the receiver, whose frames are received in spite of far senders' frames. The rates
/// are compared with the slotted Monte Carlo, and their ratio with Bianchi's chain of two classes.
pub fn capture() -> Vec<Comparison> {
    let mut found = Vec::new();
    for (near, far) in [(1, 1), (1, 4), (5, 5)] {
        let senders = near + far;
        let config = MacConfig {
            short_retry_limit: None,
            ..MacConfig::synchronous(Phy::hr_dsss(Preamble::Long), Rate::Hr11, AfterCollision::Difs)
        };
        let power = |from: u32, to: u32| {
            // 20 dB at the receiver, station 0. The senders receive acknowledgements only.
            if to == 0 && (1..=near).contains(&from) { 1e-7 } else { 1e-9 }
        };
        let link =
            |from, station| Link { station, delay: 0, power: power(from, station.0), is_corrupted: false };
        let others = |from: u32| {
            (0..=senders).filter(move |&to| to != from).map(move |to| link(from, StationIndex(to))).collect()
        };
        let mut cell = cell(switching(), (0..=senders).map(others).collect(), &config);
        for sender in 1..=senders {
            cell.saturate(sender, 0, 1_508);
        }
        let seconds = 300;
        cell.run_until(Instant::from_secs(seconds));
        let rate = |stations: std::ops::RangeInclusive<u32>| {
            let machines = stations.map(|station| &cell.machines()[station as usize]);
            machines.map(|machine| machine.counters().sent).sum::<u64>() as f64 / seconds as f64
        };
        let (near_rate, far_rate) = (rate(1..=near), rate(near + 1..=senders));
        let phy = &config.phy;
        let slotted = MonteCarlo {
            stations: senders as usize,
            cw_min: phy.cw_min,
            cw_max: phy.cw_max,
            retry_limit: None,
            near: near as usize,
        };
        let drawn = monte_carlo(slotted, 2_000_000, 1);
        let times = crate::theory::ExchangeTimes::new(&config, 1_536, AfterCollision::Difs);
        let total = drawn.payload_rate(times);
        let near_share = drawn.near_successes as f64 / drawn.successes as f64;
        let chain = BackoffChain::new(phy.cw_min, phy.cw_max);
        let model = NearFar { chain, near, far }.unfairness();
        let scene = |what: &str| format!("{near} near, {far} far, {what}");
        found.extend([
            Comparison {
                scene: scene("near"),
                quantity: "frames/s, Monte Carlo",
                measured: near_rate,
                theory: total * near_share,
                bound: 0.01,
            },
            Comparison {
                scene: scene("far"),
                quantity: "frames/s, Monte Carlo",
                measured: far_rate,
                theory: total * (1.0 - near_share),
                bound: 0.01,
            },
            Comparison {
                scene: scene("one near to one far"),
                quantity: "ratio, two-class model",
                measured: near_rate / far_rate * f64::from(far) / f64::from(near),
                theory: model,
                bound: 0.03,
            },
        ]);
    }
    found
}

#[cfg(test)]
mod tests;
