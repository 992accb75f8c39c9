//! Freezing over a handover: stop before the path breaks, restore the rate on the new path, then probe for
//! more.
//!
//! Mehani, Boreli, Jourjon and Ernst, "Rate Control Adaptation for Heterogeneous Handovers"
//! (`papers/freeze`), Section 4. A TFRC sender that is notified of a handover in advance sends nothing while
//! there is no path (*Frozen*), continues at its previous rate (*Restoring*), and doubles it once per
//! round-trip time until the new path is full (*Probing*). The receiver assists: it signals when its X_recv
//! covers a whole round-trip time of the new path, and when probing has found the capacity of the path, it
//! replaces its loss history by one that fits the rate found. [`SenderState`] and [`ReceiverState`] are the
//! two state tables of Figure 7; [`FreezingSender`] and [`FreezingReceiver`] drive them.
//!
//! Points that the paper leaves open, and their resolution:
//!
//! - *The end of Restoring by loss.* Figure 7 has p >= p_prev, Section 4.5 "increases", and Section 4.6
//!   states that probing follows "only if no loss has occurred during the Restoring phase". A report that
//!   repeats p is no evidence of loss, so that the text is followed: an increase; and where the lost packets
//!   are known ([`Signs::loss`]), a loss of a packet sent after the restoration, with or without an effect on
//!   p. The first loss after a long loss-free time leaves p unchanged.
//! - *X_Bps in (9)* is the rate that is being doubled, not the equation's: the latter would end any
//!   probing at the first report after the first doubling, which covers twice the packets.
//! - *p in (9)* is the average of (4) without history discounting (RFC 5348, Section 5.5), which reduces p
//!   faster than (9) assumes ([`Signs::plain_rate`]).
//! - *Delta p = 0 ends probing*, literally, also where p does not change because the last loss before the
//!   handover is so recent that S0 < S1. Such a sender does not probe at all, which is the case about half of
//!   the time. The authors' Linux code ([`Restart::AuthorsCode`]) continues there; [`Restart::Following`]
//!   does not use p.
//! - *The sum of the weights in (9)* is that in (4): of as many weights as there are loss intervals
//!   ([`PlainRate::intervals`]).
//! - *Delta n_pkts in (9)* is X R, or the number of packets covered by the report if that is greater: after a
//!   lost report, the next one covers the packets of both.
//! - *p = 0*: there has been no loss yet, the sender is in its first slow start, and Delta p = 0 ends probing
//!   with the first report. Slow start then doubles the rate as probing would, and ends with the same
//!   synthetic loss history.
//! - *A report that covers no new packet* repeats p and would end probing. It is ignored.
//! - *Doubling* is slow start's: once per round-trip time, and not beyond twice X_recv, as in (3).
//! - *The nofeedback timer* does not run while frozen, which is equivalent to saving and restoring the state
//!   it changes. In Probing its expiration ends the phase; in Restoring it halves the rate as in RFC 5348.
//! - *No burst.* Send times missed while frozen are dropped.
//! - *R* is averaged across the handover, as in (10), and takes some thirty reports to converge to the value
//!   of the new path. With [`Restart::Following`] the first sample after the restoration replaces it: a
//!   synthetic history computed with a wrong R represents another rate once R is right. For the same reason
//!   the sender then has to signal R to the receiver: the receiver's own estimate converges as slowly, and an
//!   X_recv measured over another time than the sender assumes does not follow the rate.
//!
//! Extensions of the paper: [`Restart::Following`], another criterion for the end of probing;
//! [`Restart::CarefulResume`]; a restart at the estimated rate of the local link ([`Restart::LinkCapacity`],
//! [`Restart::LinkAvailable`]); a [`RestoreLimit`]; a [`Silence`] that replaces a missing notification; and
//! operation with a peer that does not implement any of this ([`FreezingSender::set_assisted`]).

use whimbrel_units::{DataRate, Duration};

use crate::tfrc::LossEventRate;
use crate::tfrc::loss_intervals::{WEIGHTS, weight_sum};

mod careful_resume;
mod config;
mod follow;
mod freezing_receiver;
mod marking;
mod receiver;
mod sender;
mod sender_state;
mod sent_curve;
mod silence;

#[cfg(test)]
mod tests;

pub use careful_resume::{CarefulResume, Phase};
pub use config::{FreezeConfig, ProbeEnd, Restart, RestoreLimit};
pub use follow::{Coverage, Follow};
pub use freezing_receiver::{FreezingReceiver, HandoverMarks};
pub use marking::Marking;
pub use receiver::{ReceiverAction, ReceiverInput, ReceiverMachine, ReceiverState};
pub use sender::{FreezingSender, PlainRate, Signs};
pub use sender_state::{SenderInput, SenderState};
pub use silence::Silence;

/// Delta p_min(Delta n_pkts, p_prev): the greatest decrease of p between two reports if all of `packets`
/// arrived, as a negative number (equation (9)). Zero if p_prev is zero.
///
/// `intervals` is the number of closed loss intervals from which p_prev was computed. The sum of weights in
/// (9) is the one in (4), over as many weights as there are intervals: it is 6 for eight, but 1 for a single
/// one, and p then decreases six times as fast.
pub fn delta_p_min(packets: f64, previous: LossEventRate, intervals: usize) -> f64 {
    if previous.is_zero() {
        return 0.0;
    }
    let weights = weight_sum(intervals.max(1));
    weights / (WEIGHTS[0] * packets + weights / previous.as_f64()) - previous.as_f64()
}

/// `true` if p has left ]Delta p_min(Delta n_pkts, p_prev); 0[ while `packets` were sent, which ends probing
/// (Section 4.6).
pub fn has_left_range(packets: f64, previous: PlainRate, now: LossEventRate) -> bool {
    let change = now.as_f64() - previous.rate.as_f64();
    let least = delta_p_min(packets, previous.rate, previous.intervals);
    !(least < change && change < 0.0)
}

/// Greatest decrease of p from one report to the next, as a fraction, before probing ends in the authors'
/// implementation (`FREEZE_DELTA_P`, in percent, in branch `freezedccp` of github.com/shtrom/linux-2.6).
pub const AUTHORS_FALL: f64 = 0.1;

/// `true` if p rose, or decreased by more than [`AUTHORS_FALL`], which ends probing in the authors'
/// implementation.
pub fn has_left_authors_range(previous: LossEventRate, now: LossEventRate) -> bool {
    let fall = previous.as_f64() - now.as_f64();
    fall < 0.0 || fall > AUTHORS_FALL * previous.as_f64()
}

/// Converts between a rate and the length in packets of uniform loss intervals that yields this rate: the
/// length of every interval of a synthetic history for `rate` (Section 4.6, by inverting equation (1)).
pub fn equivalent_interval(packets_per_second: f64, rtt: Duration, timeout: f64) -> f64 {
    crate::tfrc::first_loss_interval(packets_per_second * rtt.as_secs_f64(), timeout)
}

/// The lower of a rate and an optional limit.
fn at_most(rate: DataRate, limit: Option<DataRate>) -> DataRate {
    limit.map_or(rate, |limit| rate.min(limit))
}
