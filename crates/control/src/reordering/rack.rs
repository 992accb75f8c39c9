//! How long a hole may stay open before it counts as lost: a reordering window after RACK.
//!
//! RACK-TLP (RFC 8985) is what TCP has come to use in place of three duplicate acknowledgements: it waits for a *time*, which
//! starts at a quarter of the shortest round-trip time and grows while it proves too short. [`ReorderWindow`] is the window of
//! Section 6.2, Step 4, at the receiver of an unreliable stream. Nothing is held: packets go to the application as they come,
//! and only the judgement waits. That is the difference to a [`ReorderBuffer`](super::ReorderBuffer).
//!
//! What is read differently here, as a receiver has neither acknowledgements nor retransmissions:
//!
//! - *A spurious retransmission*, which DSACK reports to a TCP sender, is a packet that comes after it was given up: it is
//!   seen, not inferred ([`on_late`](ReorderWindow::on_late)). It proves reordering, too; at a TCP sender the retransmission
//!   would have hidden it (Step 3).
//! - *A round* ends when what was sent at its beginning is acknowledged. Here it lasts for a smoothed round-trip time.
//! - *A loss recovery* is the smoothed round-trip time from the first packet that was given up: what is given up within
//!   it belongs to it, as to one loss event of TFRC (RFC 5348, Section 5.2).
//! - *Before any reordering* RACK has both rules, the three packets and the window. Here only the packets count
//!   ([`window`](ReorderWindow::window) is `None`), so that a path that keeps order sees RFC 5348 as it stands.
//! - *The shortest round-trip time* is to be "windowed" (Step 1), without a length. Here it is that of the present and of the last
//!   period of [`MIN_RTT_PERIOD`].
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

/// How many loss recoveries a grown window lasts (RFC 8985, Section 6.2, Step 4).
pub const PERSISTENCE: u32 = 16;

/// The window's unit is this part of the shortest round-trip time (RFC 8985, Section 6.2, Step 4).
const PARTS_OF_RTT: u64 = 4;

/// How long a shortest round-trip time is good for: for one to two of these. RFC 8985 leaves it open; ten seconds is what
/// BBR takes, short enough to follow a route that has become longer.
pub const MIN_RTT_PERIOD: Duration = Duration::from_secs(10);

/// The weight of a sample in SRTT, as one part in so many (alpha of RFC 6298, Section 2).
const SRTT_PARTS: u64 = 8;

/// The reordering window of one stream.
///
/// Feed it what the loss detection sees, then ask for the [`window`](Self::window). Time must not run backwards.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ReorderWindow {
    rtt: Option<RoundTrips>,
    /// RACK.reordering_seen.
    reordering_seen: bool,
    /// RACK.reo_wnd_mult less one.
    growth: u32,
    /// RACK.reo_wnd_persist.
    persistence: u32,
    /// When the round in which the window grew began (RACK.dsack_round), while it may be on.
    grew: Option<Instant>,
    /// When the first packet of the present loss recovery was given up, while it may be on.
    recovery: Option<Instant>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct RoundTrips {
    smoothed: Duration,
    /// When the present period began.
    since: Instant,
    shortest: Duration,
    /// That of the period before.
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
            // Where nothing was measured for long, there was no period right before.
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
    /// The window of a stream that has kept its order so far.
    pub fn new() -> Self {
        Self::default()
    }

    /// A round-trip time was measured (Step 1).
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

    /// A packet came after one with a higher sequence number, in time (Step 3).
    pub fn on_reordered(&mut self, now: Instant) {
        self.pass(now);
        self.reordering_seen = true;
    }

    /// A packet came that had been given up: the window was too short. It grows, once in a round-trip time (Step 4).
    pub fn on_late(&mut self, now: Instant) {
        self.pass(now);
        self.reordering_seen = true;
        if self.grew.is_none() {
            self.grew = Some(now);
            self.growth = self.growth.saturating_add(1);
            self.persistence = PERSISTENCE;
        }
    }

    /// A packet was given up. Sixteen recoveries after the window grew last, it is as it was at first (Step 4).
    pub fn on_lost(&mut self, now: Instant) {
        self.pass(now);
        self.recovery.get_or_insert(now);
    }

    /// How long to wait for a missing packet from when one behind it has come: RACK.reo_wnd. `None`: count packets
    /// ([`NDUPACK`](crate::tfrc::loss_detection::NDUPACK)), as nothing was out of order so far, or the round-trip time is not
    /// known.
    pub fn window(&self) -> Option<Duration> {
        let rtts = self.rtt.filter(|_| self.reordering_seen)?;
        let quarters = rtts.minimum().as_nanos().saturating_mul(u64::from(self.multiplier()));
        Some(Duration::from_nanos(quarters / PARTS_OF_RTT).min(rtts.smoothed))
    }

    /// RACK.reo_wnd_mult: how many quarters of the shortest round-trip time the window has, before SRTT bounds it.
    pub fn multiplier(&self) -> u32 {
        self.growth.saturating_add(1)
    }

    /// Ends the round and the recovery that are over at `now`.
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
