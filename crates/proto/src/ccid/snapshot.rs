//! The state of congestion control, for observation.

use whimbrel_control::freeze::{ReceiverState, SenderState};
use whimbrel_units::{DataRate, Duration};

/// State of an HC-sender, for observation.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
#[non_exhaustive]
pub struct SenderSnapshot {
    /// X: the allowed rate, if the CCID is rate-based; otherwise cwnd divided by the RTT once an RTT is
    /// known.
    pub allowed_rate: Option<DataRate>,
    /// The smoothed round-trip time.
    pub rtt: Option<Duration>,
    /// p, between 0 and 1 (rate-based CCIDs).
    pub loss_event_rate: Option<f64>,
    /// X_recv as last reported by the receiver (rate-based CCIDs).
    pub receive_rate: Option<DataRate>,
    /// cwnd in packets (window-based CCIDs).
    pub cwnd: Option<u32>,
    /// ssthresh in packets (window-based CCIDs).
    pub ssthresh: Option<u32>,
    /// Packets in flight (window-based CCIDs).
    pub pipe: Option<u32>,
    /// The Ack Ratio in force (CCID 2).
    pub ack_ratio: Option<u64>,
    /// Number of data packets found lost so far.
    pub lost: u64,
    /// Number of data packets found ECN-marked so far.
    pub marked: u64,
    /// Current freeze state (CCIDs 3 and 4).
    pub freeze: Option<SenderState>,
}

/// State of an HC-receiver, for observation.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
#[non_exhaustive]
pub struct ReceiverSnapshot {
    /// p as the receiver measures it, between 0 and 1.
    pub loss_event_rate: Option<f64>,
    /// The rate at which data arrives.
    pub receive_rate: Option<DataRate>,
    /// The round-trip time that the receiver uses.
    pub rtt: Option<Duration>,
    /// Number of data packets found lost so far.
    pub lost: u64,
    /// Number of those that a loss classifier attributed to the wireless link.
    pub lost_wireless: u64,
    /// Number of data packets that arrived ECN-marked.
    pub marked: u64,
    /// Current freeze state of the peer's half-connection (CCIDs 3 and 4).
    pub freeze: Option<ReceiverState>,
}
