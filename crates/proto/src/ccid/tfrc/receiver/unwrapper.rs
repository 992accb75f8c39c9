//! Unwrapping of circular sequence numbers.

use whimbrel_wire::SeqNo;

/// Unwraps circular sequence numbers to 64 bits.
#[derive(Clone, Copy, Debug)]
pub(super) struct Unwrapper {
    last: u64,
}

impl Unwrapper {
    /// The next number expected is `next`. One cycle of numbers is left below it.
    pub(super) fn new(next: SeqNo) -> Self {
        Self { last: SeqNo::MODULUS + next.value() }
    }

    /// The last number.
    pub(super) fn last(&self) -> u64 {
        self.last
    }

    /// The number nearest to the last one.
    pub(super) fn near(&self, sequence: SeqNo) -> u64 {
        sequence.unwrap_near(self.last)
    }

    /// Unwraps a number, which becomes the last one.
    pub(super) fn unwrap(&mut self, sequence: SeqNo) -> u64 {
        self.last = self.near(sequence);
        self.last
    }
}
