//! Marking of packets with the sender's freeze state.

use super::ProbeEnd;

/// Marking of packets that signals the sender's state to the receiver (Section 4.3).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Marking {
    /// No marking.
    #[default]
    None,
    /// RESTORING, and the criterion for the end of the probing that follows.
    Restoring(ProbeEnd),
    /// PROBING, and the criterion for its end.
    Probing(ProbeEnd),
    /// PROBING, with the request to fit the loss history to the receive rate.
    Settle,
}
