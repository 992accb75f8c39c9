//! Limits of A-MSDU and A-MPDU.

use whimbrel_units::Duration;

use super::DELIMITER_BYTES;
use crate::phy::{Format, Mode};

/// Destination, source and length before each MSDU of an A-MSDU.
const AMSDU_HEADER_BYTES: u32 = 14;

const fn padded(bytes: u32) -> u32 {
    bytes.next_multiple_of(4)
}

/// Length of an A-MSDU of `before` bytes (0 for none) with one more MSDU: all but the last padded to 4 bytes.
pub const fn amsdu_bytes(before: u32, msdu: u32) -> u32 {
    padded(before) + AMSDU_HEADER_BYTES + msdu
}

/// The limits of aggregates for one receiver.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AggregateLimits {
    /// The largest A-MPDU in bytes that the receiver takes; 0 for none: single MPDUs, each with its
    /// acknowledgement.
    pub ampdu_bytes: u32,
    /// The longest transmission of an A-MPDU.
    pub ampdu_time: Duration,
    /// MPDUs that may be outstanding: bits of the block acknowledgement.
    pub window: u16,
    /// The largest A-MSDU in bytes; 0 for none.
    pub amsdu_bytes: u32,
    /// The least time that the receiver needs from the beginning of an MPDU to the beginning of the next one.
    pub start_spacing: Duration,
}

impl AggregateLimits {
    /// Neither A-MSDU nor A-MPDU.
    pub const NONE: Self = Self {
        ampdu_bytes: 0,
        ampdu_time: crate::phy::LONGEST_PPDU,
        window: 64,
        amsdu_bytes: 0,
        start_spacing: Duration::ZERO,
    };

    /// The largest A-MPDU of a format, and the window of 64 MPDUs, or of 256 for HE. No A-MSDU.
    pub const fn of(format: Format) -> Self {
        let window = if matches!(format, Format::Ht | Format::Vht) { 64 } else { 256 };
        Self { ampdu_bytes: format.longest_psdu(), window, ..Self::NONE }
    }

    /// Bytes from the beginning of an MPDU of this length to the beginning of the next one in an A-MPDU.
    /// Empty delimiters fill what the receiver needs.
    pub const fn step(&self, mode: Mode, mpdu: u32) -> u32 {
        let subframe = padded(DELIMITER_BYTES + mpdu);
        if self.start_spacing.is_zero() {
            return subframe;
        }
        let bits = self.start_spacing.as_nanos() * mode.data_bits() as u64;
        let least = bits.div_ceil(mode.symbol().as_nanos() * 8) as u32;
        if subframe >= least { subframe } else { padded(least) }
    }

    /// The longest PSDU of an A-MPDU whose transmission takes no longer than `time`.
    pub fn psdu_bytes(&self, mode: Mode, time: Duration) -> u32 {
        let time = if time < self.ampdu_time { time } else { self.ampdu_time };
        self.ampdu_bytes.min(mode.largest_psdu(time))
    }
}

#[cfg(test)]
mod tests;
