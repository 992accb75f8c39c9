//! An application that requests ordered delivery receives datagrams in order; none waits longer than D_max.

use std::collections::BTreeSet;

use whimbrel_proto::config::LatePolicy;
use whimbrel_proto::{Config, Connection, State};
use whimbrel_units::Instant;
use whimbrel_wire::{Packet, PacketType, SeqNo};

use crate::tally::Tally;

#[cfg(test)]
mod tests;

/// The largest sequence window (RFC 4340, Section 7.5.2). A packet tampered with can move the window as far.
/// Several such moves lead more than half around the sequence space, where circular arithmetic takes older
/// numbers for newer ones (Section 7.1): there is no order across them.
const LARGEST_WINDOW: u64 = 1 << 46;

/// The datagrams that one end's application has received.
#[derive(Clone, Debug, Default)]
pub(crate) struct Order {
    newest: Option<SeqNo>,
    /// The numbers of Requests and Responses with data that have arrived.
    handshakes: BTreeSet<u64>,
}

impl Order {
    /// A packet arrived.
    pub(crate) fn on_arrival(&mut self, packet: &Packet) {
        let is_handshake = matches!(packet.packet_type(), PacketType::Request | PacketType::Response);
        if is_handshake && !packet.payload.is_empty() {
            self.handshakes.insert(packet.sequence.value());
        }
        let is_far = |newest: SeqNo| packet.sequence.distance_from(newest).unsigned_abs() >= LARGEST_WINDOW;
        if self.newest.is_some_and(is_far) {
            self.newest = None;
        }
    }

    /// The application receives the datagram of that packet.
    pub(crate) fn on_datagram(&mut self, config: &Config, sequence: SeqNo) {
        let is_ordered = config.receive.reorder_delay.is_some() && config.receive.late != LatePolicy::Deliver;
        // The datagram queued when the first Request or Response left is in all copies of it, and precedes
        // all others, regardless of the number of the copy that arrived.
        if self.newest.is_none() && self.handshakes.contains(&sequence.value()) {
            return;
        }
        let Some(newest) = self.newest.replace(sequence) else { return };
        assert!(
            !is_ordered || newest.is_before(sequence),
            "{sequence:?} follows {newest:?}, though the application wants order"
        );
    }
}

/// Checks a connection that has nothing more to do for now.
pub(crate) fn check(now: Instant, config: &Config, connection: &Connection, tally: &mut Tally) {
    let Some(reordering) = connection.reordering() else {
        let has_begun = matches!(connection.state(), State::PartOpen | State::Open);
        assert!(
            !(config.orders_arrivals() && has_begun),
            "there is no reorder buffer, though the application wants order"
        );
        return;
    };
    if let Some(delay) = config.receive.reorder_delay
        && reordering.held > 0
    {
        let wakes = connection.poll_timeout();
        assert!(
            wakes.is_some_and(|wakes| wakes <= now + delay),
            "{reordering:?} wait until {wakes:?}, at {now}"
        );
    }
    assert!(reordering.held <= config.receive.max_datagrams, "{reordering:?}");
    tally.observe("packets that waited for others", reordering.held as u64);
}
