//! RCP-Winf: RCP whose capacity is the one that rt-Winf estimates (paper `winf`, Section 4.2, algorithms 6
//! and 7).
//!
//! # Readings
//!
//! Algorithm 7 sets the input traffic to the available bandwidth AB. The rate then falls on an idle medium,
//! where AB = C > eta C, and rises on a busy one: it cannot be what was run. [`WinfReading::Literal`] keeps
//! it;
//! [`WinfReading::Sensible`] uses the used bandwidth C - AB, so that the spare bandwidth is eta C - (C - AB).
//!
//! The printed rate equation lacks RCP's divisor eta C: it adds a rate to the number 1. Both readings divide.
//! [`undivided`] is the equation as printed with the algorithm's unit, byte/ms. A slot then multiplies the
//! rate by up to 1 + (T/d) alpha eta C, which is 537 at 11 Mbit/s and d <= 10 ms, so that the rate is at one
//! of its clamps.
//!
//! # Parameters
//!
//! `ETA` is between 0.95 and 1, `ALPHA` between 0.4 and 0.6, `BETA` between 0.2 and 0.6: here 0.975, the
//! middle, and 0.4 for both gains, the authors' values of RCP. `MIN_RATE` is 0.1 MTU / RTT (equation 6), with
//! an MTU of 1500 bytes 15 times the floor of the authors' RCP. The mean round-trip time has equal weights of
//! packets. The initial rate and `MAX_RATE_ESTIMATION_INTERVAL` are not given: 0.05 C and 10 ms, as in RCP.

use whimbrel_units::{ByteCount, DataRate, Duration};

use super::xcp_winf::WinfReading;
use super::{RcpConfig, RttAveraging, TrafficSource};

/// The router of RCP-Winf (algorithm 7): its parameters for an [`RcpRouter`](super::RcpRouter), to which the
/// [estimates](super::RouterLaw::set_estimate) are passed.
pub fn router(reading: WinfReading) -> RcpConfig {
    let traffic = match reading {
        WinfReading::Literal => TrafficSource::Available,
        WinfReading::Sensible => TrafficSource::Used,
    };
    RcpConfig {
        utilization: 0.975,
        floor_packets: 0.1,
        floor_packet: ByteCount::new(1500),
        traffic,
        averaging: RttAveraging::ByPackets,
        ..RcpConfig::authors()
    }
}

/// The router of algorithm 7 without the divisor of the rate equation, rates in byte/ms.
pub fn undivided() -> RcpConfig {
    RcpConfig { is_normalized: false, ..router(WinfReading::Literal) }
}

/// The quantities that the sender computes from a rate (algorithm 6).
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct SenderPlan {
    /// `rcp_bottleneck_rate`: the rate of the routers, but at most the sender's own estimate of the capacity.
    pub rate: DataRate,
    /// `snd_wnd`: the window in packets.
    pub window: f64,
}

/// Rate and window of the sender (algorithm 6). `header_size` is the size of the RCP and IP headers. The rate
/// is the one of the routers until the sender has an estimate of the capacity. `packet_pacing_interval` is
/// MSS / rate, without headers, as an [`RcpSender`](super::RcpSender) of packets of MSS bytes has it.
pub fn plan(
    rate: DataRate,
    capacity: Option<DataRate>,
    rtt: Duration,
    segment_size: u32,
    header_size: u32,
) -> SenderPlan {
    let rate = capacity.map_or(rate, |capacity| rate.min(capacity));
    let packet = ByteCount::new(u64::from(segment_size) + u64::from(header_size)).as_f64();
    let window = if packet > 0.0 { rate.as_bytes_per_second() * rtt.as_secs_f64() / packet } else { 0.0 };
    SenderPlan { rate, window }
}

#[cfg(test)]
mod tests;
