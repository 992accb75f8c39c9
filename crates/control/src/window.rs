//! Congestion windows: how much may be in the network at once.
//!
//! TCP, its kin and CCID 2 all keep two numbers, `cwnd` and `ssthresh`, and differ in how an
//! acknowledgement raises them and how a loss cuts them. A sender owns the numbers as a [`Window`]
//! and asks a [`WindowLaw`] to move them; what is in the network, what is lost and what to
//! retransmit stays the sender's business. [`NewReno`] is the standard law (RFC 5681).
//!
//! Windows are real numbers of full-sized *segments*, as the literature has them. A sender that counts
//! bytes multiplies by its segment size, one that counts packets rounds down: rounding happens at
//! the comparison, never in the state, so that `cwnd += 1/cwnd` keeps its meaning for large windows.
//!
//! ```
//! use whimbrel_control::window::{Acknowledgement, CongestionSignal, NewReno, Window, WindowLaw};
//!
//! let mut law = NewReno::rfc5681();
//! let mut window = Window::new(4.0);
//! for _ in 0..4 {
//!     law.on_ack(&mut window, &Acknowledgement::of(1.0));
//! }
//! assert_eq!(window.cwnd, 8.0); // slow start doubles the window in a round trip
//! law.on_congestion(&mut window, &CongestionSignal::loss(8.0));
//! assert_eq!((window.cwnd, window.ssthresh), (4.0, 4.0));
//! ```
//!
//! The retransmission timer that goes with the window is in [`rto`].

use core::fmt;

use whimbrel_units::{Duration, Instant};

mod new_reno;
pub mod rto;

pub use new_reno::{Growth, NewReno, Reduction};

/// The two numbers of window-based congestion control, in segments.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Window {
    /// `cwnd`: how much the sender allows itself to have in the network.
    pub cwnd: f64,
    /// `ssthresh`: below it the window grows by slow start, from it on by congestion avoidance.
    /// Infinite until the first loss unless the sender knows better (RFC 5681, Section 3.1).
    pub ssthresh: f64,
}

impl Window {
    /// A window of `cwnd` segments that has seen no congestion yet.
    pub const fn new(cwnd: f64) -> Self {
        Self { cwnd, ssthresh: f64::INFINITY }
    }
    /// Whether the window grows by slow start. At `cwnd = ssthresh` RFC 5681 leaves the choice;
    /// this is congestion avoidance.
    pub fn in_slow_start(&self) -> bool {
        self.cwnd < self.ssthresh
    }
    /// The window in bytes, rounded down.
    pub fn bytes(&self, segment_size: u32) -> u64 {
        (self.cwnd * f64::from(segment_size)) as u64
    }
}

/// An acknowledgement of new data that arrived outside loss recovery.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Acknowledgement {
    /// When it arrived.
    pub now: Instant,
    /// How much it newly acknowledged, in segments.
    pub acked: f64,
    /// How much remains in the network, in segments.
    pub in_flight: f64,
    /// The smoothed round-trip time, once there is one.
    pub smoothed_rtt: Option<Duration>,
}

impl Acknowledgement {
    /// An acknowledgement of `acked` segments, for laws that look at nothing else.
    pub const fn of(acked: f64) -> Self {
        Self { now: Instant::ZERO, acked, in_flight: 0.0, smoothed_rtt: None }
    }
}

/// Why a window is to be cut.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum CongestionCause {
    /// A segment is taken as lost.
    Loss,
    /// A router marked a segment (RFC 3168).
    Mark,
}

/// The network asks for less. The sender reports one signal for each window of data, however many
/// segments of it are lost or marked.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct CongestionSignal {
    /// When it was noticed.
    pub now: Instant,
    /// `FlightSize`, in segments: what was in the network, or what the sender takes for it.
    pub in_flight: f64,
    /// What happened.
    pub cause: CongestionCause,
}

impl CongestionSignal {
    /// A loss from `in_flight` segments, for laws that look at nothing else.
    pub const fn loss(in_flight: f64) -> Self {
        Self { now: Instant::ZERO, in_flight, cause: CongestionCause::Loss }
    }
}

/// What every acknowledgement says about the path, in recovery or out of it, for laws that measure.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Delivery {
    /// When the acknowledgement arrived.
    pub now: Instant,
    /// What has newly left the network, in segments: acknowledged cumulatively or selectively.
    pub delivered: f64,
    /// A round-trip time, if the acknowledgement gave one.
    pub rtt: Option<Duration>,
}

/// How a window moves.
///
/// Laws hold no copy of the window: a sender may cut it for reasons of its own (an idle period, the
/// end of a recovery) and the law goes on from there.
pub trait WindowLaw: fmt::Debug + Send {
    /// The law's name, as it appears in tables.
    fn name(&self) -> &'static str;

    /// New data was acknowledged and the window may grow.
    fn on_ack(&mut self, window: &mut Window, ack: &Acknowledgement);

    /// Loss or marks: cut the window, once for each window of data.
    fn on_congestion(&mut self, window: &mut Window, signal: &CongestionSignal);

    /// The retransmission timer expired. `repeated` says that it had already expired for the same
    /// segment, in which case RFC 5681, Section 3.1 holds `ssthresh` where it is.
    fn on_timeout(&mut self, window: &mut Window, signal: &CongestionSignal, repeated: bool);

    /// Called for every acknowledgement, before the other callbacks.
    fn on_delivery(&mut self, delivery: &Delivery) {
        let _ = delivery;
    }
}

/// How large the window is before the first acknowledgement.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum InitialWindow {
    /// 2, 3 or 4 segments by the segment's size (RFC 5681, Section 3.1).
    Rfc5681,
    /// `min(4 MSS, max(2 MSS, 4380 bytes))` (RFC 3390, Section 1).
    Rfc3390,
    /// That many segments, whatever their size.
    Segments(u32),
}

impl InitialWindow {
    /// The window in whole segments for segments of `segment_size` bytes, at least one.
    pub fn segments(self, segment_size: u32) -> f64 {
        let whole = match self {
            Self::Rfc5681 if segment_size > 2190 => 2,
            Self::Rfc5681 if segment_size > 1095 => 3,
            Self::Rfc5681 => 4,
            Self::Rfc3390 => {
                let size = segment_size.max(1);
                (4 * size).min((2 * size).max(4380)) / size
            }
            Self::Segments(count) => count.max(1),
        };
        f64::from(whole)
    }
}

#[cfg(test)]
mod tests;
