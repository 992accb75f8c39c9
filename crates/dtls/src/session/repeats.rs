//! Retransmissions in addition to the library's.

use bytes::Bytes;
use whimbrel_units::{Duration, Instant};

/// Time after which the last flight is repeated as it was, in between. A burst of losses that lasts for a
/// number of packets ends the sooner, the more packets there are. The library doubles its own intervals, and
/// so cannot repeat a flight that often.
pub(super) const REPEAT_INTERVAL: Duration = Duration::from_millis(500);

/// The last flight of a handshake, to be repeated until the next one. Datagrams that have arrived before are
/// replays to the peer.
#[derive(Debug, Default)]
pub(super) struct Repeats {
    flight: Vec<Bytes>,
    due: Option<Instant>,
}

impl Repeats {
    pub(super) fn set(&mut self, now: Instant, flight: impl Iterator<Item = Bytes>) {
        self.flight.clear();
        self.flight.extend(flight);
        self.due = Some(now + REPEAT_INTERVAL);
    }
    pub(super) fn restart(&mut self, now: Instant) {
        self.due = self.due.map(|_| now + REPEAT_INTERVAL);
    }
    pub(super) fn due(&self) -> Option<Instant> {
        self.due
    }
    pub(super) fn is_due(&self, now: Instant) -> bool {
        self.due.is_some_and(|due| due <= now)
    }
    pub(super) fn take_due(&mut self, now: Instant) -> impl Iterator<Item = Bytes> {
        self.due = Some(now + REPEAT_INTERVAL);
        self.flight.iter().cloned()
    }
}
