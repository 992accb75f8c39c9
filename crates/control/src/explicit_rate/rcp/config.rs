//! Parameters of an RCP router.

use whimbrel_units::{ByteCount, Duration};

/// The input rate y in the rate equation.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum TrafficSource {
    /// The bytes that arrived in the slot, divided by the slot.
    Measured,
    /// The available bandwidth AB: algorithm 7 of paper `winf` as printed. The idler the medium, the higher
    /// y.
    Available,
    /// The used bandwidth C - AB.
    Used,
}

/// The mean of the round-trip times in a slot.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum RttAveraging {
    /// Weighted by the bytes of the packets (authors' code).
    ByBytes,
    /// Equal weights of packets (algorithm 7 of paper `winf`).
    ByPackets,
}

/// Parameters of an RCP router.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct RcpConfig {
    /// alpha: gain of the spare bandwidth.
    pub alpha: f64,
    /// beta: gain of the queue.
    pub beta: f64,
    /// gamma or eta: target utilization.
    pub utilization: f64,
    /// Maximum slot: T = min(d, this).
    pub max_slot: Duration,
    /// Initial rate as a share of the capacity.
    pub initial_share: f64,
    /// Initial average round-trip time d.
    pub initial_rtt: Duration,
    /// Minimum rate in packets of [`floor_packet`](Self::floor_packet) per round-trip time.
    pub floor_packets: f64,
    /// Size of the packets in the minimum rate.
    pub floor_packet: ByteCount,
    /// Source of the input rate.
    pub traffic: TrafficSource,
    /// Mean of the round-trip times.
    pub averaging: RttAveraging,
    /// `true` if the change of the rate is divided by the target rate, as its unit requires. `false` is the
    /// equation of algorithm 7 of paper `winf` as printed, with rates in byte/ms.
    pub is_normalized: bool,
}

impl RcpConfig {
    /// The authors' router for ns-2, `rcp.cc` (fourth version) and its Tcl defaults: alpha = beta = 0.4,
    /// gamma = 1, slots of at most 10 ms, initial rate 0.05 C, initial RTT 200 ms, minimum rate 0.01 packets
    /// of 1000 bytes per RTT.
    pub fn authors() -> Self {
        Self {
            alpha: 0.4,
            beta: 0.4,
            utilization: 1.0,
            max_slot: Duration::from_millis(10),
            initial_share: 0.05,
            initial_rtt: Duration::from_millis(200),
            floor_packets: 0.01,
            floor_packet: ByteCount::new(1000),
            traffic: TrafficSource::Measured,
            averaging: RttAveraging::ByBytes,
            is_normalized: true,
        }
    }

    /// The gains of Dukkipati's thesis and of Figure 12 of Dukkipati and McKeown, CCR 2006: alpha = 0.1, beta
    /// = 1. All else as in the authors' code.
    pub fn thesis() -> Self {
        Self { alpha: 0.1, beta: 1.0, ..Self::authors() }
    }

    /// The router on NetFPGA: alpha = 0.4, beta = 0.5, utilization 0.95, slots of 10 ms.
    pub fn netfpga() -> Self {
        Self { beta: 0.5, utilization: 0.95, ..Self::authors() }
    }
}
