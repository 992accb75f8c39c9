//! Two connections and the path between them, scripted and deterministic.

use std::collections::BTreeMap;

use whimbrel_units::{Duration, Instant};
use whimbrel_wire::{ChecksumCoverage, Ecn, Kind, Options, Packet, PacketType, Payload, SeqNo, ServiceCode};

use super::audit::{audit, audit_size};
use super::fixed_rate::{FIXED_RATE, FixedRate};
use crate::ccid::Registry;
use crate::config::TimerConfig;
use crate::{Config, Connection, Datagram, DatagramId, Event, ReceiveMeta, State, Transmit};

/// Steps after which a pair that does not come to rest has a livelock.
const MAX_STEPS: usize = 200_000;

/// One of the two ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum End {
    Client,
    Server,
}

/// Treatment of a packet by the path.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Treatment {
    Deliver,
    Lose,
    /// A second copy arrives that much later.
    Duplicate(Duration),
    /// The packet arrives that much later than others.
    Delay(Duration),
    /// The packet arrives marked, if it was sent as ECN-capable.
    Mark,
    /// The packet arrives with other data, behind headers as they were sent.
    Damage,
}

/// A packet that was sent.
#[derive(Clone, Debug)]
pub(crate) struct SentPacket {
    pub(crate) at: Instant,
    pub(crate) from: End,
    pub(crate) packet: Packet,
    pub(crate) ecn: Ecn,
}

type Script = Box<dyn FnMut(&SentPacket) -> Treatment>;

/// Two connections and the path between them.
pub(crate) struct Pair {
    pub(crate) now: Instant,
    pub(crate) client: Connection,
    /// Comes into being with the first Request.
    pub(crate) server: Option<Connection>,
    server_config: Config,
    /// One way, each way.
    pub(crate) delay: Duration,
    pub(crate) script: Script,
    in_flight: BTreeMap<(Instant, u64), (End, ReceiveMeta, Packet)>,
    order: u64,
    pub(crate) sent: Vec<SentPacket>,
    pub(crate) client_events: Vec<Event>,
    pub(crate) server_events: Vec<Event>,
}

/// A configuration with the fixed-rate congestion control.
pub(crate) fn config(interval: Duration) -> Config {
    Config {
        service_code: ServiceCode(42),
        sender_ccids: [FIXED_RATE].into(),
        receiver_ccids: [FIXED_RATE].into(),
        ccids: Registry::empty().with(FixedRate::every(interval)),
        timers: TimerConfig::rfc4340(),
        ..Config::default()
    }
}

/// A datagram with a distinct tag.
pub(crate) fn datagram(tag: u64) -> Datagram {
    Datagram::new(Payload::Opaque { length: 100, tag })
}

impl Pair {
    /// Two ends with the same configuration, 50 ms apart. Nothing has happened.
    pub(crate) fn new(config: Config) -> Self {
        Self::with(config.clone(), config)
    }

    /// Two ends, 50 ms apart. Nothing has happened.
    pub(crate) fn with(client: Config, server: Config) -> Self {
        let now = Instant::from_secs(1000);
        Self {
            now,
            client: Connection::client(now, client, 1111, 2222, 1_000_000).unwrap(),
            server: None,
            server_config: server,
            delay: Duration::from_millis(50),
            script: Box::new(|_| Treatment::Deliver),
            in_flight: BTreeMap::new(),
            order: 0,
            sent: Vec::new(),
            client_events: Vec::new(),
            server_events: Vec::new(),
        }
    }

    /// Two ends that have completed the handshake. Their log is empty.
    pub(crate) fn connected(config: Config) -> Self {
        Self::connected_with(config.clone(), config)
    }

    pub(crate) fn connected_with(client: Config, server: Config) -> Self {
        let mut pair = Self::with(client, server);
        pair.client.connect(pair.now);
        // The client leaves PARTOPEN with the first packet from the server in OPEN.
        pair.run_for(Duration::from_millis(200));
        pair.send(End::Server, 0);
        pair.run_for(Duration::from_millis(500));
        assert_eq!(pair.client.state(), State::Open);
        assert_eq!(pair.server().state(), State::Open);
        pair.forget();
        pair
    }

    /// Empties the log.
    pub(crate) fn forget(&mut self) {
        self.sent.clear();
        self.client_events.clear();
        self.server_events.clear();
    }

    pub(crate) fn server(&self) -> &Connection {
        self.server.as_ref().expect("a Request has arrived")
    }

    pub(crate) fn server_mut(&mut self) -> &mut Connection {
        self.server.as_mut().expect("a Request has arrived")
    }

    pub(crate) fn end(&mut self, end: End) -> &mut Connection {
        match end {
            End::Client => &mut self.client,
            End::Server => self.server_mut(),
        }
    }

    pub(crate) fn send(&mut self, from: End, tag: u64) -> DatagramId {
        let now = self.now;
        self.end(from).send(now, datagram(tag)).unwrap()
    }

    /// Loses the packets that `lost` picks.
    pub(crate) fn lose(&mut self, mut lost: impl FnMut(&SentPacket) -> bool + 'static) {
        self.script = Box::new(move |sent| if lost(sent) { Treatment::Lose } else { Treatment::Deliver });
    }

    pub(crate) fn deliver_all(&mut self) {
        self.lose(|_| false);
    }

    /// Runs until `deadline`.
    pub(crate) fn run_until(&mut self, deadline: Instant) {
        for _ in 0..MAX_STEPS {
            self.drain();
            match self.next_event() {
                Some(next) if next <= deadline => self.advance(next),
                _ => {
                    self.now = deadline;
                    return;
                }
            }
        }
        panic!("no rest after {MAX_STEPS} steps: a livelock");
    }

    pub(crate) fn run_for(&mut self, time: Duration) {
        self.run_until(self.now + time);
    }

    /// Runs until nothing is in flight and no timer runs.
    pub(crate) fn drive_bounded(&mut self) {
        for _ in 0..MAX_STEPS {
            self.drain();
            match self.next_event() {
                Some(next) => self.advance(next),
                None => return,
            }
        }
        panic!("no rest after {MAX_STEPS} steps: a livelock");
    }

    /// Time of the next event.
    pub(crate) fn next_event(&self) -> Option<Instant> {
        let arrival = self.in_flight.keys().next().map(|(at, _)| *at);
        let server = self.server.as_ref().and_then(Connection::poll_timeout);
        [arrival, self.client.poll_timeout(), server].into_iter().flatten().min()
    }

    /// Advances the clock, and processes the events that are due.
    fn advance(&mut self, next: Instant) {
        // Only packets on a path without delay happen now.
        assert!(next >= self.now, "{next} lies before {}", self.now);
        self.now = next;
        self.client.handle_timeout(next);
        if let Some(server) = &mut self.server {
            server.handle_timeout(next);
        }
        while let Some(entry) = self.in_flight.first_entry().filter(|entry| entry.key().0 <= next) {
            let (to, meta, packet) = entry.remove();
            self.arrive(to, meta, packet);
            // A driver may or may not drain between packets that arrive together; this one does.
            self.drain();
        }
    }

    /// A packet arrives.
    pub(crate) fn arrive(&mut self, to: End, meta: ReceiveMeta, packet: Packet) {
        match to {
            End::Client => self.client.handle_packet(self.now, meta, packet),
            End::Server => {
                if self.server.is_none() {
                    if packet.packet_type() != PacketType::Request {
                        return;
                    }
                    let config = self.server_config.clone();
                    self.server = Some(Connection::server(self.now, config, &packet, 2_000_000).unwrap());
                }
                let now = self.now;
                self.server_mut().handle_packet(now, meta, packet);
            }
        }
    }

    /// Empties both ends, and checks the laws of draining.
    pub(crate) fn drain(&mut self) {
        let now = self.now;
        for from in [End::Client, End::Server] {
            if from == End::Server && self.server.is_none() {
                continue;
            }
            for count in 0.. {
                assert!(count < 10_000, "{from:?} does not stop sending at {now}: a livelock");
                let Some(transmit) = self.end(from).poll_transmit(now) else { break };
                self.transmit(from, transmit);
            }
            while let Some(event) = self.end(from).poll_event() {
                match from {
                    End::Client => self.client_events.push(event),
                    End::Server => self.server_events.push(event),
                }
            }
            let end = self.end(from);
            assert!(end.poll_transmit(now).is_none(), "draining twice is draining once");
            let wake = end.poll_timeout();
            assert!(
                wake.is_none_or(|wake| wake > now),
                "a drained {from:?} is to be woken at {wake:?}, not after {now}"
            );
            end.handle_timeout(now);
            assert_eq!(end.poll_timeout(), wake, "an early wake-up is a no-op");
        }
    }

    fn transmit(&mut self, from: End, transmit: Transmit) {
        let sent = SentPacket { at: self.now, from, packet: transmit.packet, ecn: transmit.ecn };
        audit(&sent);
        audit_size(&sent, self.end(from).snapshot().max_datagram);
        let treatment = (self.script)(&sent);
        let to = if from == End::Client { End::Server } else { End::Client };
        let arrival = self.now + self.delay;
        match treatment {
            Treatment::Lose => {}
            Treatment::Deliver => self.launch(arrival, to, &sent, false),
            Treatment::Mark => self.launch(arrival, to, &sent, true),
            Treatment::Damage => {
                let mut damaged = sent.clone();
                if let Payload::Opaque { tag, .. } = &mut damaged.packet.payload {
                    *tag = !*tag;
                }
                self.launch(arrival, to, &damaged, false);
            }
            Treatment::Delay(more) => self.launch(arrival + more, to, &sent, false),
            Treatment::Duplicate(later) => {
                self.launch(arrival, to, &sent, false);
                self.launch(arrival + later, to, &sent, false);
            }
        }
        self.sent.push(sent);
    }

    fn launch(&mut self, at: Instant, to: End, sent: &SentPacket, mark: bool) {
        self.order += 1;
        let ecn = if mark && sent.ecn.is_capable() { Ecn::Ce } else { sent.ecn };
        self.in_flight.insert(
            (at, self.order),
            (to, ReceiveMeta { ecn, ..ReceiveMeta::default() }, sent.packet.clone()),
        );
    }

    /// A packet as if from one end, with no options and no data. The path does not see it: give it
    /// to [`Pair::arrive`].
    pub(crate) fn forge(&self, from: End, kind: Kind, sequence: SeqNo) -> Packet {
        let (source_port, destination_port) = if from == End::Client { (1111, 2222) } else { (2222, 1111) };
        Packet {
            source_port,
            destination_port,
            ccval: 5,
            checksum_coverage: ChecksumCoverage::ALL,
            extended: true,
            sequence,
            kind,
            options: Options::new(),
            payload: Payload::EMPTY,
        }
    }

    /// Lets a packet arrive, without a mark.
    pub(crate) fn inject(&mut self, to: End, packet: Packet) {
        self.arrive(to, ReceiveMeta::default(), packet);
    }

    /// The number of the last packet that one end has sent.
    pub(crate) fn last_sequence(&self, from: End) -> SeqNo {
        self.sent.iter().rev().find(|sent| sent.from == from).expect("it has sent").packet.sequence
    }

    /// The types of the packets sent so far, in order.
    pub(crate) fn types(&self) -> Vec<(End, PacketType)> {
        self.sent.iter().map(|sent| (sent.from, sent.packet.packet_type())).collect()
    }

    /// The packets of one type that one end has sent.
    pub(crate) fn sent_by(&self, from: End, packet_type: PacketType) -> Vec<&SentPacket> {
        self.sent
            .iter()
            .filter(|sent| sent.from == from && sent.packet.packet_type() == packet_type)
            .collect()
    }

    /// The tags of the datagrams that one end has received, in order.
    pub(crate) fn received(&self, end: End) -> Vec<u64> {
        let events = match end {
            End::Client => &self.client_events,
            End::Server => &self.server_events,
        };
        let tag = |event: &Event| match event {
            Event::Datagram { payload: Payload::Opaque { tag, .. }, .. } => Some(*tag),
            _ => None,
        };
        events.iter().filter_map(tag).collect()
    }
}
