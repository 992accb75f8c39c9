//! The configuration of a receiver.

use crate::tfrc::loss_history::HistoryConfig;
use crate::tfrc::{RetransmitTimeout, RttSource, SmallPackets};

/// Configuration of a [`TfrcReceiver`](super::TfrcReceiver).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ReceiverConfig {
    /// Configuration of the loss history.
    pub history: HistoryConfig,
    /// t_RTO in the throughput equation, used to seed the loss history; it should equal the sender's.
    pub retransmit_timeout: RetransmitTimeout,
    /// TFRC-SP instead of TFRC, as at the sender. The history then counts short losses, regardless of
    /// `history`.
    pub small_packets: Option<SmallPackets>,
    /// Source of the round-trip time.
    pub rtt: RttSource,
    /// `true` if the expiration of the feedback timer triggers feedback (RFC 5348, Section 6.2); `false` if
    /// only the arrival of data does.
    pub feedback_timer: bool,
    /// `true` if the sender receives loss intervals in whole packets and computes p from them: synthetic
    /// intervals are then whole, so that both ends find the same p.
    pub whole_intervals: bool,
    /// `true` if packets are resequenced, and passed to
    /// [`on_packet_in_order`](super::TfrcReceiver::on_packet_in_order).
    pub is_ordered: bool,
}

impl Default for ReceiverConfig {
    /// RFC 5348.
    fn default() -> Self {
        Self {
            history: HistoryConfig::default(),
            retransmit_timeout: RetransmitTimeout::default(),
            small_packets: None,
            rtt: RttSource::Latest,
            feedback_timer: true,
            whole_intervals: false,
            is_ordered: false,
        }
    }
}
