//! Parameters of an XCP router.

use whimbrel_units::Duration;

use crate::explicit_rate::blind::BlindConfig;

/// The descriptions of XCP that differ in details of the router.
///
/// | | [`Draft`](Self::Draft) | [`Sigcomm`](Self::Sigcomm) | [`Ns2`](Self::Ns2) |
/// |---|---|---|---|
/// | feedback of a packet is bounded by the pools | no | no | yes |
/// | a request equal to the feedback counts as reduced | no | yes | yes |
/// | charged to the pools for a smaller request | feedback forgone as negative | request alone | as the draft |
/// | minimum of the queue over | queues left behind by departures | queues found by arrivals | queues before departures |
/// | period of the minimum | half the average RTT, less the queueing delay | the average RTT, less the queueing delay | as the draft |
/// | packets without RTT | negative feedback is possible | as the draft | feedback 0, not averaged |
/// | an interval without traffic | keeps the average RTT, F as usual | as the draft | average RTT as at first, F = 0 |
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum XcpReading {
    /// draft-falk-xcp-spec-03 (July 2007), Section 4.2.
    Draft,
    /// Katabi, Handley and Rohrs, "Congestion control for high bandwidth-delay product networks", SIGCOMM
    /// 2002: Section 3.5 and Appendix A. The traffic to shuffle follows equation (2); the appendix omits the
    /// subtraction.
    Sigcomm,
    /// The router of ns-2.35, `xcp/xcpq.cc`.
    Ns2,
}

/// The spare bandwidth S in the aggregate feedback F = alpha S - beta Q / d.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum SpareBandwidth {
    /// S = C - y with the measured input rate y.
    Measured,
    /// S = C - AB with the available bandwidth AB in place of the input rate, which is also shuffled:
    /// equation 5 and algorithm 3 of paper `winf` as printed. The busier the medium, the larger S.
    AvailableAsInput,
    /// S = AB, the available bandwidth. Measured input is shuffled.
    Available,
    /// S is inferred from the growth of the queue, without the capacity.
    QueueGrowth(BlindConfig),
}

/// The time X by which packets are weighted: positive feedback is proportional to it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum PacketWeight {
    /// X = size / rate of the flow. Flows get equal shares of positive feedback.
    FlowRate,
    /// X = size / C: algorithms 2 and 4 of paper `winf`. Flows get positive feedback in proportion to their
    /// rates.
    Capacity,
}

/// Parameters of an XCP router.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct XcpConfig {
    /// alpha: gain of the spare bandwidth. Stable below pi / (4 sqrt 2) = 0.555 (Katabi 2002, Theorem 1).
    pub alpha: f64,
    /// beta: gain of the persistent queue, alpha^2 sqrt 2.
    pub beta: f64,
    /// gamma: share of the traffic that is redistributed per control interval.
    pub gamma: f64,
    /// `MIN_INTERVAL`: minimum control interval.
    pub min_interval: Duration,
    /// `MAX_INTERVAL`: round-trip times above it count as it.
    pub max_interval: Duration,
    /// `ALLOWED_QUEUE`: minimum period over which the minimum of the queue is taken.
    pub allowed_queue: Duration,
    /// Average round-trip time before packets have reported one.
    pub initial_rtt: Duration,
    /// The description to follow.
    pub reading: XcpReading,
    /// Source of the spare bandwidth.
    pub spare: SpareBandwidth,
    /// Weights of packets.
    pub weight: PacketWeight,
    /// The positive feedback of a packet is at most the available bandwidth (algorithm 4 of paper `winf`).
    pub caps_feedback: bool,
}

impl XcpConfig {
    /// draft-falk-xcp-spec-03. Of the ranges in its Section 4.2.4, the intervals are at least 5 ms and at
    /// most 1 s.
    pub fn draft() -> Self {
        Self {
            alpha: 0.4,
            beta: 0.226,
            gamma: 0.1,
            min_interval: Duration::from_millis(5),
            max_interval: Duration::from_secs(1),
            allowed_queue: Duration::from_millis(2),
            initial_rtt: Duration::from_millis(50),
            reading: XcpReading::Draft,
            spare: SpareBandwidth::Measured,
            weight: PacketWeight::FlowRate,
            caps_feedback: false,
        }
    }

    /// SIGCOMM 2002. Its intervals have no bounds; here the minimum is ns-2's, and the maximum the largest
    /// RTT that the header of the draft can carry.
    pub fn sigcomm() -> Self {
        Self { max_interval: Duration::from_secs(16), reading: XcpReading::Sigcomm, ..Self::ns2() }
    }

    /// ns-2.35: intervals of 1 ms to 1 s, the first of 50 ms. ns-2 draws the first intervals of its timers,
    /// so that routers are not synchronized; here, the creation times of the routers differ.
    pub fn ns2() -> Self {
        Self { min_interval: Duration::from_millis(1), reading: XcpReading::Ns2, ..Self::draft() }
    }

    /// The bounds of the intervals for an egress with this one-way propagation delay: as the draft has it,
    /// they are at least that delay (Section 4.2.4). As no flow through the link has a round-trip time below
    /// twice the delay, the maximum is at least that here. A control interval shorter than the round-trip
    /// time corrects the same error repeatedly, and flows do not converge. The bounds of the other readings
    /// are fixed.
    #[must_use]
    pub fn for_propagation_delay(mut self, delay: Duration) -> Self {
        if self.reading == XcpReading::Draft {
            self.min_interval = self.min_interval.max(delay);
            self.max_interval = self.max_interval.max(delay * 2);
        }
        self
    }
}
