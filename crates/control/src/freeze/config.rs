//! How a sender comes back after a freeze.

use whimbrel_units::DataRate;

use super::Silence;

/// How a [`FreezingSender`](super::FreezingSender) goes on when it is unfrozen.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Restart {
    /// Restores the rate and probes until p says that there was a loss: the paper.
    #[default]
    LossRate,
    /// The same as the authors' Linux implementation has it (branch `freezedccp` of github.com/shtrom/linux-2.6), which differs
    /// from the paper: probing ends where p rose or fell by [more than a tenth](super::AUTHORS_FALL), so that a p that stands
    /// still does not end it; round-trip samples are ignored while restoring; and the loss that ends probing leaves one
    /// made-up interval instead of eight.
    AuthorsCode,
    /// Restores the rate and probes until the receive rate no longer [follows](super::Follow), whatever is lost.
    Following,
    /// Goes to half of the old rate after a round-trip time at the initial one, and validates that:
    /// [Careful Resume](super::CarefulResume).
    CarefulResume,
}

/// What ends a sender's probing, as far as its receiver has to know.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum ProbeEnd {
    /// A loss, with which the receiver makes up a whole loss history.
    #[default]
    Loss,
    /// A loss, with which it makes up a single loss interval.
    LossOneInterval,
    /// A receive rate that no longer follows; losses end nothing.
    ReceiveRate,
}

impl Restart {
    /// What ends probing after it.
    pub fn probe_end(self) -> ProbeEnd {
        match self {
            Self::LossRate | Self::CarefulResume => ProbeEnd::Loss,
            Self::AuthorsCode => ProbeEnd::LossOneInterval,
            Self::Following => ProbeEnd::ReceiveRate,
        }
    }
}

/// The most that a restored rate may be, for the sake of others on a narrower path. It holds until the new path has carried
/// the stream for a round-trip time.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub enum RestoreLimit {
    /// None but the old rate.
    #[default]
    None,
    /// That part of the old rate, between 0 and 1.
    Fraction(f64),
    /// That rate.
    Rate(DataRate),
}

impl RestoreLimit {
    /// The limit for a rate of `old`.
    pub fn of(self, old: DataRate) -> DataRate {
        match self {
            Self::None => DataRate::INFINITE,
            Self::Fraction(part) => old * part,
            Self::Rate(rate) => rate,
        }
    }

    /// Whether it makes sense: above zero, and a fraction at most one.
    pub fn is_valid(self) -> bool {
        match self {
            Self::None => true,
            Self::Fraction(part) => part > 0.0 && part <= 1.0,
            Self::Rate(rate) => !rate.is_zero(),
        }
    }
}

/// How a [`FreezingSender`](super::FreezingSender) works. The default is the paper's.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct FreezeConfig {
    /// How to go on after a freeze.
    pub restart: Restart,
    /// The most that a restored rate may be.
    pub restore_at_most: RestoreLimit,
    /// How long the receiver has to be silent for that to count as a freeze that nobody announced. Never without.
    pub silence: Option<Silence>,
}
