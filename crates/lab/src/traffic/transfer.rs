//! A transfer of a known size.

use whimbrel_units::Instant;

use super::Emission;

/// Bytes that an application writes at once.
#[derive(Debug)]
pub struct Transfer {
    start: Instant,
    bytes: u32,
    is_written: bool,
}

impl Transfer {
    /// `bytes` at `start`.
    pub fn new(start: Instant, bytes: u32) -> Self {
        Self { start, bytes, is_written: false }
    }

    pub(super) fn next(&self) -> Option<Instant> {
        (!self.is_written).then_some(self.start)
    }

    pub(super) fn emit(&mut self) -> Emission {
        self.is_written = true;
        Emission { size: self.bytes, tag: 0, deadline: None }
    }
}
