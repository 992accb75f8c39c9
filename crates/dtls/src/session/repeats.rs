//! Retransmissions in addition to the library's.

use bytes::Bytes;
use whimbrel_proto::Role;
use whimbrel_units::{Duration, Instant};

/// Time after which the last flight is repeated as it was, in between. A burst of losses that lasts for a
/// number of packets ends the sooner, the more packets there are. The library doubles its own intervals, and
/// so cannot repeat a flight that often.
pub(super) const REPEAT_INTERVAL: Duration = Duration::from_millis(500);
/// The same for the first repetitions of a session: two round-trip times, but at least this. An end bounds
/// the bytes of a handshake that it receives, so that the repetitions of 30 s have to be few. The client of
/// DCCP repeats the acknowledgement of a Response after 200 ms in which it has sent nothing (RFC 4340,
/// Section 8.1.5), which reaches the server also if larger packets do not.
const QUICK_REPEAT_INTERVAL: Duration = Duration::from_millis(210);
const QUICK_REPEATS: u32 = 24;

/// The last flight of a handshake, to be repeated until the next one. Datagrams that have arrived before are
/// replays to the peer.
#[derive(Debug)]
pub(super) struct Repeats {
    flight: Vec<Bytes>,
    /// Time between the first repetitions, and how many of them are left.
    quick: Duration,
    quick_left: u32,
    due: Option<Instant>,
}

impl Repeats {
    /// The repetitions of an end on a path with that round-trip time. A server has fewer quick ones: a peer
    /// without a key is sent little for which it has sent nothing.
    pub(super) fn new(role: Role, rtt: Option<Duration>) -> Self {
        let quick =
            rtt.map_or(REPEAT_INTERVAL, |rtt| (rtt * 2).clamp(QUICK_REPEAT_INTERVAL, REPEAT_INTERVAL));
        let quick_left = if role == Role::Client { QUICK_REPEATS } else { QUICK_REPEATS / 3 };
        Self { flight: Vec::new(), quick, quick_left, due: None }
    }

    fn interval(&self) -> Duration {
        if self.quick_left > 0 { self.quick } else { REPEAT_INTERVAL }
    }

    pub(super) fn set(&mut self, now: Instant, flight: impl Iterator<Item = Bytes>) {
        self.flight.clear();
        self.flight.extend(flight);
        self.due = Some(now + self.interval());
    }

    pub(super) fn restart(&mut self, now: Instant) {
        self.due = self.due.map(|_| now + self.interval());
    }

    pub(super) fn due(&self) -> Option<Instant> {
        self.due
    }

    pub(super) fn is_due(&self, now: Instant) -> bool {
        self.due.is_some_and(|due| due <= now)
    }

    pub(super) fn take_due(&mut self, now: Instant) -> impl Iterator<Item = Bytes> {
        self.quick_left = self.quick_left.saturating_sub(1);
        self.due = Some(now + self.interval());
        self.flight.iter().cloned()
    }
}
