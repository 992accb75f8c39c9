//! Which packets of each direction passed, when, and when they say that they were sent.
//!
//! Captured at the receiver, that is what it goes by to tell losses apart. Unlike everything else here,
//! the list grows with the number of packets.

use std::collections::BTreeMap;

use whimbrel_units::Instant;
use whimbrel_wire::option::timing::TimestampClock;
use whimbrel_wire::{DccpOption, SeqNo};

use crate::Seen;
use crate::dissect::Segment;
use crate::follow::side::Side;
use crate::follow::{Endpoint, Followed};

#[cfg(test)]
mod tests;

/// A packet that passed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Passed {
    /// The record's number, from 1.
    pub number: u64,
    /// When it passed, not before the one listed before it.
    pub at: Instant,
    /// Its sequence number, unwrapped.
    pub sequence: u64,
    /// Its application data, in bytes; packets without any have a number, too.
    pub bytes: usize,
    /// When it was sent, by its sender's clock, of which only differences mean anything: from the Timestamp
    /// option, in units of 10 microseconds.
    pub sent: Option<Instant>,
}

/// What passed of one end's packets.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Direction {
    /// The connection's number, from 1.
    pub connection: usize,
    /// Who sent them.
    pub sender: Side,
    /// From where.
    pub source: Endpoint,
    /// To where.
    pub destination: Endpoint,
    /// The packets, in the order of the capture.
    pub packets: Vec<Passed>,
    clock: TimestampClock,
}

impl Direction {
    /// How many packets have application data.
    pub fn with_data(&self) -> usize {
        self.packets.iter().filter(|packet| packet.bytes > 0).count()
    }
    /// How many of these say when they were sent.
    pub fn with_send_time(&self) -> usize {
        self.packets.iter().filter(|packet| packet.bytes > 0 && packet.sent.is_some()).count()
    }

    fn push(&mut self, segment: &Segment, sequence: SeqNo) {
        let last = self.packets.last();
        let packet = &segment.packet;
        let sent = packet.options.iter().find_map(|option| match option {
            DccpOption::Timestamp(value) => Some(*value),
            _ => None,
        });
        let bytes = if packet.packet_type().carries_data() { packet.payload.len() } else { 0 };
        let passed = Passed {
            number: segment.number,
            at: last.map_or(segment.at, |last| last.at.max(segment.at)),
            sequence: sequence.unwrap_or_first(last.map_or(0, |last| last.sequence)),
            bytes,
            sent: sent.map(|value| Instant::from_nanos(self.clock.read(value))),
        };
        self.packets.push(passed);
    }
}

/// Lists packets, direction by direction.
#[derive(Clone, Debug, Default)]
pub struct ArrivalList {
    directions: BTreeMap<(usize, Side), Direction>,
}

impl ArrivalList {
    /// An empty list.
    pub fn new() -> Self {
        Self::default()
    }

    /// A frame has been captured, and this is what it was. Packets that do not count are left out: repeated
    /// numbers, wrong checksums, strays, and directions at interfaces where they are not followed.
    pub fn on_seen(&mut self, seen: &Seen) {
        let Seen::Packets(packets) = seen else { return };
        for (segment, followed) in packets {
            let &Followed { connection: Some(connection), by, sequence, is_new: true, .. } = followed else {
                continue;
            };
            let direction = self.directions.entry((connection, by)).or_insert_with(|| Direction {
                connection,
                sender: by,
                source: Endpoint::source(segment),
                destination: Endpoint::destination(segment),
                packets: Vec::new(),
                clock: TimestampClock::default(),
            });
            direction.push(segment, sequence);
        }
    }

    /// The directions that carry application data, by connection.
    pub fn into_data_directions(self) -> impl Iterator<Item = Direction> {
        self.directions.into_values().filter(|direction| direction.with_data() > 0)
    }
}
