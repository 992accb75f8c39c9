//! Classification of losses by a flow's receiver, compared with their true causes.

use rustc_hash::FxHashMap;
use whimbrel_control::loss_differentiation::{Evidence, LossClass, Overruled};
use whimbrel_netsim::LossCause;
use whimbrel_proto::Config;
use whimbrel_proto::config::DataChecksumUse;

use super::Counters;

/// The classification of one lost packet.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct ClassifiedLoss {
    /// The class of the loss.
    pub cause: LossClass,
    /// The evidence for it.
    pub evidence: Evidence,
    /// The reason for which a guard changed the class to congestion, if one did.
    pub overruled: Option<Overruled>,
}

impl ClassifiedLoss {
    /// The classification of every loss by a receiver without a classifier.
    pub const UNCLASSIFIED: Self =
        Self { cause: LossClass::Congestion, evidence: Evidence::None, overruled: None };

    /// The classification of a packet whose data fail the Data Checksum.
    pub const REPORTED_CORRUPT: Self =
        Self { cause: LossClass::Wireless, evidence: Evidence::None, overruled: None };

    /// Counts the classification as right or wrong by the true cause.
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

/// The right class of a loss with this true cause.
pub(crate) fn cause_of(truth: LossCause) -> LossClass {
    LossClass::wireless_if(!truth.is_congestion())
}

/// The means by which a receiver detects damaged data.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum CorruptionNotice {
    /// None.
    None,
    /// The Data Checksum option.
    Checksum,
    /// The Data Checksum option, with a classifier on trial that classifies the packet as if lost.
    Trial,
}

impl CorruptionNotice {
    /// The means that `config` provides when both ends use it.
    pub(crate) fn of(config: &Config) -> Self {
        let differentiation = config.ccids.tfrc().and_then(|tfrc| tfrc.differentiation);
        let is_on_trial = differentiation.is_some_and(|differentiation| differentiation.on_trial);
        match config.integrity.data_checksum {
            DataChecksumUse::Off => Self::None,
            _ if is_on_trial => Self::Trial,
            _ => Self::Checksum,
        }
    }
}

/// Losses that are not classified yet: true cause, and position among the recorded losses.
#[derive(Clone, Debug, Default)]
pub(super) struct Undecided {
    losses: FxHashMap<u64, (LossCause, Option<usize>)>,
}

impl Undecided {
    /// The most losses kept: those beyond are never classified.
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
