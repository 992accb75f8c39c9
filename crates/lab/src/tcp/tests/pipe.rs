//! Two links, one in each direction: a rate, a delay, a queue, and the effects of a test on packets.

use std::collections::VecDeque;

use whimbrel_units::{ByteCount, DataRate, Duration, Instant};

use crate::tcp::{HeaderModel, Segment, TcpConfig, TcpReceiver, TcpSender};

/// One direction. Its queue drops at the tail.
pub(super) struct Link {
    rate: DataRate,
    delay: Duration,
    /// Packets that may wait behind the one in transmission.
    room: usize,
    headers: HeaderModel,
    busy_until: Instant,
    /// Start of transmission of each waiting packet.
    waiting: VecDeque<Instant>,
    /// In order of arrival, which a test may change.
    underway: Vec<(Instant, Segment)>,
}

impl Link {
    pub(super) fn new(rate: DataRate, delay: Duration, room: usize, headers: HeaderModel) -> Self {
        let (waiting, underway) = (VecDeque::new(), Vec::new());
        Self { rate, delay, room, headers, busy_until: Instant::ZERO, waiting, underway }
    }

    /// Takes a packet, to arrive `extra` later than it would.
    pub(super) fn send(&mut self, now: Instant, segment: Segment, extra: Duration) {
        while self.waiting.front().is_some_and(|start| *start <= now) {
            self.waiting.pop_front();
        }
        let start = self.busy_until.max(now);
        if start > now {
            if self.waiting.len() >= self.room {
                return;
            }
            self.waiting.push_back(start);
        }
        self.busy_until = start + ByteCount::new(u64::from(self.headers.size(&segment))) / self.rate;
        let arrival = self.busy_until + self.delay + extra;
        let at = self.underway.partition_point(|(other, _)| *other <= arrival);
        self.underway.insert(at, (arrival, segment));
    }

    fn next(&self) -> Option<Instant> {
        self.underway.first().map(|(arrival, _)| *arrival)
    }

    fn take(&mut self, now: Instant) -> Option<Segment> {
        self.next().filter(|arrival| *arrival <= now).map(|_| self.underway.remove(0).1)
    }
}

/// Outcome of a packet before it enters its link.
pub(super) enum PacketOutcome {
    Pass,
    Drop,
    /// Arrives later, perhaps after others.
    Delay(Duration),
    /// Arrives marked by the network.
    Mark,
}

/// A sender, a receiver and the links between them.
pub(super) struct Network {
    pub(super) now: Instant,
    pub(super) sender: TcpSender,
    pub(super) receiver: TcpReceiver,
    /// From the sender on; the last is the bottleneck.
    forward: Vec<Link>,
    /// From the receiver on.
    back: Vec<Link>,
    /// Everything the sender has sent, lost or not.
    pub(super) sent: Vec<(Instant, Segment)>,
    /// Everything the receiver received, in that order.
    pub(super) received: Vec<Segment>,
}

impl Network {
    pub(super) fn new(config: &TcpConfig, rate: DataRate, delay: Duration, room: usize) -> Self {
        Self {
            now: Instant::ZERO,
            sender: TcpSender::new(config),
            receiver: TcpReceiver::new(config),
            forward: vec![Link::new(rate, delay, room, config.headers)],
            back: vec![Link::new(rate, delay, 10_000, config.headers)],
            sent: Vec::new(),
            received: Vec::new(),
        }
    }

    /// Puts a link with a long queue between the sender and the bottleneck.
    pub(super) fn with_access(mut self, rate: DataRate, delay: Duration) -> Self {
        let headers = self.forward[0].headers;
        self.forward.insert(0, Link::new(rate, delay, 10_000, headers));
        self.back.push(Link::new(rate, delay, 10_000, headers));
        self
    }

    /// Moves to the next event and returns whether there was one before `until`. `data` and `acks` decide on
    /// each packet, by its number.
    pub(super) fn step(
        &mut self,
        until: Instant,
        data: &mut impl FnMut(usize, &Segment) -> PacketOutcome,
        acks: &mut impl FnMut(&Segment) -> PacketOutcome,
    ) -> bool {
        self.drain(data, acks);
        let timers = [self.sender.poll_timeout(), self.receiver.poll_timeout()];
        assert!(
            timers.iter().flatten().all(|deadline| *deadline > self.now),
            "spinning at {}: {timers:?}",
            self.now
        );
        let arrivals = self.forward.iter().chain(&self.back).filter_map(Link::next);
        let Some(next) = arrivals.chain(timers.into_iter().flatten()).min().filter(|next| *next <= until)
        else {
            return false;
        };
        self.now = next;
        // One event at a time, as a simulator has them, and timers first: they were set longer ago.
        if timers.iter().flatten().any(|deadline| *deadline <= next) {
            self.sender.handle_timeout(next);
            self.receiver.handle_timeout(next);
        } else if let Some(segment) = arrive(&mut self.forward, next) {
            self.received.push(segment);
            self.receiver.handle_segment(next, &segment);
        } else if let Some(segment) = arrive(&mut self.back, next) {
            self.sender.handle_segment(next, &segment);
        }
        true
    }

    fn drain(
        &mut self,
        data: &mut impl FnMut(usize, &Segment) -> PacketOutcome,
        acks: &mut impl FnMut(&Segment) -> PacketOutcome,
    ) {
        let mut budget = 100_000;
        while let Some(segment) = self.sender.poll_transmit(self.now) {
            let outcome = data(self.sent.len(), &segment);
            self.sent.push((self.now, segment));
            enter(&mut self.forward[0], self.now, segment, outcome);
            budget -= 1;
            assert!(budget > 0, "the sender does not stop");
        }
        while let Some(segment) = self.receiver.poll_transmit(self.now) {
            let outcome = acks(&segment);
            enter(&mut self.back[0], self.now, segment, outcome);
        }
        assert_eq!(self.sender.poll_transmit(self.now), None, "draining twice is draining once");
        assert_eq!(self.receiver.poll_transmit(self.now), None, "draining twice is draining once");
    }

    pub(super) fn run(&mut self, until: Instant, mut data: impl FnMut(usize, &Segment) -> PacketOutcome) {
        while self.step(until, &mut data, &mut |_| PacketOutcome::Pass) {}
    }
}

/// Moves the packets that have passed each link into the next, and takes one packet out of the last.
fn arrive(links: &mut [Link], now: Instant) -> Option<Segment> {
    for at in 1..links.len() {
        while let Some(segment) = links[at - 1].take(now) {
            links[at].send(now, segment, Duration::ZERO);
        }
    }
    links.last_mut()?.take(now)
}

fn enter(link: &mut Link, now: Instant, mut segment: Segment, outcome: PacketOutcome) {
    match outcome {
        PacketOutcome::Pass => link.send(now, segment, Duration::ZERO),
        PacketOutcome::Delay(extra) => link.send(now, segment, extra),
        PacketOutcome::Drop => {}
        PacketOutcome::Mark => {
            segment.flags |= crate::tcp::Flags::CE;
            link.send(now, segment, Duration::ZERO);
        }
    }
}
