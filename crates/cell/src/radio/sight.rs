//! Places that see a site.

use super::field::{Field, Place};
use super::path_loss::{Environment, Metres, Sight};

/// Line of sight between a site and places: a share of the places at each distance (TR 38.901, Table
/// 7.4.2-1), in patches.
#[derive(Clone, PartialEq, Debug)]
pub struct LineOfSight {
    environment: Environment,
    patches: Field,
}

impl LineOfSight {
    /// The places that see the site of this seed. Patches have the size of 50 m (TR 38.901, Table 7.6.3.1-2),
    /// 60 m in the country.
    pub fn new(environment: Environment, seed: u64) -> Self {
        let size = if matches!(environment, Environment::RuralMacro { .. }) { 60.0 } else { 50.0 };
        Self { environment, patches: Field::new(Metres(size), seed) }
    }

    /// The share of the places at this distance from which a terminal in the street sees its site; 0 in laws
    /// without line of sight.
    pub fn probability(environment: Environment, ground: Metres) -> f64 {
        let distance = ground.0;
        let town = |scale: f64| {
            if distance <= 18.0 {
                1.0
            } else {
                18.0 / distance + libm::exp(-distance / scale) * (1.0 - 18.0 / distance)
            }
        };
        match environment {
            Environment::UrbanMacro => town(63.0),
            Environment::UrbanMicro => town(36.0),
            Environment::RuralMacro { .. } if distance <= 10.0 => 1.0,
            Environment::RuralMacro { .. } => libm::exp(-(distance - 10.0) / 1000.0),
            _ => 0.0,
        }
    }

    /// Sight of the site at this distance.
    pub fn sight(&self, place: Place, ground: Metres) -> Sight {
        // The field's value is normal, hence its distribution function uniform.
        let uniform = 0.5 * libm::erfc(-self.patches.value(place) / core::f64::consts::SQRT_2);
        if uniform < Self::probability(self.environment, ground) { Sight::Line } else { Sight::Obstructed }
    }
}

#[cfg(test)]
mod tests;
