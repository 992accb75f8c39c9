//! Classification of packet losses into congestion losses and wireless losses.
//!
//! TFRC treats every loss as a sign of congestion. On a path with a wireless link this costs throughput. A
//! loss differentiation algorithm classifies each loss by the arrivals around the gap in the sequence
//! numbers; TFRC then treats a packet lost on the wireless link as if it had arrived (Cen, Cosman and
//! Voelker, "End-to-end differentiation of congestion and wireless losses", Section 1).
//!
//! An algorithm receives each arrival ([`LossDifferentiation::on_arrival`]) and, right after the arrival that
//! reveals it, each gap ([`LossDifferentiation::classify`]). The final class is requested when the packets
//! are declared lost, a few arrivals later ([`LossDifferentiation::final_class`]): by then late packets may
//! have filled part of the gap.

//!
//! | algorithm | input | classifies a loss as wireless if |
//! |---|---|---|
//! | [`Biaz`], [`Biaz::modified`] | inter-arrival time | the next packet arrived at its expected time |
//! | [`Spike`] | trip time | the queue of the path is less than half full |
//! | [`Standing`] | trip time | no queue stands, and it is less than half full |
//! | [`ZigZag`] | trip time and loss count | the trip time is below its mean, more leniently for longer losses |
//! | [`Zbs`], [`Zbs::zbs2`], [`Zbs::zbs3`] | both | the scheme that suits the topology does so |
//! | [`Inherent`] | loss rate and sending rate | the loss rate does not exceed the loss inherent to the path |
//! | [`Omniscient`] | ground truth | the simulator reported it as wireless |
//!
//! An RTP or QUIC receiver that has the send and arrival times of packets can use the algorithms directly:
//!
//! ```
//! use whimbrel_control::loss_differentiation::{LossClass, PacketArrival, Scheme, classify};
//! use whimbrel_units::{ByteCount, Duration, Instant};
//!
//! // A packet every 10 ms with a trip time of 20 ms; the fourth is missing, and the queue is empty.
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

pub use crate::loss_detection::{LossClass, LossGap};

mod biaz;
mod classify;
mod clock_skew;
mod common_size;
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
mod standing;
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
pub use standing::Standing;
pub use stream::StreamClassifier;
pub use zbs::Zbs;
pub use zigzag::ZigZag;

#[cfg(test)]
mod tests;

/// A packet that arrived, with or without application data.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PacketArrival {
    /// Arrival time by the receiver's clock.
    pub at: Instant,
    /// Sequence number, unwrapped.
    pub sequence: u64,
    /// Size of the application data.
    pub size: ByteCount,
    /// Send time by the sender's clock, if the packet carries it. The two clocks need not agree: algorithms
    /// use `at - sent` only as a *relative* one-way trip time.
    pub sent: Option<Instant>,
}

impl PacketArrival {
    /// Creates an arrival from a record. Both times are in nanoseconds relative to an arbitrary instant of
    /// the clock that they were read from, such as the first time recorded, which keeps the precision of
    /// recorded seconds. Earlier times are negative.
    pub fn recorded(sequence: u64, size: ByteCount, received_ns: i64, sent_ns: Option<i64>) -> Self {
        // 31 years of headroom for earlier times.
        const START_NS: u64 = 1_000_000_000_000_000_000;
        let at = |nanos: i64| Instant::from_nanos(START_NS.saturating_add_signed(nanos));
        Self { at: at(received_ns), sequence, size, sent: sent_ns.map(at) }
    }
}

/// A loss differentiation algorithm.
///
/// Sequence numbers are unwrapped to 64 bits.
pub trait LossDifferentiation: fmt::Debug + Send {
    /// Processes an arrival. Called for every packet, in order of arrival, before
    /// [`classify`](Self::classify) of a gap that the arrival reveals.
    fn on_arrival(&mut self, arrival: &PacketArrival);

    /// Classifies the gap revealed by the packet of the last [`on_arrival`](Self::on_arrival).
    fn classify(&mut self, gap: &LossGap) -> LossClass;

    /// Evidence for the last result of [`classify`](Self::classify).
    fn evidence(&self) -> Evidence {
        Evidence::None
    }

    /// Reason for which the last result of [`classify`](Self::classify) or [`final_class`](Self::final_class)
    /// differs from the classifier's own; only a [`Guard`] overrules.
    fn overruled(&self) -> Option<Overruled> {
        None
    }

    /// Returns the final class of packet `sequence`, now declared lost, of a gap that was classified as
    /// `class`.
    fn final_class(&mut self, sequence: u64, class: LossClass) -> LossClass {
        let _ = sequence;
        class
    }

    /// Discards the statistics of the old path.
    fn on_path_change(&mut self) {}

    /// Reports the true cause of a loss, known to a simulator. Only [`Omniscient`] uses it.
    fn inform(&mut self, sequence: u64, cause: LossClass) {
        let _ = (sequence, cause);
    }
}

/// An optional algorithm; `None` is plain TFRC.
pub type OptionalDifferentiation = Option<Box<dyn LossDifferentiation>>;
