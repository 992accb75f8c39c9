//! Short sequence numbers, which wrap around.

use super::PacketArrival;

/// Width of recorded sequence numbers in bits: 16 for RTP, 24 or 48 for DCCP, 32 for others.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SequenceBits(u32);

impl SequenceBits {
    /// Widths tried by [`SequenceBits::detect`].
    const USUAL: [u32; 4] = [16, 24, 32, 48];

    /// A width of 1 to 63 bits; `None` for others. Numbers of 64 bits do not wrap.
    pub fn new(bits: u32) -> Option<Self> {
        (1..64).contains(&bits).then_some(Self(bits))
    }

    /// The width in bits.
    pub fn get(self) -> u32 {
        self.0
    }

    /// The least usual width that holds all numbers and over which they wrap: from one arrival to the next, a
    /// number falls by more than half of the range. `None` if no number wraps, as there is nothing to unwrap.
    /// `numbers` are in order of arrival.
    pub fn detect(numbers: impl Iterator<Item = u64> + Clone) -> Option<Self> {
        let greatest = numbers.clone().max()?;
        let bits = Self::USUAL.into_iter().find(|bits| greatest >> bits == 0)?;
        let falls = numbers
            .clone()
            .zip(numbers.skip(1))
            .any(|(one, next)| one.saturating_sub(next) >> (bits - 1) > 0);
        falls.then_some(Self(bits))
    }

    /// The number on the wire.
    pub fn wrapped(self, sequence: u64) -> u64 {
        sequence & self.mask()
    }

    /// Unwraps the sequence numbers of arrivals, in order of arrival: each is taken to be less than half the
    /// range from the greatest so far.
    ///
    /// # Errors
    /// Returns the index of an arrival whose number exceeds the width.
    pub fn unwrap(self, arrivals: &mut [PacketArrival]) -> Result<(), usize> {
        let Some(first) = arrivals.first() else { return Ok(()) };
        // Leave room below for packets that are late at the very beginning.
        let mut greatest = first.sequence.saturating_add(self.mask()).saturating_add(1);
        for (place, arrival) in arrivals.iter_mut().enumerate() {
            if arrival.sequence > self.mask() {
                return Err(place);
            }
            let ahead = arrival.sequence.wrapping_sub(greatest) & self.mask();
            let behind = ahead > self.mask() / 2;
            arrival.sequence = if behind {
                greatest.saturating_sub((self.mask() - ahead) + 1)
            } else {
                greatest.saturating_add(ahead)
            };
            greatest = greatest.max(arrival.sequence);
        }
        Ok(())
    }

    fn mask(self) -> u64 {
        (1 << self.0) - 1
    }
}
