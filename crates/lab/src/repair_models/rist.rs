//! RIST as librist implements it (version 0.2).
//!
//! A missing datagram is asked for after the reorder buffer, and again each 1.1 round-trip times, a limited
//! number of times.

use std::collections::BTreeMap;

use whimbrel_units::{Duration, Instant};

use super::history::History;
use super::probing::Probing;
use super::{Datagram, End, Ends, Message, Output};

/// The wait for packets out of order.
const REORDER: Duration = Duration::from_millis(15);
/// Bounds of the round-trip time.
const RTT: (Duration, Duration) = (Duration::from_millis(5), Duration::from_millis(500));
/// Most requests for a datagram, and most repeats of one.
const MOST_TRIES: u32 = 20;
/// Most datagrams in a request.
const MOST_IN_REQUEST: usize = 200;
/// Requests are sent with each arrival, or at this interval.
const TICK: Duration = Duration::from_millis(5);
/// The time between echo requests, and the round-trip time before one is answered.
const PROBES: Duration = Duration::from_millis(100);
const FIRST_RTT: (Duration, Duration) = (Duration::from_millis(100), Duration::from_millis(50));

/// The ends for a buffer of so long.
pub fn ends(latency: Duration) -> Ends {
    let sender = Sender { history: History::new(latency.mul_f64(1.1), MOST_TRIES), probing: probing() };
    [Box::new(sender), Box::new(Receiver::new(latency))]
}

fn probing() -> Probing {
    Probing::new(PROBES, FIRST_RTT)
}

fn clamped(rtt: Duration) -> Duration {
    rtt.clamp(RTT.0, RTT.1)
}

/// The sending end.
#[derive(Debug)]
struct Sender {
    history: History,
    probing: Probing,
}

impl End for Sender {
    fn send(&mut self, now: Instant, datagram: Datagram, out: &mut Output) {
        self.history.insert(now, datagram);
        out.messages.push(Message::Data { datagram, is_repeat: false });
    }

    fn handle(&mut self, now: Instant, message: Message, out: &mut Output) {
        match message {
            Message::Request(numbers) => {
                self.history.repeat(now, &numbers, clamped(self.probing.rtt()), out);
            }
            Message::Probe { sent, rtt } => {
                self.probing.adopt(rtt);
                out.messages.push(Message::Echo { sent });
            }
            _ => {}
        }
    }
}

/// A missing datagram.
#[derive(Clone, Copy, Debug)]
struct Missing {
    noticed: Instant,
    next: Instant,
    tries: u32,
}

/// The receiving end.
#[derive(Debug)]
struct Receiver {
    latency: Duration,
    probing: Probing,
    expected: u64,
    missing: BTreeMap<u64, Missing>,
    to_delivery: Option<Duration>,
}

impl Receiver {
    fn new(latency: Duration) -> Self {
        Self { latency, probing: probing(), expected: 0, missing: BTreeMap::new(), to_delivery: None }
    }

    fn receive(&mut self, now: Instant, datagram: Datagram, out: &mut Output) {
        let base = now.saturating_since(datagram.captured) + self.latency;
        let delivery = datagram.captured + *self.to_delivery.get_or_insert(base);
        let is_new = datagram.number >= self.expected;
        if is_new {
            let wait = REORDER.max(clamped(self.probing.rtt()) / 2);
            let missing = Missing { noticed: now, next: now + wait, tries: 0 };
            self.missing.extend((self.expected..datagram.number).map(|number| (number, missing)));
            self.expected = datagram.number + 1;
        }
        let was_missing = self.missing.remove(&datagram.number).is_some();
        if (is_new || was_missing) && now <= delivery {
            out.delivered.push(datagram);
        }
    }

    fn request(&mut self, now: Instant, out: &mut Output) {
        let (limit, pause) = (self.latency.mul_f64(1.1), clamped(self.probing.rtt()).mul_f64(1.1));
        self.missing.retain(|_, missing| missing.noticed + limit > now && missing.tries < MOST_TRIES);
        let mut due = Vec::new();
        for (number, missing) in &mut self.missing {
            if missing.next <= now {
                missing.tries += 1;
                missing.next = now + pause;
                due.push(*number);
            }
        }
        out.messages.extend(due.chunks(MOST_IN_REQUEST).map(|numbers| Message::Request(numbers.to_vec())));
    }
}

impl End for Receiver {
    fn handle(&mut self, now: Instant, message: Message, out: &mut Output) {
        match message {
            Message::Data { datagram, .. } => self.receive(now, datagram, out),
            Message::Echo { sent } => return self.probing.on_echo(now, sent),
            _ => {}
        }
        self.request(now, out);
        out.messages.extend(self.probing.poll(now));
    }

    fn handle_timeout(&mut self, now: Instant, out: &mut Output) {
        self.request(now, out);
    }

    fn next(&self) -> Option<Instant> {
        let due = self.missing.values().map(|missing| missing.next).min()?;
        let tick = TICK.as_nanos();
        Some(Instant::from_nanos(due.as_nanos().div_ceil(tick) * tick))
    }
}

#[cfg(test)]
mod tests {
    use super::super::support::{Channel, at, datagram, loses, ms};
    use super::*;

    #[test]
    fn requests_wait_for_reordering_and_repeat_by_the_round_trip_time() {
        let mut channel = Channel::new(ends(ms(400)), ms(30), loses(42, 2));
        channel.run((0..100).map(datagram), at(2_000));
        let requests = channel.requests(42);
        // Noticed at 430 ms; half of 60 ms is longer than the reorder buffer; then 66 ms on the grid of 5 ms
        // or with an arrival.
        assert_eq!(requests[..2], [at(460), at(530)]);
        assert_eq!(requests.len(), 3);
        assert_eq!(channel.delivered.len(), 100);
    }

    #[test]
    fn a_short_round_trip_time_waits_for_the_reorder_buffer() {
        let mut channel = Channel::new(ends(ms(400)), ms(2), loses(42, 0));
        channel.run((0..100).map(datagram), at(2_000));
        assert_eq!(channel.requests(42), [at(420)], "noticed at 402 ms");
    }

    #[test]
    fn tries_are_limited_by_number_and_by_the_buffer() {
        for (buffer, least, most) in [(400, 5, 6), (5_000, 20, 20)] {
            let mut channel = Channel::new(ends(ms(buffer)), ms(30), loses(42, 99));
            channel.run((0..200).map(datagram), at(9_000));
            let requests = channel.requests(42).len();
            assert!((least..=most).contains(&requests), "{requests}");
        }
    }
}
