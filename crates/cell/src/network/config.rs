//! The parameters of a network.

use alloc::vec::Vec;

use whimbrel_units::{ByteCount, DataRate, Duration, Instant};

use crate::cell::CellConfig;
use crate::handover::{A3Config, CellIndex, HandoverConfig, RadioLinkConfig};
use crate::level::{Decibels, PowerLevel};
use crate::numerology::ResourceBlocks;
use crate::radio::budget::PowerControl;
use crate::radio::{DelayProfile, Environment, Hertz, Metres, PathLoss, Place, Sight};

/// Radio of a base station, and of the terminals that it serves.
#[derive(Clone, PartialEq, Debug)]
pub struct RadioConfig {
    /// Attenuation over distance.
    pub path_loss: PathLoss,
    /// Sight between terminals and the station; `None` if the place decides.
    pub sight: Option<Sight>,
    /// Loss of walls or cars around the terminals.
    pub penetration: Decibels,
    /// Transmit power.
    pub power: PowerLevel,
    /// Gain of the station's antenna.
    pub gain: Decibels,
    /// Noise figures of terminals and station.
    pub noise_figures: [Decibels; 2],
    /// Power control of the uplink.
    pub power_control: PowerControl,
    /// Resource blocks on which a terminal divides its power.
    pub uplink_blocks: ResourceBlocks,
    /// Rise of the uplink's noise by terminals of other cells, if these are full.
    pub uplink_rise: Decibels,
    /// Fast fading; `None` for none.
    pub fading: Option<DelayProfile>,
}

impl RadioConfig {
    /// A macro station in a town with the usual powers, at a carrier.
    pub fn urban(carrier: Hertz, blocks: ResourceBlocks) -> Self {
        Self {
            path_loss: PathLoss::new(Environment::UrbanMacro, carrier),
            sight: None,
            penetration: Decibels::ZERO,
            power: PowerLevel(46.0),
            gain: Decibels(14.0),
            noise_figures: [Decibels(9.0), Decibels(5.0)],
            power_control: PowerControl {
                target: PowerLevel(-78.0),
                compensation: 0.8,
                limit: PowerLevel(23.0),
            },
            uplink_blocks: ResourceBlocks((blocks.0 / 4).max(1)),
            uplink_rise: Decibels(6.0),
            fading: Some(DelayProfile::Eva),
        }
    }
}

/// Users of a cell that exist for the load that they make.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Background {
    /// Number of users, at rest and evenly distributed around the station.
    pub users: u32,
    /// Greatest distance from the station.
    pub radius: Metres,
    /// Mean download rate of a user.
    pub rate: DataRate,
    /// Mean size of a download; sizes and times between downloads are exponential.
    pub size: ByteCount,
}

/// A base station.
#[derive(Clone, PartialEq, Debug)]
pub struct SiteConfig {
    /// Position.
    pub place: Place,
    /// Its link layer.
    pub cell: CellConfig,
    /// Its radio.
    pub radio: RadioConfig,
    /// Background users; `None` for none.
    pub background: Option<Background>,
}

/// Shadows.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct ShadowingConfig {
    /// The standard deviation; 0 for no shadows.
    pub deviation: Decibels,
    /// The distance over which the correlation falls to 1/e.
    pub distance: Metres,
}

/// Reports of the CQI.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct ReportConfig {
    /// Time between measurements.
    pub period: Duration,
    /// From a measurement until the station can use it.
    pub delay: Duration,
    /// Standard deviation of a measurement.
    pub error: Decibels,
}

/// A network.
#[derive(Clone, PartialEq, Debug)]
pub struct NetworkConfig {
    /// The base stations.
    pub sites: Vec<SiteConfig>,
    /// Shadows.
    pub shadowing: ShadowingConfig,
    /// The speed in m/s with which a channel changes at least: what moves around a terminal at rest.
    pub least_speed: f64,
    /// Reports of the CQI.
    pub reports: ReportConfig,
    /// Reports of better cells, which lead to handovers; `None` for handovers at given times only.
    pub a3: Option<A3Config>,
    /// Durations of handovers.
    pub handover: HandoverConfig,
    /// `true` if the old cell hands on what it holds.
    pub forwards: bool,
    /// Detection that a cell is lost.
    pub radio_link: RadioLinkConfig,
    /// Root of all random numbers.
    pub seed: u64,
}

/// A terminal.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TerminalConfig {
    /// The cell that serves it first.
    pub cell: CellIndex,
    /// Handovers at given times: the time of the command and the new cell, in the order of time.
    pub planned: Vec<(Instant, CellIndex)>,
}
