//! Packets in flight that are never reported, because nothing later arrived: they are written off after a
//! time-out.

use whimbrel_units::{Duration, Instant};

use super::{Feedback, SentPacket};

/// The bytes in flight of a law with a window, and those that are taken as lost.
///
/// A receiver reports a packet missing once a later one has arrived. If the last packets of a window are
/// lost, the window stays full without a report: it is widened by the bytes in flight if nothing was sent or
/// reported for the time-out.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub(super) struct Stall {
    in_flight: f64,
    written_off: f64,
    last: Option<Instant>,
}

impl Stall {
    pub(super) fn on_sent(&mut self, packet: &SentPacket) {
        self.in_flight += packet.size.as_f64();
        self.last = Some(packet.sent_at);
    }

    pub(super) fn on_feedback(&mut self, feedback: &Feedback<'_>) {
        self.in_flight = feedback.in_flight.as_f64();
        self.written_off = 0.0;
        self.last = Some(feedback.now);
    }

    /// Bytes in flight that were not written off.
    pub(super) const fn in_flight(&self) -> f64 {
        self.in_flight
    }

    /// Bytes in flight that are taken as lost: the window is wider by them.
    pub(super) const fn written_off(&self) -> f64 {
        self.written_off
    }

    /// The end of the time-out; `None` without bytes in flight.
    pub(super) fn deadline(&self, timeout: Duration) -> Option<Instant> {
        self.last.filter(|_| self.in_flight > 0.0).map(|at| at + timeout)
    }

    /// Writes off the bytes in flight at the end of the time-out; returns `true` if it did.
    pub(super) fn on_timer(&mut self, now: Instant, timeout: Duration) -> bool {
        let ended = self.deadline(timeout).is_some_and(|at| at <= now);
        if ended {
            self.written_off += self.in_flight;
            self.in_flight = 0.0;
        }
        ended
    }
}

#[cfg(test)]
mod tests;
