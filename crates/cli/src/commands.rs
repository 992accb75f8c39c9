//! One file for each verb.

pub(crate) mod capacity;
mod capture_file;
pub(crate) mod classify;
pub(crate) mod completion;
pub(crate) mod emulate;
pub(crate) mod fit;
pub(crate) mod inspect;
pub(crate) mod key;
pub(crate) mod man;
pub(crate) mod model;
pub(crate) mod perf;
pub(crate) mod pipe;
pub(crate) mod record;
pub(crate) mod relay;
pub(crate) mod run_scenario;
pub(crate) mod schedule;
pub(crate) mod schema;
mod transport;
