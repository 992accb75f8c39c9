//! Model of the cost of a handover for TFRC: packets lost during the disconnection, and capacity left unused
//! after it.
//!
//! Mehani, Boreli, Jourjon and Ernst, "Rate Control Adaptation for Heterogeneous Handovers" (`freeze`),
//! Section 3.3. A sender in its stationary state at X_d and R_old is disconnected for t_D, while its
//! nofeedback timer repeatedly halves the rate ([`disconnection`], equations (5) to (7)). On the new network
//! it waits for its next packet, doubles its rate once per round-trip time ([`slow_start`], (13) to (17))
//! while its estimate of the round-trip time converges ([`round_trip`], (10) to (12)), and, if the new
//! network is larger, waits until the loss event rate may decrease ([`loss_events`], (8), (18) to (20); (9)
//! is [`crate::freeze::delta_p_min`]) and then grows slowly to the available capacity ([`growth`], (23) and
//! (24)).
//!
//! Every equation is a function that bears its number. The functions count in *packets* of the segment size s
//! and in seconds: a rate `x` is X/s in packets per second, so that s appears nowhere else; [`predict`] takes
//! and returns typed units.
//!
//! # Ambiguities of the printed text
//! - Equation (7) sums the nofeedback intervals that have ended when the link returns: n_D is the least
//!   number for which the intervals 0 to n_D cover t_D, and the sum ends at i_D = n_D - 1. All but one of the
//!   losses of Table 4 agree with this.
//! - The rate on reconnection is X_c = X^(n_D), the rate of the interval in progress.
//! - n_ss is the root of (15) rounded up, and t_ss = n_ss R_new.
//! - The sums of (14) and (23) are taken as printed: a round trip that exceeds the capacity reduces the loss.
//! - (24) counts its round trips, and with them R_r^i, from the beginning of the growth.
//! - (14) assumes the old capacity, (23) a larger one. On a smaller network no capacity is wasted, as in
//!   Table 4.
//! - (21) and (22) do not exist: the numbers belong to the lines of (23).

pub mod disconnection;
pub mod growth;
pub mod loss_events;
pub mod networks;
pub mod round_trip;
pub mod slow_start;

use core::fmt;

use whimbrel_units::{ByteCount, DataRate, Duration};

use self::disconnection::Disconnection;
use self::round_trip::RoundTrips;
use self::slow_start::SlowStart;
use crate::tfrc::{LossEventRate, loss_event_rate_at};

#[cfg(test)]
mod tests;

/// The longest time between two packets of a TFRC sender, t_mbi, in seconds (RFC 5348, Section 4.3).
const T_MBI: f64 = 64.0;

/// t_RTO in round-trip times, as everywhere in the paper.
const T_RTO: f64 = 4.0;

/// Maximum number of packets per round-trip time for which the model is useful: 40 Gbit/s over 100 ms.
const MOST_PACKETS_PER_ROUND_TRIP: f64 = 1e6;

/// A network as observed by a TFRC sender in its stationary state (Table 3).
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Network {
    /// The rate measured by the receiver, X_recv: X_d of the old network, X_max of the new one.
    pub rate: DataRate,
    /// The round-trip time R.
    pub rtt: Duration,
}

/// A handover between two networks.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Handover {
    /// The old network.
    pub old: Network,
    /// The new network.
    pub new: Network,
    /// s, the size of a packet.
    pub segment_size: ByteCount,
    /// t_D, during which no packet arrives.
    pub disconnection: Duration,
}

impl Handover {
    /// A handover by Mobile IPv6: t_D = t_ho = 2.5 s + R_new (Section 3.5).
    pub fn mobile_ipv6(old: Network, new: Network, segment_size: ByteCount) -> Self {
        Self { old, new, segment_size, disconnection: mobile_ipv6_duration(new.rtt) }
    }
}

/// Duration of a handover by Mobile IPv6 to a network with this round-trip time: t_ho = 2.5 s + R (Section
/// 3.5).
pub fn mobile_ipv6_duration(new_rtt: Duration) -> Duration {
    Duration::from_millis(2500) + new_rtt
}

/// Predictions of the model for a handover.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Prediction {
    /// t_D.
    pub disconnection: Duration,
    /// n_lost: packets sent while there was no connection (7).
    pub lost_packets: u64,
    /// n_D: no-feedback intervals that ended during the disconnection.
    pub timeouts: u32,
    /// X_c: the rate on reconnection.
    pub rate_on_return: DataRate,
    /// t_idle: the mean time from reconnection to the next packet.
    pub idle: Duration,
    /// n_ss: round-trip times during which the rate doubles (15).
    pub slow_start_rtts: u32,
    /// p_r: the loss event rate at the end of the old network.
    pub loss_event_rate: LossEventRate,
    /// t_recov: time until the loss event rate begins to decrease (20); zero unless the new network is
    /// larger.
    pub recovery: Duration,
    /// n_grow: round-trip times of growth after that (24); zero unless the new network is larger.
    pub growth_rtts: u32,
    /// Unused capacity.
    pub wasted: Wasted,
}

/// Packets that the new network could have carried in addition. All zero if it is smaller than the old one.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Wasted {
    /// n_wasted: until the old rate is restored, relative to the capacity of the old network (14).
    pub restart: f64,
    /// The first term of n'_wasted: additional capacity of the new network until the rate grows (23).
    pub plateau: f64,
    /// The second term of n'_wasted: during the growth (23).
    pub growth: f64,
}

impl Wasted {
    /// n_wasted + n'_wasted, the number of Table 4.
    pub fn total(self) -> f64 {
        self.restart + self.plateau + self.growth
    }
}

/// Reason for which the model does not apply.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum ModelError {
    /// The segment size is zero.
    NoSegment,
    /// A round-trip time is zero, or t_mbi/2 = 32 s or more, for which (6) is not valid.
    RoundTripTime,
    /// A rate is below one packet per t_mbi, the minimum of any TFRC sender, or above a million packets per
    /// round-trip time.
    Rate,
}

impl fmt::Display for ModelError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NoSegment => "the segment size must be at least one byte",
            Self::RoundTripTime => "a round-trip time must be more than 0 and less than 32 s",
            Self::Rate => {
                "a rate must be at least one packet in 64 s and at most a million packets per round-trip time"
            }
        })
    }
}

impl core::error::Error for ModelError {}

/// Applies the model to a handover.
///
/// # Errors
/// Returns an error if the equations do not hold for these networks.
pub fn predict(handover: &Handover) -> Result<Prediction, ModelError> {
    check(handover)?;
    let packets = |rate: DataRate| rate.as_bytes_per_second() / handover.segment_size.as_f64();
    let [old, new] = [handover.old, handover.new];
    let rtts = RoundTrips { old: old.rtt.as_secs_f64(), new: new.rtt.as_secs_f64() };
    let x_d = packets(old.rate);
    let x_max = packets(new.rate);
    let t_d = handover.disconnection.as_secs_f64();

    let gap = Disconnection { x_d, rtt: rtts.old };
    let timeouts = gap.whole_intervals(t_d);
    let x_c = gap.rate(timeouts);
    let start = SlowStart { x_d, x_c, rtts };
    let p_r = loss_event_rate_at(x_d * rtts.old, T_RTO);
    let n_ss = start.round_trips();

    let mut prediction = Prediction {
        disconnection: handover.disconnection,
        lost_packets: gap.lost_packets(t_d),
        timeouts,
        rate_on_return: DataRate::from_bytes_per_second(x_c * handover.segment_size.as_f64()),
        idle: Duration::from_secs_f64(start.idle()),
        slow_start_rtts: n_ss,
        loss_event_rate: p_r,
        recovery: Duration::ZERO,
        growth_rtts: 0,
        wasted: Wasted::default(),
    };
    if x_max >= x_d {
        prediction.wasted.restart = start.wasted();
    }
    if x_max > x_d {
        let recovery = loss_events::recovery_time(x_d, p_r, start.sent_packets(n_ss));
        let growth = growth::grow(x_d, x_max, p_r, rtts);
        prediction.recovery = Duration::from_secs_f64(recovery);
        prediction.growth_rtts = growth.round_trips;
        prediction.wasted.plateau = (x_max - x_d) * (start.idle() + f64::from(n_ss) * rtts.new + recovery);
        prediction.wasted.growth = growth.wasted;
    }
    Ok(prediction)
}

fn check(handover: &Handover) -> Result<(), ModelError> {
    if handover.segment_size == ByteCount::ZERO {
        return Err(ModelError::NoSegment);
    }
    for network in [handover.old, handover.new] {
        let rtt = network.rtt.as_secs_f64();
        if network.rtt.is_zero() || rtt >= T_MBI / 2.0 {
            return Err(ModelError::RoundTripTime);
        }
        let packets = network.rate.as_bytes_per_second() / handover.segment_size.as_f64();
        if packets * T_MBI < 1.0 || packets * rtt > MOST_PACKETS_PER_ROUND_TRIP {
            return Err(ModelError::Rate);
        }
    }
    Ok(())
}
