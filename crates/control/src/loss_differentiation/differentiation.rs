//! Configuration of loss differentiation: a classifier and its limits.

use alloc::boxed::Box;

use super::{Guard, GuardConfig, LossDifferentiation, Parameters, Scheme};

/// Configuration of a classifier and its guard.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Differentiation {
    /// The algorithm.
    pub scheme: Scheme,
    /// Parameters of the algorithm.
    pub parameters: Parameters,
    /// Limits on the classifier; `None`, for experiments only, leaves its errors unbounded.
    pub guard: Option<GuardConfig>,
    /// `true` to [correct](super::ClockSkew) the skew of the sender's clock.
    pub corrects_skew: bool,
    /// `true` to [classify without effect](super::StreamClassifier) on congestion control. Packets with
    /// corrupt data (a wrong Data Checksum) are hidden from the algorithm, so that its accuracy on them can
    /// be measured.
    pub on_trial: bool,
}

impl Differentiation {
    /// `scheme` with its [guard](GuardConfig::of), the robust T_min and clock skew correction.
    pub fn guarded(scheme: Scheme) -> Self {
        Self {
            scheme,
            parameters: Parameters::ROBUST,
            guard: Some(GuardConfig::of(scheme)),
            corrects_skew: true,
            on_trial: false,
        }
    }

    /// `scheme` alone, as published.
    pub const fn unguarded(scheme: Scheme) -> Self {
        Self { scheme, parameters: Parameters::PUBLISHED, guard: None, corrects_skew: false, on_trial: false }
    }

    /// Builds the classifier, without any statistics.
    pub fn build(&self) -> Box<dyn LossDifferentiation> {
        let algorithm = self.scheme.build_with(&self.parameters);
        match self.guard {
            Some(guard) => Box::new(Guard::new(guard, Some(algorithm))),
            None => algorithm,
        }
    }
}
