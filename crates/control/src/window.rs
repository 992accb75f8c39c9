//! Congestion windows: the amount of data allowed in the network.
//!
//! TCP and CCID 2 keep two numbers, `cwnd` and `ssthresh`; their variants differ in the increase on an
//! acknowledgement and the decrease on a loss. A sender owns the numbers as a [`Window`] and a [`WindowLaw`]
//! changes them; the sender itself tracks packets in flight, losses and retransmissions. [`NewReno`] is the
//! standard law (RFC 5681); [`Cubic`], [`Veno`] and [`Westwood`] are others, and [`Prague`] is one for L4S.
//!
//! Windows are real numbers of full-sized *segments*, as in the literature. A sender that counts bytes
//! multiplies by its segment size, one that counts packets rounds down: rounding happens at the comparison,
//! never in the state, so that `cwnd += 1/cwnd` stays exact for large windows.
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
//! The corresponding retransmission timer is in [`rto`].

use core::fmt;

use whimbrel_units::{ByteCount, Duration, Instant};

mod cubic;
mod hystart;
mod new_reno;
mod prague;
mod prototype;
pub mod rto;
mod veno;
mod westwood;

pub use cubic::Cubic;
pub use hystart::{HyStart, LinuxHyStart};
pub use new_reno::{Growth, NewReno, Reduction};
pub use prague::Prague;
pub use prototype::{CloneLaw, LawPrototype};
pub use veno::Veno;
pub use westwood::{BandwidthFilter, Westwood};

/// The state of window-based congestion control, in segments.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Window {
    /// `cwnd`: maximum amount in the network.
    pub cwnd: f64,
    /// `ssthresh`: the window grows by slow start below it, and by congestion avoidance from it on. Infinite
    /// until the first loss unless the sender has a better value (RFC 5681, Section 3.1).
    pub ssthresh: f64,
}

impl Window {
    /// A window of `cwnd` segments without congestion so far.
    pub const fn new(cwnd: f64) -> Self {
        Self { cwnd, ssthresh: f64::INFINITY }
    }

    /// `true` if the window grows by slow start. At `cwnd = ssthresh` RFC 5681 allows either; this is
    /// congestion avoidance.
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
    /// Arrival time.
    pub now: Instant,
    /// Newly acknowledged data, in segments; under a [scalable](WindowLaw::is_scalable) law without those
    /// that were marked.
    pub acked: f64,
    /// Data remaining in the network, in segments.
    pub in_flight: f64,
    /// Smoothed round-trip time, if measured.
    pub smoothed_rtt: Option<Duration>,
}

impl Acknowledgement {
    /// An acknowledgement of `acked` segments, for laws that use nothing else.
    pub const fn of(acked: f64) -> Self {
        Self { now: Instant::ZERO, acked, in_flight: 0.0, smoothed_rtt: None }
    }
}

/// Reason for reducing the window.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum CongestionCause {
    /// A segment is assumed to be lost.
    Loss,
    /// A router marked a segment (RFC 3168).
    Mark,
}

/// A congestion signal. The sender reports one signal for each window of data, regardless of the number of
/// lost or marked segments in it. To a [scalable](WindowLaw::is_scalable) law it reports each acknowledgement
/// with marks.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct CongestionSignal {
    /// Time of detection.
    pub now: Instant,
    /// `FlightSize`, in segments: the data in the network, or the sender's estimate of it.
    pub in_flight: f64,
    /// The cause.
    pub cause: CongestionCause,
}

impl CongestionSignal {
    /// A loss with `in_flight` segments, for laws that use nothing else.
    pub const fn loss(in_flight: f64) -> Self {
        Self { now: Instant::ZERO, in_flight, cause: CongestionCause::Loss }
    }
}

/// Measurements from any acknowledgement, in recovery or not, for laws that estimate path properties.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Delivery {
    /// Arrival time of the acknowledgement.
    pub now: Instant,
    /// Data that has newly left the network, in segments: acknowledged cumulatively or selectively.
    pub delivered: f64,
    /// Data among them that arrived with a congestion mark, in segments; zero if the feedback does not count
    /// marks.
    pub marked: f64,
    /// Round-trip time sample, if the acknowledgement provided one.
    pub rtt: Option<Duration>,
}

/// Rules for changing a window.
///
/// A law is `Clone`, and a configuration holds it as a [`LawPrototype`]. Laws hold no copy of the window: a
/// sender may reduce it for other reasons (an idle period, the end of a recovery), and the law continues from
/// there.
pub trait WindowLaw: CloneLaw + fmt::Debug + Send + Sync {
    /// Name of the law, as used in tables.
    fn name(&self) -> &'static str;

    /// `true` if the law responds to the extent of marking, as L4S requires (RFC 9331, Section 4.3). The
    /// sender then sends ECT(1), receives feedback that counts marks ([`Delivery::marked`]), and reports a
    /// [`Mark`](CongestionCause::Mark) with each acknowledgement that has some.
    fn is_scalable(&self) -> bool {
        false
    }

    /// Processes an acknowledgement of new data; the window may grow.
    fn on_ack(&mut self, window: &mut Window, ack: &Acknowledgement);

    /// Processes a loss or marks: reduces the window. Called once for each window of data, except for the
    /// marks of a scalable law.
    fn on_congestion(&mut self, window: &mut Window, signal: &CongestionSignal);

    /// Processes an expiration of the retransmission timer. `repeated` is `true` if it had already expired
    /// for the same segment, in which case `ssthresh` is kept (RFC 5681, Section 3.1).
    fn on_timeout(&mut self, window: &mut Window, signal: &CongestionSignal, repeated: bool);

    /// Called at the end of a loss recovery: all data that was outstanding at its beginning is
    /// acknowledged.
    fn on_recovery_end(&mut self, window: &mut Window) {
        let _ = window;
    }

    /// Called for every acknowledgement, before the other callbacks.
    fn on_delivery(&mut self, delivery: &Delivery) {
        let _ = delivery;
    }

    /// The receiver now acknowledges `segments` at once (CCID 2's Ack Ratio). Laws that grow with each
    /// acknowledgement adapt to it (RFC 4341, Section 5).
    fn on_ack_ratio(&mut self, segments: f64) {
        let _ = segments;
    }
}

/// Window size before the first acknowledgement.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum InitialWindow {
    /// 2, 3 or 4 segments by the segment's size (RFC 5681, Section 3.1).
    Rfc5681,
    /// `min(4 MSS, max(2 MSS, 4380 bytes))` (RFC 3390, Section 1).
    Rfc3390,
    /// `min(10 MSS, max(2 MSS, 14600 bytes))` (RFC 6928, Section 2).
    Rfc6928,
    /// This number of segments, regardless of their size.
    Segments(u32),
}

impl InitialWindow {
    /// The window in whole segments for segments of `segment_size` bytes, at least one.
    pub fn segments(self, segment_size: u32) -> f64 {
        let whole = match self {
            Self::Rfc5681 if segment_size > 2190 => 2,
            Self::Rfc5681 if segment_size > 1095 => 3,
            Self::Rfc5681 => 4,
            Self::Rfc3390 | Self::Rfc6928 => {
                let size = u64::from(segment_size.max(1));
                return (self.bytes(ByteCount::new(size)).as_u64() / size) as f64;
            }
            Self::Segments(count) => count.max(1),
        };
        f64::from(whole)
    }

    /// The window in bytes for segments of `segment_size`.
    pub fn bytes(self, segment_size: ByteCount) -> ByteCount {
        let within = |segments: u64, bytes| {
            (segment_size * segments).min((segment_size * 2).max(ByteCount::new(bytes)))
        };
        match self {
            Self::Rfc3390 => within(4, 4380),
            Self::Rfc6928 => within(10, 14_600),
            Self::Rfc5681 | Self::Segments(_) => {
                let size = u32::try_from(segment_size.as_u64()).unwrap_or(u32::MAX);
                segment_size * self.segments(size) as u64
            }
        }
    }
}

#[cfg(test)]
mod tests;
