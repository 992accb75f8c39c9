//! Was a packet lost to congestion or to the radio?
//!
//! TFRC takes every loss for congestion. On a path with a wireless link that is wrong, and costs
//! throughput. A loss differentiation algorithm looks at how packets arrive around a gap in the
//! sequence numbers and says which it was; TFRC then treats a packet lost to the radio as if it had
//! arrived (Cen, Cosman and Voelker, "End-to-end differentiation of congestion and wireless
//! losses", Section 1).
//!
//! An algorithm sees each arrival ([`LossDifferentiation::on_arrival`]) and, right after the
//! arrival that reveals it, each gap ([`LossDifferentiation::classify`]). The verdict is asked for
//! when the packets are declared lost, a few arrivals later ([`LossDifferentiation::final_class`]):
//! by then the gap may have been filled by packets that were only late.

//!
//! | algorithm | goes by | calls a loss wireless if |
//! |---|---|---|
//! | [`Biaz`], [`Biaz::modified`] | time between packets | the next packet came when it should have |
//! | [`Spike`] | trip time | the path's queue is not half full |
//! | [`ZigZag`] | trip time and loss count | the trip time is below its mean, more leniently for longer losses |
//! | [`Zbs`], [`Zbs::zbs2`], [`Zbs::zbs3`] | both | the one of these that suits the topology says so |
//! | [`Inherent`] | rates of loss and of sending | the path loses no more than it always does |
//! | [`Omniscient`] | the truth | it was told so |
//!
//! An RTP or QUIC receiver that knows when packets left and arrived can use them as they are:
//!
//! ```
//! use whimbrel_control::loss_differentiation::{LossClass, PacketArrival, Scheme, classify};
//! use whimbrel_units::{ByteCount, Duration, Instant};
//!
//! // A packet every 10 ms, 20 ms on the way; the fourth is missing, and the queue is empty.
//! let arrivals = [0, 1, 2, 4, 5, 6].map(|sequence| {
//!     let sent = Instant::ZERO + Duration::from_millis(10) * sequence;
//!     let at = sent + Duration::from_millis(20);
//!     PacketArrival { at, sequence, size: ByteCount::new(500), sent: Some(sent) }
//! });
//! let losses = classify(&mut *Scheme::ModifiedBiaz.build(), arrivals);
//! assert_eq!((losses[0].first, losses[0].cause), (3, LossClass::Wireless));
//! ```

use alloc::boxed::Box;
use core::fmt;

use whimbrel_units::{ByteCount, Instant};

mod biaz;
mod classify;
mod clock_skew;
mod differentiation;
mod evidence;
mod guard;
mod inherent;
mod inter_arrival;
mod omniscient;
mod open_gaps;
mod packet_time;
mod parameters;
mod recording;
mod rott;
mod scheme;
mod sequence_bits;
mod spike;
mod stream;
mod zbs;
mod zigzag;

pub use biaz::Biaz;
pub use classify::{ClassifiedLoss, classify};
pub use clock_skew::ClockSkew;
pub use differentiation::Differentiation;
pub use evidence::{Evidence, Measure};
pub use guard::{Guard, GuardConfig, Overruled};
pub use inherent::Inherent;
pub use omniscient::Omniscient;
pub use parameters::{ComparedTrip, Parameters};
pub use recording::RecordingClassifier;
pub use rott::Rott;
pub use scheme::{Scheme, UnknownScheme};
pub use sequence_bits::SequenceBits;
pub use spike::Spike;
pub use stream::StreamClassifier;
pub use zbs::Zbs;
pub use zigzag::ZigZag;

#[cfg(test)]
mod tests;

/// Why a packet did not arrive.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum LossClass {
    /// A queue was full: the sender must slow down.
    Congestion,
    /// The link corrupted it: slowing down would not help.
    Wireless,
}

impl LossClass {
    /// A word for it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Congestion => "congestion",
            Self::Wireless => "wireless",
        }
    }
    /// Wireless if so, else congestion.
    pub const fn wireless_if(condition: bool) -> Self {
        if condition { Self::Wireless } else { Self::Congestion }
    }
}

/// A packet that arrived, data or not.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PacketArrival {
    /// When it arrived, by the receiver's clock.
    pub at: Instant,
    /// Its sequence number, unwrapped.
    pub sequence: u64,
    /// Its application data.
    pub size: ByteCount,
    /// When it was sent, by the sender's clock, if it said so. The two clocks need not agree:
    /// algorithms use `at - sent` only as a *relative* one-way trip time.
    pub sent: Option<Instant>,
}

impl PacketArrival {
    /// An arrival out of a record, with both times in nanoseconds relative to any instant of the clock
    /// that they were read from: what was read first, say, which keeps the precision of recorded seconds.
    /// Earlier times are negative.
    pub fn recorded(sequence: u64, size: ByteCount, received_ns: i64, sent_ns: Option<i64>) -> Self {
        // Room for 31 years before.
        const START_NS: u64 = 1_000_000_000_000_000_000;
        let at = |nanos: i64| Instant::from_nanos(START_NS.saturating_add_signed(nanos));
        Self { at: at(received_ns), sequence, size, sent: sent_ns.map(at) }
    }
}

/// Sequence numbers that were skipped.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LossGap {
    /// The first number missing.
    pub first: u64,
    /// How many are missing in a row (n in the paper); at least one.
    pub count: u64,
    /// When the last packet before the gap arrived.
    pub before: Instant,
    /// When the packet that revealed the gap arrived. T_i of the Biaz scheme is `after - before`.
    pub after: Instant,
}

/// An algorithm that tells losses apart.
///
/// Sequence numbers are unwrapped to 64 bits.
pub trait LossDifferentiation: fmt::Debug + Send {
    /// A packet arrived: learn from its timing. Called for every packet, in order of arrival,
    /// before the [`classify`](Self::classify) of a gap it reveals.
    fn on_arrival(&mut self, arrival: &PacketArrival);

    /// The packet of the last [`on_arrival`](Self::on_arrival) revealed a gap. What would explain it?
    fn classify(&mut self, gap: &LossGap) -> LossClass;

    /// What the last [`classify`](Self::classify) went by.
    fn evidence(&self) -> Evidence {
        Evidence::None
    }

    /// Why the last verdict, of [`classify`](Self::classify) or [`final_class`](Self::final_class), is not the
    /// classifier's own; only a [`Guard`] overrules.
    fn overruled(&self) -> Option<Overruled> {
        None
    }

    /// Packet `sequence` of a gap that was judged so is now declared lost: the final word on it.
    fn final_class(&mut self, sequence: u64, class: LossClass) -> LossClass {
        let _ = sequence;
        class
    }

    /// The path is another: what was learnt of the old one is worth nothing.
    fn on_path_change(&mut self) {}

    /// The truth about a packet, from whoever lost it (a simulator). Only [`Omniscient`] listens.
    fn inform(&mut self, sequence: u64, cause: LossClass) {
        let _ = (sequence, cause);
    }
}

/// An algorithm as its user holds it: none is plain TFRC.
pub type OptionalDifferentiation = Option<Box<dyn LossDifferentiation>>;
