//! Freezing over a handover: stop before the path breaks, restore the rate when it is back, then probe for more.
//!
//! Mehani, Boreli, Jourjon and Ernst, "Rate Control Adaptation for Heterogeneous Handovers" (`papers/freeze`), Section 4. A TFRC
//! sender that is told of a handover in advance sends nothing while there is no path (*Frozen*), goes on with the rate
//! it had (*Restoring*), and doubles it once per round-trip time until the new path is full (*Probing*). The receiver
//! helps: it says when its X_recv covers a whole round-trip time of the new path, and when the probing has found the path's
//! end it makes up a loss history that fits the rate found. [`SenderState`] and [`ReceiverState`] are the two state tables of
//! Figure 7; [`FreezingSender`] and [`ReceiverMachine`] drive them.
//!
//! What the paper leaves open, and what is done:
//!
//! - *When does Restoring end by loss?* Figure 7 has p >= p_prev, Section 4.5 "increases", Section 4.6 has it that probing
//!   follows "only if no loss has occurred during the Restoring phase". A report that repeats p says nothing of loss, so that the
//!   text is followed: an increase; and where it is known which packets were lost ([`Signs::loss`]), a loss of one sent
//!   after the restoration, whether p shows it or not. The first loss after a long loss-free time leaves p as it is.
//! - *X_Bps in (9)* is the rate that is being doubled, not the equation's: that would end any probing at the first
//!   report after the first doubling, which covers twice the packets.
//! - *p in (9)* is the average of (4) without history discounting (RFC 5348, Section 5.5), which lets p fall faster than (9) knows
//!   ([`Signs::plain_rate`]).
//! - *Delta p = 0 ends probing*, literally, also where p is still because the last loss before the handover is so recent that
//!   S0 < S1. Such a sender does not probe at all: about half of all moments. The authors' Linux code
//!   ([`Restart::AuthorsCode`]) goes on there; [`Restart::Following`] does not ask p.
//! - *The sum of the weights in (9)* is that in (4): of as many weights as there are loss intervals ([`PlainRate::intervals`]).
//! - *Delta n_pkts in (9)* is X R, or what the report covers where that is more: after a report that was lost, the next one covers
//!   the packets of both.
//! - *p = 0*: there was no loss yet, the sender is in its first slow start, and Delta p = 0 ends probing with the first report. Slow
//!   start then doubles as probing would, and ends with the same made-up history.
//! - *A report that covers no new packet* repeats p and would end probing. It is not looked at.
//! - *Doubling* is slow start's: once per round-trip time, and not beyond twice X_recv, as in (3).
//! - *The nofeedback timer* does not run while frozen, which comes to the same as saving and restoring what it changes.
//!   In Probing its expiration ends the phase; in Restoring it lowers the rate as ever.
//! - *No burst.* Send times missed while frozen are lost.
//! - *R* is averaged on over the handover, as in (10), and takes some thirty reports to be the new path's. With
//!   [`Restart::Following`] the first sample after the restoration replaces it: a history that is made up with a wrong R stands for
//!   another rate once R is right. For the same reason the receiver has to be told R then: its own estimate moves as slowly, and
//!   X_recv over another time than the sender thinks does not follow.
//!
//! Beyond the paper: [`Restart::Following`], another way to end probing; [`Restart::CarefulResume`]; a
//! [`RestoreLimit`]; a [`Silence`] that stands in for the warning nobody gave; a peer that does not know of all
//! this ([`FreezingSender::set_assisted`]).

use whimbrel_units::{DataRate, Duration};

use crate::tfrc::LossEventRate;
use crate::tfrc::loss_intervals::{WEIGHTS, weight_sum};

mod careful_resume;
mod config;
mod follow;
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
pub use receiver::{ReceiverAction, ReceiverInput, ReceiverMachine, ReceiverState};
pub use sender::{FreezingSender, Marking, PlainRate, Signs};
pub use sender_state::{SenderInput, SenderState};
pub use silence::Silence;

/// Delta p_min(Delta n_pkts, p_prev): the most that p can fall between two reports where all of `packets` arrived, as a negative
/// number (equation (9)). Zero where p_prev is.
///
/// `intervals` is the number of closed loss intervals that p_prev was computed from. The sum of weights in (9) is the one in
/// (4), which runs over as many weights as there are intervals: it is 6 for eight, but 1 for a single one, and p then falls six
/// times as fast.
pub fn delta_p_min(packets: f64, previous: LossEventRate, intervals: usize) -> f64 {
    if previous.is_zero() {
        return 0.0;
    }
    let weights = weight_sum(intervals.max(1));
    weights / (WEIGHTS[0] * packets + weights / previous.as_f64()) - previous.as_f64()
}

/// Whether p has left ]Delta p_min(Delta n_pkts, p_prev); 0[ while `packets` were sent, which ends probing (Section 4.6).
pub fn has_left_range(packets: f64, previous: PlainRate, now: LossEventRate) -> bool {
    let change = now.as_f64() - previous.rate.as_f64();
    let least = delta_p_min(packets, previous.rate, previous.intervals);
    !(least < change && change < 0.0)
}

/// The part of p by which it may fall from one report to the next before probing ends, by the authors' own implementation
/// (`FREEZE_DELTA_P`, in percent, in branch `freezedccp` of github.com/shtrom/linux-2.6).
pub const AUTHORS_FALL: f64 = 0.1;

/// Whether p rose, or fell by more than [`AUTHORS_FALL`]: what ends probing in the authors' implementation.
pub fn has_left_authors_range(previous: LossEventRate, now: LossEventRate) -> bool {
    let fall = previous.as_f64() - now.as_f64();
    fall < 0.0 || fall > AUTHORS_FALL * previous.as_f64()
}

/// The rate at which a loss history of that many packets per interval would have a sender send; and back: the
/// length that every interval gets when the history is made up for `rate` (Section 4.6, by inverting equation (1)).
pub fn equivalent_interval(packets_per_second: f64, rtt: Duration, timeout: f64) -> f64 {
    crate::tfrc::first_loss_interval(packets_per_second * rtt.as_secs_f64(), timeout)
}

/// The lower of a rate and one that may not be known.
fn at_most(rate: DataRate, limit: Option<DataRate>) -> DataRate {
    limit.map_or(rate, |limit| rate.min(limit))
}
