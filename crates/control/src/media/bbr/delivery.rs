//! Delivery rate samples (draft-ietf-ccwg-bbr, Section 4.1 "Delivery Rate Samples").

use alloc::collections::VecDeque;

use whimbrel_units::{Duration, Instant};

use super::super::{Feedback, SentPacket};

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

/// A rate sample, taken from the packet of a report that was sent last.
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
    /// Bytes delivered by the report, and its least round-trip time.
    pub(super) newly_delivered: f64,
    pub(super) rtt: Duration,
}

/// Counts what is delivered.
///
/// Each packet is taken as acknowledged at the time of an immediate report on it, so that rates do not depend
/// on the interval between reports.
#[derive(Clone, PartialEq, Debug, Default)]
pub(super) struct Delivery {
    flights: VecDeque<Flight>,
    /// Sequence number of the first.
    first: u64,
    pub(super) delivered: f64,
    delivered_at: Instant,
    first_sent_at: Instant,
    /// Sending time of the newest packet of which the arrival was reported.
    newest_sent_at: Instant,
    pub(super) lost: f64,
    /// Bytes delivered at which the phase limited by the application ends; 0 if there is none.
    limited_until: f64,
}

impl Delivery {
    /// Records a packet; `in_flight` are the bytes in flight before it.
    pub(super) fn on_sent(&mut self, packet: &SentPacket, in_flight: f64) {
        if in_flight <= 0.0 {
            (self.first_sent_at, self.delivered_at) = (packet.sent_at, packet.sent_at);
        }
        if self.first + self.flights.len() as u64 != packet.sequence {
            self.flights.clear();
            self.first = packet.sequence;
        }
        if self.flights.len() >= MOST {
            self.flights.pop_front();
            self.first += 1;
        }
        let size = packet.size.as_f64();
        self.flights.push_back(Flight {
            sent_at: packet.sent_at,
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

    /// Processes a report; returns the sample of the packet sent last.
    pub(super) fn on_feedback(&mut self, feedback: &Feedback<'_>) -> Option<RateSample> {
        // A report that a later one overtook gives no sample, as if it were lost: packets sent meanwhile
        // would have its bytes in the time of the later one.
        let arrived = feedback.packets.iter().filter(|packet| packet.arrival().is_some());
        let sent_at = arrived.map(|packet| packet.sent.sent_at).max()?;
        if sent_at < self.newest_sent_at {
            return None;
        }
        self.newest_sent_at = sent_at;
        let mut newest: Option<Flight> = None;
        let (mut newly_delivered, mut least_rtt) = (0.0, None);
        for (packet, rtt) in feedback.round_trips() {
            let Some(flight) = self.flight(packet.sent.sequence) else { continue };
            newly_delivered += flight.size;
            least_rtt = Some(least_rtt.map_or(rtt, |least: Duration| least.min(rtt)));
            let at = flight.sent_at + rtt;
            self.delivered += flight.size;
            self.delivered_at = self.delivered_at.max(at);
            if newest.is_none_or(|newest| flight.sent_at >= newest.sent_at) {
                newest = Some(flight);
            }
        }
        if self.delivered > self.limited_until {
            self.limited_until = 0.0;
        }
        let rtt = least_rtt?;
        let flight = newest?;
        self.first_sent_at = flight.sent_at;
        let send_elapsed = flight.sent_at.saturating_since(flight.first_sent_at);
        let interval = send_elapsed.max(self.delivered_at.saturating_since(flight.delivered_at));
        let delivered = self.delivered - flight.delivered;
        // An interval below the round-trip time would be an artefact of the clocks.
        let valid = interval >= rtt && !interval.is_zero();
        self.forget(feedback.now, rtt);
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

    /// Forgets packets sent so long ago that no report on them is expected.
    fn forget(&mut self, now: Instant, rtt: Duration) {
        let old = now.saturating_sub((rtt * 10).max(Duration::from_secs(5)));
        while self.flights.front().is_some_and(|flight| flight.sent_at < old) {
            self.flights.pop_front();
            self.first += 1;
        }
    }
}
