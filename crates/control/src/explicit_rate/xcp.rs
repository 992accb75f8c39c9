//! XCP, the eXplicit Control Protocol.
//!
//! An *efficiency controller* computes the desired change of the aggregate rate once per control interval,
//! and a *fairness controller* apportions it to packets: increases equally to flows, decreases in proportion
//! to their rates.

mod config;
mod persistent_queue;
mod pools;
mod receiver;
mod router;
mod sender;

pub use config::{PacketWeight, SpareBandwidth, XcpConfig, XcpReading};
pub use receiver::XcpReceiver;
pub use router::XcpRouter;
pub use sender::{Demand, LossResponse, XcpSender};

#[cfg(test)]
mod tests;
