//! The radio of a cell, from its keys.

use whimbrel_cell::ResourceBlocks;
use whimbrel_cell::level::{Decibels, Milliwatts};
use whimbrel_cell::network::{self, RadioConfig};
use whimbrel_cell::radio::{DelayProfile, Environment, Hertz, Metres, PathLoss};
use whimbrel_units::{ByteCount, DataRate};

use super::super::quoted;
use crate::cell::{Cell, Fading, Preset, Propagation, Sight};
use crate::error::ScenarioError;

/// The most users of a cell's background.
const MOST_USERS: u32 = 1_000;

pub(super) fn plan(
    key: &str,
    cell: &Cell,
    carrier: Hertz,
    blocks: ResourceBlocks,
) -> Result<RadioConfig, ScenarioError> {
    let keys = &cell.radio;
    let usual = RadioConfig::urban(carrier, blocks);
    let (power, gain) = match cell.preset {
        Preset::Lte | Preset::Nr => (usual.power.0, 14.0),
        Preset::NrFr1Tdd => (44.0, 8.0),
    };
    let figure = if cell.preset == Preset::Lte { 9.0 } else { 7.0 };
    let level = match keys.power {
        Some(power) if power.0 <= 0.0 => {
            let found = quoted(&format!("{} W", power.0));
            return Err(ScenarioError::invalid(format!("{key}.radio.power"), found, "a power above zero"));
        }
        Some(power) => Milliwatts(power.0 * 1e3).level().0,
        None => power,
    };
    let not_negative = |name: &str, value: Option<crate::quantity::Decibels>, default: f64| match value {
        Some(value) if value.0 < 0.0 => {
            let found = quoted(&format!("{} dB", value.0));
            Err(ScenarioError::invalid(format!("{key}.radio.{name}"), found, "at least 0 dB"))
        }
        value => Ok(Decibels(value.map_or(default, |value| value.0))),
    };
    let environment = match keys.propagation {
        Propagation::Uma => Environment::UrbanMacro,
        Propagation::Umi => Environment::UrbanMicro,
        Propagation::Rma => Environment::RuralMacro { buildings: Metres(5.0), streets: Metres(20.0) },
        Propagation::Macro => Environment::Macro36942,
    };
    let sight = keys.sight.map(|sight| match sight {
        Sight::Line => whimbrel_cell::radio::Sight::Line,
        Sight::Obstructed => whimbrel_cell::radio::Sight::Obstructed,
    });
    Ok(RadioConfig {
        path_loss: PathLoss::new(environment, carrier),
        sight,
        penetration: not_negative("penetration", keys.penetration, 0.0)?,
        power: whimbrel_cell::PowerLevel(level),
        gain: Decibels(keys.gain.map_or(gain, |gain| gain.0)),
        noise_figures: [not_negative("noise_figure", keys.noise_figure, figure)?, usual.noise_figures[1]],
        fading: match keys.fading.unwrap_or(Fading::Eva) {
            Fading::None => None,
            Fading::Flat => Some(DelayProfile::Flat),
            Fading::Epa => Some(DelayProfile::Epa),
            Fading::Eva => Some(DelayProfile::Eva),
            Fading::Etu => Some(DelayProfile::Etu),
        },
        ..usual
    })
}

pub(super) fn background(key: &str, cell: &Cell) -> Result<Option<network::Background>, ScenarioError> {
    let Some(keys) = cell.background else { return Ok(None) };
    let wrong = |name: &str, found: String, expected: &str| {
        Err(ScenarioError::invalid(format!("{key}.background.{name}"), found, expected))
    };
    let size = keys.size.map_or(ByteCount::new(200_000), |size| size.0);
    let radius = keys.radius.map_or(250.0, |radius| radius.0);
    if keys.users > MOST_USERS {
        return wrong("users", keys.users.to_string(), &format!("at most {MOST_USERS}"));
    }
    if keys.rate.0 < DataRate::from_bits_per_second(1.0) {
        return wrong("rate", quoted(&keys.rate.0.to_string()), "a rate above zero");
    }
    if size == ByteCount::new(0) {
        return wrong("size", quoted("0 B"), "an amount above zero");
    }
    if radius <= 0.0 {
        return wrong("radius", quoted(&format!("{radius} m")), "a length above zero");
    }
    let (users, rate) = (keys.users, keys.rate.0);
    Ok(Some(network::Background { users, radius: Metres(radius), rate, size }))
}
