//! Transmissions with their content.

use alloc::vec::Vec;

use whimbrel_units::{Duration, Instant};

use crate::aggregation::{BlockAck, DELIMITER_BYTES, LARGEST_WINDOW, Mpdu, Packet};
use crate::frame::Frame;
use crate::phy::Mode;

/// A transmission: the frame as the medium has it, and the MPDUs in it. A driver reuses its memory.
#[derive(Clone, Debug)]
pub struct Ppdu {
    /// The transmission as a whole. An A-MPDU has the kind
    /// [`FrameKind::Aggregate`](crate::FrameKind::Aggregate).
    pub frame: Frame,
    /// The MPDUs with payloads, in order; none in control frames.
    pub mpdus: Vec<Mpdu>,
    /// The packets of all MPDUs, in order.
    pub packets: Vec<Packet>,
    /// Traffic identifier.
    pub identifier: u8,
    /// The bitmap of a block acknowledgement, or the number with which a request for one begins.
    pub block_ack: BlockAck,
}

impl Ppdu {
    /// A transmission of a frame without MPDUs.
    pub const fn new(frame: Frame) -> Self {
        Self { frame, mpdus: Vec::new(), packets: Vec::new(), identifier: 0, block_ack: BlockAck::EMPTY }
    }

    /// Becomes a copy of another transmission, without new memory where there is enough.
    pub fn assign(&mut self, other: &Self) {
        (self.frame, self.identifier, self.block_ack) = (other.frame, other.identifier, other.block_ack);
        self.mpdus.clone_from(&other.mpdus);
        self.packets.clone_from(&other.packets);
    }
}

/// The MPDUs of a transmission that a station has received without errors, by their place in it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Received([u64; LARGEST_WINDOW as usize / 64]);

impl Received {
    /// All of them.
    pub const ALL: Self = Self([u64::MAX; LARGEST_WINDOW as usize / 64]);

    /// The MPDU at this place is lost.
    pub const fn lose(&mut self, place: usize) {
        self.0[place / 64] &= !(1 << (place % 64));
    }

    /// `true` if the MPDU at this place was received.
    pub const fn contains(&self, place: usize) -> bool {
        self.0[place / 64] >> (place % 64) & 1 == 1
    }
}

impl Ppdu {
    /// The MPDUs that do not overlap any of the damaged parts, each from a time to another, of a transmission
    /// that ended at `end`.
    pub fn undamaged(&self, end: Instant, damage: &[(Instant, Instant)]) -> Received {
        let mut received = Received::ALL;
        if damage.is_empty() {
            return received;
        }
        let preamble = self.frame.mode.map_or(Duration::ZERO, Mode::preamble);
        let data = self.frame.air_time.saturating_sub(preamble);
        let start = end.saturating_sub(data);
        let subframe = |mpdu: &Mpdu| u64::from((DELIMITER_BYTES + mpdu.size).next_multiple_of(4));
        let total = self.mpdus.iter().map(subframe).sum::<u64>().max(1);
        let at = |bytes: u64| start + Duration::from_nanos(data.as_nanos() * bytes / total);
        let mut bytes = 0;
        for (place, mpdu) in self.mpdus.iter().enumerate() {
            let (first, last) = (at(bytes), at(bytes + subframe(mpdu)));
            bytes += subframe(mpdu);
            if damage.iter().any(|&(from, until)| from < last && until > first) {
                received.lose(place);
            }
        }
        received
    }
}
