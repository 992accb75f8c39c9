//! TCP-Friendly Rate Control (RFC 5348).
//!
//! For applications that cannot follow the abrupt rate changes of TCP, a sender computes the average rate of
//! a TCP in its place and sends at that rate. The receiver measures the *loss event rate* p and the receive
//! rate, and reports both about once per round-trip time; the sender measures the round-trip time R, applies
//! TCP's throughput equation to p and R, and paces its packets accordingly. With [`SmallPackets`] it is
//! TFRC-SP (RFC 4828), for streams of small packets.

pub mod data_limit;
mod delay_aware;
mod delay_bound;
mod equation;
pub mod faster_restart;
mod loss_event_rate;
pub mod loss_history;
pub mod loss_intervals;
pub mod pacing;
mod queueing_delay;
pub mod receive_rate;
mod receiver;
pub mod receiver_rtt;
pub mod round_trip;
pub mod segment_size;
pub mod send_rate;
mod sender;
pub mod small_packets;
pub mod window_counter;

pub use delay_aware::{DelayAware, DelayAwareConfig, DelayReport};
pub use delay_bound::{BoundReport, DelayBound};
pub use equation::*;
pub use loss_event_rate::LossEventRate;
pub use queueing_delay::{QueueEstimate, QueueingDelay};
pub use receiver::{
    FeedbackReport, IntervalLengths, IntervalReport, MAX_LENGTH, MAX_LOSS_LENGTH, ReceiverConfig, TfrcPacket,
    TfrcReceiver, interval_before_first_loss,
};
pub use receiver_rtt::{ReceiverRtt, RttSource, UNKNOWN_RTT};
pub use segment_size::SegmentSize;
pub use sender::{Feedback, SenderConfig, SenderSnapshot, TfrcSender};
pub use small_packets::SmallPackets;

#[cfg(test)]
mod tests;
