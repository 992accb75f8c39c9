//! A link as data.

use whimbrel_units::{DataRate, Duration};

use crate::Impairment;
use crate::delay_variation::DelayVariationConfig;
use crate::netem::NetemConfig;
use crate::queue::Discipline;
use crate::trace::{DelayTrace, DeliveryTrace, LoadDependentTrace, RateSteps};

use super::token_bucket::TokenBucketConfig;

/// Transmission rate of a link.
#[derive(Clone, PartialEq, Debug)]
pub enum LinkRate {
    /// Always this fast. At rate zero the link stands still; at [`DataRate::INFINITE`] transmission
    /// takes no time.
    Constant(DataRate),
    /// As fast as a table of rates says. The bits of a packet are spread over the steps it meets.
    Steps(RateSteps),
    /// 1500 bytes at each stamp of a mahimahi trace.
    Deliveries(DeliveryTrace),
    /// 1500 bytes at each opportunity of two recordings, between which the load chooses. Their base delays
    /// are added to the link's delay.
    LoadDependent(LoadDependentTrace),
    /// A token bucket: bursts leave faster than the rate.
    TokenBucket(TokenBucketConfig),
}

impl From<DataRate> for LinkRate {
    fn from(rate: DataRate) -> Self {
        Self::Constant(rate)
    }
}
impl From<RateSteps> for LinkRate {
    fn from(steps: RateSteps) -> Self {
        Self::Steps(steps)
    }
}
impl From<DeliveryTrace> for LinkRate {
    fn from(trace: DeliveryTrace) -> Self {
        Self::Deliveries(trace)
    }
}

impl From<TokenBucketConfig> for LinkRate {
    fn from(bucket: TokenBucketConfig) -> Self {
        Self::TokenBucket(bucket)
    }
}

impl From<LoadDependentTrace> for LinkRate {
    fn from(trace: LoadDependentTrace) -> Self {
        Self::LoadDependent(trace)
    }
}

/// Capacity of a queue.
///
/// With drop-tail the packet being transmitted counts, with all its bytes, until its last bit has left; at
/// that very time it no longer counts. A link that is idle accepts any packet. ns-2 names the same packet
/// limit: its queue, which does not hold the packet in service, refuses when `length + 1 >= limit`.
/// With every other discipline the limit is for what waits, without the packet in service.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum QueueLimit {
    /// At most this many packets at the link, waiting and in service. 0 acts like 1.
    Packets(u32),
    /// At most this many bytes at the link.
    Bytes(u64),
    /// No limit.
    Unlimited,
}

/// Treatment of the packets of a link that goes down.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DownPolicy {
    /// Nothing is lost: the queue accepts packets up to its limit, an interrupted transmission starts
    /// from its beginning when the link is up, and what is under way arrives.
    Hold,
    /// Everything that waits is lost, and so is everything offered while the link is down. The packet
    /// being transmitted and those under way arrive. This is what ns-2 does.
    DropQueue,
    /// Everything at the link is lost, and so is everything offered while it is down.
    DropAll,
}

/// Configuration of a simplex link.
#[derive(Clone, PartialEq, Debug)]
pub struct LinkConfig {
    /// Transmission rate.
    pub rate: LinkRate,
    /// Time from the departure of a packet's last bit to its arrival.
    pub delay: Duration,
    /// Capacity of the queue.
    pub limit: QueueLimit,
    /// Queue discipline: the order in which packets leave, and which are dropped or marked.
    pub discipline: Discipline,
    /// If set, an ECN-capable packet that finds this many packets at the link (or more) is marked:
    /// step marking on the instantaneous queue. Packets beyond the limit are still dropped. With
    /// [`Discipline::DropTail`] only.
    pub mark_at: Option<u32>,
    /// Losses behind the queue.
    pub impairment: Impairment,
    /// Of the packets that the impairment destroys, the share that arrives all the same, with intact headers
    /// and damaged content: 0 to 1. Each packet is drawn by itself.
    pub damaged: f64,
    /// Delay of each packet by a time of its own when it has reached the link's end, so that packets may
    /// overtake each other. A link that goes down does not concern packets that are there.
    pub netem: Option<NetemConfig>,
    /// The same with delays that keep the order of each flow. Not together with `netem`.
    pub delay_variation: Option<DelayVariationConfig>,
    /// The same with delays that follow a trace, in the order of the link. The least of them is to be
    /// [`delay`](Self::delay), so that each packet has the delay of the trace. Not together with the others.
    pub recorded_delays: Option<DelayTrace>,
}

impl LinkConfig {
    /// A lossless link with an unlimited queue.
    pub fn new(rate: impl Into<LinkRate>, delay: Duration) -> Self {
        Self {
            rate: rate.into(),
            delay,
            limit: QueueLimit::Unlimited,
            discipline: Discipline::DropTail,
            mark_at: None,
            impairment: Impairment::None,
            damaged: 0.0,
            netem: None,
            delay_variation: None,
            recorded_delays: None,
        }
    }

    /// The same link with this queue limit.
    pub fn with_limit(self, limit: QueueLimit) -> Self {
        Self { limit, ..self }
    }

    /// The same link with at most this many packets at the link.
    pub fn with_packet_limit(self, packets: u32) -> Self {
        self.with_limit(QueueLimit::Packets(packets))
    }

    /// The same link marking ECN-capable packets that find this many packets at the link.
    pub fn with_marking_at(self, packets: u32) -> Self {
        Self { mark_at: Some(packets), ..self }
    }

    /// The same link with this impairment.
    pub fn with_impairment(self, impairment: Impairment) -> Self {
        Self { impairment, ..self }
    }

    /// The same link, where that share of what the impairment destroys arrives damaged.
    pub fn with_damaged(self, damaged: f64) -> Self {
        Self { damaged, ..self }
    }

    /// The same link, at whose end each packet is delayed by a time of its own.
    pub fn with_netem(self, netem: NetemConfig) -> Self {
        Self { netem: Some(netem), ..self }
    }

    /// The same link with the delays of a trace, instead of its constant one.
    pub fn with_recorded_delays(self, trace: DelayTrace) -> Self {
        Self { delay: trace.least(), recorded_delays: Some(trace), ..self }
    }
}
