//! Detection of repeated frames.

use alloc::vec::Vec;

use crate::frame::{Frame, MacAddress};

/// The last sequence number of each transmitter (IEEE 802.11-2012, 9.3.2.11).
#[derive(Clone, Debug)]
pub(super) struct Duplicates {
    entries: Vec<(MacAddress, u16)>,
    capacity: usize,
    /// Entry to be replaced next when all are in use.
    oldest: usize,
}

impl Duplicates {
    pub(super) const fn new(capacity: usize) -> Self {
        Self { entries: Vec::new(), capacity, oldest: 0 }
    }

    /// Records a frame. Returns `true` if the last frame of its transmitter had the same sequence number.
    pub(super) fn record(&mut self, frame: &Frame) -> bool {
        if let Some((_, last)) = self.entries.iter_mut().find(|(address, _)| *address == frame.transmitter) {
            let is_repeated = *last == frame.sequence;
            *last = frame.sequence;
            return is_repeated;
        }
        if self.entries.len() < self.capacity {
            self.entries.push((frame.transmitter, frame.sequence));
        } else if let Some(entry) = self.entries.get_mut(self.oldest) {
            *entry = (frame.transmitter, frame.sequence);
            self.oldest = (self.oldest + 1) % self.capacity;
        }
        false
    }
}
