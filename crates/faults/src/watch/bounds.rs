//! Memory is bounded by the configuration.

use whimbrel_proto::{Config, ConnectionSnapshot, EndpointConfig, EndpointSnapshot};

use crate::tally::Tally;

/// Bytes that the history of arrived packets may take: two options as long as options get (RFC 4340,
/// Section 11.4 leaves to the receiver how far it reaches), with their types and lengths.
const ACK_VECTOR_BYTES: usize = 600;
/// Ack Vectors that may wait for an acknowledgement.
const ACK_VECTORS: usize = 4_096;
/// Source addresses of Requests at the same time: the client's, and some unknown ones.
const ADDRESSES: usize = 2;
/// Events that concern no datagram of either end and may wait.
const OTHER_EVENTS: usize = 100;
/// Features 1 to 9 twice, the features of two CCIDs, and refusals of unknown ones.
pub(super) const FEATURES: usize = 18 + 8 + 64;

/// Checks one connection.
pub(crate) fn check_connection(
    config: &Config,
    seen: &ConnectionSnapshot,
    handed_over: usize,
    tally: &mut Tally,
) {
    let queue = &config.send_queue;
    assert!(
        seen.queued_datagrams <= queue.max_datagrams && seen.queued_bytes <= queue.max_bytes,
        "{} datagrams of {} bytes in a send queue of {} and {}",
        seen.queued_datagrams,
        seen.queued_bytes,
        queue.max_datagrams,
        queue.max_bytes
    );
    let holdings = &seen.holdings;
    let receive = &config.receive;
    assert!(
        holdings.datagrams <= receive.max_datagrams && holdings.datagram_bytes <= receive.max_bytes,
        "{} datagrams of {} bytes wait for a reader that allows {} and {}",
        holdings.datagrams,
        holdings.datagram_bytes,
        receive.max_datagrams,
        receive.max_bytes
    );
    // Arrivals, and the outcomes of all datagrams sent; other events do not accumulate.
    let reported = holdings.datagrams + 4 * handed_over + OTHER_EVENTS;
    assert!(
        holdings.events <= reported,
        "{} events wait, of {handed_over} datagrams handed over: {holdings:?}",
        holdings.events
    );
    assert!(holdings.ack_vector_bytes <= ACK_VECTOR_BYTES, "{holdings:?}");
    assert!(holdings.ack_vectors_sent <= ACK_VECTORS, "{holdings:?}");
    assert!(holdings.feature_entries <= FEATURES, "{holdings:?}");
    tally.observe("events that waited", holdings.events as u64);
    tally.observe("Ack Vector bytes", holdings.ack_vector_bytes as u64);
    tally.observe("Ack Vectors not acknowledged", holdings.ack_vectors_sent as u64);
    tally.observe("feature entries", holdings.feature_entries as u64);
}

/// Checks an endpoint.
pub(crate) fn check_endpoint(config: &EndpointConfig, seen: &EndpointSnapshot, tally: &mut Tally) {
    assert!(seen.accepted <= config.max_accepted, "{seen:?} allowed {config:?}");
    assert!(seen.half_open <= config.max_half_open, "{seen:?} allowed {config:?}");
    // Each connection has one valid deadline. Others may be outdated, or belong to connections that have
    // ended: as many again and 64 are kept before they are removed.
    assert!(seen.deadlines <= 64 + 2 * seen.connections, "{seen:?}");
    // Bursts of an eighth of a second: of Resets, and of Responses without state, which each client's address
    // has its own of.
    let burst = |rate: u32| 1 + rate as usize / 8;
    let answers = burst(config.resets_per_second) + ADDRESSES * burst(config.stateless_responses_per_second);
    assert!(seen.refusals <= answers, "{seen:?}");
    tally.observe("connections at an endpoint", seen.connections as u64);
    tally.observe("deadlines at an endpoint", seen.deadlines as u64);
}
