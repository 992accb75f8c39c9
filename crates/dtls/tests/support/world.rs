//! Two secured connections and a path between them, in simulated time.

use std::collections::BTreeMap;

use bytes::Bytes;
use whimbrel_dtls::{Identity, Layer, LayerEvent, Security, SecurityError, Trust};
use whimbrel_proto::{Config, Connection, ConnectionError, Datagram, Event, ReceiveMeta, Role};
use whimbrel_units::{Duration, Instant};
use whimbrel_wire::{Packet, Payload};

/// A path in both directions. Shares are out of 100.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Path {
    pub(crate) delay: Duration,
    pub(crate) jitter: Duration,
    pub(crate) lost: u64,
    /// Losses in bursts of so many packets on average, in each direction, until a packet passes; the share
    /// of the packets that they take, out of 100.
    pub(crate) bursts: Option<(u64, u64)>,
    pub(crate) doubled: u64,
    /// The largest packet, in bytes from the DCCP header on.
    pub(crate) mtu: usize,
}

impl Path {
    pub(crate) fn clean() -> Self {
        let delay = Duration::from_millis(20);
        Self { delay, jitter: Duration::ZERO, lost: 0, bursts: None, doubled: 0, mtu: usize::MAX }
    }
}

/// One end.
#[derive(Debug)]
pub(crate) struct End {
    pub(crate) connection: Connection,
    pub(crate) layer: Layer,
    pub(crate) received: Vec<Bytes>,
    pub(crate) events: Vec<Event>,
    pub(crate) failure: Option<SecurityError>,
    pub(crate) closed: Option<ConnectionError>,
    /// Datagrams that left in packets.
    pub(crate) sent: u64,
}

impl End {
    fn new(connection: Connection, security: Security) -> Self {
        let layer = Layer::new(security);
        Self { connection, layer, received: vec![], events: vec![], failure: None, closed: None, sent: 0 }
    }

    pub(crate) fn is_connected(&self) -> bool {
        self.events.iter().any(|event| matches!(event, Event::Connected { .. }))
    }

    fn settle(&mut self, now: Instant) {
        loop {
            self.layer.handle_timeout(now, &mut self.connection);
            while let Some(event) = self.connection.poll_event() {
                self.layer.handle_event(now, &mut self.connection, event);
            }
            while let Some(event) = self.layer.poll_event() {
                match event {
                    LayerEvent::Event(Event::Datagram { payload: Payload::Bytes(data), .. }) => {
                        self.received.push(data);
                    }
                    LayerEvent::Event(Event::Closed(why)) => self.closed = Some(why),
                    LayerEvent::Event(event) => self.events.push(event),
                    LayerEvent::Failed(error) => self.failure = Some(error),
                    _ => {}
                }
            }
            if !self.connection.has_events() {
                return;
            }
        }
    }
}

/// Two ends, a path and the time.
pub(crate) struct World {
    pub(crate) now: Instant,
    pub(crate) path: Path,
    pub(crate) client: End,
    /// There from the first Request on.
    pub(crate) server: Option<End>,
    server_setup: (Config, Security),
    in_flight: BTreeMap<(Instant, u64), (Role, Packet)>,
    order: u64,
    dice: u64,
    /// A burst of losses lasts: of the client's packets, of the server's.
    pub(crate) is_burst: [bool; 2],
}

/// Security of two ends that pin each other's key: client, server.
pub(crate) fn pair(seed: u64) -> (Security, Security) {
    let identity = || Identity::generate().expect("a key");
    let (client, server) = (identity(), identity());
    let trust = |identity: &Identity| Trust::Pinned(vec![identity.fingerprint()]);
    let (of_client, of_server) = (trust(&server), trust(&client));
    (Security::new(client, of_client).seeded(seed), Security::new(server, of_server).seeded(seed + 1))
}

impl World {
    pub(crate) fn new(seed: u64, path: Path, config: Config, (client, server): (Security, Security)) -> Self {
        let now = Instant::from_secs(1);
        let mut connection =
            Connection::client(now, config.clone(), 40_000, 5_001, seed).expect("a valid configuration");
        connection.connect(now);
        Self {
            now,
            path,
            client: End::new(connection, client),
            server: None,
            server_setup: (config, server),
            in_flight: BTreeMap::new(),
            order: 0,
            dice: seed,
            is_burst: [false; 2],
        }
    }

    /// SplitMix64.
    pub(crate) fn roll(&mut self, below: u64) -> u64 {
        self.dice = self.dice.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut word = self.dice;
        word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (word ^ (word >> 31)) % below.max(1)
    }

    fn offer(&mut self, from: Role, packet: Packet) {
        if packet.encoded_len() > self.path.mtu {
            return;
        }
        let copies = if self.roll(100) < self.path.doubled { 2 } else { 1 };
        for _ in 0..copies {
            if self.roll(100) < self.path.lost || self.is_in_burst(from) {
                continue;
            }
            let jitter = Duration::from_nanos(self.roll(self.path.jitter.as_nanos()));
            self.order += 1;
            self.in_flight.insert((self.now + self.path.delay + jitter, self.order), (from, packet.clone()));
        }
    }

    /// The model of Gilbert and Elliott, in steps of a packet.
    fn is_in_burst(&mut self, from: Role) -> bool {
        const PARTS: u64 = 1 << 32;
        let Some((length, share)) = self.path.bursts else { return false };
        let dice = self.roll(PARTS);
        let is_burst = &mut self.is_burst[usize::from(from == Role::Server)];
        let ends = PARTS / length;
        let begins = ends * share / (100 - share);
        *is_burst = if *is_burst { dice >= ends } else { dice < begins };
        *is_burst
    }

    /// Sends all that can be sent now.
    fn settle(&mut self) {
        loop {
            self.client.settle(self.now);
            let sent = self.client.connection.poll_transmit(self.now).map(|sent| (Role::Client, sent.packet));
            let sent = sent.or_else(|| {
                let server = self.server.as_mut()?;
                server.settle(self.now);
                server.connection.poll_transmit(self.now).map(|sent| (Role::Server, sent.packet))
            });
            let Some((from, packet)) = sent else { return };
            let end = if from == Role::Client { Some(&mut self.client) } else { self.server.as_mut() };
            end.expect("it sent").sent += u64::from(!packet.payload.is_empty());
            self.offer(from, packet);
        }
    }

    fn deliver(&mut self, from: Role, packet: Packet) {
        let (now, meta) = (self.now, ReceiveMeta::default());
        if from == Role::Server {
            self.client.connection.handle_packet(now, meta, packet);
            return;
        }
        if self.server.is_none() {
            let (config, security) = self.server_setup.clone();
            let connection = Connection::server(now, config, &packet, 99).expect("a Request");
            self.server = Some(End::new(connection, security));
        }
        if let Some(server) = &mut self.server {
            server.connection.handle_packet(now, meta, packet);
        }
    }

    /// Lets time pass until `done`, for no longer than `limit`. Returns `true` if it is done.
    pub(crate) fn run(&mut self, limit: Duration, done: impl Fn(&Self) -> bool) -> bool {
        let end = self.now + limit;
        for _ in 0..1_000_000 {
            self.settle();
            if done(self) {
                return true;
            }
            let ends = [Some(&self.client), self.server.as_ref()].into_iter().flatten();
            let timers = ends.flat_map(|end| [end.connection.poll_timeout(), end.layer.poll_timeout()]);
            let arrival = self.in_flight.keys().next().map(|(at, _)| *at);
            let Some(next) = timers.chain([arrival]).flatten().min().filter(|next| *next <= end) else {
                self.now = end;
                return false;
            };
            assert!(next >= self.now, "a timer in the past: {next:?} at {:?}", self.now);
            self.now = next;
            while let Some(first) = self.in_flight.first_entry().filter(|first| first.key().0 <= next) {
                let (from, packet) = first.remove();
                self.deliver(from, packet);
            }
            self.client.connection.handle_timeout(next);
            if let Some(server) = &mut self.server {
                server.connection.handle_timeout(next);
            }
        }
        panic!("it does not come to rest");
    }

    /// Runs the handshakes of both protocols; returns `true` if both ends are connected.
    pub(crate) fn connect(&mut self, limit: Duration) -> bool {
        self.run(limit, |world| {
            world.client.is_connected() && world.server.as_ref().is_some_and(End::is_connected)
        })
    }

    pub(crate) fn server(&mut self) -> &mut End {
        self.server.as_mut().expect("a Request arrived")
    }

    /// Sends data from the client.
    pub(crate) fn send(&mut self, data: &[u8]) -> Result<(), whimbrel_proto::SendError> {
        let datagram = Datagram::new(Bytes::copy_from_slice(data));
        let End { connection, layer, .. } = &mut self.client;
        layer.send(self.now, connection, datagram).map(|_| ())
    }

    /// Injects a datagram at the server, as an attacker could who sees and writes the path's packets: in the
    /// next packet.
    pub(crate) fn inject(&mut self, data: &[u8]) {
        let datagram = Datagram::new(Bytes::copy_from_slice(data));
        self.client.connection.send(self.now, datagram).expect("open");
    }
}
