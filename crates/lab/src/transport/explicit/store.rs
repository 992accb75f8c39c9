//! The store in which MAC, routers and senders of a node share what rt-Winf estimates (paper `winf`, Section
//! 4, Figure 8).

use std::sync::{Arc, Mutex, PoisonError};

use whimbrel_control::capacity::Estimate;

/// The part of a node in an estimate.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Position {
    /// For the transport of the node.
    Sender,
    /// For the ACKs that the node returns.
    Receiver,
}

#[derive(Debug, Default)]
struct Entry {
    sender: Option<Estimate>,
    receiver: Option<Estimate>,
    onlooker: Option<Estimate>,
    data_ack: Option<Estimate>,
    idle_gap: Option<Estimate>,
}

/// The entries of one node; copies share them.
#[derive(Clone, Debug, Default)]
pub struct CrossLayer(Arc<Mutex<Entry>>);

impl CrossLayer {
    /// The estimate of the node; `None` before the first one.
    pub fn get(&self, position: Position) -> Option<Estimate> {
        let entry = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match position {
            Position::Sender => entry.sender,
            Position::Receiver => entry.receiver,
        }
    }

    /// Sets the estimate of the node.
    pub fn set(&self, position: Position, estimate: Option<Estimate>) {
        let mut entry = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match position {
            Position::Sender => entry.sender = estimate,
            Position::Receiver => entry.receiver = estimate,
        }
    }

    /// Removes all estimates: the node's station is in another cell.
    pub fn clear(&self) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Entry::default();
    }

    /// Sets the estimates for records: rt-Winf's as an onlooker and from data and ACK, and IdleGap's.
    pub(crate) fn set_observed(
        &self,
        onlooker: Option<Estimate>,
        data_ack: Option<Estimate>,
        idle_gap: Estimate,
    ) {
        let mut entry = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        entry.onlooker = onlooker;
        entry.data_ack = data_ack;
        entry.idle_gap = Some(idle_gap);
    }

    /// The estimates for records: rt-Winf's as an onlooker and from data and ACK, and IdleGap's.
    pub(crate) fn observed(&self) -> [Option<Estimate>; 3] {
        let entry = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        [entry.onlooker, entry.data_ack, entry.idle_gap]
    }
}
