//! The course of a trial: its clock, its counts, and what it leaves.

use core::fmt::Write;
use core::net::SocketAddr;
use std::collections::BTreeMap;

use whimbrel_units::Instant;
use whimbrel_wire::{Ecn, Packet};

use crate::capture::{Capture, Passage};
use crate::tally::Tally;

/// The clock, the counts and the record of a trial, of any kind.
#[derive(Debug)]
pub(crate) struct Course {
    pub(crate) now: Instant,
    pub(crate) tally: Tally,
    /// A number that depends on every packet sent.
    pub(crate) digest: u64,
    /// If requested: a capture with an interface for each host, path and direction; and a line for each packet, event and action.
    record: Option<(Capture, String)>,
}

impl Course {
    /// A trial that begins, with that number of paths. `records`: keeps a capture and a log of it.
    pub(crate) fn new(now: Instant, records: bool, paths: usize) -> Self {
        let record = records.then(|| (Capture::new(paths), String::new()));
        Self { now, tally: Tally::default(), digest: 0, record }
    }
    /// A packet is sent, of which these are the properties.
    pub(crate) fn on_sent(&mut self, parts: &[u64]) {
        for part in parts {
            // FNV-1a, by words.
            self.digest = (self.digest ^ part).wrapping_mul(0x0100_0000_01b3).rotate_left(29);
        }
    }
    /// Adds a packet that passes an interface to the capture. `remark`: its fate, unless it arrives as it is.
    pub(crate) fn capture(
        &mut self,
        at: Passage,
        addresses: (SocketAddr, SocketAddr),
        ecn: Ecn,
        packet: &Packet,
        remark: Option<&str>,
    ) {
        if let Some((capture, _)) = &mut self.record {
            capture.packet(self.now, at, addresses, ecn, packet, remark);
        }
    }
    /// Adds a line to the log.
    pub(crate) fn log(&mut self, line: impl FnOnce() -> String) {
        if let Some((_, log)) = &mut self.record {
            // Writing to a string cannot fail.
            let _ = writeln!(log, "{} {}", self.now, line());
        }
    }
    /// The capture file and the log.
    pub(crate) fn take_record(&mut self) -> Option<(Vec<u8>, String)> {
        self.record.take().map(|(mut capture, log)| (capture.take(), log))
    }
}

/// Packets in flight, by the time of their arrival.
#[derive(Debug)]
pub(crate) struct InFlight<T> {
    packets: BTreeMap<(Instant, u64), T>,
    order: u64,
}

impl<T> InFlight<T> {
    pub(crate) fn new() -> Self {
        Self { packets: BTreeMap::new(), order: 0 }
    }
    /// A packet leaves that arrives at that time.
    pub(crate) fn launch(&mut self, at: Instant, packet: T) {
        self.order += 1;
        self.packets.insert((at, self.order), packet);
    }
    /// Arrival time of the next packet.
    pub(crate) fn next_arrival(&self) -> Option<Instant> {
        self.packets.keys().next().map(|(at, _)| *at)
    }
    /// The next packet that has arrived.
    pub(crate) fn take_due(&mut self, now: Instant) -> Option<T> {
        let first = self.packets.first_entry().filter(|entry| entry.key().0 <= now)?;
        Some(first.remove())
    }
}
