//! Repetitions of a report while something is missing, as far as what arrives has paid for them.
//!
//! A path whose rate falls to a hundredth loses most packets and carries few reports: unbounded repetitions
//! fill its queue in the reverse direction, and delay the feedback of congestion control by seconds.

use whimbrel_units::{Duration, Instant};

/// From a report that asks for something to the same again: a lost report costs a round trip, of which there
/// are few.
const AGAIN: Duration = Duration::from_millis(4);
/// Repetitions of a report. If the path back loses 8 %, two of two reports are lost in 6 of 1,000 cases, and
/// four of four in 4 of 100,000.
const COPIES: u8 = 3;
/// Share of the arriving bytes that reports may take for a repetition to follow: an eighth.
const SHARE: usize = 8;
/// The most bytes of reports that are paid for ahead: a path that is interrupted needs some at once.
const MOST: usize = 4096;
/// Bytes that the layers below add to a packet.
const HEADERS: usize = 60;

/// The repetitions of the newest report.
#[derive(Debug)]
pub(super) struct Copies {
    due: Option<Instant>,
    left: u8,
    /// Bytes of reports that arrivals have paid for, times [`SHARE`].
    paid: usize,
}

impl Default for Copies {
    fn default() -> Self {
        Self { due: None, left: 0, paid: MOST * SHARE }
    }
}

impl Copies {
    /// A packet of that many bytes arrived.
    pub(super) fn on_arrival(&mut self, bytes: usize) {
        self.paid = (self.paid + bytes + HEADERS).min(MOST * SHARE);
    }

    /// A report of that many bytes is sent.
    pub(super) fn on_report(&mut self, bytes: usize) {
        self.paid = self.paid.saturating_sub((bytes + HEADERS) * SHARE);
    }

    /// A report asks for something new.
    pub(super) fn begin(&mut self, now: Instant) {
        self.left = COPIES;
        self.go_on(now);
    }

    /// After a report, the next repetition follows.
    pub(super) fn go_on(&mut self, now: Instant) {
        self.due = (self.left > 0).then_some(now + AGAIN);
        self.left = self.left.saturating_sub(1);
    }

    /// When a repetition is due.
    pub(super) fn due(&self) -> Option<Instant> {
        self.due
    }

    /// `true` if one is due now and paid for. One that is not paid for is dropped, with those after it.
    pub(super) fn take_due(&mut self, now: Instant) -> bool {
        self.due.take_if(|due| *due <= now).is_some() && self.paid >= HEADERS * SHARE
    }
}
