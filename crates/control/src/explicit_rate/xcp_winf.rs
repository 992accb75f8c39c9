//! XCP-Winf: XCP whose capacity and available bandwidth are those that rt-Winf estimates (paper `winf`,
//! Section 4.1, algorithms 1 to 5).
//!
//! # Units
//!
//! Equation 4 and algorithm 1 compute the request of a packet as
//! `(Desired - C x 1000) / (C x (RTT / MSS))`, in which C appears with and without a factor of 1000.
//! Algorithm 7 gives the unit of link bandwidths: "Bytes/ms". With C in byte/ms, RTT in ms and MSS in bytes,
//!
//! - C x 1000 is the capacity in byte/s, the unit of `Desired` and of `Delta_Throughput` in the header;
//! - C x RTT / MSS is a number of packets, byte/ms x ms / byte, as the divisor must be: the change is spread
//!   over the packets of a round-trip time.
//!
//! The equation is therefore taken from draft-falk-xcp-spec-03, Section 4.1.1, with C in place of the
//! sender's throughput: `(Desired - C) / (C RTT / MSS)` in any coherent units. This module computes in bit/s
//! and seconds.
//!
//! # Readings
//!
//! | | [`Literal`](WinfReading::Literal) | [`Sensible`](WinfReading::Sensible) |
//! |---|---|---|
//! | sender, algorithm 1 | `Desired` = AB, throughput = C | `Desired` = C, throughput is the sender's own |
//! | router, equation 5 and algorithm 3 | `input_bw` = AB: F = a (C - AB) - b Q / d | spare bandwidth = AB: F = a AB - b Q / d |
//! | traffic to shuffle | 0.1 AB - abs(F) | 0.1 y - abs(F) with the measured input y |
//!
//! The printed algorithms cannot be what was run. As AB is at most C, a literal sender requests decreases
//! only, and its window never grows. A literal router feeds back nothing on an idle medium (AB = C) and most
//! on a busy one (AB = 0). Both follow from names that were exchanged: what algorithm 1 calls the throughput
//! is the "speed of the local interface" that Section 4 allows as the desired throughput, and C less the
//! *used* bandwidth, which is C - AB, is AB.
//!
//! In both readings packets are weighted by size / C instead of size / throughput (algorithms 2 and 4, and
//! the text on `sum_inv_throughput`): the positive feedback of a flow is proportional to its rate, as the
//! negative one, and flows do not converge to equal rates. [`XcpConfig::weight`] restores XCP's weights.
//!
//! In algorithm 4 the lines that recompute the negative and the positive allocation are printed twice,
//! because the page lost an `else`. They have no effect where the packet gets the feedback itself, and here
//! they apply where it gets less: to packets capped at the available bandwidth and to packets that request
//! less.

use whimbrel_units::{DataRate, Duration};

use super::{FlowHeader, PacketWeight, SpareBandwidth, XcpConfig};
use crate::capacity::Estimate;

/// The way in which the algorithms of paper `winf` are read.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum WinfReading {
    /// As printed, with coherent units.
    Literal,
    /// With the names exchanged where the printed algorithm does not work.
    Sensible,
}

/// The router of XCP-Winf: its parameters for an [`XcpRouter`](super::XcpRouter), to which the
/// [estimates](super::RouterLaw::set_estimate) are passed. `MIN_INTERVAL` is 5 ms, of the paper's 5 to 10.
pub fn router(reading: WinfReading) -> XcpConfig {
    let spare = match reading {
        WinfReading::Literal => SpareBandwidth::AvailableAsInput,
        WinfReading::Sensible => SpareBandwidth::Available,
    };
    XcpConfig { spare, weight: PacketWeight::Capacity, caps_feedback: true, ..XcpConfig::draft() }
}

/// The header of a data packet (algorithm 1). `rate` is the sender's own, `demand` its application's,
/// infinite if it has no limit. The request is at most the available bandwidth (Section 4.1), and zero
/// without a round-trip time, an estimate or, in the sensible reading, a rate.
pub fn header(
    reading: WinfReading,
    estimate: Option<Estimate>,
    rate: DataRate,
    demand: DataRate,
    rtt: Option<Duration>,
    segment_size: u32,
) -> FlowHeader {
    let known_rtt = rtt.unwrap_or(Duration::ZERO);
    let request = |estimate: Estimate| {
        let capacity = estimate.capacity;
        let (desired, throughput) = match reading {
            WinfReading::Literal => (demand.min(estimate.available), capacity),
            WinfReading::Sensible => (demand.min(capacity), rate),
        };
        let (desired, throughput) = (desired.as_bits_per_second(), throughput.as_bits_per_second());
        let packets = throughput * known_rtt.as_secs_f64() / (f64::from(segment_size) * 8.0);
        let change = (desired - throughput) / packets;
        if change.is_finite() { change.min(estimate.available.as_bits_per_second()) } else { 0.0 }
    };
    let allocation = estimate.filter(|_| !known_rtt.is_zero()).map_or(0.0, request);
    FlowHeader { rtt: known_rtt, rate, allocation }
}

#[cfg(test)]
mod tests;
