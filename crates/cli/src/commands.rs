//! One file for each verb.

#[cfg(feature = "laboratory")]
pub(crate) mod capacity;
#[cfg(feature = "laboratory")]
mod capture_file;
#[cfg(feature = "laboratory")]
pub(crate) mod classify;
pub(crate) mod completion;
#[cfg(feature = "laboratory")]
pub(crate) mod emulate;
#[cfg(feature = "laboratory")]
pub(crate) mod fit;
#[cfg(feature = "laboratory")]
pub(crate) mod inspect;
pub(crate) mod key;
pub(crate) mod man;
#[cfg(feature = "laboratory")]
pub(crate) mod model;
#[cfg(feature = "laboratory")]
pub(crate) mod perf;
pub(crate) mod pipe;
#[cfg(feature = "laboratory")]
pub(crate) mod record;
pub(crate) mod relay;
#[cfg(feature = "laboratory")]
pub(crate) mod run_scenario;
#[cfg(feature = "laboratory")]
pub(crate) mod schedule;
#[cfg(feature = "laboratory")]
pub(crate) mod schema;
mod transport;
