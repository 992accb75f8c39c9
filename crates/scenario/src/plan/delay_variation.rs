//! Delay variation, checked.

use whimbrel_netsim::delay_variation::DelayVariationConfig;
use whimbrel_units::DataRate;

use crate::ScenarioError;
use crate::delay_variation::DelayVariation;

/// The delay variation that a link at `key` describes, at this rate; `has_netem` if it has `netem`, too.
pub(super) fn delay_variation(
    key: &str,
    keys: Option<DelayVariation>,
    rate: DataRate,
    has_netem: bool,
) -> Result<Option<DelayVariationConfig>, ScenarioError> {
    let Some(keys) = keys else { return Ok(None) };
    let key = format!("{key}.delay_variation");
    if has_netem {
        return Err(ScenarioError::invalid(key, "{...}", "one of `netem` and `delay_variation`"));
    }
    let config = DelayVariationConfig { deviation: keys.deviation.0, bound: keys.bound, rate };
    match config.check() {
        // Nothing to draw.
        Ok(()) if config.deviation.is_zero() => Ok(None),
        Ok(()) => Ok(Some(config)),
        Err(error) => {
            Err(ScenarioError::invalid(key, "{...}", format!("a positive bound and rate: {error}")))
        }
    }
}
