//! PDCP's reordering: packets leave in their order (TS 38.323, Section 5.2.2.2).
//!
//! LTE's RLC keeps the order itself and waits for nothing but its own timers: it has no timer here, and
//! [`Reordering::handle_given_up`] names what RLC no longer waits for.

use alloc::collections::VecDeque;

use whimbrel_units::{Duration, Instant};

use crate::packet::{Number, Packet};

/// A packet from `next` on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Entry {
    Missing,
    Held(Packet),
    GivenUp,
}

/// The window of a bearer in which packets are put in order.
#[derive(Clone, PartialEq, Debug)]
pub struct Reordering {
    /// t-Reordering; `None` waits for ever.
    wait: Option<Duration>,
    /// The first packet that has not left.
    next: Number,
    entries: VecDeque<Entry>,
    /// The end of t-Reordering, and the number before which nothing is waited for then.
    timer: Option<(Instant, Number)>,
    released: VecDeque<(Number, Packet)>,
}

impl Reordering {
    /// A window with this t-Reordering, or one that waits for ever.
    pub const fn new(wait: Option<Duration>) -> Self {
        Self { wait, next: Number(0), entries: VecDeque::new(), timer: None, released: VecDeque::new() }
    }

    /// A packet arrives from RLC.
    ///
    /// # Errors
    /// Gives a packet back whose place in the order has passed, or is taken.
    pub fn handle_packet(&mut self, now: Instant, number: Number, packet: Packet) -> Result<(), Packet> {
        match self.entry(number) {
            Some(entry) if *entry == Entry::Missing => *entry = Entry::Held(packet),
            _ => return Err(packet),
        }
        self.release(now);
        Ok(())
    }

    /// RLC has given a packet up.
    pub fn handle_given_up(&mut self, now: Instant, number: Number) {
        if let Some(entry) = self.entry(number)
            && *entry == Entry::Missing
        {
            *entry = Entry::GivenUp;
            self.release(now);
        }
    }

    fn entry(&mut self, number: Number) -> Option<&mut Entry> {
        let place = number.0.checked_sub(self.next.0)? as usize;
        if self.entries.len() <= place {
            self.entries.resize(place + 1, Entry::Missing);
        }
        self.entries.get_mut(place)
    }

    /// Releases what is in order, and runs t-Reordering while something is held.
    fn release(&mut self, now: Instant) {
        while let Some(entry) = self.entries.front().copied() {
            match entry {
                Entry::Missing => break,
                Entry::Held(packet) => self.released.push_back((self.next, packet)),
                Entry::GivenUp => {}
            }
            self.entries.pop_front();
            self.next = self.next.next();
        }
        if self.timer.is_some_and(|(_, until)| self.next >= until) {
            self.timer = None;
        }
        if let (None, Some(wait), false) = (self.timer, self.wait, self.entries.is_empty()) {
            self.timer = Some((now + wait, Number(self.next.0 + self.entries.len() as u64)));
            if wait.is_zero() {
                self.handle_timeout(now);
            }
        }
    }

    /// t-Reordering ends: what is missing up to then is no longer waited for.
    pub fn handle_timeout(&mut self, now: Instant) {
        let Some((_, until)) = self.timer.filter(|(deadline, _)| *deadline <= now) else { return };
        self.timer = None;
        let count = until.0.saturating_sub(self.next.0) as usize;
        for entry in self.entries.iter_mut().take(count).filter(|entry| **entry == Entry::Missing) {
            *entry = Entry::GivenUp;
        }
        self.release(now);
    }

    /// The end of t-Reordering.
    pub fn poll_timeout(&self) -> Option<Instant> {
        self.timer.map(|(deadline, _)| deadline)
    }

    /// The next packet in order, with its place.
    pub fn poll_packet(&mut self) -> Option<(Number, Packet)> {
        self.released.pop_front()
    }
}

#[cfg(test)]
mod tests;
