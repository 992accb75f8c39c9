//! Heap memory of an owner.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use allocation_counter::measure;
use bytes::Bytes;
use whimbrel_wire::{Packet, Payload};

#[cfg(test)]
mod tests;

/// Memory that certain code of this thread has allocated and not freed. The count is right as long as that
/// code also drops what it creates: values that leave it are copied.
#[derive(Debug, Default)]
pub(crate) struct Heap {
    bytes: i64,
}

impl Heap {
    /// Runs code whose memory counts.
    pub(crate) fn within<T>(&mut self, run: impl FnOnce() -> T) -> T {
        let mut outcome = None;
        // The measurement must end even if a law is broken: it belongs to the thread, which continues.
        let seen = measure(|| outcome = Some(catch_unwind(AssertUnwindSafe(run))));
        self.bytes += seen.bytes_current;
        match outcome.expect("it ran") {
            Ok(value) => value,
            Err(panic) => resume_unwind(panic),
        }
    }

    /// The present number of bytes.
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
