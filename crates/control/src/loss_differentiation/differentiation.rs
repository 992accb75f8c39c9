//! A classifier and how far to believe it, as a configuration.

use alloc::boxed::Box;

use super::{Guard, GuardConfig, LossDifferentiation, Parameters, Scheme};

/// How to tell losses apart, and how far to believe it.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Differentiation {
    /// Which algorithm.
    pub scheme: Scheme,
    /// Its parameters.
    pub parameters: Parameters,
    /// The limits to it. Without any, a mistake is never noticed: that is for experiments.
    pub guard: Option<GuardConfig>,
    /// Whether to [correct](super::ClockSkew) the sender's clock where it runs at another rate.
    pub corrects_skew: bool,
    /// Whether it is on [trial](super::StreamClassifier): it judges, and nobody acts on it. It sees packets with corrupt data
    /// (a Data Checksum that is wrong) as missing, so that what these packets tell of themselves shows how
    /// often it is right.
    pub on_trial: bool,
}

impl Differentiation {
    /// That algorithm with the standard guard, a T_min for real links, and the sender's clock corrected.
    pub fn guarded(scheme: Scheme) -> Self {
        Self {
            scheme,
            parameters: Parameters::ROBUST,
            guard: Some(GuardConfig::default()),
            corrects_skew: true,
            on_trial: false,
        }
    }
    /// That algorithm alone, as published.
    pub const fn unguarded(scheme: Scheme) -> Self {
        Self { scheme, parameters: Parameters::PUBLISHED, guard: None, corrects_skew: false, on_trial: false }
    }
    /// One that has seen nothing yet.
    pub fn build(&self) -> Box<dyn LossDifferentiation> {
        let algorithm = self.scheme.build_with(&self.parameters);
        match self.guard {
            Some(guard) => Box::new(Guard::new(guard, Some(algorithm))),
            None => algorithm,
        }
    }
}
