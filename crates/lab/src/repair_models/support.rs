//! A channel for tests: two ends, the delay between them, and losses by choice.

use std::collections::BTreeMap;

use whimbrel_units::{Duration, Instant};

use super::{Datagram, Ends, Message, Output};
use crate::metrics::FramePart;

/// A datagram of frames of four, 40 ms apart.
pub(super) fn datagram(number: u64) -> Datagram {
    let part = FramePart { frame: number / 4, index: (number % 4) as u32, count: 4, is_key: true };
    Datagram { number, part, size: 1000, captured: at(number / 4 * 40) }
}

pub(super) fn at(milliseconds: u64) -> Instant {
    Instant::from_millis(milliseconds)
}

pub(super) fn ms(milliseconds: u64) -> Duration {
    Duration::from_millis(milliseconds)
}

/// Messages on the way, in order of arrival, and a log of what was sent.
pub(super) struct Channel {
    pub(super) ends: Ends,
    delay: Duration,
    /// Decides, by the sending end and the count of its data and parity messages, which are lost.
    lost: Box<dyn FnMut(&Message) -> bool>,
    under_way: BTreeMap<(Instant, u64), (usize, Message)>,
    order: u64,
    pub(super) sent: Vec<(Instant, usize, Message)>,
    pub(super) delivered: Vec<(Instant, Datagram)>,
}

impl Channel {
    pub(super) fn new(ends: Ends, delay: Duration, lost: impl FnMut(&Message) -> bool + 'static) -> Self {
        Self {
            ends,
            delay,
            lost: Box::new(lost),
            under_way: BTreeMap::new(),
            order: 0,
            sent: Vec::new(),
            delivered: Vec::new(),
        }
    }

    fn take(&mut self, now: Instant, side: usize, out: &mut Output) {
        self.delivered.extend(out.delivered.drain(..).map(|datagram| (now, datagram)));
        for message in out.messages.drain(..) {
            self.sent.push((now, side, message.clone()));
            if side == 1 || !(self.lost)(&message) {
                self.under_way.insert((now + self.delay, self.order), (1 - side, message));
                self.order += 1;
            }
        }
    }

    /// Sends the datagrams at their times, and runs until `until`.
    pub(super) fn run(&mut self, datagrams: impl IntoIterator<Item = Datagram>, until: Instant) {
        let mut out = Output::default();
        let mut datagrams = datagrams.into_iter().peekable();
        loop {
            let next = datagrams.peek().map(|datagram| datagram.captured);
            let arrival = self.under_way.first_key_value().map(|(key, _)| key.0);
            let timers = [self.ends[0].next(), self.ends[1].next()];
            let Some(now) = [next, arrival, timers[0], timers[1]].into_iter().flatten().min() else { return };
            if now > until {
                return;
            }
            if next == Some(now) {
                let datagram = datagrams.next().expect("the next");
                self.ends[0].send(now, datagram, &mut out);
                self.take(now, 0, &mut out);
            } else if arrival == Some(now) {
                let (_, (side, message)) = self.under_way.pop_first().expect("the first");
                self.ends[side].handle(now, message, &mut out);
                self.take(now, side, &mut out);
            } else {
                for side in [0, 1] {
                    if timers[side] == Some(now) {
                        self.ends[side].handle_timeout(now, &mut out);
                        self.take(now, side, &mut out);
                        assert!(self.ends[side].next() > Some(now) || self.ends[side].next().is_none());
                    }
                }
            }
        }
    }

    /// The times of the requests for a datagram.
    pub(super) fn requests(&self, number: u64) -> Vec<Instant> {
        let asks = |message: &Message| matches!(message, Message::Request(list) if list.contains(&number));
        self.sent.iter().filter(|(_, _, message)| asks(message)).map(|(at, ..)| *at).collect()
    }

    /// Messages that match.
    pub(super) fn count(&self, matches: impl Fn(&Message) -> bool) -> usize {
        self.sent.iter().filter(|(_, _, message)| matches(message)).count()
    }
}

/// Loses the first transmission and so many repeats of a datagram.
pub(super) fn loses(number: u64, repeats: usize) -> impl FnMut(&Message) -> bool {
    let mut left = repeats + 1;
    move |message| {
        let is_it = matches!(message, Message::Data { datagram, .. } if datagram.number == number);
        if is_it && left > 0 {
            left -= 1;
            return true;
        }
        false
    }
}
