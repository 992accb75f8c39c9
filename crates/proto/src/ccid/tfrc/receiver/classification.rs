//! Loss classification at a receiver: a classifier, the sender's clock, and pending verdicts.

use whimbrel_control::loss_detection::ArrivedPacket;
use whimbrel_control::loss_differentiation::{
    ClockSkew, Differentiation, LossClass, LossDifferentiation, PacketArrival, RecordingClassifier,
    StreamClassifier,
};
use whimbrel_units::{Duration, Instant};
use whimbrel_wire::SeqNo;
use whimbrel_wire::option::Elapsed;
use whimbrel_wire::option::timing::{TimestampClock, nanos_between, timestamp_from_nanos};

use crate::event::LossVerdict;

/// Greatest age of an echoed Timestamp; an older one does not belong to this connection, as for round-trip
/// time samples.
const GREATEST_AGE: Duration = Duration::from_secs(120);

/// The active classifier, if any.
#[derive(Debug, Default)]
pub(super) struct Classification {
    mode: ClassificationMode,
    clock: TimestampClock,
    /// Correction of the sender's clock skew, if enabled.
    skew: Option<Box<ClockSkew>>,
}

/// Use of a classifier's verdicts.
#[derive(Debug, Default)]
enum ClassificationMode {
    /// No classifier: plain TFRC.
    #[default]
    None,
    /// Losses classified as wireless do not count.
    Acting(RecordingClassifier),
    /// Verdicts are only compared with the true causes.
    Evaluating(Box<StreamClassifier>),
}

impl ClassificationMode {
    fn recording(&mut self) -> Option<&mut RecordingClassifier> {
        match self {
            Self::None => None,
            Self::Acting(witness) => Some(witness),
            Self::Evaluating(trial) => Some(trial.recording()),
        }
    }
}

impl Classification {
    pub(super) fn new(
        algorithm: Option<Box<dyn LossDifferentiation>>,
        config: Option<Differentiation>,
    ) -> Self {
        let mode = match algorithm {
            None => ClassificationMode::None,
            Some(algorithm) if config.is_some_and(|config| config.on_trial) => {
                ClassificationMode::Evaluating(Box::new(StreamClassifier::new(algorithm)))
            }
            Some(algorithm) => ClassificationMode::Acting(RecordingClassifier::new(algorithm)),
        };
        let skew = config.filter(|config| config.corrects_skew).map(|_| Box::default());
        Self { mode, clock: TimestampClock::default(), skew }
    }

    /// The classifier for a [`LossHistory`](whimbrel_control::tfrc::loss_history::LossHistory).
    pub(super) fn algorithm(&mut self) -> Option<&mut (dyn LossDifferentiation + 'static)> {
        match &mut self.mode {
            ClassificationMode::Acting(witness) => Some(witness),
            ClassificationMode::None | ClassificationMode::Evaluating(_) => None,
        }
    }

    /// Processes the Timestamp option of the current packet.
    pub(super) fn read_clock(&mut self, timestamp: u32) -> Option<Instant> {
        match self.mode {
            ClassificationMode::None => None,
            ClassificationMode::Acting(_) | ClassificationMode::Evaluating(_) => {
                Some(Instant::from_nanos(self.clock.read(timestamp)))
            }
        }
    }

    /// Processes an echo, on the same packet, of this end's Timestamp, which the sender held for `elapsed`.
    pub(super) fn read_echo(&mut self, now: Instant, sent: Instant, timestamp: u32, elapsed: Elapsed) {
        let Some(skew) = &mut self.skew else { return };
        // This end's clock at `now`, in wire units, less the echo: the age of the Timestamp.
        let away = nanos_between(timestamp, timestamp_from_nanos(now.as_nanos()));
        if away <= GREATEST_AGE.as_nanos() && elapsed.nanos() <= away {
            let came = sent.saturating_sub(Duration::from_nanos(elapsed.nanos()));
            skew.on_return_trip(now, now.saturating_sub(Duration::from_nanos(away)), came);
        }
    }

    /// Processes a received packet, with data that may be corrupt; `reception` is its form in the loss
    /// history.
    pub(super) fn on_arrival(&mut self, arrival: PacketArrival, reception: &ArrivedPacket, is_corrupt: bool) {
        let corrected = |skew: &mut Option<Box<ClockSkew>>| match skew {
            Some(skew) => skew.correct(arrival),
            None => arrival,
        };
        match &mut self.mode {
            ClassificationMode::Acting(witness) => witness.on_arrival(&corrected(&mut self.skew)),
            ClassificationMode::Evaluating(trial) if !is_corrupt => {
                trial.on_arrival(&corrected(&mut self.skew), reception);
            }
            ClassificationMode::None | ClassificationMode::Evaluating(_) => {}
        }
    }

    pub(super) fn inform(&mut self, sequence: u64, cause: LossClass) {
        if let Some(witness) = self.mode.recording() {
            witness.inform(sequence, cause);
        }
    }

    pub(super) fn on_path_change(&mut self) {
        if let Some(witness) = self.mode.recording() {
            witness.on_path_change();
            if let Some(skew) = &mut self.skew {
                skew.on_path_change();
            }
        }
    }

    pub(super) fn has_verdicts(&self) -> bool {
        match &self.mode {
            ClassificationMode::None => false,
            ClassificationMode::Acting(witness) => witness.has_verdicts(),
            ClassificationMode::Evaluating(trial) => trial.has_verdicts(),
        }
    }

    pub(super) fn take_verdict(&mut self) -> Option<LossVerdict> {
        let verdict = self.mode.recording()?.take()?;
        Some(LossVerdict {
            first: SeqNo::new(verdict.first),
            count: verdict.count,
            cause: verdict.cause,
            evidence: verdict.evidence,
            overruled: verdict.overruled,
        })
    }
}
