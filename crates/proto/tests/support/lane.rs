//! Two connections, and a path between them that costs next to nothing to simulate: what is
//! measured here is the connections.

use std::collections::VecDeque;

use whimbrel_proto::{
    Ccid, Config, Connection, Datagram, Event, OverflowPolicy, ReceiveMeta, SendQueueConfig, State, Transmit,
};
use whimbrel_units::{Duration, Instant};
use whimbrel_wire::{PacketType, Payload};

/// Application data per packet.
const SIZE: u32 = 1_000;
/// The longest time that packets wait for the link.
const BUFFER: Duration = Duration::from_millis(5);
/// The queue never runs empty while a transfer lasts.
const QUEUED: usize = 32;

/// One direction of the path: a link that takes `per_packet` for each packet, and a delay.
struct Link {
    per_packet: Duration,
    delay: Duration,
    free_at: Instant,
    in_flight: VecDeque<(Instant, Transmit)>,
}

impl Link {
    fn new(per_packet: Duration, delay: Duration) -> Self {
        Self { per_packet, delay, free_at: Instant::ZERO, in_flight: VecDeque::with_capacity(4096) }
    }

    fn carry(&mut self, now: Instant, transmit: Transmit) {
        if self.free_at > now + BUFFER {
            return;
        }
        self.free_at = self.free_at.max(now) + self.per_packet;
        self.in_flight.push_back((self.free_at + self.delay, transmit));
    }

    fn arrival(&self) -> Option<Instant> {
        self.in_flight.front().map(|(at, _)| *at)
    }
}

/// A client that sends to a server as fast as its congestion control lets it.
pub(crate) struct Lane {
    now: Instant,
    client: Connection,
    server: Connection,
    forth: Link,
    back: Link,
    tag: u64,
    sent: u64,
    received: u64,
}

impl Lane {
    /// A connected pair, 10 ms there and back, with a link between them that takes `per_packet` for
    /// each packet, and a buffer in front of it that overflows now and then.
    pub(crate) fn connected(ccid: Ccid, per_packet: Duration) -> Self {
        let config =
            Config::default().sender_ccids([ccid]).receiver_ccids([ccid]).sequence_window(10_000).send_queue(
                SendQueueConfig::default().max_datagrams(2 * QUEUED).overflow(OverflowPolicy::Refuse),
            );
        let now = Instant::from_secs(1);
        let mut client = Connection::client(now, config.clone(), 1, 2, 1_000).expect("valid");
        client.connect(now);
        let request = client.poll_transmit(now).expect("a Request").packet;
        let mut server = Connection::server(now, config, &request, 2_000).expect("valid");
        server.handle_packet(now, ReceiveMeta::default(), request);
        let delay = Duration::from_millis(5);
        let mut lane = Self {
            now,
            client,
            server,
            forth: Link::new(per_packet, delay),
            back: Link::new(Duration::ZERO, delay),
            tag: 0,
            sent: 0,
            received: 0,
        };
        while lane.client.state() != State::Open {
            lane.run(1);
        }
        lane
    }

    /// Carries `datagrams` more.
    pub(crate) fn run(&mut self, datagrams: u64) {
        let goal = self.received + datagrams;
        while self.received < goal {
            self.drain();
            self.advance();
        }
    }

    /// Datagrams that the server has received.
    #[allow(dead_code, reason = "not used by every test")]
    pub(crate) fn received(&self) -> u64 {
        self.received
    }

    /// The time on the lane's clock.
    #[allow(dead_code, reason = "not used by every test")]
    pub(crate) fn now(&self) -> Instant {
        self.now
    }

    /// Packets of any type that the two have sent.
    #[allow(dead_code, reason = "not used by every test")]
    pub(crate) fn packets(&self) -> u64 {
        self.sent
    }

    fn drain(&mut self) {
        while self.client.queued_datagrams() < QUEUED {
            self.tag += 1;
            let datagram = Datagram::new(Payload::Opaque { length: SIZE, tag: self.tag });
            if self.client.send(self.now, datagram).is_err() {
                break;
            }
        }
        while let Some(transmit) = self.client.poll_transmit(self.now) {
            self.sent += 1;
            self.forth.carry(self.now, transmit);
        }
        while let Some(transmit) = self.server.poll_transmit(self.now) {
            self.sent += 1;
            self.back.carry(self.now, transmit);
        }
        while self.client.poll_event().is_some() {}
        while let Some(event) = self.server.poll_event() {
            self.received += u64::from(matches!(event, Event::Datagram { .. }));
        }
    }

    fn advance(&mut self) {
        let times = [
            self.forth.arrival(),
            self.back.arrival(),
            self.client.poll_timeout(),
            self.server.poll_timeout(),
        ];
        let next = times.into_iter().flatten().min().expect("something happens");
        assert!(next > self.now, "time goes on");
        self.now = next;
        if self.client.poll_timeout().is_some_and(|at| at <= next) {
            self.client.handle_timeout(next);
        }
        if self.server.poll_timeout().is_some_and(|at| at <= next) {
            self.server.handle_timeout(next);
        }
        while self.forth.arrival().is_some_and(|at| at <= next) {
            let (_, transmit) = self.forth.in_flight.pop_front().expect("it is there");
            debug_assert_ne!(transmit.packet.packet_type(), PacketType::Reset);
            self.server.handle_packet(
                next,
                ReceiveMeta { ecn: transmit.ecn, ..ReceiveMeta::default() },
                transmit.packet,
            );
        }
        while self.back.arrival().is_some_and(|at| at <= next) {
            let (_, transmit) = self.back.in_flight.pop_front().expect("it is there");
            self.client.handle_packet(
                next,
                ReceiveMeta { ecn: transmit.ecn, ..ReceiveMeta::default() },
                transmit.packet,
            );
        }
    }
}
