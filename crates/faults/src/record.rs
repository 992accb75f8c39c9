//! The capture and the log of a trial, if requested.

use core::fmt::Write;
use core::net::SocketAddr;

use whimbrel_units::Instant;
use whimbrel_wire::{Ecn, Packet};

use crate::capture::{Capture, Passage};

/// A capture with an interface for each host, path and direction; and a line for each packet, event and action.
#[derive(Debug)]
pub(crate) struct Record(Option<(Capture, String)>);

impl Record {
    /// The record of a trial with that number of paths, if requested.
    pub(crate) fn new(is_requested: bool, paths: usize) -> Self {
        Self(is_requested.then(|| (Capture::new(paths), String::new())))
    }
    /// Adds a packet that passes an interface. `remark`: its fate, unless it arrives as it is.
    pub(crate) fn packet(
        &mut self,
        at: Passage,
        addresses: (SocketAddr, SocketAddr),
        ecn: Ecn,
        packet: &Packet,
        remark: Option<&str>,
    ) {
        if let Some((capture, _)) = &mut self.0 {
            capture.packet(at, addresses, ecn, packet, remark);
        }
    }
    /// Adds a line to the log.
    pub(crate) fn line(&mut self, now: Instant, line: impl FnOnce() -> String) {
        if let Some((_, log)) = &mut self.0 {
            // Writing to a string cannot fail.
            let _ = writeln!(log, "{now} {}", line());
        }
    }
    /// The capture file and the log.
    pub(crate) fn take(&mut self) -> Option<(Vec<u8>, String)> {
        self.0.take().map(|(mut capture, log)| (capture.take(), log))
    }
}
