//! Radio: from a distance to the signal-to-noise ratio of a block, and to its fate.
//!
//! - [`PathLoss`]: attenuation over distance (TR 38.901, TR 36.814, TR 36.942).
//! - [`LineOfSight`]: which places see a site.
//! - [`Shadowing`] and [`Field`]: slow variation over places.
//! - [`Fading`]: fast variation over wavelengths, by echoes with delays.
//! - [`budget`]: powers, noise, interference, power control.
//! - [`error_curve`]: the share of blocks that fail.
//! - [`CqiReports`] and [`OuterLoop`]: what a station knows of the channel, late and with errors.
//!
//! Everything random is a function of a seed, a link and a place or time: neither the order nor the number of
//! queries changes a channel, and a channel that nobody asks costs nothing.

pub mod budget;
pub mod error_curve;
mod fading;
mod field;
mod outer_loop;
mod path_loss;
mod report;
mod sight;
mod turns;

pub use fading::{Comb, Cycles, DelayProfile, Fading, Response, doppler_shift};
pub use field::{Field, Place, Shadowing};
pub use outer_loop::OuterLoop;
pub use path_loss::{Environment, Hertz, Metres, PathLoss, Sight};
pub use report::{CqiReports, Report};
pub use sight::LineOfSight;
