//! Two endpoints and the paths between them, scripted and deterministic.

use core::net::SocketAddr;
use std::collections::BTreeMap;

use bytes::Bytes;
use whimbrel_units::{Duration, Instant};
use whimbrel_wire::option::multipath::MultipathOption;
use whimbrel_wire::{Packet, PacketType, Payload};

use crate::config::TimerConfig;
use crate::multipath::{
    MultipathConfig, MultipathConnection, MultipathEndpoint, MultipathEvent, Path, SubflowId,
};
use crate::{Config, ConnectionHandle, Datagram, EndpointConfig, EndpointEvent, ReceiveMeta};

pub(super) const PORT: u16 = 5_001;
/// Packets that an end may send at one instant.
const MAX_BURST: usize = 400;

/// One of the two ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum End {
    Client,
    Server,
}

/// A path in both directions.
#[derive(Clone, Copy, Debug)]
pub(super) struct Line {
    pub(super) delay: Duration,
    /// Every packet is lost.
    pub(super) is_dead: bool,
    /// Packets lost, repeated and delayed further, in parts of 256.
    pub(super) loss: u8,
    pub(super) duplication: u8,
    pub(super) reordering: u8,
}

impl Line {
    pub(super) fn of(millis: u64) -> Self {
        Self { delay: Duration::from_millis(millis), is_dead: false, loss: 0, duplication: 0, reordering: 0 }
    }
}

/// A packet that was sent.
#[derive(Clone, Debug)]
pub(super) struct Sent {
    pub(super) at: Instant,
    pub(super) from: End,
    pub(super) line: usize,
    pub(super) packet: Packet,
}

/// Changes a packet on its way, or loses it: `None`.
pub(super) type ScriptOf = Box<dyn FnMut(Sent) -> Option<Packet>>;

pub(super) struct World {
    pub(super) now: Instant,
    pub(super) client: MultipathEndpoint,
    pub(super) server: MultipathEndpoint,
    pub(super) lines: Vec<Line>,
    pub(super) script: ScriptOf,
    flying: BTreeMap<(Instant, u64), (End, Path, Packet)>,
    order: u64,
    dice: u64,
    pub(super) sent: Vec<Sent>,
    pub(super) client_events: Vec<MultipathEvent>,
    pub(super) server_events: Vec<MultipathEvent>,
    pub(super) at_client: ConnectionHandle,
    pub(super) at_server: Option<ConnectionHandle>,
}

/// The path of a line, as the client sees it.
pub(super) fn path(line: usize) -> Path {
    let local = SocketAddr::from(([10, 0, line as u8, 1], 0));
    Path { local, remote: SocketAddr::from(([192, 0, 2, 1], 0)) }
}

pub(super) fn reversed(path: Path) -> Path {
    Path { local: path.remote, remote: path.local }
}

/// A configuration in which connections live as RFC 4340 has it.
pub(super) fn config() -> Config {
    Config::default().timers(TimerConfig::rfc4340())
}

/// A configuration with a reorder buffer.
pub(super) fn ordered(millis: u64) -> Config {
    let mut config = config();
    config.receive.reorder_delay = Some(Duration::from_millis(millis));
    config
}

/// A datagram whose first bytes are `number`.
pub(super) fn datagram(number: u64) -> Datagram {
    let mut bytes = number.to_be_bytes().to_vec();
    bytes.resize(500, 0);
    Datagram::new(Bytes::from(bytes))
}

pub(super) fn number(payload: &Payload) -> u64 {
    let Payload::Bytes(bytes) = payload else { panic!("bytes") };
    u64::from_be_bytes(bytes[..8].try_into().expect("eight bytes"))
}

impl World {
    /// Two ends whose first Request has not left. The client's connection takes line 0.
    pub(super) fn new(
        lines: &[Line],
        client: Config,
        server: Config,
        settings: [MultipathConfig; 2],
    ) -> Self {
        let now = Instant::from_secs(1_000);
        let limits = EndpointConfig::default();
        let [at_client, at_server] = settings;
        let mut accepting = MultipathEndpoint::with_entropy(limits, [2; 32]);
        accepting.listen(PORT, server, at_server).expect("a valid configuration");
        let mut connecting = MultipathEndpoint::with_entropy(limits, [1; 32]);
        let handle = connecting.connect(now, path(0), PORT, client, at_client).expect("a free port");
        Self {
            now,
            client: connecting,
            server: accepting,
            lines: lines.to_vec(),
            script: Box::new(|sent| Some(sent.packet)),
            flying: BTreeMap::new(),
            order: 0,
            dice: 0x9e37_79b9_7f4a_7c15,
            sent: Vec::new(),
            client_events: Vec::new(),
            server_events: Vec::new(),
            at_client: handle,
            at_server: None,
        }
    }

    /// Two ends that have completed the first handshake.
    pub(super) fn connected(lines: &[Line], config: Config, settings: MultipathConfig) -> Self {
        let mut world = Self::new(lines, config.clone(), config, [settings.clone(), settings]);
        world.run_for(Duration::from_millis(1_000));
        let established = MultipathEvent::Established { is_multipath: true };
        assert!(world.client_events.contains(&established), "{:?}", world.client_events);
        assert!(world.server_events.contains(&established), "{:?}", world.server_events);
        world.forget();
        world
    }

    /// Two ends with a subflow on each line.
    pub(super) fn joined(lines: &[Line], config: Config, settings: MultipathConfig) -> Self {
        let mut world = Self::connected(lines, config, settings);
        for line in 1..lines.len() {
            world.join(line);
        }
        world.run_for(Duration::from_millis(1_000));
        let subflows = world.connection(End::Server).snapshot().subflows;
        assert!(subflows.iter().all(|it| it.stage == crate::multipath::SubflowStage::Established));
        assert_eq!(subflows.len(), lines.len());
        world.forget();
        world
    }

    /// Empties the log.
    pub(super) fn forget(&mut self) {
        self.sent.clear();
        self.client_events.clear();
        self.server_events.clear();
    }

    pub(super) fn join(&mut self, line: usize) -> SubflowId {
        self.client.join(self.now, self.at_client, path(line), None).expect("a subflow")
    }

    pub(super) fn handle(&self, end: End) -> ConnectionHandle {
        match end {
            End::Client => self.at_client,
            End::Server => self.at_server.expect("a Request has arrived"),
        }
    }

    pub(super) fn endpoint(&mut self, end: End) -> &mut MultipathEndpoint {
        match end {
            End::Client => &mut self.client,
            End::Server => &mut self.server,
        }
    }

    pub(super) fn connection(&self, end: End) -> &MultipathConnection {
        let handle = self.handle(end);
        let endpoint = if end == End::Client { &self.client } else { &self.server };
        endpoint.connection(handle).expect("a connection")
    }

    /// Gives a command to a connection.
    pub(super) fn command<T>(
        &mut self,
        end: End,
        command: impl FnOnce(&mut MultipathConnection, Instant) -> T,
    ) -> T {
        let (now, handle) = (self.now, self.handle(end));
        let endpoint = self.endpoint(end);
        let result = command(endpoint.connection_mut(handle).expect("a connection"), now);
        endpoint.wake(handle);
        result
    }

    pub(super) fn send(&mut self, end: End, number: u64) {
        self.command(end, |connection, now| connection.send(now, datagram(number)).expect("room"));
    }

    pub(super) fn events(&self, end: End) -> &[MultipathEvent] {
        if end == End::Client { &self.client_events } else { &self.server_events }
    }

    /// The numbers of the datagrams that arrived.
    pub(super) fn received(&self, end: End) -> Vec<u64> {
        let of = |event: &MultipathEvent| match event {
            MultipathEvent::Datagram { payload, .. } => Some(number(payload)),
            _ => None,
        };
        self.events(end).iter().filter_map(of).collect()
    }

    /// The packets that an end sent on a line.
    pub(super) fn sent_by(&self, end: End, line: usize) -> impl Iterator<Item = &Sent> {
        self.sent.iter().filter(move |sent| sent.from == end && sent.line == line)
    }

    fn roll(&mut self) -> u8 {
        self.dice = self.dice.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.dice >> 56) as u8
    }

    pub(super) fn seed(&mut self, seed: u64) {
        self.dice ^= seed.wrapping_mul(0x2545_f491_4f6c_dd1d);
    }

    /// Takes all packets and events of both ends, and checks the law of draining.
    pub(super) fn drain(&mut self) {
        for end in [End::Client, End::Server] {
            let mut burst = 0;
            while let Some((path, transmit)) = {
                let now = self.now;
                self.endpoint(end).poll_transmit(now)
            } {
                burst += 1;
                assert!(burst < MAX_BURST, "{end:?} sends without end at {}", self.now);
                self.fly(end, path, transmit.packet);
            }
            let now = self.now;
            let endpoint = self.endpoint(end);
            let next = endpoint.poll_timeout();
            assert!(next.is_none_or(|next| next > now), "{end:?} drained at {now}, to be woken at {next:?}");
            assert!(endpoint.poll_transmit(now).is_none(), "draining twice is draining once");
            // Waking early does nothing.
            endpoint.handle_timeout(now);
            assert!(endpoint.poll_transmit(now).is_none() && endpoint.poll_timeout() == next);
            while let Some((handle, event)) = self.endpoint(end).poll_event() {
                match event {
                    EndpointEvent::Accepted { .. } => self.at_server = Some(handle),
                    EndpointEvent::Connection(MultipathEvent::Subflow { .. }) => {}
                    EndpointEvent::Connection(event) => match end {
                        End::Client => self.client_events.push(event),
                        End::Server => self.server_events.push(event),
                    },
                }
            }
        }
    }

    fn fly(&mut self, from: End, route: Path, packet: Packet) {
        let mut bytes = Vec::new();
        packet.encode(&mut bytes).expect("a packet that can be encoded");
        let decoded = Packet::decode_slice(&bytes).expect("a packet that can be decoded");
        let at_client = if from == End::Client { route } else { reversed(route) };
        let line = (0..self.lines.len()).find(|line| path(*line) == at_client);
        let Some(line) = line else { return };
        let sent = Sent { at: self.now, from, line, packet: decoded };
        self.sent.push(sent.clone());
        let state = self.lines[line];
        let (is_lost, is_repeated, is_late) =
            (self.roll() < state.loss, self.roll() < state.duplication, self.roll() < state.reordering);
        let Some(packet) = (self.script)(sent).filter(|_| !state.is_dead && !is_lost) else { return };
        let to = if from == End::Client { End::Server } else { End::Client };
        let extra = if is_late { Duration::from_millis(u64::from(self.roll()) / 4) } else { Duration::ZERO };
        let copies = 1 + u64::from(is_repeated);
        for copy in 0..copies {
            let arrival = self.now + state.delay + extra + Duration::from_millis(7 * copy);
            self.order += 1;
            self.flying.insert((arrival, self.order), (to, reversed(route), packet.clone()));
        }
    }

    /// Delivers a packet now, from the other end or an attacker. `route`: as the receiver sees it.
    pub(super) fn deliver(&mut self, to: End, route: Path, packet: Packet) {
        let now = self.now;
        self.endpoint(to).handle_packet(now, route, ReceiveMeta::default(), packet);
    }

    pub(super) fn run_for(&mut self, time: Duration) {
        let end = self.now + time;
        let mut steps = 0;
        loop {
            self.drain();
            let timers = [self.client.poll_timeout(), self.server.poll_timeout()];
            let arrival = self.flying.keys().next().map(|(at, _)| *at);
            let next = timers.into_iter().chain([arrival]).flatten().min();
            let Some(next) = next.filter(|next| *next <= end) else { break };
            steps += 1;
            assert!(steps < 400_000, "a ring of timeouts at {}", self.now);
            self.now = next;
            while let Some(entry) = self.flying.first_entry().filter(|entry| entry.key().0 <= next) {
                let (to, route, packet) = entry.remove();
                self.deliver(to, route, packet);
            }
            self.client.handle_timeout(next);
            self.server.handle_timeout(next);
        }
        self.now = end;
        self.drain();
    }

    /// Sends datagrams from one end at a constant interval, numbered from `first`.
    pub(super) fn stream(&mut self, from: End, first: u64, count: u64, interval: Duration) {
        for number in first..first + count {
            self.send(from, number);
            self.run_for(interval);
        }
    }
}

/// The Multipath options of a packet.
pub(super) fn options(packet: &Packet) -> Vec<MultipathOption> {
    packet.options.iter().filter_map(MultipathOption::parse).collect()
}

/// The types of packets.
pub(super) fn types<'a>(sent: impl IntoIterator<Item = &'a Sent>) -> Vec<PacketType> {
    sent.into_iter().map(|sent| sent.packet.packet_type()).collect()
}
