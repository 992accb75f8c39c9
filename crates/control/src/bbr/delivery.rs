//! Delivery rate samples (draft-ietf-ccwg-bbr, Section 4.1 "Delivery Rate Samples").

use alloc::collections::VecDeque;

use whimbrel_units::{Duration, Instant};

/// Most packets remembered; the oldest beyond are forgotten and give no sample.
const MOST: usize = 1 << 16;

/// The connection's state when a packet was sent.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Flight {
    sent_at: Instant,
    pub(super) size: f64,
    /// Bytes delivered, and the time at which the last of them were.
    pub(super) delivered: f64,
    delivered_at: Instant,
    /// Sending time of the packet that was delivered last.
    first_sent_at: Instant,
    /// Bytes in flight with this packet.
    pub(super) in_flight: f64,
    /// Bytes lost.
    pub(super) lost: f64,
    pub(super) application_limited: bool,
}

/// A rate sample, taken from the packet of an acknowledgement that was sent last.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct RateSample {
    /// Bytes delivered in a second; 0 if the interval is too short.
    pub(super) rate: f64,
    /// Bytes delivered when the packet was sent, and since.
    pub(super) prior_delivered: f64,
    pub(super) delivered: f64,
    /// Bytes lost since the packet was sent, and in flight when it was.
    pub(super) lost: f64,
    pub(super) in_flight_when_sent: f64,
    pub(super) application_limited: bool,
    /// Bytes delivered by the acknowledgement.
    pub(super) newly_delivered: f64,
    /// Its least round-trip time; `None` if it is only of retransmissions.
    pub(super) rtt: Option<Duration>,
}

/// Counts what is delivered.
#[derive(Clone, PartialEq, Debug, Default)]
pub(super) struct Delivery {
    flights: VecDeque<Flight>,
    /// Sequence number of the first.
    first: u64,
    pub(super) delivered: f64,
    delivered_at: Instant,
    first_sent_at: Instant,
    pub(super) lost: f64,
    /// Bytes delivered at which the phase limited by the application ends; 0 if there is none.
    limited_until: f64,
    /// The packet sent last of those that the present acknowledgement covers, and their bytes.
    newest: Option<Flight>,
    newly_delivered: f64,
}

impl Delivery {
    /// Records a packet of `size` bytes; `in_flight` are the bytes in flight before it.
    pub(super) fn on_sent(&mut self, now: Instant, sequence: u64, size: f64, in_flight: f64) {
        if in_flight <= 0.0 {
            (self.first_sent_at, self.delivered_at) = (now, now);
        }
        if self.first + self.flights.len() as u64 != sequence {
            self.flights.clear();
            self.first = sequence;
        }
        if self.flights.len() >= MOST {
            self.flights.pop_front();
            self.first += 1;
        }
        self.flights.push_back(Flight {
            sent_at: now,
            size,
            delivered: self.delivered,
            delivered_at: self.delivered_at,
            first_sent_at: self.first_sent_at,
            in_flight: in_flight + size,
            lost: self.lost,
            application_limited: self.limited_until > 0.0,
        });
    }

    /// The state when a packet was sent.
    pub(super) fn flight(&self, sequence: u64) -> Option<Flight> {
        let index = usize::try_from(sequence.checked_sub(self.first)?).ok()?;
        self.flights.get(index).copied()
    }

    /// Counts a lost packet.
    pub(super) fn on_lost(&mut self, size: f64) {
        self.lost += size;
    }

    /// Marks the packets in flight, and those sent until they are delivered, as limited by the application.
    pub(super) fn limit(&mut self, in_flight: f64) {
        self.limited_until = (self.delivered + in_flight).max(1.0);
    }

    /// `true` while samples are limited by the application.
    pub(super) fn is_limited(&self) -> bool {
        self.limited_until > 0.0
    }

    /// Counts a packet that the present acknowledgement covers and that was acknowledged at `at`. Returns
    /// `false` if the packet is not remembered.
    pub(super) fn on_delivered(&mut self, sequence: u64, at: Instant) -> bool {
        let Some(flight) = self.flight(sequence) else { return false };
        self.newly_delivered += flight.size;
        self.delivered += flight.size;
        self.delivered_at = self.delivered_at.max(at);
        if self.newest.is_none_or(|newest| flight.sent_at >= newest.sent_at) {
            self.newest = Some(flight);
        }
        true
    }

    /// Ends the present acknowledgement, whose least round-trip time is `rtt`. An interval shorter than
    /// `least` gives no rate.
    pub(super) fn sample(&mut self, rtt: Option<Duration>, least: Duration) -> Option<RateSample> {
        if self.delivered > self.limited_until {
            self.limited_until = 0.0;
        }
        let newly_delivered = core::mem::take(&mut self.newly_delivered);
        let flight = self.newest.take()?;
        self.first_sent_at = flight.sent_at;
        let send_elapsed = flight.sent_at.saturating_since(flight.first_sent_at);
        let interval = send_elapsed.max(self.delivered_at.saturating_since(flight.delivered_at));
        let delivered = self.delivered - flight.delivered;
        let valid = interval >= least && !interval.is_zero();
        Some(RateSample {
            rate: if valid { delivered / interval.as_secs_f64() } else { 0.0 },
            prior_delivered: flight.delivered,
            delivered,
            lost: self.lost - flight.lost,
            in_flight_when_sent: flight.in_flight,
            application_limited: flight.application_limited,
            newly_delivered,
            rtt,
        })
    }

    /// Forgets packets sent so long ago that no acknowledgement of them is expected.
    pub(super) fn forget(&mut self, now: Instant, rtt: Duration) {
        let old = now.saturating_sub((rtt * 10).max(Duration::from_secs(5)));
        while self.flights.front().is_some_and(|flight| flight.sent_at < old) {
            self.flights.pop_front();
            self.first += 1;
        }
    }
}
