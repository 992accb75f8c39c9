//! Recorded delays and token buckets, checked.

use whimbrel_netsim::trace::DelayTrace as Recorded;
use whimbrel_netsim::{LinkConfig, LinkRate, TokenBucketConfig};
use whimbrel_units::DataRate;

use super::links::positive;
use super::quoted;
use crate::quantity::Time;
use crate::recorded_delay::{DelayTrace, TokenBucket};
use crate::{Files, ScenarioError};

/// The link at `key` with the delays of a file, in place of a `delay`.
pub(super) fn with_delay_trace(
    key: &str,
    config: LinkConfig,
    trace: Option<&DelayTrace>,
    delay: Option<Time>,
    files: &Files,
) -> Result<LinkConfig, ScenarioError> {
    let Some(trace) = trace else { return Ok(config) };
    let key = format!("{key}.delay_trace");
    let others = [
        ("`delay`", delay.is_some()),
        ("`netem`", config.netem.is_some()),
        ("`delay_variation`", config.delay_variation.is_some()),
    ];
    if let Some((name, _)) = others.into_iter().find(|(_, is_given)| *is_given) {
        return Err(ScenarioError::invalid(key, "{...}", format!("one of {name} and `delay_trace`")));
    }
    let key = format!("{key}.file");
    let text = files.read(&key, &trace.file)?;
    match Recorded::parse(&text, trace.repeat) {
        Ok(recorded) => Ok(config.with_recorded_delays(recorded)),
        Err(error) => {
            let file = quoted(&trace.file.display().to_string());
            Err(ScenarioError::invalid(key, file, format!("a trace of delays ({error})")))
        }
    }
}

/// The rate of a link at `key` with its token bucket, if it has one.
pub(super) fn with_bucket(
    key: &str,
    rate: LinkRate,
    bucket: Option<TokenBucket>,
) -> Result<LinkRate, ScenarioError> {
    let Some(bucket) = bucket else { return Ok(rate) };
    let key = format!("{key}.token_bucket");
    let LinkRate::Constant(rate) = rate else {
        return Err(ScenarioError::invalid(key, "{...}", "nothing: a recorded rate has no token bucket"));
    };
    let burst = bucket.burst.0;
    if burst.as_u64() == 0 {
        return Err(ScenarioError::invalid(format!("{key}.burst"), "\"0 B\"", "a burst above zero"));
    }
    let peak = match bucket.peak {
        Some(peak) => positive(&format!("{key}.peak"), peak.0)?,
        None => DataRate::INFINITE,
    };
    if peak < rate {
        let expected = format!("at least the link's rate, {} bit/s", rate.as_bits_per_second());
        let value = format!("{} bit/s", peak.as_bits_per_second());
        return Err(ScenarioError::invalid(format!("{key}.peak"), value, expected));
    }
    Ok(TokenBucketConfig { rate, burst, peak }.into())
}
