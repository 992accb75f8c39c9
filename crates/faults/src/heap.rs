//! Bytes of heap that belong to somebody.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use allocation_counter::measure;
use bytes::Bytes;
use whimbrel_wire::{Packet, Payload};

#[cfg(test)]
mod tests;

/// What certain code of this thread allocated and has not freed. It holds for as long as what such code
/// makes is also dropped by it: whatever crosses the border is copied.
#[derive(Debug, Default)]
pub(crate) struct Heap {
    bytes: i64,
}

impl Heap {
    /// Runs code whose memory counts.
    pub(crate) fn within<T>(&mut self, run: impl FnOnce() -> T) -> T {
        let mut outcome = None;
        // The measurement must end even where a law is broken: it is one of the thread, which goes on.
        let seen = measure(|| outcome = Some(catch_unwind(AssertUnwindSafe(run))));
        self.bytes += seen.bytes_current;
        match outcome.expect("it ran") {
            Ok(value) => value,
            Err(panic) => resume_unwind(panic),
        }
    }
    /// How many bytes there are now.
    pub(crate) fn bytes(&self) -> i64 {
        self.bytes
    }
}

/// A copy that shares nothing with the original.
pub(crate) fn copy(packet: &Packet) -> Packet {
    let mut copy = packet.clone();
    if let Payload::Bytes(bytes) = &packet.payload {
        copy.payload = Payload::Bytes(Bytes::copy_from_slice(bytes));
    }
    copy
}
