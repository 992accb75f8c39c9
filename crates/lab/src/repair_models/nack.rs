//! libwebrtc's requests (`nack_requester`, `rtp_packet_history`).
//!
//! A gap is asked for at once, and again by a timer of 20 ms once a round-trip time has passed.

use std::collections::BTreeMap;

use whimbrel_units::{Duration, Instant};

use super::history::History;
use super::probing::Probing;
use super::solver::Solver;
use super::{Datagram, End, Ends, Message, Output};

/// The timer of repeated requests.
const TIMER: Duration = Duration::from_millis(20);
/// Most requests for a datagram.
const MOST_TRIES: u32 = 100;
/// Most datagrams that are asked for at one time; beyond, the list is cleared and a key frame requested.
const MOST_MISSING: usize = 1000;
/// Datagrams older than this many others are not asked for.
const OLDEST: u64 = 10_000;
/// The sending end keeps datagrams for this long at least, or for three round-trip times.
const LEAST_KEPT: Duration = Duration::from_secs(1);
/// The time between RTCP reports, and the round-trip time before the first.
const REPORTS: Duration = Duration::from_secs(1);
const FIRST_RTT: (Duration, Duration) = (Duration::from_millis(100), Duration::from_millis(50));

/// The ends.
pub fn ends() -> Ends {
    [Box::new(Sender::default()), Box::new(Receiver::default())]
}

fn probing() -> Probing {
    Probing::new(REPORTS, FIRST_RTT)
}

/// The sending end.
#[derive(Debug)]
pub struct Sender {
    history: History,
    probing: Probing,
}

impl Default for Sender {
    fn default() -> Self {
        Self { history: History::new(LEAST_KEPT, u32::MAX), probing: probing() }
    }
}

impl End for Sender {
    fn send(&mut self, now: Instant, datagram: Datagram, out: &mut Output) {
        self.history.set_age(LEAST_KEPT.max(self.probing.rtt() * 3));
        self.history.insert(now, datagram);
        out.messages.push(Message::Data { datagram, is_repeat: false });
    }

    fn handle(&mut self, now: Instant, message: Message, out: &mut Output) {
        match message {
            Message::Request(numbers) => self.history.repeat(now, &numbers, self.probing.rtt(), out),
            Message::Probe { sent, rtt } => {
                self.probing.adopt(rtt);
                out.messages.push(Message::Echo { sent });
            }
            _ => {}
        }
    }
}

/// The receiving end.
#[derive(Debug)]
pub struct Receiver {
    probing: Probing,
    timer: Duration,
    next: Option<Instant>,
    newest: Option<u64>,
    /// Missing datagrams: last request, and number of requests.
    missing: BTreeMap<u64, (Instant, u32)>,
    solver: Solver,
    key_frame_requests: u64,
}

impl Default for Receiver {
    fn default() -> Self {
        Self {
            probing: probing(),
            timer: TIMER,
            next: None,
            newest: None,
            missing: BTreeMap::new(),
            solver: Solver::default(),
            key_frame_requests: 0,
        }
    }
}

impl Receiver {
    /// One whose reports leave at this interval.
    pub fn with_reports(interval: Duration) -> Self {
        Self { probing: Probing::new(interval, FIRST_RTT), ..Self::default() }
    }

    /// Datagrams up to `last` were sent, of which those that are not known are missing.
    fn extend(&mut self, now: Instant, last: u64, out: &mut Output) {
        let first = match self.newest {
            Some(newest) if newest >= last => return,
            Some(newest) => newest + 1,
            None => last,
        };
        self.newest = Some(last);
        let gap: Vec<u64> = (first..=last).filter(|number| !self.solver.knows(*number)).collect();
        self.missing = self.missing.split_off(&last.saturating_sub(OLDEST));
        if self.missing.len() + gap.len() > MOST_MISSING {
            self.missing.clear();
            self.key_frame_requests += 1;
            return;
        }
        self.missing.extend(gap.iter().map(|number| (*number, (now, 1))));
        if !gap.is_empty() {
            out.messages.push(Message::Request(gap));
        }
        self.next.get_or_insert(now + self.timer);
    }
}

impl End for Receiver {
    fn handle(&mut self, now: Instant, message: Message, out: &mut Output) {
        let before = out.delivered.len();
        let last = match message {
            Message::Data { datagram, is_repeat } => {
                let mut restored = Vec::new();
                if self.solver.insert(datagram, &mut restored) {
                    out.delivered.push(datagram);
                    out.delivered.append(&mut restored);
                }
                (!is_repeat).then_some(datagram.number)
            }
            Message::Parity { members, .. } => {
                self.solver.equation(&members, &mut out.delivered);
                members.last().map(|last| last.number)
            }
            Message::Echo { sent } => return self.probing.on_echo(now, sent),
            _ => None,
        };
        for datagram in &out.delivered[before..] {
            self.missing.remove(&datagram.number);
        }
        if let Some(last) = last {
            self.extend(now, last, out);
        }
        out.messages.extend(self.probing.poll(now));
    }

    fn handle_timeout(&mut self, now: Instant, out: &mut Output) {
        let rtt = self.probing.rtt();
        self.missing.retain(|_, (_, tries)| *tries < MOST_TRIES);
        let mut due = Vec::new();
        for (number, (asked, tries)) in &mut self.missing {
            if *asked + rtt <= now {
                (*asked, *tries) = (now, *tries + 1);
                due.push(*number);
            }
        }
        if !due.is_empty() {
            out.messages.push(Message::Request(due));
        }
        self.next = Some(now + self.timer);
    }

    fn next(&self) -> Option<Instant> {
        self.next.filter(|_| !self.missing.is_empty())
    }
}

#[cfg(test)]
mod tests {
    use super::super::support::{Channel, at, datagram, loses, ms};
    use super::*;

    fn arrive(receiver: &mut Receiver, now: Instant, number: u64) -> Vec<u64> {
        let mut out = Output::default();
        receiver.handle(now, Message::Data { datagram: datagram(number), is_repeat: false }, &mut out);
        let numbers = |message| if let Message::Request(numbers) = message { Some(numbers) } else { None };
        out.messages.into_iter().filter_map(numbers).flatten().collect()
    }

    #[test]
    fn a_list_that_grows_too_long_is_cleared_for_a_key_frame() {
        let mut receiver = Receiver::default();
        assert!(arrive(&mut receiver, at(0), 0).is_empty());
        assert_eq!(arrive(&mut receiver, at(1), 1001).len(), 1000);
        assert!(arrive(&mut receiver, at(2), 1003).is_empty());
        assert_eq!((receiver.missing.len(), receiver.key_frame_requests), (0, 1));
    }

    #[test]
    fn a_request_is_repeated_after_a_round_trip_time_and_not_before() {
        let mut receiver = Receiver { timer: ms(1), ..Receiver::default() };
        receiver.probing.on_echo(at(20), at(0));
        arrive(&mut receiver, at(100), 1);
        assert_eq!(arrive(&mut receiver, at(100), 3), [2]);
        let mut times = Vec::new();
        while let Some(now) = receiver.next().filter(|now| *now < at(150)) {
            let mut out = Output::default();
            receiver.handle_timeout(now, &mut out);
            times.extend(out.messages.iter().map(|_| now));
        }
        assert_eq!(times, [at(120), at(140)]);
    }

    #[test]
    fn a_lost_repeat_is_asked_for_by_the_timer() {
        let mut channel = Channel::new(ends(), ms(20), loses(142, 1));
        channel.run((0..200).map(datagram), at(3_000));
        // Both ends know the round-trip time since the second report. Noticed at 1420 ms; the timer fires
        // each 20 ms, and 40 ms have to pass.
        assert_eq!(channel.requests(142), [at(1_420), at(1_460)]);
        assert_eq!(channel.delivered.len(), 200);
    }
}
