//! How a receiver tells losses apart: a classifier, the sender's clock, and the verdicts on their way out.

use whimbrel_control::loss_differentiation::{
    ClockSkew, LossCause, LossDifferentiation, PacketArrival, Witness,
};
use whimbrel_units::Instant;
use whimbrel_wire::SeqNo;
use whimbrel_wire::option::timing::TimestampClock;

use crate::event::LossVerdict;

/// A classifier at work; none is plain TFRC.
#[derive(Debug, Default)]
pub(super) struct Classification {
    witness: Option<Witness>,
    clock: TimestampClock,
    skew: ClockSkew,
}

impl Classification {
    pub(super) fn new(algorithm: Option<Box<dyn LossDifferentiation>>) -> Self {
        Self {
            witness: algorithm.map(Witness::new),
            clock: TimestampClock::default(),
            skew: ClockSkew::default(),
        }
    }
    /// What a [`LossHistory`](whimbrel_control::tfrc::loss_history::LossHistory) asks.
    pub(super) fn algorithm(&mut self) -> Option<&mut (dyn LossDifferentiation + 'static)> {
        self.witness.as_mut().map(|witness| witness as &mut dyn LossDifferentiation)
    }
    /// The packet that is being processed has that Timestamp option.
    pub(super) fn read_clock(&mut self, timestamp: u32) -> Option<Instant> {
        self.witness.is_some().then(|| Instant::from_nanos(self.clock.read(timestamp)))
    }
    pub(super) fn on_arrival(&mut self, arrival: PacketArrival) {
        if let Some(witness) = &mut self.witness {
            witness.on_arrival(&self.skew.correct(arrival));
        }
    }
    pub(super) fn inform(&mut self, sequence: u64, cause: LossCause) {
        if let Some(witness) = &mut self.witness {
            witness.inform(sequence, cause);
        }
    }
    pub(super) fn on_path_change(&mut self) {
        if let Some(witness) = &mut self.witness {
            witness.on_path_change();
            self.skew.on_path_change();
        }
    }
    pub(super) fn has_verdicts(&self) -> bool {
        self.witness.as_ref().is_some_and(Witness::has_verdicts)
    }
    pub(super) fn take_verdict(&mut self) -> Option<LossVerdict> {
        let verdict = self.witness.as_mut()?.take()?;
        Some(LossVerdict {
            first: SeqNo::new(verdict.first),
            count: verdict.count,
            cause: verdict.cause,
            evidence: verdict.evidence,
            overruled: verdict.overruled,
        })
    }
}
