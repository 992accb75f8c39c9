//! Fast fading: echoes with delays, each a sum of waves that a moving terminal meets at its speed.

use core::f64::consts::TAU;

use whimbrel_units::random::{Random, SplitMix64};

use super::path_loss::Hertz;
use super::turns::{sine_cosine, sines_cosines};

/// Wavelengths travelled, the argument of fading: at constant speed the Doppler shift times the time.
///
/// A terminal that stops keeps its channel, and one that changes its speed meets the same fades faster.
#[derive(Clone, Copy, PartialEq, PartialOrd, Default, Debug)]
pub struct Cycles(pub f64);

/// The greatest Doppler shift at a speed in metres per second.
pub fn doppler_shift(carrier: Hertz, metres_per_second: f64) -> Hertz {
    Hertz(metres_per_second * carrier.0 / SPEED_OF_LIGHT)
}

const SPEED_OF_LIGHT: f64 = 299_792_458.0;

/// A delay in ns and a power in dB of an echo.
type Tap = (f64, f64);

/// The echoes of a channel (TS 36.104, Annex B.2).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DelayProfile {
    /// One path: all frequencies fade together.
    Flat,
    /// Extended Pedestrian A.
    Epa,
    /// Extended Vehicular A.
    Eva,
    /// Extended Typical Urban.
    Etu,
}

impl DelayProfile {
    const fn taps(self) -> &'static [Tap] {
        match self {
            // Three echoes of no delay: the more waves, the nearer deep fades are to theory.
            Self::Flat => &[(0.0, 0.0); 3],
            Self::Epa => &[
                (0.0, 0.0),
                (30.0, -1.0),
                (70.0, -2.0),
                (90.0, -3.0),
                (110.0, -8.0),
                (190.0, -17.2),
                (410.0, -20.8),
            ],
            Self::Eva => &[
                (0.0, 0.0),
                (30.0, -1.5),
                (150.0, -1.4),
                (310.0, -3.6),
                (370.0, -0.6),
                (710.0, -9.1),
                (1090.0, -7.0),
                (1730.0, -12.0),
                (2510.0, -16.9),
            ],
            Self::Etu => &[
                (0.0, -1.0),
                (50.0, -1.0),
                (120.0, -1.0),
                (200.0, 0.0),
                (230.0, 0.0),
                (500.0, 0.0),
                (1600.0, -3.0),
                (2300.0, -5.0),
                (5000.0, -7.0),
            ],
        }
    }

    /// The root mean square of the delays, weighted by power, in ns.
    pub fn delay_spread_ns(self) -> f64 {
        let power = |decibels: f64| libm::pow(10.0, decibels / 10.0);
        let total: f64 = self.taps().iter().map(|tap| power(tap.1)).sum();
        let moment = |order: i32| -> f64 {
            self.taps()
                .iter()
                .map(|tap| power(tap.1) * if order == 1 { tap.0 } else { tap.0 * tap.0 })
                .sum::<f64>()
                / total
        };
        libm::sqrt(moment(2) - moment(1) * moment(1))
    }
}

/// Waves of an echo.
const WAVES: usize = 12;
/// Echoes of the longest profile.
const TAPS: usize = 9;

/// An echo.
#[derive(Clone, Copy, PartialEq, Default, Debug)]
struct Echo {
    seconds: f64,
    /// Amplitude of each wave.
    amplitude: f64,
    /// Cosines of the angles between waves and the direction of travel.
    directions: [f64; WAVES],
    /// Phases of the waves in turns.
    phases: [f64; WAVES],
}

/// A complex amplitude.
type Complex = (f64, f64);

/// Rayleigh fading of one link with Jakes' spectrum and mean power 1.
///
/// The waves of an echo come from equal sectors around the terminal, with random phases and a random
/// orientation of the sectors, so that autocorrelation and crossings are the theory's on average over links
/// (Zheng and Xiao, IEEE Trans. Comm. 51(6), 2003).
#[derive(Clone, PartialEq, Debug)]
pub struct Fading {
    echoes: [Echo; TAPS],
    count: usize,
}

/// The echoes at one moment, from which the gain of each frequency follows.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Response {
    echoes: [(f64, Complex); TAPS],
    count: usize,
}

impl Fading {
    /// The fading of a link, named by its seed.
    pub fn new(profile: DelayProfile, seed: u64) -> Self {
        let mut random = SplitMix64::new(seed);
        let taps = profile.taps();
        let total: f64 = taps.iter().map(|tap| libm::pow(10.0, tap.1 / 10.0)).sum();
        let mut echoes = [Echo::default(); TAPS];
        for (echo, tap) in echoes.iter_mut().zip(taps) {
            let orientation = random.uniform();
            echo.seconds = tap.0 * 1e-9;
            echo.amplitude = libm::sqrt(libm::pow(10.0, tap.1 / 10.0) / total / WAVES as f64);
            for (number, direction) in echo.directions.iter_mut().enumerate() {
                *direction = libm::cos(TAU * (number as f64 + orientation) / WAVES as f64);
            }
            echo.phases = core::array::from_fn(|_| random.uniform());
        }
        Self { echoes, count: taps.len() }
    }

    /// The echoes after the terminal has travelled so far.
    pub fn response(&self, travelled: Cycles) -> Response {
        let mut echoes = [(0.0, (0.0, 0.0)); TAPS];
        for (found, echo) in echoes.iter_mut().zip(&self.echoes[..self.count]) {
            let turns = |wave: usize| travelled.0 * echo.directions[wave] + echo.phases[wave];
            let (sines, cosines) = sines_cosines::<WAVES>(turns);
            let sum = (cosines.iter().sum::<f64>(), sines.iter().sum::<f64>());
            *found = (echo.seconds, (sum.0 * echo.amplitude, sum.1 * echo.amplitude));
        }
        Response { echoes, count: self.count }
    }
}

/// Frequencies at which gains are wanted, with what they do to each echo.
#[derive(Clone, PartialEq, Debug)]
pub struct Comb<const N: usize> {
    rotations: [[Complex; TAPS]; N],
}

impl<const N: usize> Comb<N> {
    /// Frequencies relative to the middle of the carrier, for a profile.
    pub fn new(profile: DelayProfile, offsets: [Hertz; N]) -> Self {
        let rotations = offsets.map(|offset| {
            let mut rotations = [(0.0, 0.0); TAPS];
            for (rotation, tap) in rotations.iter_mut().zip(profile.taps()) {
                let (sine, cosine) = sine_cosine(-offset.0 * tap.0 * 1e-9);
                *rotation = (cosine, sine);
            }
            rotations
        });
        Self { rotations }
    }
}

impl Response {
    /// The power gains at the frequencies of a comb: [`gain`](Self::gain) at each.
    pub fn gains<const N: usize>(&self, comb: &Comb<N>) -> [f64; N] {
        comb.rotations.map(|rotations| {
            let mut sum = (0.0, 0.0);
            for (&(_, (real, imaginary)), (cosine, sine)) in self.echoes[..self.count].iter().zip(rotations) {
                sum = (sum.0 + real * cosine - imaginary * sine, sum.1 + real * sine + imaginary * cosine);
            }
            sum.0 * sum.0 + sum.1 * sum.1
        })
    }

    /// The complex gain at a frequency, relative to the middle of the carrier.
    fn amplitude(&self, offset: Hertz) -> Complex {
        let mut sum = (0.0, 0.0);
        for &(seconds, (real, imaginary)) in &self.echoes[..self.count] {
            let (sine, cosine) = sine_cosine(-offset.0 * seconds);
            sum = (sum.0 + real * cosine - imaginary * sine, sum.1 + real * sine + imaginary * cosine);
        }
        sum
    }

    /// The power gain at a frequency, relative to the middle of the carrier: exponential with mean 1.
    pub fn gain(&self, offset: Hertz) -> f64 {
        let (real, imaginary) = self.amplitude(offset);
        real * real + imaginary * imaginary
    }
}

#[cfg(test)]
mod tests;
