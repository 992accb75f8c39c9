//! What a flow's receiver makes of its losses, beside the truth.

use rustc_hash::FxHashMap;
use whimbrel_control::loss_differentiation::{Evidence, LossClass as Cause, Overruled};
use whimbrel_netsim::LossCause;
use whimbrel_proto::Config;
use whimbrel_proto::config::DataChecksumUse;

use super::Counters;

/// A verdict on one packet.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Judgement {
    /// What the packet is taken for.
    pub cause: Cause,
    /// What that rests on.
    pub evidence: Evidence,
    /// Why a guard took it for congestion, if it did.
    pub overruled: Option<Overruled>,
}

impl Judgement {
    /// What a receiver without a classifier makes of every loss.
    pub const UNTOLD: Self = Self { cause: Cause::Congestion, evidence: Evidence::None, overruled: None };

    /// What a packet says of itself whose data fail their own checksum.
    pub const NAMED: Self = Self { cause: Cause::Wireless, evidence: Evidence::None, overruled: None };

    /// Counts it against the truth.
    pub(super) fn count(&self, truth: LossCause, counters: &mut Counters) {
        let wrong = self.cause != cause_of(truth);
        if truth.is_congestion() {
            counters.congestion_judged += 1;
            counters.congestion_misclassified += u64::from(wrong);
        } else {
            counters.wireless_judged += 1;
            counters.wireless_misclassified += u64::from(wrong);
        }
    }
}

/// What a classifier should say of such a loss.
pub(crate) fn cause_of(truth: LossCause) -> Cause {
    Cause::wireless_if(!truth.is_congestion())
}

/// How the receiver of a packet with damaged data comes to know.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Notice {
    /// Not at all.
    None,
    /// By the data's own checksum.
    Checksum,
    /// By the checksum, but a classifier is on trial, which judges the packet as if it had not come.
    Trial,
}

impl Notice {
    /// With that configuration at both ends.
    pub(crate) fn of(config: &Config) -> Self {
        match config.integrity.data_checksum {
            DataChecksumUse::Off => Self::None,
            _ if config.tfrc.differentiation.is_some_and(|differentiation| differentiation.on_trial) => {
                Self::Trial
            }
            _ => Self::Checksum,
        }
    }
}

/// Losses that wait for their verdicts: truth, and place among the losses recorded.
#[derive(Clone, Debug, Default)]
pub(super) struct Undecided {
    losses: FxHashMap<u64, (LossCause, Option<usize>)>,
}

impl Undecided {
    /// Losses that wait at most: those beyond have no verdict to come.
    const MOST: usize = 1 << 16;

    pub(super) fn add(&mut self, sequence: u64, truth: LossCause, row: Option<usize>) {
        if self.losses.len() < Self::MOST {
            self.losses.insert(sequence, (truth, row));
        }
    }
    pub(super) fn take(&mut self, sequence: u64) -> Option<(LossCause, Option<usize>)> {
        self.losses.remove(&sequence)
    }
}
