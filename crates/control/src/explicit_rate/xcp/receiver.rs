//! The receiver of XCP.

use crate::explicit_rate::FlowHeader;

/// Collects the feedback for the sender (draft-falk-xcp-spec-03, Section 4.1.2).
#[derive(Clone, Copy, PartialEq, Default, Debug)]
pub struct XcpReceiver {
    sum: f64,
}

impl XcpReceiver {
    /// A receiver without packets.
    pub const fn new() -> Self {
        Self { sum: 0.0 }
    }

    /// Processes a packet. An allocation that is not finite, as of a request that no router has reduced, is
    /// not counted.
    pub fn on_packet(&mut self, header: &FlowHeader) {
        if header.allocation.is_finite() {
            self.sum += header.allocation;
        }
    }

    /// `Reverse_Feedback` of an acknowledgement: the sum of the allocations since the last one, in bit/s.
    pub fn take_feedback(&mut self) -> f64 {
        core::mem::take(&mut self.sum)
    }
}
