//! The packets of each direction, with their capture times and send times.
//!
//! Captured at the receiver, this is the input of loss differentiation. Unlike everything else in this crate,
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

/// A captured packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Passed {
    /// The record's number, from 1.
    pub number: u64,
    /// Capture time, not before that of the preceding entry.
    pub at: Instant,
    /// Sequence number, unwrapped.
    pub sequence: u64,
    /// Size of the application data in bytes; packets without data are numbered, too.
    pub bytes: usize,
    /// Send time by the sender's clock, of which only differences are meaningful: from the Timestamp option,
    /// in units of 10 microseconds.
    pub sent: Option<Instant>,
}

/// The packets of one direction of a connection.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Direction {
    /// The connection's number, from 1.
    pub connection: usize,
    /// The sending end.
    pub sender: Side,
    /// Source address and ports.
    pub source: Endpoint,
    /// Destination address and ports.
    pub destination: Endpoint,
    /// The packets, in the order of the capture.
    pub packets: Vec<Passed>,
    clock: TimestampClock,
}

impl Direction {
    /// Number of packets with application data.
    pub fn with_data(&self) -> usize {
        self.packets.iter().filter(|packet| packet.bytes > 0).count()
    }
    /// Number of packets with application data and a send time.
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

/// Collects packets by direction.
#[derive(Clone, Debug, Default)]
pub struct ArrivalList {
    directions: BTreeMap<(usize, Side), Direction>,
    packets: u64,
}

impl ArrivalList {
    /// An empty list.
    pub fn new() -> Self {
        Self::default()
    }

    /// Processes the result for a captured frame. Packets that do not count are skipped: repeated sequence
    /// numbers, wrong checksums, packets outside the window, and directions at interfaces where they are not
    /// followed.
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
            self.packets += 1;
        }
    }

    /// Number of packets in the list.
    pub fn packets(&self) -> u64 {
        self.packets
    }

    /// The directions that carry application data, by connection.
    pub fn into_data_directions(self) -> impl Iterator<Item = Direction> {
        self.directions.into_values().filter(|direction| direction.with_data() > 0)
    }
}
