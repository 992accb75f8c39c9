//! Loss models fitted to a sequence of delivered and lost packets.
//!
//! [`fit`] finds the parameters of each [`ModelKind`] by maximum likelihood and ranks the models by the
//! Bayesian information criterion, k ln n - 2 ln L for k parameters and n packets (G. Schwarz, "Estimating
//! the dimension of a model", Annals of Statistics 6, 1978): the lowest is the model that the data support.
//!
//! - Bernoulli: the share of lost packets.
//! - Simple Gilbert: the states are seen, and the likeliest probabilities are shares of transitions (M.
//!   Yajnik et al., "Measurement and modelling of the temporal dependence in packet loss", INFOCOM 1999).
//! - Gilbert (E. N. Gilbert, "Capacity of a burst-noise channel", Bell System Technical Journal 39, 1960),
//!   Gilbert-Elliott (E. O. Elliott, 1963) and the four-state chain of NetEm: the states are hidden. The
//!   algorithm of Baum and Welch climbs from several starts (L. R. Rabiner, "A tutorial on hidden Markov
//!   models", Proceedings of the IEEE 77, 1989); its steps are extrapolated (R. Varadhan, C. Roland, "Simple
//!   and globally convergent methods for accelerating the convergence of any EM algorithm", Scandinavian
//!   Journal of Statistics 35, 2008).
//!
//! The cost of an iteration grows with the number of runs of equal packets, not with the number of packets:
//! within a run, sums over its packets are powers of a matrix (`chain`).

mod chain;
mod interval;
mod model;
mod runs;
mod search;

use serde::Serialize;
use thiserror::Error;

pub use model::{LossModel, ModelKind};
pub use runs::LossRuns;

use chain::Sequence;
use interval::{intervals, wilson};

/// Level of the intervals.
pub const CONFIDENCE: f64 = 0.95;

/// The least number of packets to which models are fitted.
pub const MIN_PACKETS: u64 = 20;

/// A value with its interval at the level of [`CONFIDENCE`].
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct Estimate {
    /// The likeliest value.
    pub value: f64,
    /// The interval's bounds; `None` where the data does not bound the value, as at 0 or 1.
    pub interval: Option<(f64, f64)>,
}

/// A parameter of a fitted model.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct Parameter {
    /// The key of scenarios.
    pub name: &'static str,
    /// Its value. The interval is Wald's on the scale of log odds, from the curvature of the likelihood.
    #[serde(flatten)]
    pub estimate: Estimate,
    /// `false` if the model fixes the value.
    pub is_fitted: bool,
}

/// A model with its likeliest parameters.
#[derive(Clone, PartialEq, Debug)]
pub struct FittedModel {
    /// The family.
    pub kind: ModelKind,
    /// With the likeliest parameters.
    pub model: LossModel,
    /// Its parameters, by the names of scenarios.
    pub parameters: Vec<Parameter>,
    /// Logarithm of the likelihood, in nats. The first packet's state has the model's long-term distribution.
    pub log_likelihood: f64,
    /// The Bayesian information criterion; the lower, the better.
    pub bic: f64,
}

/// The models of a sequence of packets.
#[derive(Clone, PartialEq, Debug)]
pub struct LossFit {
    /// Number of packets.
    pub packets: u64,
    /// Number of lost packets.
    pub lost: u64,
    /// The share of lost packets, with Wilson's interval for as many independent packets as say as much
    /// about it, given the correlation of losses that the best model has.
    pub loss_rate: Estimate,
    /// The models, the best one first.
    pub models: Vec<FittedModel>,
}

impl LossFit {
    /// The model with the lowest criterion.
    pub fn best(&self) -> &FittedModel {
        &self.models[0]
    }
}

/// Packets to which no model can be fitted.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
#[non_exhaustive]
pub enum FitError {
    /// Too short a sequence.
    #[error("{0} packets are too few to fit a model, expected at least {MIN_PACKETS}")]
    TooFewPackets(u64),
}

/// Fits all models to a sequence of packets.
///
/// A sequence without a loss, without a delivery, or in which neither ever follows the other is fitted by
/// Bernoulli's model alone.
///
/// # Errors
/// If there are fewer than [`MIN_PACKETS`] packets.
pub fn fit(runs: &LossRuns) -> Result<LossFit, FitError> {
    let (packets, lost) = (runs.packets(), runs.lost());
    if packets < MIN_PACKETS {
        return Err(FitError::TooFewPackets(packets));
    }
    let sequence = Sequence::new(runs);
    let mut models: Vec<FittedModel> = search::likeliest(runs, &sequence)
        .into_iter()
        .map(|(model, log_likelihood)| {
            let kind = model.kind();
            let penalty = kind.fitted_parameters() as f64 * libm::log(packets as f64);
            FittedModel {
                kind,
                parameters: intervals(&model, &sequence),
                model,
                log_likelihood,
                bic: penalty - 2.0 * log_likelihood,
            }
        })
        .collect();
    // Stable: of equal models the simpler one comes first.
    models.sort_by(|a, b| a.bic.total_cmp(&b.bic));
    let inflation = models[0].model.variance_inflation();
    let loss_rate = wilson(lost as f64 / packets as f64, packets as f64 / inflation.max(1.0));
    Ok(LossFit { packets, lost, loss_rate, models })
}

#[cfg(test)]
mod tests;
