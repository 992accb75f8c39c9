//! The receiver's buffer, which restores the order of MPDUs (IEEE Std 802.11-2020, 10.25.6.6).

use alloc::vec::Vec;

use whimbrel_units::{Duration, Instant};

use super::{HALF, LARGEST_WINDOW, sequence_after, sequences_between};

/// The time after which the MPDUs behind a hole are released without it, as in Linux
/// (`HT_RX_REORDER_BUF_TIMEOUT`).
const HOLE_TIMEOUT: Duration = Duration::from_millis(100);

/// The place of an MPDU that waits for earlier ones. Its memory is kept.
#[derive(Clone, Default, Debug)]
struct Place {
    is_held: bool,
    since: Instant,
    packets: Vec<u64>,
}

/// The MPDUs of one sender and traffic class: each is released once, in the order of the sequence numbers.
/// Packets are the driver's handles.
#[derive(Clone, Debug)]
pub struct ReorderBuffer {
    /// The number of the next MPDU to be released.
    start: u16,
    window: u16,
    held: u16,
    /// By sequence number modulo their number, which divides 4096 and is not below the window.
    places: Vec<Place>,
}

impl ReorderBuffer {
    /// A buffer that expects this number first.
    ///
    /// # Panics
    /// If the window is 0 or above [`LARGEST_WINDOW`].
    pub fn new(start: u16, window: u16) -> Self {
        assert!(window > 0 && window <= LARGEST_WINDOW, "a window of 1 to 256");
        let places = usize::from(window).next_power_of_two();
        Self { start, window, held: 0, places: alloc::vec![Place::default(); places] }
    }

    /// The number of the next MPDU to be released.
    pub const fn start(&self) -> u16 {
        self.start
    }

    /// MPDUs that wait for an earlier one.
    pub const fn held(&self) -> u16 {
        self.held
    }

    fn index(&self, sequence: u16) -> usize {
        usize::from(sequence) % self.places.len()
    }

    /// An MPDU was received. Hands the packets that become due to `release`. `false` if it was received
    /// before, or precedes the window, and is discarded.
    pub fn receive(
        &mut self,
        now: Instant,
        sequence: u16,
        packets: impl Iterator<Item = u64>,
        release: &mut dyn FnMut(u64),
    ) -> bool {
        let ahead = sequences_between(self.start, sequence);
        if ahead >= HALF {
            return false;
        }
        if ahead == 0 {
            packets.for_each(&mut *release);
            self.start = sequence_after(self.start, 1);
            self.release_in_order(release);
            return true;
        }
        if ahead >= self.window {
            // The window ends with the new number.
            self.release_before(sequence_after(self.start, ahead - self.window + 1), release);
        }
        let index = self.index(sequence);
        let place = &mut self.places[index];
        if place.is_held {
            return false;
        }
        place.is_held = true;
        place.since = now;
        place.packets.clear();
        place.packets.extend(packets);
        self.held += 1;
        self.release_in_order(release);
        true
    }

    /// The sender has given up what precedes `start`.
    pub fn request(&mut self, start: u16, release: &mut dyn FnMut(u64)) {
        if sequences_between(self.start, start) < HALF {
            self.release_before(start, release);
            self.release_in_order(release);
        }
    }

    /// The time at which a hole is skipped.
    pub fn poll_timeout(&self) -> Option<Instant> {
        let first = self.first_held()?;
        Some(self.places[self.index(first)].since + HOLE_TIMEOUT)
    }

    /// Skips the holes whose time has passed.
    pub fn handle_timeout(&mut self, now: Instant, release: &mut dyn FnMut(u64)) {
        while let Some(first) = self.first_held() {
            if self.places[self.index(first)].since + HOLE_TIMEOUT > now {
                return;
            }
            self.start = first;
            self.release_in_order(release);
        }
    }

    fn first_held(&self) -> Option<u16> {
        if self.held == 0 {
            return None;
        }
        let numbers = (0..self.window).map(|ahead| sequence_after(self.start, ahead));
        numbers.into_iter().find(|&number| self.places[self.index(number)].is_held)
    }

    fn release_place(&mut self, sequence: u16, release: &mut dyn FnMut(u64)) -> bool {
        let index = self.index(sequence);
        let place = &mut self.places[index];
        let is_held = core::mem::take(&mut place.is_held);
        if is_held {
            place.packets.drain(..).for_each(release);
            self.held -= 1;
        }
        is_held
    }

    fn release_in_order(&mut self, release: &mut dyn FnMut(u64)) {
        while self.held > 0 && self.release_place(self.start, release) {
            self.start = sequence_after(self.start, 1);
        }
    }

    /// Moves the start, releasing what is held before it.
    fn release_before(&mut self, start: u16, release: &mut dyn FnMut(u64)) {
        let steps = sequences_between(self.start, start);
        for step in 0..steps.min(self.window) {
            self.release_place(sequence_after(self.start, step), release);
        }
        self.start = start;
    }
}

#[cfg(test)]
mod tests;
