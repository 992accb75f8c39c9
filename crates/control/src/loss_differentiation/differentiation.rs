//! A classifier and how far to believe it, as a configuration.

use alloc::boxed::Box;

use super::{Guard, GuardConfig, LossDifferentiation, Scheme, Witness};

/// How to tell losses apart, and how far to believe it.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Differentiation {
    /// Which algorithm.
    pub scheme: Scheme,
    /// The limits to it. Without any, a mistake is never noticed: that is for experiments.
    pub guard: Option<GuardConfig>,
    /// Whether to [correct](super::ClockSkew) the sender's clock where it runs at another rate.
    pub corrects_skew: bool,
}

impl Differentiation {
    /// That algorithm with the standard guard, and the sender's clock corrected.
    pub fn guarded(scheme: Scheme) -> Self {
        Self { scheme, guard: Some(GuardConfig::default()), corrects_skew: true }
    }
    /// That algorithm alone, as in the paper.
    pub const fn unguarded(scheme: Scheme) -> Self {
        Self { scheme, guard: None, corrects_skew: false }
    }
    /// One that has seen nothing yet.
    pub fn build(&self) -> Box<dyn LossDifferentiation> {
        let algorithm = self.scheme.build();
        match self.guard {
            Some(guard) => Box::new(Guard::new(guard, Some(algorithm))),
            None => algorithm,
        }
    }
    /// The same, with its verdicts kept.
    pub fn build_witnessed(&self) -> Witness {
        Witness::new(self.build())
    }
}
