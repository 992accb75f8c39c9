//! Unlimited data.

use whimbrel_units::Instant;

use super::Emission;

/// Datagrams of one size, as many as the transport accepts.
#[derive(Debug)]
pub struct Bulk {
    start: Instant,
    size: u32,
    emitted: u64,
}

impl Bulk {
    /// From `start` on, datagrams of `size` bytes.
    pub fn new(start: Instant, size: u32) -> Self {
        Self { start, size, emitted: 0 }
    }

    pub(super) fn start(&self) -> Instant {
        self.start
    }

    pub(super) fn emit(&mut self) -> Emission {
        let tag = self.emitted;
        self.emitted += 1;
        Emission { size: self.size, tag, deadline: None }
    }
}
