//! Configuration of the restart after a freeze.

use whimbrel_units::DataRate;

use super::Silence;
use crate::capacity::Estimate;

/// Behaviour of a [`FreezingSender`](super::FreezingSender) when it is unfrozen.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Restart {
    /// Restores the rate and probes until p indicates a loss, as in the paper.
    #[default]
    LossRate,
    /// As in the authors' Linux implementation (branch `freezedccp` of github.com/shtrom/linux-2.6), which
    /// differs from the paper: probing ends if p rose or decreased by [more than a
    /// tenth](super::AUTHORS_FALL), so that a constant p does not end it; round-trip samples are ignored
    /// while restoring; and the loss that ends probing leaves one synthetic interval instead of eight.
    AuthorsCode,
    /// Restores the rate and probes until the receive rate no longer [follows](super::Follow), regardless of
    /// losses.
    Following,
    /// Sends at the initial rate for a round-trip time, jumps to half of the old rate and validates it:
    /// [Careful Resume](super::CarefulResume).
    CarefulResume,
    /// Sends at the [estimated](super::FreezingSender::set_link_estimate) capacity of the local link, without
    /// probing, and fits the loss history to what the path carries. Without an estimate, sends at the initial
    /// rate until there is one, and probes as [`Following`](Self::Following) if the path carries that first.
    LinkCapacity,
    /// The same with the estimated available bandwidth of the local link.
    LinkAvailable,
}

/// Criterion for the end of the sender's probing, as signalled to the receiver.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum ProbeEnd {
    /// A loss, for which the receiver creates a full synthetic loss history.
    #[default]
    Loss,
    /// A loss, for which the receiver creates a single synthetic loss interval.
    LossOneInterval,
    /// A receive rate that no longer follows the send rate; losses do not end probing.
    ReceiveRate,
}

impl Restart {
    /// The criterion for the end of probing.
    pub fn probe_end(self) -> ProbeEnd {
        match self {
            Self::LossRate | Self::CarefulResume => ProbeEnd::Loss,
            Self::AuthorsCode => ProbeEnd::LossOneInterval,
            Self::Following | Self::LinkCapacity | Self::LinkAvailable => ProbeEnd::ReceiveRate,
        }
    }

    /// `true` if the receive rate decides if the new path carries the rate.
    pub(super) fn is_by_receive_rate(self) -> bool {
        self.probe_end() == ProbeEnd::ReceiveRate
    }

    /// The restored rate by an estimate of the local link; `None` under rules that do not use it.
    pub(super) fn link_rate(self, estimate: Estimate) -> Option<DataRate> {
        match self {
            Self::LinkCapacity => Some(estimate.capacity),
            Self::LinkAvailable => Some(estimate.available),
            _ => None,
        }
    }

    /// `true` if the restored rate is the local link's.
    pub(super) fn uses_link(self) -> bool {
        matches!(self, Self::LinkCapacity | Self::LinkAvailable)
    }
}

/// Maximum of a restored rate, to protect other flows on a narrower path. It applies until the new path has
/// carried the stream for a round-trip time.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub enum RestoreLimit {
    /// No limit but the old rate.
    #[default]
    None,
    /// This fraction of the old rate, between 0 and 1.
    Fraction(f64),
    /// This rate.
    Rate(DataRate),
}

impl RestoreLimit {
    /// The limit for an old rate of `old`.
    pub fn of(self, old: DataRate) -> DataRate {
        match self {
            Self::None => DataRate::INFINITE,
            Self::Fraction(part) => old * part,
            Self::Rate(rate) => rate,
        }
    }

    /// `true` if the limit is above zero, and a fraction at most one.
    pub fn is_valid(self) -> bool {
        match self {
            Self::None => true,
            Self::Fraction(part) => part > 0.0 && part <= 1.0,
            Self::Rate(rate) => !rate.is_zero(),
        }
    }
}

/// Configuration of a [`FreezingSender`](super::FreezingSender). The default is the paper's.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct FreezeConfig {
    /// Behaviour after a freeze.
    pub restart: Restart,
    /// Maximum of a restored rate.
    pub restore_at_most: RestoreLimit,
    /// Time without feedback that counts as an unannounced freeze; `None` disables this.
    pub silence: Option<Silence>,
}
