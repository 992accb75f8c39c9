//! One file for each verb.

pub(crate) mod perf;
