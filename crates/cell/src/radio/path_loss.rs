//! Attenuation over distance.
//!
//! TR 38.901, Table 7.4.1-1 (UMa, UMi, RMa), and the models of older studies of LTE. Heights and distances
//! are in metres, frequencies of the formulas in GHz.

use core::f64::consts::PI;

use libm::{hypot, log10};

use crate::level::Decibels;

/// A distance in metres.
#[derive(Clone, Copy, PartialEq, PartialOrd, Default, Debug)]
pub struct Metres(pub f64);

/// A frequency or a bandwidth in Hz.
#[derive(Clone, Copy, PartialEq, PartialOrd, Default, Debug)]
pub struct Hertz(pub f64);

impl Hertz {
    /// So many GHz.
    pub fn from_gigahertz(gigahertz: f64) -> Self {
        Self(gigahertz * 1e9)
    }

    fn gigahertz(self) -> f64 {
        self.0 / 1e9
    }
}

/// Sight between terminal and site.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Sight {
    /// LOS.
    Line,
    /// NLOS.
    Obstructed,
}

/// A law of attenuation.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Environment {
    /// Above the roofs of a town: TR 38.901, UMa.
    UrbanMacro,
    /// In the streets of a town: TR 38.901, UMi.
    UrbanMicro,
    /// The country: TR 38.901, RMa.
    RuralMacro {
        /// Height of the buildings, 5 m on average.
        buildings: Metres,
        /// Width of the streets, 20 m on average.
        streets: Metres,
    },
    /// Town without line of sight at 2 GHz: TR 36.942, Section 4.5.2.
    Macro36942,
    /// Above the roofs, without line of sight, of 20 m: TR 36.814, Table B.1.2.1-1, UMa.
    ItuUrbanMacro,
    /// In the streets, without line of sight: TR 36.814, Table B.1.2.1-1, UMi.
    ItuUrbanMicro,
}

/// The speed of light that TR 38.901 has in its breakpoints, m/s.
const BREAKPOINT_LIGHT_SPEED: f64 = 3.0e8;

/// Attenuation between a site and terminals.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct PathLoss {
    /// The law.
    pub environment: Environment,
    /// Frequency of the carrier.
    pub carrier: Hertz,
    /// Height of the site's antenna.
    pub site_height: Metres,
    /// Height of the terminals.
    pub terminal_height: Metres,
}

impl PathLoss {
    /// The law with the usual heights: sites of 25, 10 and 35 m, terminals of 1.5 m.
    pub const fn new(environment: Environment, carrier: Hertz) -> Self {
        let site_height = Metres(match environment {
            Environment::UrbanMicro | Environment::ItuUrbanMicro => 10.0,
            Environment::RuralMacro { .. } => 35.0,
            _ => 25.0,
        });
        Self { environment, carrier, site_height, terminal_height: Metres(1.5) }
    }

    /// The loss over a distance on the ground. Laws without line of sight have one loss for both.
    pub fn loss(&self, ground: Metres, sight: Sight) -> Decibels {
        let frequency = self.carrier.gigahertz();
        let distance = hypot(ground.0, self.site_height.0 - self.terminal_height.0);
        let line = match self.environment {
            Environment::UrbanMacro => self.broken(ground.0, distance, (28.0, 22.0, 9.0)),
            Environment::UrbanMicro => self.broken(ground.0, distance, (32.4, 21.0, 9.5)),
            Environment::RuralMacro { buildings, .. } => self.rural_line(ground.0, distance, buildings.0),
            Environment::Macro36942 => return Decibels(128.1 + 37.6 * log10(ground.0 / 1000.0)),
            Environment::ItuUrbanMacro => return Decibels(self.macro_obstructed(ground.0, 20.0, 20.0)),
            Environment::ItuUrbanMicro => {
                return Decibels(36.7 * log10(ground.0) + 22.7 + 26.0 * log10(frequency));
            }
        };
        if sight == Sight::Line {
            return Decibels(line);
        }
        let above = self.terminal_height.0 - 1.5;
        let obstructed = match self.environment {
            Environment::UrbanMicro => 22.4 + 35.3 * log10(distance) + 21.3 * log10(frequency) - 0.3 * above,
            Environment::RuralMacro { buildings, streets } => {
                self.macro_obstructed(distance, buildings.0, streets.0)
            }
            _ => 13.54 + 39.08 * log10(distance) + 20.0 * log10(frequency) - 0.6 * above,
        };
        Decibels(line.max(obstructed))
    }

    /// The law of a town with line of sight, steeper beyond the breakpoint.
    fn broken(&self, ground: f64, distance: f64, (offset, slope, correction): (f64, f64, f64)) -> f64 {
        let (site, terminal) = (self.site_height.0, self.terminal_height.0);
        let breakpoint = 4.0 * (site - 1.0) * (terminal - 1.0) * self.carrier.0 / BREAKPOINT_LIGHT_SPEED;
        let by_frequency = 20.0 * log10(self.carrier.gigahertz());
        if ground <= breakpoint {
            return offset + slope * log10(distance) + by_frequency;
        }
        let heights = site - terminal;
        offset + 40.0 * log10(distance) + by_frequency
            - correction * log10(breakpoint * breakpoint + heights * heights)
    }

    /// The law of the country with line of sight.
    fn rural_line(&self, ground: f64, distance: f64, buildings: f64) -> f64 {
        let raised = libm::pow(buildings, 1.72);
        let near = |distance: f64| {
            20.0 * log10(40.0 * PI * distance * self.carrier.gigahertz() / 3.0)
                + (0.03 * raised).min(10.0) * log10(distance)
                - (0.044 * raised).min(14.77)
                + 0.002 * log10(buildings) * distance
        };
        let breakpoint =
            2.0 * PI * self.site_height.0 * self.terminal_height.0 * self.carrier.0 / BREAKPOINT_LIGHT_SPEED;
        if ground <= breakpoint {
            near(distance)
        } else {
            near(breakpoint) + 40.0 * log10(distance / breakpoint)
        }
    }

    /// The law without line of sight that RMa and the older UMa share.
    fn macro_obstructed(&self, distance: f64, buildings: f64, streets: f64) -> f64 {
        let site = self.site_height.0;
        let ratio = buildings / site;
        let terminal = log10(11.75 * self.terminal_height.0);
        161.04 - 7.1 * log10(streets) + 7.5 * log10(buildings) - (24.37 - 3.7 * ratio * ratio) * log10(site)
            + (43.42 - 3.1 * log10(site)) * (log10(distance) - 3.0)
            + 20.0 * log10(self.carrier.gigahertz())
            - (3.2 * terminal * terminal - 4.97)
    }
}

#[cfg(test)]
mod tests;
