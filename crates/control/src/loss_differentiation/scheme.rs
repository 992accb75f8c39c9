//! The algorithms by name.

use alloc::boxed::Box;
use core::fmt;
use core::str::FromStr;

use super::{Biaz, Inherent, LossDifferentiation, Omniscient, Parameters, Standing, Zbs};

/// Name of an algorithm, as spelled in configurations and commands.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[non_exhaustive]
pub enum Scheme {
    /// [`Biaz::new`](super::Biaz::new).
    Biaz,
    /// [`Biaz::modified`](super::Biaz::modified).
    ModifiedBiaz,
    /// [`Spike::new`](super::Spike::new).
    Spike,
    /// [`ZigZag::new`](super::ZigZag::new).
    ZigZag,
    /// [`Zbs::new`].
    Zbs,
    /// [`Zbs::zbs2`].
    Zbs2,
    /// [`Zbs::zbs3`].
    Zbs3,
    /// [`Inherent::new`].
    Inherent,
    /// [`Standing::new`].
    Standing,
    /// [`Omniscient`]; requires a simulator.
    Omniscient,
}

impl Scheme {
    /// All schemes.
    pub const ALL: [Self; 10] = [
        Self::Biaz,
        Self::ModifiedBiaz,
        Self::Spike,
        Self::ZigZag,
        Self::Zbs,
        Self::Zbs2,
        Self::Zbs3,
        Self::Inherent,
        Self::Standing,
        Self::Omniscient,
    ];

    /// The name: `biaz`, `mbiaz`, `spike`, `zigzag`, `zbs`, `zbs2`, `zbs3`, `inherent`, `standing` or
    /// `omniscient`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Biaz => "biaz",
            Self::ModifiedBiaz => "mbiaz",
            Self::Spike => "spike",
            Self::ZigZag => "zigzag",
            Self::Zbs => "zbs",
            Self::Zbs2 => "zbs2",
            Self::Zbs3 => "zbs3",
            Self::Inherent => "inherent",
            Self::Standing => "standing",
            Self::Omniscient => "omniscient",
        }
    }

    /// `true` if the algorithm uses trip times, so that packets must carry their send times.
    pub const fn needs_send_times(self) -> bool {
        !matches!(self, Self::Biaz | Self::ModifiedBiaz | Self::Omniscient)
    }

    /// Builds the algorithm, without statistics, with the parameters of its source.
    pub fn build(self) -> Box<dyn LossDifferentiation> {
        self.build_with(&Parameters::PUBLISHED)
    }

    /// Builds the algorithm, without statistics, with the `parameters` that apply to it.
    pub fn build_with(self, parameters: &Parameters) -> Box<dyn LossDifferentiation> {
        match self {
            Self::Biaz => Box::new(parameters.biaz(Biaz::UPPER)),
            Self::ModifiedBiaz => Box::new(parameters.biaz(parameters.modified_upper)),
            Self::Spike => Box::new(parameters.spike()),
            Self::ZigZag => Box::new(parameters.zigzag()),
            Self::Zbs => Box::new(Zbs::new().with(*parameters)),
            Self::Zbs2 => Box::new(Zbs::zbs2().with(*parameters)),
            Self::Zbs3 => Box::new(Zbs::zbs3().with(*parameters)),
            Self::Inherent => Box::new(Inherent::new()),
            Self::Standing => Box::new(Standing::new()),
            Self::Omniscient => Box::new(Omniscient::new()),
        }
    }
}

impl fmt::Display for Scheme {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// Error for an unknown scheme name.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct UnknownScheme;

impl fmt::Display for UnknownScheme {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("expected one of")?;
        for (i, scheme) in Scheme::ALL.into_iter().enumerate() {
            write!(f, "{} {scheme}", if i == 0 { "" } else { "," })?;
        }
        Ok(())
    }
}

impl core::error::Error for UnknownScheme {}

impl FromStr for Scheme {
    type Err = UnknownScheme;
    fn from_str(name: &str) -> Result<Self, UnknownScheme> {
        Self::ALL.into_iter().find(|scheme| scheme.name() == name).ok_or(UnknownScheme)
    }
}
