//! Datagrams that a sending end keeps to send them again.

use std::collections::BTreeMap;

use whimbrel_units::{Duration, Instant};

use super::{Datagram, Message, Output};

/// A datagram and when it was last sent again.
#[derive(Clone, Copy, Debug)]
struct Kept {
    datagram: Datagram,
    repeated: Option<Instant>,
    repeats: u32,
}

/// The datagrams sent of the last time.
#[derive(Debug)]
pub struct History {
    kept: BTreeMap<u64, Kept>,
    age: Duration,
    most_repeats: u32,
}

impl History {
    /// Keeps datagrams until they are `age` old, and repeats each so often at most.
    pub fn new(age: Duration, most_repeats: u32) -> Self {
        Self { kept: BTreeMap::new(), age, most_repeats }
    }

    /// Datagrams are kept until they are `age` old.
    pub fn set_age(&mut self, age: Duration) {
        self.age = age;
    }

    /// A datagram is sent.
    pub fn insert(&mut self, now: Instant, datagram: Datagram) {
        while let Some(entry) = self.kept.first_entry() {
            if entry.get().datagram.captured + self.age >= now {
                break;
            }
            entry.remove();
        }
        self.kept.insert(datagram.number, Kept { datagram, repeated: None, repeats: 0 });
    }

    /// The datagram with that number, if it is kept.
    pub fn get(&self, number: u64) -> Option<Datagram> {
        self.kept.get(&number).map(|kept| kept.datagram)
    }

    /// Takes a datagram that is asked for, unless it was repeated less than `pause` ago.
    pub fn take(&mut self, now: Instant, number: u64, pause: Duration) -> Option<Datagram> {
        let kept = self.kept.get_mut(&number)?;
        let is_due = kept.repeated.is_none_or(|repeated| repeated + pause <= now);
        let is_young = kept.datagram.captured + self.age >= now;
        if !is_due || !is_young || kept.repeats >= self.most_repeats {
            return None;
        }
        kept.repeated = Some(now);
        kept.repeats += 1;
        Some(kept.datagram)
    }

    /// Sends again what is asked for.
    pub fn repeat(&mut self, now: Instant, numbers: &[u64], pause: Duration, out: &mut Output) {
        for number in numbers {
            if let Some(datagram) = self.take(now, *number, pause) {
                out.messages.push(Message::Data { datagram, is_repeat: true });
            }
        }
    }
}
