//! The traffic indication map of beacons (IEEE Std 802.11-2020, 9.4.2.5).

use alloc::vec::Vec;
use core::fmt;

use whimbrel_units::{Duration, Instant};

const ELEMENT: u8 = 5;
/// The association identifiers are 1 to 2007.
const MAP_BYTES: usize = 251;

/// The dozing clients for which an access point keeps packets.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct TrafficIndication {
    /// Target time of the beacon. Stations derive it from the timestamp, as targets are its multiples.
    pub due: Instant,
    /// Beacons until the next one that precedes group frames (DTIM): 0 in such a beacon.
    pub count: u8,
    /// Beacons from a DTIM to the next.
    pub period: u8,
    /// Group frames follow the next DTIM.
    pub has_group: bool,
    map: [u8; MAP_BYTES],
}

impl TrafficIndication {
    /// An empty map in the beacon that is due at this time.
    pub fn new(due: Instant, interval: Duration, period: u8) -> Self {
        let number = (due - Instant::ZERO).as_nanos() / interval.as_nanos();
        let behind = (number % u64::from(period)) as u8;
        let count = if behind == 0 { 0 } else { period - behind };
        Self { due, count, period, has_group: false, map: [0; MAP_BYTES] }
    }

    /// Adds the station of an association identifier.
    pub fn add(&mut self, id: u16) {
        if let Some(byte) = self.map.get_mut(usize::from(id / 8)) {
            *byte |= 1 << (id % 8);
        }
    }

    /// `true` if packets are kept for the station of an association identifier.
    pub fn names(&self, id: u16) -> bool {
        self.map.get(usize::from(id / 8)).is_some_and(|byte| byte >> (id % 8) & 1 == 1)
    }

    /// `true` if group frames follow this beacon.
    pub const fn announces_group(&self) -> bool {
        self.has_group && self.count == 0
    }

    /// The part of the map that beacons have: from an even byte to the last one that is not zero; at least
    /// one byte.
    fn part(&self) -> (usize, &[u8]) {
        let first = self.map.iter().position(|byte| *byte != 0).unwrap_or(0) & !1;
        let last = self.map.iter().rposition(|byte| *byte != 0).unwrap_or(0);
        (first, &self.map[first..=last])
    }

    /// Bytes of the element.
    pub fn size(&self) -> u32 {
        5 + self.part().1.len() as u32
    }

    /// Appends the element.
    pub fn encode(&self, out: &mut Vec<u8>) {
        let (first, part) = self.part();
        // Bits 1 to 7 count pairs of bytes.
        let control = first as u8 | u8::from(self.announces_group());
        out.extend([ELEMENT, 3 + part.len() as u8, self.count, self.period, control]);
        out.extend_from_slice(part);
    }
}

impl fmt::Debug for TrafficIndication {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ids = (0..MAP_BYTES as u16 * 8).filter(|&id| self.names(id));
        write!(f, "DTIM {}/{}, group {}, ", self.count, self.period, self.has_group)?;
        f.debug_list().entries(ids).finish()
    }
}

#[cfg(test)]
mod tests;
