//! The configuration of the layer that repairs, and its counters.

use whimbrel_repair::receiver::{Delivery, ReceiverCounts};
use whimbrel_repair::sender::{Policy, SenderCounts};
use whimbrel_units::{DataRate, Duration};

/// Repair of a connection's datagrams.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct RepairConfig {
    /// Time that repair may use, from the arrival of the fastest datagrams on: the greatest latency is the
    /// sum of the path's and this one.
    pub latency: Duration,
    /// When datagrams are delivered.
    pub delivery: Delivery,
    /// Datagrams of the application that may wait; more are refused, regardless of what the connection's own
    /// queue does when it is full.
    pub queue: usize,
    /// Frames that are late before they are begun, and what is left of others after the latency, are not
    /// sent. An application with a queue of its own, which knows more of the frames, decides there.
    pub drops_late: bool,
    /// Each datagram is divided into parts with checksums, if both ends have this: the whole parts of a
    /// damaged datagram are used. Needs [`Config::repair_in_parts`](crate::Config::repair_in_parts), and a
    /// checksum coverage that does not include the data.
    pub in_parts: bool,
    /// Parity and repeats as a program sets them; `None`: the library decides.
    pub policy: Option<Policy>,
}

impl RepairConfig {
    /// Delivery in order, as early as possible.
    pub fn new(latency: Duration) -> Self {
        Self {
            latency,
            delivery: Delivery::Early,
            queue: 1024,
            drops_late: true,
            in_parts: false,
            policy: None,
        }
    }
}

/// Layer counters.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct RepairCounts {
    /// Of the data that this end sends.
    pub sent: SenderCounts,
    /// Of the data that this end receives.
    pub received: ReceiverCounts,
    /// Age up to which this end sends a datagram: the latency, less the queueing delay of the path.
    pub budget: Duration,
    /// The same at the next report, if the queue grows as it did between the last two.
    pub prospect: Duration,
    /// The rate of the path by the last two reports; `None` where no queue shows it.
    pub path_rate: Option<DataRate>,
    /// The round-trip time that decides how many repeats are in time.
    pub round_trip: Duration,
    /// The share of this end's packets that are lost without congestion, by the channel's model.
    pub loss: f64,
    /// The packets that are lost in a row on average, by the same model.
    pub burst: f64,
}
