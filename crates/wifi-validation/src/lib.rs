//! Compares the machines of 802.11 with theory, published figures and ns-2. A development crate: only tests
//! use it.
//!
//! A [`Case`] is a saturated cell. [`Case::compare`] runs it three times: as machines on the medium, as the
//! slotted Monte Carlo, and in closed form. All three use [`MacConfig::synchronous`], whose rule after a
//! collision is stated in the case. [`scenes`] has small scenes for which theory has an answer,
//! [`adaptation`] compares rate adaptation with the best fixed rate, [`minstrel_ht`] likewise, [`mixes`] the
//! classes of EDCA with a Monte Carlo, [`airtime`] the shares of fast and slow stations with those computed
//! on paper, [`ns2`] the machines under ns-2's rules with ns-2's figures; [`exchange`] draws an exchange,
//! [`waypoint`] compares random waypoint with its stationary distributions, [`convergence`](mod@convergence)
//! the times of routing protocols with their timers. The models are in [`theory`], the small event loop under
//! all of it is [`cell`]. `cargo run --release -p whimbrel-wifi-validation` prints the tables of the page.
//!
//! # Design
//!
//! - The DCF is held to theory and to ns-2: `make validation` computes Validation of 802.11, among it 480
//!   saturated cells against the model of Bianchi and Tinnirello (1 %) and a slotted Monte Carlo (0.5 % in
//!   throughput, 0.003 in the collision probability), the interframe space after a collision stated, and
//!   recorded figures of ns-2.35. All runs are deterministic, so `make test` compares a part of the page with
//!   the code byte by byte. The crate `wifi-validation` has scenes, models, and `cell`, an event loop small
//!   enough for tests.

pub mod aggregates;
pub mod airtime;
pub mod cell;
pub mod convergence;
pub mod exchange;
pub mod minstrel_ht;
pub mod mixes;
mod noisy_link;
pub mod ns2;
pub mod qos_cell;
pub mod scenes;
pub mod theory;
pub mod waypoint;

use whimbrel_units::Instant;

pub use noisy_link::{Adaptation, NoisyLink, adaptation};

use crate::cell::Cell;
use crate::theory::{BackoffChain, ExchangeTimes, MonteCarlo, MonteCarloResult, saturation};
use whimbrel_wifi::dcf::{AfterCollision, MacConfig};
use whimbrel_wifi::phy::{Modulation, Phy, Preamble, Rate};

/// Payload counted as throughput, in bytes.
pub const PAYLOAD_BYTES: u32 = 1_500;
/// LLC and SNAP headers in front of the payload, in bytes.
const LLC_BYTES: u32 = 8;

/// A saturated cell.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Case {
    /// Data rate: 802.11b with the long preamble, or 802.11g without 802.11b stations.
    pub rate: Rate,
    /// Saturated stations.
    pub stations: u16,
    /// `true` if RTS/CTS precedes every data frame.
    pub uses_rts: bool,
    /// Attempts per payload; `None` for no limit.
    pub retry_limit: Option<u16>,
    /// Interframe space after a collision.
    pub after_collision: AfterCollision,
}

/// Throughputs in Mbit/s and collision probabilities of a case.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Comparison {
    /// Throughput of the machines.
    pub throughput: f64,
    /// Collision probability of the machines: attempts without a response.
    pub collision: f64,
    /// Throughput of the Monte Carlo.
    pub drawn_throughput: f64,
    /// Collision probability of the Monte Carlo.
    pub drawn_collision: f64,
    /// Throughput of the refined model, which has no retry limit.
    pub exact_throughput: Option<f64>,
}

impl Comparison {
    /// Relative deviation of the throughput from the refined model.
    pub fn from_exact(&self) -> Option<f64> {
        Some(self.throughput / self.exact_throughput? - 1.0)
    }

    /// Relative deviation of the throughput from the Monte Carlo.
    pub fn from_drawn(&self) -> f64 {
        self.throughput / self.drawn_throughput - 1.0
    }

    /// Deviation of the collision probability from the Monte Carlo.
    pub fn collision_from_drawn(&self) -> f64 {
        self.collision - self.drawn_collision
    }
}

impl Case {
    /// All combinations of these numbers of stations with the rates of 802.11b and 802.11g, basic access and
    /// RTS/CTS, no retry limit and 7 attempts, DIFS and EIFS after a collision.
    pub fn all(stations: &[u16]) -> impl Iterator<Item = Self> {
        Rate::ALL.into_iter().flat_map(move |rate| {
            (0..8 * stations.len()).map(move |index| Self {
                rate,
                stations: stations[index / 8],
                uses_rts: index & 4 != 0,
                retry_limit: (index & 2 != 0).then_some(7),
                after_collision: if index & 1 == 0 { AfterCollision::Difs } else { AfterCollision::Eifs },
            })
        })
    }

    /// Configuration of the stations.
    pub fn config(&self) -> MacConfig {
        let phy = match self.rate.modulation() {
            Modulation::Ofdm => Phy::erp_ofdm(),
            Modulation::Dsss | Modulation::HrDsss => Phy::hr_dsss(Preamble::Long),
        };
        MacConfig {
            rts_threshold: if self.uses_rts { 0 } else { 2_347 },
            short_retry_limit: self.retry_limit,
            long_retry_limit: self.retry_limit,
            ..MacConfig::synchronous(phy, self.rate, self.after_collision)
        }
    }

    /// The slotted form of the case.
    pub fn slotted(&self) -> MonteCarlo {
        let phy = self.config().phy;
        MonteCarlo {
            stations: usize::from(self.stations),
            cw_min: phy.cw_min,
            cw_max: phy.cw_max,
            retry_limit: self.retry_limit,
            near: 0,
        }
    }

    /// Runs the machines for about `busy_periods` busy periods, after a tenth as many that do not count, and
    /// compares them with the [slotted form](Self::slotted) as drawn.
    pub fn compare(&self, slotted: &MonteCarloResult, busy_periods: u64, seed: u64) -> Comparison {
        let config = self.config();
        let frame_bytes = PAYLOAD_BYTES + LLC_BYTES + config.header_bytes;
        let times = ExchangeTimes::new(&config, frame_bytes, self.after_collision);
        let drawn_rate = slotted.payload_rate(times);

        let successes =
            busy_periods as f64 * slotted.successes as f64 / (slotted.successes + slotted.collisions) as f64;
        let duration = successes / drawn_rate;
        let mut cell = Cell::saturated(&config, usize::from(self.stations), PAYLOAD_BYTES + LLC_BYTES, seed);
        let warm_up = Instant::from_secs_f64(0.1 * duration);
        let end = Instant::from_secs_f64(1.1 * duration);
        cell.run_until(warm_up);
        let before = totals(&cell);
        cell.run_until(end);
        let after = totals(&cell);
        let chain = BackoffChain::new(config.phy.cw_min, config.phy.cw_max);
        let exact = saturation(chain, times, u32::from(self.stations)).refined;
        Comparison {
            throughput: megabits((after[0] - before[0]) as f64 / (end - warm_up).as_secs_f64()),
            collision: (after[2] - before[2]) as f64 / (after[1] - before[1]) as f64,
            drawn_throughput: megabits(drawn_rate),
            drawn_collision: slotted.collision_probability(),
            exact_throughput: self.retry_limit.is_none().then_some(megabits(exact)),
        }
    }
}

/// Throughput in Mbit/s of this many payloads of [`PAYLOAD_BYTES`] per second.
fn megabits(payload_rate: f64) -> f64 {
    payload_rate * f64::from(PAYLOAD_BYTES) * 8e-6
}

/// Payloads delivered, attempts and failed attempts since the beginning.
fn totals(cell: &Cell) -> [u64; 3] {
    cell.machines().iter().map(|machine| machine.counters()).fold(
        [0; 3],
        |[delivered, attempts, failed], one| {
            [delivered + one.delivered, attempts + one.attempts, failed + one.failed_attempts]
        },
    )
}

#[cfg(test)]
mod tests;
