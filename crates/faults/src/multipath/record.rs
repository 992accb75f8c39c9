//! The capture and the log of a trial.

use core::fmt::Write;

use whimbrel_proto::multipath::Path;
use whimbrel_units::Instant;
use whimbrel_wire::{Ecn, Packet};

use super::world::line_of;
use crate::capture::{Capture, Direction, Passage};
use crate::plan::Side;

/// A capture with an interface for each host, path and direction; and a line for each packet, event and action.
#[derive(Debug)]
pub(super) struct Record {
    capture: Capture,
    log: String,
}

impl Record {
    pub(super) fn new(paths: usize) -> Self {
        Self { capture: Capture::new(paths), log: String::new() }
    }
    /// A host sends a packet on a path. `remark`: its fate, unless it arrives as it is.
    pub(super) fn sent(
        &mut self,
        now: Instant,
        host: usize,
        path: Path,
        packet: &Packet,
        remark: Option<&str>,
    ) {
        self.packet(now, host, path, packet, Direction::Out, remark);
        let line = line_of(path, host);
        self.line(now, &format!("from host {host} on path {line}, {remark:?}: {packet:?}"));
    }
    /// A packet arrives at a host. `path`: as that host sees it.
    pub(super) fn arrived(&mut self, now: Instant, host: usize, path: Path, packet: &Packet) {
        self.packet(now, host, path, packet, Direction::In, None);
        self.line(now, &format!("to host {host} on path {}: {packet:?}", line_of(path, host)));
    }
    fn packet(
        &mut self,
        now: Instant,
        host: usize,
        path: Path,
        packet: &Packet,
        way: Direction,
        remark: Option<&str>,
    ) {
        let at = Passage { now, side: Side::BOTH[host], path: line_of(path, host), way };
        let addresses =
            if way == Direction::Out { (path.local, path.remote) } else { (path.remote, path.local) };
        self.capture.packet(at, addresses, Ecn::NotEct, packet, remark);
    }
    /// Adds a line to the log.
    pub(super) fn line(&mut self, now: Instant, line: &str) {
        // Writing to a string cannot fail.
        let _ = writeln!(self.log, "{now} {line}");
    }
    /// The capture file and the log.
    pub(super) fn finish(mut self) -> (Vec<u8>, String) {
        (self.capture.take(), self.log)
    }
}
