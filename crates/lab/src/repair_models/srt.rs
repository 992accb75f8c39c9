//! SRT in live mode, as Haivision's library implements it (version 1.5).
//!
//! A gap is reported at once, and all that is missing again and again at an interval; a report is answered
//! unless the last repeat is too young. The receiving end gives up what its successor's delivery overtakes.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use whimbrel_units::{Duration, Instant};

use super::history::History;
use super::probing::Probing;
use super::{Datagram, End, Ends, Message, Output};

/// The round-trip time and its variation before one is measured.
const FIRST_RTT: (Duration, Duration) = (Duration::from_millis(100), Duration::from_millis(50));
/// The time between acknowledgements.
const ACKNOWLEDGEMENT: Duration = Duration::from_millis(10);
/// The least time between reports of all that is missing.
const LEAST_REPORT: Duration = Duration::from_millis(20);
/// The sending end keeps datagrams for this long at least, and a little longer.
const LEAST_KEPT: Duration = Duration::from_millis(1000);
const KEPT_LONGER: Duration = Duration::from_millis(20);
/// The time over which the input rate is measured.
const INPUT: Duration = Duration::from_secs(1);
/// Bytes of SRT's header.
const HEADER: u32 = 16;

/// The ends for a latency. With `overhead`, the rate is limited to the rate of the input plus this share
/// (`SRTO_MAXBW` 0, `SRTO_OHEADBW`); without, it is not limited, which is the default.
pub fn ends(latency: Duration, overhead: Option<f64>) -> Ends {
    [Box::new(Sender::new(latency, overhead)), Box::new(Receiver::new(latency))]
}

/// The time between reports of all that is missing.
pub fn report_interval(rtt: Duration, variation: Duration) -> Duration {
    LEAST_REPORT.max((rtt + variation * 4) / 2)
}

/// The sending end.
#[derive(Debug)]
struct Sender {
    history: History,
    probing: Probing,
    /// The share of repeats; `None` for no limit.
    overhead: Option<f64>,
    input: VecDeque<(Instant, u32)>,
    originals: VecDeque<Datagram>,
    repeats: BTreeSet<u64>,
    next_send: Instant,
}

impl Sender {
    fn new(latency: Duration, overhead: Option<f64>) -> Self {
        Self {
            history: History::new(latency.max(LEAST_KEPT) + KEPT_LONGER, u32::MAX),
            probing: Probing::new(ACKNOWLEDGEMENT, FIRST_RTT),
            overhead,
            input: VecDeque::new(),
            originals: VecDeque::new(),
            repeats: BTreeSet::new(),
            next_send: Instant::ZERO,
        }
    }

    /// The time that a packet of the input's mean size takes at the limit.
    fn period(&self) -> Duration {
        let Some(overhead) = self.overhead else { return Duration::ZERO };
        let (Some((first, _)), Some((last, _))) = (self.input.front(), self.input.back()) else {
            return Duration::ZERO;
        };
        let span = last.saturating_since(*first);
        // Until there is an input rate, there is no limit.
        if span < INPUT / 2 {
            return Duration::ZERO;
        }
        (span / self.input.len() as u64).mul_f64(1.0 / (1.0 + overhead))
    }

    /// Sends what the limit allows, repeats first.
    fn transmit(&mut self, now: Instant, out: &mut Output) {
        let pause = self.probing.rtt().saturating_sub(self.probing.variation() * 4);
        while self.next_send <= now {
            let repeat = self.repeats.pop_first();
            let message = match repeat {
                Some(number) => match self.history.take(now, number, pause) {
                    Some(datagram) => Message::Data { datagram, is_repeat: true },
                    None => continue,
                },
                None => match self.originals.pop_front() {
                    Some(datagram) => Message::Data { datagram, is_repeat: false },
                    None => return,
                },
            };
            out.messages.push(message);
            self.next_send = self.next_send.max(now) + self.period();
        }
    }
}

impl End for Sender {
    fn send(&mut self, now: Instant, datagram: Datagram, out: &mut Output) {
        self.input.push_back((now, datagram.size + HEADER));
        while self.input.front().is_some_and(|(at, _)| *at + INPUT < now) {
            self.input.pop_front();
        }
        self.history.insert(now, datagram);
        self.originals.push_back(datagram);
        self.transmit(now, out);
    }

    fn handle(&mut self, now: Instant, message: Message, out: &mut Output) {
        match message {
            Message::Request(numbers) => self.repeats.extend(numbers),
            Message::Probe { sent, rtt } => {
                self.probing.adopt(rtt);
                out.messages.push(Message::Echo { sent });
            }
            _ => {}
        }
        self.transmit(now, out);
    }

    fn handle_timeout(&mut self, now: Instant, out: &mut Output) {
        self.transmit(now, out);
    }

    fn next(&self) -> Option<Instant> {
        let waits = !self.originals.is_empty() || !self.repeats.is_empty();
        waits.then_some(self.next_send)
    }
}

/// The receiving end.
#[derive(Debug)]
struct Receiver {
    latency: Duration,
    probing: Probing,
    /// The least number that is not expected to be missing.
    expected: u64,
    /// Missing datagrams, and when delivery of a successor overtakes them.
    missing: BTreeMap<u64, Instant>,
    /// From the capture of a datagram to its delivery.
    to_delivery: Option<Duration>,
    next_report: Instant,
}

impl Receiver {
    fn new(latency: Duration) -> Self {
        Self {
            latency,
            probing: Probing::new(ACKNOWLEDGEMENT, FIRST_RTT),
            expected: 0,
            missing: BTreeMap::new(),
            to_delivery: None,
            next_report: Instant::ZERO,
        }
    }

    fn restart_reports(&mut self, now: Instant) {
        self.next_report = now + report_interval(self.probing.rtt(), self.probing.variation());
    }

    fn receive(&mut self, now: Instant, datagram: Datagram, out: &mut Output) {
        let base = now.saturating_since(datagram.captured) + self.latency;
        let delivery = datagram.captured + *self.to_delivery.get_or_insert(base);
        let is_new = datagram.number >= self.expected;
        if is_new {
            let gap: Vec<u64> = (self.expected..datagram.number).collect();
            if self.missing.is_empty() {
                self.restart_reports(now);
            }
            self.missing.extend(gap.iter().map(|number| (*number, delivery)));
            if !gap.is_empty() {
                out.messages.push(Message::Request(gap));
            }
            self.expected = datagram.number + 1;
        }
        let was_missing = self.missing.remove(&datagram.number).is_some();
        if (is_new || was_missing) && now <= delivery {
            out.delivered.push(datagram);
        }
    }
}

impl End for Receiver {
    fn handle(&mut self, now: Instant, message: Message, out: &mut Output) {
        match message {
            Message::Data { datagram, .. } => self.receive(now, datagram, out),
            Message::Echo { sent } => return self.probing.on_echo(now, sent),
            _ => {}
        }
        out.messages.extend(self.probing.poll(now));
    }

    fn handle_timeout(&mut self, now: Instant, out: &mut Output) {
        self.missing.retain(|_, delivery| *delivery > now);
        if self.next_report <= now && !self.missing.is_empty() {
            out.messages.push(Message::Request(self.missing.keys().copied().collect()));
        }
        self.restart_reports(now);
    }

    fn next(&self) -> Option<Instant> {
        (!self.missing.is_empty()).then_some(self.next_report)
    }
}

#[cfg(test)]
mod tests {
    use super::super::support::{Channel, at, datagram, loses, ms};
    use super::*;

    #[test]
    fn the_interval_of_reports_follows_the_round_trip_time() {
        for (rtt, variation, expected) in [(50, 5, 35), (20, 2, 20), (200, 20, 140)] {
            assert_eq!(report_interval(ms(rtt), ms(variation)), ms(expected));
        }
    }

    #[test]
    fn a_gap_is_reported_at_once_and_a_lost_repeat_after_a_round_trip_time() {
        let mut channel = Channel::new(ends(ms(200), None), ms(20), loses(42, 1));
        channel.run((0..100).map(datagram), at(2_000));
        // Number 42 was captured at 400 ms with 43, which reports it. Samples of 40 ms leave an interval of
        // 20 ms and somewhat more.
        let requests = channel.requests(42);
        assert_eq!(requests[0], at(420));
        assert!(requests[1] > at(440) && requests[1] < at(462), "{requests:?}");
        let (arrived, _) = channel.delivered.iter().find(|(_, it)| it.number == 42).expect("delivered");
        // The first repeat is too young for an answer to the second report.
        assert_eq!(*arrived, requests[2] + ms(40));
        assert_eq!(channel.delivered.len(), 100);
    }

    #[test]
    fn what_comes_after_its_time_is_not_delivered_and_not_asked_for() {
        let mut channel = Channel::new(ends(ms(50), None), ms(20), loses(42, 20));
        channel.run((0..100).map(datagram), at(2_000));
        assert_eq!(channel.delivered.len(), 99);
        let last = *channel.requests(42).last().expect("requests");
        assert!(last < at(400 + 20 + 50), "{last:?}");
    }

    #[test]
    fn the_limit_holds_repeats_and_data_to_the_input_and_a_share() {
        let sent = |overhead| {
            // From 2 s on, half of what is sent is lost.
            let mut count = 0;
            let lost = move |message: &Message| {
                count += 1;
                matches!(message, Message::Data { datagram, .. } if datagram.captured > at(2_000))
                    && count % 2 == 0
            };
            let mut channel = Channel::new(ends(ms(400), overhead), ms(20), lost);
            channel.run((0..800).map(datagram), at(8_000));
            channel.count(
                |message| matches!(message, Message::Data { datagram, .. } if datagram.captured > at(2_000)),
            )
        };
        let (free, limited) = (sent(None), sent(Some(0.25)));
        assert!(free > 1_100, "{free}");
        assert!((640..=780).contains(&limited), "{limited}");
    }
}
