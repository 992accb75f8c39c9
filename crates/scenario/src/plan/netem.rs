//! NetEm's parameters, checked.

use whimbrel_netsim::netem::{Duplicate, JitterDistribution, NetemConfig, Reorder};

use crate::ScenarioError;
use crate::netem::{JitterDistribution as Distribution, Netem};

/// The impairment that a link's `netem`, at `key`, describes.
pub(super) fn netem(key: &str, netem: Option<&Netem>) -> Result<Option<NetemConfig>, ScenarioError> {
    let Some(netem) = netem else { return Ok(None) };
    let reorder =
        Reorder { probability: netem.reorder.0, correlation: netem.reorder_correlation.0, gap: netem.gap };
    let duplicate = Duplicate { probability: netem.duplicate.0, correlation: netem.duplicate_correlation.0 };
    let config = NetemConfig {
        delay: netem.delay.0,
        jitter: netem.jitter.0,
        correlation: netem.correlation.0,
        distribution: match netem.distribution {
            Distribution::Uniform => JitterDistribution::Uniform,
            Distribution::Normal => JitterDistribution::Normal,
            Distribution::Pareto => JitterDistribution::Pareto,
            Distribution::Paretonormal => JitterDistribution::ParetoNormal,
        },
        reorder: (netem.reorder.0 > 0.0).then_some(reorder),
        duplicate: (netem.duplicate.0 > 0.0).then_some(duplicate),
        limit: netem.limit as usize,
    };
    match config.check() {
        Ok(()) => Ok(Some(config)),
        Err(error) => {
            Err(ScenarioError::invalid(key, "{...}", format!("parameters that NetEm accepts: {error}")))
        }
    }
}
