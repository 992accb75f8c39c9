//! Circular sequence numbers on a line.

use whimbrel_wire::SeqNo;

/// Makes 64-bit sequence numbers, which do not wrap, of circular ones.
#[derive(Clone, Copy, Debug)]
pub(super) struct Unwrapper {
    last: u64,
}

impl Unwrapper {
    /// The next number expected is `next`. One turn of the circle is left below it.
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
    /// The same, which is the last one from now on.
    pub(super) fn unwrap(&mut self, sequence: SeqNo) -> u64 {
        self.last = self.near(sequence);
        self.last
    }
}
