//! Scenario keys of delays that follow a file, and of token buckets.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::Deserialize;

use super::quantity::{Rate, Size};

/// A recorded delay, which applies to the packets that leave at a time.
#[derive(Clone, PartialEq, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DelayTrace {
    /// A text of comma-separated values, relative to the scenario's file: columns `time_s` or `sent_s`, and
    /// `delay_s`, as in the `.delays.csv` of `whimbrel record`. Without a header, a time and a delay in
    /// seconds per line. A delay holds until the next line's time, and packets keep their order.
    pub file: PathBuf,
    /// If true, the trace repeats from its last time on; otherwise the last delay stays.
    #[serde(default = "yes")]
    pub repeat: bool,
}

const fn yes() -> bool {
    true
}

/// A token bucket: the link's `rate` is the rate of the tokens.
#[derive(Clone, Copy, PartialEq, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TokenBucket {
    /// The most tokens: the bytes that leave at the peak rate after a pause.
    pub burst: Size,
    /// The rate at which packets leave while there are tokens; at once by default.
    #[serde(default)]
    pub peak: Option<Rate>,
}
