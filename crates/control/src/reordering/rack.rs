//! Reordering window for loss detection, after RACK.
//!
//! RACK-TLP (RFC 8985) replaces three duplicate acknowledgements in current TCP implementations: it waits for
//! a *time*, which starts at a quarter of the minimum round-trip time and grows if it proves too short.
//! [`ReorderWindow`] is the window of Section 6.2, Step 4, at the receiver of an unreliable stream. No packet
//! is held: packets are delivered to the application on arrival, and only the loss detection is delayed, in
//! contrast to a [`ReorderBuffer`](super::ReorderBuffer).
//!
//! Adaptations for a receiver, which has neither acknowledgements nor retransmissions:
//!
//! - *A spurious retransmission*, which DSACK reports to a TCP sender, is a packet that arrives after it was
//!   declared lost, which is observed directly ([`on_late`](ReorderWindow::on_late)). It also shows
//!   reordering; at a TCP sender the retransmission would have hidden it (Step 3).
//! - *A round* ends when the data sent at its beginning is acknowledged. Here it lasts for a smoothed
//!   round-trip time.
//! - *A loss recovery* is the smoothed round-trip time from the first packet that was declared lost: further
//!   losses within it belong to it, as to one loss event of TFRC (RFC 5348, Section 5.2).
//! - *Before any reordering* RACK uses both rules, the three packets and the window. Here only the packets
//!   count ([`window`](ReorderWindow::window) is `None`), so that RFC 5348 applies unchanged on a path
//!   without reordering.
//! - *The minimum round-trip time* is to be "windowed" (Step 1), without a specified length. Here it is that
//!   of the current and of the previous period of [`MIN_RTT_PERIOD`].
//!
//! ```
//! use whimbrel_control::reordering::ReorderWindow;
//! use whimbrel_units::{Duration, Instant};
//!
//! let mut rack = ReorderWindow::new();
//! let at = Instant::from_millis;
//! rack.on_rtt(at(100), Duration::from_millis(100));
//! assert_eq!(rack.window(), None); // Nothing was out of order: three packets decide.
//! rack.on_reordered(at(150));
//! assert_eq!(rack.window(), Some(Duration::from_millis(25)));
//! rack.on_lost(at(200));
//! rack.on_late(at(230)); // It was not lost: the window was too short.
//! assert_eq!(rack.window(), Some(Duration::from_millis(50)));
//! ```

use whimbrel_units::{Duration, Instant};

#[cfg(test)]
mod tests;

/// Number of loss recoveries for which a grown window persists (RFC 8985, Section 6.2, Step 4).
pub const PERSISTENCE: u32 = 16;

/// Divisor of the minimum round-trip time for the unit of the window (RFC 8985, Section 6.2, Step 4).
const PARTS_OF_RTT: u64 = 4;

/// Validity of a minimum round-trip time: one to two of these periods. RFC 8985 leaves it open; BBR uses ten
/// seconds, short enough to follow a route that has become longer.
pub const MIN_RTT_PERIOD: Duration = Duration::from_secs(10);

/// Divisor for the weight of a sample in SRTT (alpha of RFC 6298, Section 2).
const SRTT_PARTS: u64 = 8;

/// The reordering window of one stream.
///
/// Updated with the events of loss detection, then queried for the [`window`](Self::window). Time must not
/// decrease.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ReorderWindow {
    rtt: Option<RoundTrips>,
    /// RACK.reordering_seen.
    reordering_seen: bool,
    /// RACK.reo_wnd_mult minus one.
    growth: u32,
    /// RACK.reo_wnd_persist.
    persistence: u32,
    /// Start of the round in which the window grew (RACK.dsack_round), until it has ended.
    grew: Option<Instant>,
    /// Time at which the first packet of the current loss recovery was declared lost, until the recovery has
    /// ended.
    recovery: Option<Instant>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct RoundTrips {
    smoothed: Duration,
    /// Start of the current period.
    since: Instant,
    shortest: Duration,
    /// Minimum of the previous period.
    shortest_before: Duration,
}

impl RoundTrips {
    fn on_sample(&mut self, now: Instant, rtt: Duration) {
        let nanos = self.smoothed.as_nanos();
        let smoothed = nanos - nanos / SRTT_PARTS + rtt.as_nanos() / SRTT_PARTS;
        self.smoothed = Duration::from_nanos(smoothed);
        let elapsed = now.saturating_since(self.since);
        if elapsed < MIN_RTT_PERIOD {
            self.shortest = self.shortest.min(rtt);
        } else {
            // After a long time without samples, there is no directly preceding period.
            let before = if elapsed < MIN_RTT_PERIOD * 2 { self.shortest } else { rtt };
            (self.since, self.shortest_before, self.shortest) = (now, before, rtt);
        }
    }

    /// RACK.min_RTT.
    fn minimum(&self) -> Duration {
        self.shortest.min(self.shortest_before)
    }
}

impl ReorderWindow {
    /// The window of a stream without reordering so far.
    pub fn new() -> Self {
        Self::default()
    }

    /// Processes a round-trip time sample (Step 1).
    pub fn on_rtt(&mut self, now: Instant, rtt: Duration) {
        self.pass(now);
        match &mut self.rtt {
            Some(rtts) => rtts.on_sample(now, rtt),
            None => {
                self.rtt =
                    Some(RoundTrips { smoothed: rtt, since: now, shortest: rtt, shortest_before: rtt });
            }
        }
    }

    /// Processes a packet that arrived in time, but after one with a higher sequence number (Step 3).
    pub fn on_reordered(&mut self, now: Instant) {
        self.pass(now);
        self.reordering_seen = true;
    }

    /// Processes a packet that arrived after it was declared lost: the window was too short. It grows, once
    /// per round-trip time (Step 4).
    pub fn on_late(&mut self, now: Instant) {
        self.pass(now);
        self.reordering_seen = true;
        if self.grew.is_none() {
            self.grew = Some(now);
            self.growth = self.growth.saturating_add(1);
            self.persistence = PERSISTENCE;
        }
    }

    /// Processes a loss. Sixteen recoveries after its last growth, the window returns to its initial size
    /// (Step 4).
    pub fn on_lost(&mut self, now: Instant) {
        self.pass(now);
        self.recovery.get_or_insert(now);
    }

    /// RACK.reo_wnd: time to wait for a missing packet from the arrival of one behind it. `None`: count
    /// packets ([`NDUPACK`](crate::loss_detection::NDUPACK)), as there was no reordering so far, or the
    /// round-trip time is not known.
    pub fn window(&self) -> Option<Duration> {
        let rtts = self.rtt.filter(|_| self.reordering_seen)?;
        let quarters = rtts.minimum().as_nanos().saturating_mul(u64::from(self.multiplier()));
        Some(Duration::from_nanos(quarters / PARTS_OF_RTT).min(rtts.smoothed))
    }

    /// RACK.reo_wnd_mult: the window in quarters of the minimum round-trip time, before it is limited by
    /// SRTT.
    pub fn multiplier(&self) -> u32 {
        self.growth.saturating_add(1)
    }

    /// Ends the round and the recovery if their time has passed at `now`.
    fn pass(&mut self, now: Instant) {
        let round_trip = self.rtt.map_or(Duration::ZERO, |rtts| rtts.smoothed);
        let is_over = |began: Instant| now.saturating_since(began) >= round_trip;
        if self.grew.is_some_and(is_over) {
            self.grew = None;
        }
        if self.recovery.is_some_and(is_over) {
            self.recovery = None;
            self.persistence = self.persistence.saturating_sub(1);
            if self.persistence == 0 {
                self.growth = 0;
            }
        }
    }
}
