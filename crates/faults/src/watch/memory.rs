//! An endpoint's heap, in bytes, is bounded by its configuration and by the data that it was given.
//!
//! The number of entries of each kind has a law of its own (`watch::bounds`). Here the greatest number so far
//! is multiplied by the size of one: a queue keeps its capacity. Any other growth with the packets of a
//! connection, by a few bytes for each, exceeds the bound within a trial.

use whimbrel_proto::{Ccid, Config, Connection, ConnectionSnapshot, EndpointSnapshot, Event};
use whimbrel_units::Duration;
use whimbrel_wire::Packet;

use crate::tally::Tally;

/// Bytes of a datagram in the send queue, without its data.
const QUEUED: usize = 64;
/// Bytes kept of a packet that was sent until it is known to have arrived.
const SENT: usize = 24;
/// CCID 4 stores sent packets for that many round-trip times, and sends data at least a Min Interval apart
/// (RFC 4828, Section 3), with as many acknowledgements in between.
const REMEMBERED_ROUND_TRIPS: u64 = 8;
const MIN_INTERVAL: Duration = Duration::from_millis(10);
/// Bytes kept of an Ack Vector that was sent.
const ACK_VECTOR: usize = 16;
/// Bytes of a feature under negotiation, with its preferences.
const FEATURE: usize = 256;
/// Bytes kept of a packet with dropped data, and of a report about it.
const DROPPED: usize = 64;
/// The most such packets that are stored.
const DROPPED_PACKETS: usize = 1_024;
/// Bytes kept of a packet that waits for earlier ones, with its event for the application.
const WAITING: usize = size_of::<Packet>() + size_of::<Event>() + 128;
/// Bytes of a histogram of late times, and of holes that may be filled late, which are limited in number.
const LATE_TIMES: usize = 1_024;
const HOLE: usize = 16;
const HOLES: usize = 256;
/// Bytes of the gaps whose class waits for the decision on their packets, which are limited in number.
const GAPS: usize = 64 * 96;
/// Bytes for the outcomes that one packet reports for the first time, of Ack Vectors and of Data Dropped. One
/// packet may report all those sent before, but the room for more is not kept.
const NEWS: usize = 2 * 256 * 16;
/// Bytes of both ends of the congestion control, and of all other parts of fixed size.
const FIXED: usize = 4_096;
/// Bytes of the mobility state: the key, the candidate and the state of four paths.
const MOBILE: usize = 4_096;
/// Bytes kept of a connection by its endpoint: places in tables, the tag of its cookie.
const PLACE: usize = 512;
/// Bytes of a listener, its configuration and its number; and of a node of the tree of ports, which has
/// eleven places, each of a port and a vector, a pointer and two lengths of 16 bits.
const LISTENER: usize = size_of::<Config>() + PREFERENCES + 2 * size_of::<u64>() + NODE.next_multiple_of(8);
/// Bytes of the feature preferences that follow from a configuration, which connections share, and of
/// reference counts.
const PREFERENCES: usize = 3_072;
const NODE: usize =
    11 * (size_of::<u16>() + size_of::<Vec<Config>>()) + size_of::<usize>() + 2 * size_of::<u16>();
/// Bytes of the key pair from which the keys of clients that may move are derived, 32 each, and of two
/// reference counts.
const SECRET: usize = 64 + 2 * size_of::<usize>();
/// Bytes of a deadline in the calendar.
const DEADLINE: usize = 24;
/// Bytes of the limits of stateless Responses, by address: all there ever are, from the first on.
const RESPONSE_LIMITS: usize = 4_096 * 24;

/// Bytes of a count of an address's connections, and of a place in the queue of those in TIMEWAIT.
const SOURCE: usize = 64;

/// Bytes of a stateless answer, with the longest cookie and its destination.
const ANSWER: usize = size_of::<Packet>() + 1_024;

/// Bytes of a collection that has had `entries` entries of `size` bytes: it grows by doubling, from four.
fn grown(entries: usize, size: usize) -> usize {
    if entries == 0 { 0 } else { (2 * entries).max(4) * size }
}

/// The most that one connection has stored.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ConnectionMemory {
    queued: usize,
    events: usize,
    /// Bytes of application data that wait now: they are freed when they are delivered.
    data: usize,
    ack_vectors: usize,
    /// Packets sent and not acknowledged.
    unacknowledged: usize,
    /// Packets that were stored longer than that.
    remembered: usize,
    dropped: usize,
    /// Packets that waited for earlier ones.
    waiting: usize,
    /// Holes that there may have been.
    holes: usize,
    features: usize,
    mobile: usize,
}

impl ConnectionMemory {
    /// The connection may move.
    pub(crate) fn of_one_that_may_move() -> Self {
        Self { mobile: MOBILE, ..Self::default() }
    }

    /// Updates the maxima after any event. `unacknowledged` is the number of packets sent and not
    /// acknowledged, if known.
    pub(crate) fn on_change(&mut self, seen: &ConnectionSnapshot, unacknowledged: Option<u64>) {
        let (holdings, statistics) = (&seen.holdings, &seen.statistics);
        self.queued = self.queued.max(seen.queued_datagrams);
        self.events = self.events.max(holdings.events);
        self.data = holdings.datagram_bytes;
        self.ack_vectors = self.ack_vectors.max(holdings.ack_vectors_sent);
        self.unacknowledged =
            self.unacknowledged.max(unacknowledged.unwrap_or(statistics.packets_sent) as usize);
        if seen.sender_ccid == Ccid::TFRC_SP {
            let remembered = seen.sender.rtt.unwrap_or_default() * REMEMBERED_ROUND_TRIPS;
            let packets = 2 * remembered.as_nanos() / MIN_INTERVAL.as_nanos();
            self.remembered = self.remembered.max(statistics.packets_sent.min(packets) as usize);
        }
        self.dropped = DROPPED_PACKETS.min(statistics.datagrams_discarded as usize);
        self.waiting = seen.reordering.map_or(0, |reordering| reordering.most_held as usize);
        self.holes = HOLES.min(statistics.packets_received as usize);
        self.features = self.features.max(holdings.feature_entries);
    }

    /// Bytes that it may take.
    pub(crate) fn bound(&self) -> usize {
        size_of::<Connection>()
            + FIXED
            + self.mobile
            + grown(self.queued, QUEUED)
            + grown(self.events, size_of::<Event>())
            + self.data
            + grown(self.ack_vectors, ACK_VECTOR)
            + grown(self.unacknowledged + self.remembered, SENT)
            + grown(self.dropped, DROPPED)
            + grown(self.waiting, WAITING)
            + LATE_TIMES
            + GAPS
            + NEWS
            + grown(self.holes, HOLE)
            + grown(self.features, FEATURE)
    }
}

/// The most that an endpoint has stored, besides its connections.
#[derive(Clone, Copy, Debug)]
pub(crate) struct EndpointMemory {
    /// Bytes that a new one takes.
    fresh: i64,
    connections: usize,
    deadlines: usize,
    refusals: usize,
    /// Addresses that connections were counted for, and connections in TIMEWAIT.
    sources: usize,
    time_wait: usize,
    /// Bytes of limits for stateless Responses.
    limits: usize,
}

impl EndpointMemory {
    /// `fresh`: bytes that a new endpoint takes.
    pub(crate) fn new(fresh: i64) -> Self {
        Self { fresh, connections: 0, deadlines: 0, refusals: 0, sources: 0, time_wait: 0, limits: 0 }
    }

    /// Bytes that a new endpoint takes.
    pub(crate) fn fresh(&self) -> i64 {
        self.fresh
    }

    /// Notes that the endpoint may answer statelessly.
    pub(crate) fn on_stateless(&mut self) {
        self.limits = RESPONSE_LIMITS;
    }

    /// Updates the maxima after any event.
    pub(crate) fn on_change(&mut self, seen: &EndpointSnapshot) {
        self.connections = self.connections.max(seen.connections);
        self.deadlines = self.deadlines.max(seen.deadlines);
        self.refusals = self.refusals.max(seen.refusals);
        self.sources = self.sources.max(seen.sources);
        self.time_wait = self.time_wait.max(seen.time_wait);
    }

    /// Checks that the endpoint takes at most the allowed bytes, of which `connections` may belong to its
    /// connections.
    pub(crate) fn check(&self, bytes: i64, connections: usize, tally: &mut Tally) {
        let own = LISTENER
            + SECRET
            + self.limits
            + grown(self.connections, PLACE)
            + grown(self.deadlines, DEADLINE)
            + grown(self.refusals, ANSWER)
            + grown(self.sources + self.time_wait, SOURCE);
        let bound = self.fresh + (own + connections) as i64;
        assert!(
            bytes <= bound,
            "an endpoint takes {bytes} bytes: {connections} allowed for connections, {own} besides: {self:?}"
        );
        tally.observe("bytes of an endpoint on the heap", bytes as u64);
        if connections > 0 {
            tally.observe("percent of the bytes that an endpoint may take", (bytes * 100 / bound) as u64);
        }
    }
}
