//! RCP, the Rate Control Protocol: one rate for all flows of an egress.

mod config;
mod router;
mod sender;
mod slot;

pub use config::{RcpConfig, RttAveraging, TrafficSource};
pub use router::RcpRouter;
pub use sender::RcpSender;

#[cfg(test)]
mod tests;
