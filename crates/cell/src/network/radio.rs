//! The radio channels between all stations and terminals.

use alloc::boxed::Box;
use alloc::vec::Vec;

use whimbrel_units::random::{Random, SplitMix64};
use whimbrel_units::{Duration, Instant};

use super::Mobility;
use super::config::{NetworkConfig, RadioConfig, ReportConfig};
use crate::amc::lte::Direction;
use crate::cell::Channel;
use crate::handover::CellIndex;
use crate::level::{Decibels, Milliwatts, PowerLevel};
use crate::numerology::Numerology;
use crate::radio::budget::noise;
use crate::radio::{Comb, CqiReports, Cycles, Fading, Field, Hertz, LineOfSight, Metres, Place, Shadowing};
use crate::scheduler::UserIndex;

/// Time for which path loss and shadows count as constant: 0.7 m at 120 km/h.
pub(super) const EPOCH: Duration = Duration::from_millis(20);
/// Frequencies of a carrier at which fading is evaluated.
const FREQUENCIES: usize = 6;
const SPEED_OF_LIGHT: f64 = 299_792_458.0;

/// A station.
struct Site {
    place: Place,
    radio: RadioConfig,
    shadow: Field,
    sight: LineOfSight,
    /// Noise of the whole carrier at a terminal, and of the uplink's blocks at the station.
    noise: [Milliwatts; 2],
    /// Frequencies of the carrier at which fading counts; `None` without fading.
    comb: Option<Comb<FREQUENCIES>>,
    /// Shares of the resource blocks in use, in downlink and uplink.
    load: [f64; 2],
}

/// Power that a terminal receives from each station in an epoch, without fast fading.
#[derive(Clone, Default)]
struct Received {
    epoch: Option<u64>,
    powers: Vec<PowerLevel>,
    /// Ratios of downlink and uplink.
    ratios: Vec<[f64; 2]>,
}

/// Fast fading of a terminal's link to a station, and its last values.
struct Faded {
    cell: usize,
    fading: Box<Fading>,
    /// Of the last transmission, and of the last report.
    last: [(Option<Instant>, [f64; FREQUENCIES]); 2],
}

struct Terminal {
    /// Epochs of even and odd numbers: reports are of the one before.
    received: [Received; 2],
    faded: Option<Faded>,
    reports: [CqiReports; 2],
    /// The last report of each direction: cell, time of the measurement, ratio.
    reported: [Option<(usize, Instant, Decibels)>; 2],
    /// Of a terminal that exists for its load.
    fixed: Option<Place>,
}

/// All channels. Values are functions of places and times: no query changes another.
pub(super) struct Radio<M> {
    pub(super) mobility: M,
    sites: Vec<Site>,
    shadowing: Option<Shadowing>,
    terminals: Vec<Terminal>,
    reports: ReportConfig,
    least_speed: f64,
    streams: SplitMix64,
}

impl<M: Mobility> Radio<M> {
    pub(super) fn new(config: &NetworkConfig, mobility: M) -> Self {
        let streams = SplitMix64::new(config.seed);
        let has_shadows = config.shadowing.deviation > Decibels::ZERO;
        let seed = streams.stream(1).next_u64();
        let shadowing = Shadowing::new(config.shadowing.deviation, config.shadowing.distance, 0.5, seed);
        let site = |(number, site): (usize, &super::SiteConfig)| {
            let radio = site.radio.clone();
            let numerology = site.cell.numerology;
            let bandwidth = site.cell.groups.blocks.hertz(numerology);
            Site {
                place: site.place,
                shadow: shadowing.site(number as u32),
                sight: LineOfSight::new(
                    radio.path_loss.environment,
                    streams.stream(2).stream(number as u64).next_u64(),
                ),
                noise: noises(&radio, bandwidth, numerology),
                comb: radio.fading.map(|profile| {
                    let offset = |part| Hertz(bandwidth * ((part as f64 + 0.5) / FREQUENCIES as f64 - 0.5));
                    Comb::new(profile, core::array::from_fn(offset))
                }),
                load: [site.cell.load; 2],
                radio,
            }
        };
        Self {
            mobility,
            sites: config.sites.iter().enumerate().map(site).collect(),
            shadowing: has_shadows.then_some(shadowing),
            terminals: Vec::new(),
            reports: config.reports,
            least_speed: config.least_speed,
            streams,
        }
    }

    /// Adds a terminal; one of the background has a place of its own.
    pub(super) fn add_terminal(&mut self, fixed: Option<Place>) {
        let seed = self.streams.stream(3).stream(self.terminals.len() as u64);
        let ReportConfig { period, delay, error } = self.reports;
        let reports = |number| CqiReports::new(period, delay, error, seed.stream(number).next_u64());
        let received = Received {
            epoch: None,
            powers: Vec::with_capacity(self.sites.len()),
            ratios: Vec::with_capacity(self.sites.len()),
        };
        self.terminals.push(Terminal {
            received: [received.clone(), received],
            faded: None,
            reports: [reports(0), reports(1)],
            reported: [None; 2],
            fixed,
        });
    }

    pub(super) fn set_load(&mut self, cell: usize, load: [f64; 2]) {
        self.sites[cell].load = load;
    }

    fn received(&mut self, now: Instant, user: UserIndex) -> &Received {
        let epoch = now.as_nanos() / EPOCH.as_nanos();
        let Self { mobility, sites, shadowing, terminals, .. } = self;
        let terminal = &mut terminals[user.0 as usize];
        let received = &mut terminal.received[(epoch % 2) as usize];
        if received.epoch != Some(epoch) {
            received.epoch = Some(epoch);
            let start = Instant::ZERO + EPOCH * epoch;
            let place = terminal.fixed.unwrap_or_else(|| mobility.place(user, start));
            received.powers.clear();
            let common = shadowing.as_ref().map_or(Decibels::ZERO, |shadowing| shadowing.common(place));
            let power = |site: &Site| site.power_at(place, shadowing.as_ref()) - common;
            received.powers.extend(sites.iter().map(power));
            received.ratios.clear();
            for number in 0..sites.len() {
                let ratios = [
                    down_ratio(sites, &received.powers, number),
                    up_ratio(sites, received.powers[number], number),
                ];
                received.ratios.push(ratios);
            }
        }
        received
    }

    /// Power that a terminal receives from each station, without fast fading.
    pub(super) fn levels(
        &mut self,
        now: Instant,
        user: UserIndex,
        levels: &mut Vec<(CellIndex, PowerLevel)>,
    ) {
        levels.clear();
        let received = self.received(now, user);
        levels.extend((0..).map(CellIndex).zip(received.powers.iter().copied()));
    }

    /// The ratio of the downlink of each cell at a terminal, without fast fading.
    pub(super) fn ratios(&mut self, now: Instant, user: UserIndex, ratios: &mut Vec<(CellIndex, Decibels)>) {
        ratios.clear();
        let received = self.received(now, user);
        let own = received.ratios.iter().map(|ratios| Decibels::from_ratio(ratios[0]));
        ratios.extend((0..).map(CellIndex).zip(own));
    }

    /// The ratio over the whole carrier, with fast fading.
    fn sinr(
        &mut self,
        now: Instant,
        user: UserIndex,
        (cell, is_report): (usize, bool),
        direction: Direction,
    ) -> Decibels {
        let mean = self.received(now, user).ratios[cell][direction as usize];
        let gains = self.gains(now, user, cell, is_report);
        // The mean of log2(1 + ratio) over the frequencies, as the logarithm of a product.
        let product: f64 = gains.iter().map(|gain| 1.0 + mean * gain).product();
        Decibels::from_ratio(libm::exp2(libm::log2(product) / FREQUENCIES as f64) - 1.0)
    }

    fn gains(&mut self, now: Instant, user: UserIndex, cell: usize, is_report: bool) -> [f64; FREQUENCIES] {
        let Self { mobility, sites, terminals, streams, least_speed, .. } = self;
        let site = &sites[cell];
        let (Some(profile), Some(comb)) = (site.radio.fading, &site.comb) else { return [1.0; FREQUENCIES] };
        let terminal = &mut terminals[user.0 as usize];
        if terminal.faded.as_ref().is_none_or(|faded| faded.cell != cell) {
            let mut stream = streams.stream(4).stream(u64::from(user.0)).stream(cell as u64);
            let fading = Box::new(Fading::new(profile, stream.next_u64()));
            terminal.faded = Some(Faded { cell, fading, last: [(None, [1.0; FREQUENCIES]); 2] });
        }
        let Some(faded) = &mut terminal.faded else { return [1.0; FREQUENCIES] };
        let last = &mut faded.last[usize::from(is_report)];
        if last.0 != Some(now) {
            let own = if terminal.fixed.is_some() { Metres(0.0) } else { mobility.travelled(user, now) };
            let metres = own.0 + *least_speed * (now - Instant::ZERO).as_secs_f64();
            let cycles = Cycles(metres * site.radio.path_loss.carrier.0 / SPEED_OF_LIGHT);
            *last = (Some(now), faded.fading.response(cycles).gains(comb));
        }
        last.1
    }

    /// The channels of a cell.
    pub(super) fn of_cell(&mut self, cell: usize) -> CellChannel<'_, M> {
        CellChannel { radio: self, cell }
    }
}

impl Site {
    /// The power at a place, without fast fading and the shadow that all sites have in common.
    fn power_at(&self, place: Place, shadowing: Option<&Shadowing>) -> PowerLevel {
        let (x, y) = (place.x - self.place.x, place.y - self.place.y);
        // At distance 0 the path loss has no value.
        let ground = Metres(libm::sqrt(x * x + y * y).max(1.0));
        let sight = self.radio.sight.unwrap_or_else(|| self.sight.sight(place, ground));
        let loss = self.radio.path_loss.loss(ground, sight) + self.radio.penetration;
        let shadow = shadowing.map_or(Decibels::ZERO, |shadowing| shadowing.own(&self.shadow, place));
        self.radio.power + self.radio.gain - loss - shadow
    }
}

fn noises(radio: &RadioConfig, bandwidth: f64, numerology: Numerology) -> [Milliwatts; 2] {
    let [terminal, station] = radio.noise_figures;
    let uplink = radio.uplink_blocks.hertz(numerology);
    [noise(Hertz(bandwidth), terminal).power(), noise(Hertz(uplink), station).power()]
}

/// Others on the carrier of a cell, with their powers.
fn others(sites: &[Site], number: usize) -> impl Iterator<Item = (usize, &Site)> {
    let carrier = sites[number].radio.path_loss.carrier;
    let all = sites.iter().enumerate();
    all.filter(move |(other, site)| *other != number && site.radio.path_loss.carrier == carrier)
}

fn down_ratio(sites: &[Site], powers: &[PowerLevel], number: usize) -> f64 {
    let interference: Milliwatts =
        others(sites, number).map(|(other, site)| powers[other].power().scaled(site.load[0])).sum();
    powers[number].power() / (sites[number].noise[0] + interference)
}

fn up_ratio(sites: &[Site], received: PowerLevel, number: usize) -> f64 {
    let site = &sites[number];
    let radio = &site.radio;
    // The loss without the antenna's gain, which power control does not know.
    let loss = radio.power + radio.gain - received;
    let power = radio.power_control.power(radio.uplink_blocks, loss);
    let (sum, count) = others(sites, number)
        .fold((0.0, 0.0), |(sum, count), (_, site)| (sum + site.load[1], count + 1.0_f64));
    let rise = Decibels(radio.uplink_rise.0 * sum / count.max(1.0));
    (power + radio.gain - loss - rise).power() / site.noise[1]
}

/// The channels of one cell.
pub(super) struct CellChannel<'a, M> {
    radio: &'a mut Radio<M>,
    cell: usize,
}

impl<M: Mobility> Channel for CellChannel<'_, M> {
    fn sinr(&mut self, now: Instant, user: UserIndex, direction: Direction) -> Decibels {
        self.radio.sinr(now, user, (self.cell, false), direction)
    }

    fn reported(&mut self, now: Instant, user: UserIndex, direction: Direction) -> Decibels {
        let ReportConfig { period, delay, .. } = self.radio.reports;
        let terminal = &self.radio.terminals[user.0 as usize];
        // The number of the report decides whether the last one is still the newest.
        let age = now.as_nanos().saturating_sub(delay.as_nanos());
        let measured_at = Instant::from_nanos(age / period.as_nanos() * period.as_nanos());
        if let Some((cell, at, ratio)) = terminal.reported[direction as usize]
            && (cell, at) == (self.cell, measured_at)
        {
            return ratio;
        }
        let newest = terminal.reports[direction as usize].newest(now);
        let error = newest.map_or(Decibels::ZERO, |report| report.error);
        let ratio = self.radio.sinr(measured_at, user, (self.cell, true), direction) + error;
        self.radio.terminals[user.0 as usize].reported[direction as usize] =
            Some((self.cell, measured_at, ratio));
        ratio
    }
}
