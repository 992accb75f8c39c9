//! Loss of packets that a link has transmitted.
//!
//! An impairment acts behind the queue: a packet that will be destroyed waits and is transmitted like
//! any other, and its loss is noticed when it would have arrived. A packet's verdict is drawn in the order
//! of transmission, from the link's own random stream; a radio draws one per frame, which packets may share.

mod four_state;
mod gilbert_elliott;
mod mask;
mod rayleigh;
mod run_length;

use thiserror::Error;
use whimbrel_units::{Duration, Instant};

use crate::netem::CorrelatedEvent;
use crate::random::RandomStream;
use crate::trace::{LossCursor, LossTrace};

use four_state::FourStateChain;
pub use four_state::FourStateTransitions;
use gilbert_elliott::{PerPacketChain, TimedChain};
use mask::MaskPosition;
use rayleigh::Radio;
pub use rayleigh::{Frames, Rayleigh, Reception};
use run_length::Runs;

/// A model of loss, as data.
#[derive(Clone, PartialEq, Debug, Default)]
#[non_exhaustive]
pub enum Impairment {
    /// Everything arrives.
    #[default]
    None,
    /// Each packet is lost with probability `loss`, independently.
    Bernoulli {
        /// Probability of loss.
        loss: f64,
    },
    /// Each packet is lost with probability `loss`, and the draws lean on each other as in Linux's NetEm
    /// (`loss LOSS CORRELATION`): each is the mean of a fresh number and the one before, weighted
    /// `1 - correlation` and `correlation`. Their spread is smaller, so that probabilities far from a half
    /// become rarer still.
    Correlated {
        /// Probability of loss.
        loss: f64,
        /// Weight of the draw before.
        correlation: f64,
    },
    /// A two-state Markov chain that may change state after each packet. It starts in a state drawn
    /// from its stationary distribution, so the mean loss is
    /// `(good_to_bad * loss_in_bad + bad_to_good * loss_in_good) / (good_to_bad + bad_to_good)` throughout.
    /// With the losses 0 and 1 this is Gilbert's model with bursts of 1 / `bad_to_good` packets.
    GilbertElliott {
        /// Probability of going bad after a packet in the good state.
        good_to_bad: f64,
        /// Probability of recovering after a packet in the bad state.
        bad_to_good: f64,
        /// Probability that a packet is lost in the good state.
        loss_in_good: f64,
        /// Probability that a packet is lost in the bad state.
        loss_in_bad: f64,
    },
    /// The same in continuous time: the states last for exponentially distributed times, whether there
    /// are packets or not. A packet sees the state at the time it leaves the transmitter.
    TimedGilbertElliott {
        /// Mean stay in the good state.
        mean_good: Duration,
        /// Mean stay in the bad state.
        mean_bad: Duration,
        /// Probability that a packet is lost in the good state.
        loss_in_good: f64,
        /// Probability that a packet is lost in the bad state.
        loss_in_bad: f64,
    },
    /// The four-state Markov chain of Linux's NetEm (`loss state`): gaps with isolated losses, and bursts in
    /// which some packets are delivered. Unlike NetEm, which starts in a gap, it starts in a state drawn from
    /// its stationary distribution.
    FourState(FourStateTransitions),
    /// Runs of good packets alternate with runs of lost ones, beginning with a good run. A loss run has
    /// `k` packets with probability `runs[k - 1]`; a good run has at least one and is geometric with mean
    /// `B (1 - loss_rate) / loss_rate` for a mean loss run of `B`, so that `loss_rate` comes out exactly.
    RunLength {
        /// The share of packets lost; at most `B / (B + 1)`.
        loss_rate: f64,
        /// Probabilities of loss runs of 1, 2, 3, ... packets; they sum to 1.
        runs: Vec<f64>,
    },
    /// The frames of a CDMA radio whose paths fade, in continuous time. Packets share frames and long ones
    /// take several; see [`Rayleigh`].
    Rayleigh(Rayleigh),
    /// Exactly these packets are lost, counting the link's transmitted packets from 0.
    Mask {
        /// Strictly ascending, and below `length`.
        lost: Vec<u64>,
        /// Number of packets that the mask describes.
        length: u64,
        /// `true` if it starts again after them; otherwise all later packets arrive
        /// ([`LossProcess::exceeded`]).
        repeats: bool,
    },
    /// Packets are lost at recorded times, however many there are.
    Trace(LossTrace),
}

/// A parameter of an [`Impairment`] that is out of range.
#[derive(Clone, PartialEq, Debug, Error)]
#[non_exhaustive]
pub enum ImpairmentError {
    /// A probability outside [0, 1].
    #[error("{name} is {value}, not a probability")]
    NotAProbability {
        /// The parameter.
        name: &'static str,
        /// Its value.
        value: f64,
    },
    /// A Markov chain that never changes state.
    #[error("at least one of the two states must be left some time")]
    Stuck,
    /// A mean stay of zero.
    #[error("the mean stays in the two states must be above zero")]
    NoStay,
    /// The run probabilities do not sum to 1.
    #[error("the probabilities of loss runs sum to {0}, not to 1")]
    RunsSum(f64),
    /// With runs this short, good runs of at least one packet leave no room for so much loss.
    #[error("loss rate {loss_rate} is above {highest}, the most that these loss runs allow")]
    TooMuchLoss {
        /// As asked for.
        loss_rate: f64,
        /// `B / (B + 1)`.
        highest: f64,
    },
    /// A radio that cannot be.
    #[error("{name} is {value}, not {expected}")]
    Radio {
        /// The parameter.
        name: &'static str,
        /// Its value.
        value: f64,
        /// The permitted range.
        expected: &'static str,
    },
    /// The mask is not strictly ascending.
    #[error("the packets of a mask must be in strictly ascending order")]
    MaskOrder,
    /// The mask loses a packet beyond its length, or repeats nothing.
    #[error("a mask of {length} packets cannot {problem}")]
    MaskLength {
        /// Its length.
        length: u64,
        /// The defect.
        problem: &'static str,
    },
}

impl Impairment {
    /// [`Impairment::Mask`] of these packets and no others, however many there are.
    pub fn mask(lost: impl Into<Vec<u64>>) -> Self {
        Self::Mask { lost: lost.into(), length: u64::MAX, repeats: false }
    }

    /// The time after which recorded losses start again; `None` if there are none or they do not.
    pub fn period(&self) -> Option<Duration> {
        match self {
            Self::Trace(trace) if trace.repeats() => Some(trace.length()),
            _ => None,
        }
    }

    /// The same losses from another part of their recording on, which repeats: from the time `start` of a
    /// trace, or after that `share` of the packets of a mask.
    pub fn started_at(&self, start: Duration, share: f64) -> Self {
        match self {
            Self::Trace(trace) => Self::Trace(trace.started_at(start)),
            Self::Mask { lost, length, repeats: true } => {
                let first = ((*length as f64 * share) as u64).min(length - 1);
                let (before, after) = lost.split_at(lost.partition_point(|&packet| packet < first));
                let ahead = after.iter().map(|packet| packet - first);
                let again = before.iter().map(|packet| packet + (length - first));
                Self::Mask { lost: ahead.chain(again).collect(), length: *length, repeats: true }
            }
            other => other.clone(),
        }
    }

    /// `true` if losses are drawn at random: two runs with different seeds differ.
    pub fn is_random(&self) -> bool {
        match self {
            Self::None | Self::Mask { .. } | Self::Trace(_) => false,
            Self::Bernoulli { loss } | Self::Correlated { loss, .. } => {
                (0.0..1.0).contains(loss) && *loss > 0.0
            }
            Self::GilbertElliott { .. }
            | Self::TimedGilbertElliott { .. }
            | Self::FourState(_)
            | Self::RunLength { .. }
            | Self::Rayleigh(_) => true,
        }
    }

    /// Checks the parameters.
    ///
    /// # Errors
    /// Names the parameter that does not.
    pub fn check(&self) -> Result<(), ImpairmentError> {
        let probability = |name, value: f64| {
            if (0.0..=1.0).contains(&value) {
                Ok(())
            } else {
                Err(ImpairmentError::NotAProbability { name, value })
            }
        };
        match self {
            Self::None => Ok(()),
            Self::Bernoulli { loss } => probability("loss", *loss),
            Self::Correlated { loss, correlation } => {
                probability("loss", *loss)?;
                probability("correlation", *correlation)
            }
            Self::GilbertElliott { good_to_bad, bad_to_good, loss_in_good, loss_in_bad } => {
                probability("good_to_bad", *good_to_bad)?;
                probability("bad_to_good", *bad_to_good)?;
                probability("loss_in_good", *loss_in_good)?;
                probability("loss_in_bad", *loss_in_bad)?;
                if good_to_bad + bad_to_good > 0.0 { Ok(()) } else { Err(ImpairmentError::Stuck) }
            }
            Self::TimedGilbertElliott { mean_good, mean_bad, loss_in_good, loss_in_bad } => {
                probability("loss_in_good", *loss_in_good)?;
                probability("loss_in_bad", *loss_in_bad)?;
                let stays = !mean_good.is_zero() && !mean_bad.is_zero();
                if stays { Ok(()) } else { Err(ImpairmentError::NoStay) }
            }
            Self::FourState(transitions) => transitions.check(),
            Self::RunLength { loss_rate, runs } => run_length::check(*loss_rate, runs, probability),
            Self::Rayleigh(radio) => radio.check(),
            Self::Mask { lost, length, repeats } => mask::check(lost, *length, *repeats),
            // Its constructors have checked it.
            Self::Trace(_) => Ok(()),
        }
    }
}

/// An impairment at work.
#[derive(Clone, Debug)]
pub struct LossProcess {
    model: Model,
    random: RandomStream,
}

#[derive(Clone, Debug)]
enum Model {
    Lossless,
    Bernoulli(f64),
    Correlated(CorrelatedEvent),
    PerPacketChain(PerPacketChain),
    TimedChain(TimedChain),
    FourState(FourStateChain),
    Runs(Runs),
    Radio(Box<Radio>),
    Mask(MaskPosition),
    Trace(LossCursor),
}

impl LossProcess {
    /// Starts the process at time 0 with draws from this stream.
    ///
    /// # Errors
    /// See [`Impairment::check`].
    pub fn new(impairment: &Impairment, mut random: RandomStream) -> Result<Self, ImpairmentError> {
        impairment.check()?;
        let model = match impairment {
            Impairment::None => Model::Lossless,
            Impairment::Bernoulli { loss } => Model::Bernoulli(*loss),
            &Impairment::Correlated { loss, correlation } => {
                Model::Correlated(CorrelatedEvent::new(loss, correlation, &mut random))
            }
            &Impairment::GilbertElliott { good_to_bad, bad_to_good, loss_in_good, loss_in_bad } => {
                let chain =
                    PerPacketChain::new([good_to_bad, bad_to_good], [loss_in_good, loss_in_bad], &mut random);
                Model::PerPacketChain(chain)
            }
            &Impairment::TimedGilbertElliott { mean_good, mean_bad, loss_in_good, loss_in_bad } => {
                let chain = TimedChain::new([mean_good, mean_bad], [loss_in_good, loss_in_bad], &mut random);
                Model::TimedChain(chain)
            }
            Impairment::FourState(transitions) => {
                Model::FourState(FourStateChain::new(*transitions, &mut random))
            }
            Impairment::RunLength { loss_rate, runs } => {
                Model::Runs(Runs::new(*loss_rate, runs.clone(), &mut random))
            }
            Impairment::Rayleigh(radio) => Model::Radio(Box::new(Radio::new(radio, &mut random))),
            Impairment::Mask { lost, length, repeats } => {
                Model::Mask(MaskPosition::new(lost.clone(), *length, *repeats))
            }
            Impairment::Trace(trace) => Model::Trace(LossCursor::new(trace.clone())),
        };
        Ok(Self { model, random })
    }

    /// Returns `true` if the next packet, of `size` bytes, which leaves the transmitter at `departure`, is
    /// lost. Departures must not go back in time.
    pub fn loses(&mut self, departure: Instant, size: u32) -> bool {
        match &mut self.model {
            Model::Lossless => false,
            Model::Bernoulli(loss) => self.random.bernoulli(*loss),
            Model::Correlated(event) => event.draw(&mut self.random),
            Model::PerPacketChain(chain) => chain.loses(&mut self.random),
            Model::TimedChain(chain) => chain.loses(departure, &mut self.random),
            Model::FourState(chain) => chain.loses(&mut self.random),
            Model::Runs(runs) => runs.loses(&mut self.random),
            Model::Radio(radio) => radio.loses(departure, size, &mut self.random),
            Model::Mask(mask) => mask.loses(departure),
            Model::Trace(trace) => trace.loses(departure),
        }
    }

    /// Departure time of the first packet that lies beyond the end of a mask or trace which does not repeat:
    /// it and all later ones arrive for want of knowledge, not because the medium was good.
    pub fn exceeded(&self) -> Option<Instant> {
        match &self.model {
            Model::Mask(mask) => mask.exceeded(),
            Model::Trace(trace) => trace.exceeded(),
            Model::Lossless
            | Model::Bernoulli(_)
            | Model::Correlated(_)
            | Model::PerPacketChain(_)
            | Model::TimedChain(_)
            | Model::FourState(_)
            | Model::Runs(_)
            | Model::Radio(_) => None,
        }
    }
}

#[cfg(test)]
mod tests;
