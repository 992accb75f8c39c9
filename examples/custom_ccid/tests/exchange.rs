//! Two connections under CCID 251, with a path of 20 ms each way between them.

use std::collections::VecDeque;

use whimbrel_example_custom_ccid::{AIMD, Aimd, SEND_RECEIVED_COUNT};
use whimbrel_proto::feature::Location;
use whimbrel_proto::{Config, Connection, Datagram, Event, PathChange, ReceiveMeta, State};
use whimbrel_units::{Duration, Instant};
use whimbrel_wire::{Packet, Payload};

const DELAY: Duration = Duration::from_millis(20);

fn config(count: bool) -> Config {
    let mut config = Config::default();
    config.ccids = config.ccids.with(Aimd { count });
    config.sender_ccids = [AIMD].into_iter().collect();
    config.receiver_ccids = [AIMD].into_iter().collect();
    config
}

/// The first packet, if it has arrived at `now`.
fn arrived(under_way: &mut VecDeque<(Instant, Packet)>, now: Instant) -> Option<Packet> {
    under_way.front().filter(|(at, _)| *at <= now)?;
    under_way.pop_front().map(|(_, packet)| packet)
}

/// A client, a server and what is on its way between them.
struct Pair {
    now: Instant,
    client: Connection,
    server: Connection,
    to_server: VecDeque<(Instant, Packet)>,
    to_client: VecDeque<(Instant, Packet)>,
    /// Of the client's packets, every so many is lost.
    lose_every: Option<u64>,
    carried: u64,
    received: u64,
}

impl Pair {
    fn connected(client: Config, server: Config) -> Self {
        let now = Instant::from_secs(1);
        let mut client = Connection::client(now, client, 1, 2, 1_000).expect("a valid configuration");
        client.connect(now);
        let request = client.poll_transmit(now).expect("a Request").packet;
        let now = now + DELAY;
        let mut server = Connection::server(now, server, &request, 2_000).expect("a valid configuration");
        server.handle_packet(now, ReceiveMeta::default(), request);
        let mut pair = Self {
            now,
            client,
            server,
            to_server: VecDeque::new(),
            to_client: VecDeque::new(),
            lose_every: None,
            carried: 0,
            received: 0,
        };
        pair.run(Duration::from_secs(1));
        assert_eq!(pair.client.state(), State::Open);
        pair
    }

    /// Lets the client send as much as it may.
    fn run(&mut self, duration: Duration) {
        let end = self.now + duration;
        while self.now < end {
            while self.client.queued_datagrams() < 16 {
                let datagram = Datagram::new(Payload::Opaque { length: 1_000, tag: 0 });
                if self.client.send(self.now, datagram).is_err() {
                    break;
                }
            }
            while let Some(transmit) = self.client.poll_transmit(self.now) {
                self.carried += 1;
                if self.lose_every.is_none_or(|every| !self.carried.is_multiple_of(every)) {
                    self.to_server.push_back((self.now + DELAY, transmit.packet));
                }
            }
            while let Some(transmit) = self.server.poll_transmit(self.now) {
                self.to_client.push_back((self.now + DELAY, transmit.packet));
            }
            while self.client.poll_event().is_some() {}
            while let Some(event) = self.server.poll_event() {
                self.received += u64::from(matches!(event, Event::Datagram { .. }));
            }
            let arrivals = [&self.to_server, &self.to_client].map(|queue| queue.front().map(|(at, _)| *at));
            let deadlines = [self.client.poll_timeout(), self.server.poll_timeout()];
            let next = arrivals.into_iter().chain(deadlines).flatten().min().expect("something happens");
            self.now = next.min(end);
            self.client.handle_timeout(self.now);
            self.server.handle_timeout(self.now);
            while let Some(packet) = arrived(&mut self.to_server, self.now) {
                self.server.handle_packet(self.now, ReceiveMeta::default(), packet);
            }
            while let Some(packet) = arrived(&mut self.to_client, self.now) {
                self.client.handle_packet(self.now, ReceiveMeta::default(), packet);
            }
        }
    }

    fn window(&self) -> u32 {
        self.client.snapshot().sender.cwnd.expect("CCID 251 has a window")
    }

    fn agreed(&self) -> [u64; 2] {
        // At the server, which receives the client's data.
        [
            self.client.negotiation().value(SEND_RECEIVED_COUNT, Location::Remote),
            self.server.negotiation().value(SEND_RECEIVED_COUNT, Location::Local),
        ]
    }
}

/// The server lists first what it would do unasked, so both have to want the feature for it to be on.
#[test]
fn identical_ends_agree_on_the_feature_of_their_ccid() {
    assert_eq!(Pair::connected(config(true), config(true)).agreed(), [1, 1]);
    assert_eq!(Pair::connected(config(true), config(false)).agreed(), [0, 0]);
}

#[test]
fn the_window_grows_by_a_packet_per_round_trip_time_and_halves_on_loss() {
    let mut pair = Pair::connected(config(true), config(true));
    pair.run(Duration::from_secs(4));
    // A report each 40 to 80 ms.
    let grown = pair.window();
    assert!((40..130).contains(&grown), "{grown}");
    pair.lose_every = Some(10);
    pair.run(Duration::from_secs(4));
    assert!(pair.window() < grown / 4, "{} after {grown}", pair.window());
    assert!(pair.received > 1_000);
}

#[test]
fn without_the_feature_the_rate_stays_at_a_packet_per_round_trip_time() {
    let mut pair = Pair::connected(config(true), config(false));
    pair.run(Duration::from_secs(4));
    assert_eq!(pair.window(), 1);
    assert!((80..140).contains(&pair.received), "{}", pair.received);
}

/// The halves are built anew; what was negotiated before holds for them, too.
#[test]
fn a_new_path_begins_with_the_features_agreed_before() {
    let mut pair = Pair::connected(config(true), config(true));
    pair.run(Duration::from_secs(2));
    pair.client.path_changed(pair.now, PathChange::Reset);
    pair.server.path_changed(pair.now, PathChange::Reset);
    pair.run(Duration::from_millis(200));
    assert!(pair.window() < 10, "{}", pair.window());
    pair.run(Duration::from_secs(4));
    assert!(pair.window() > 30, "{}", pair.window());
}
