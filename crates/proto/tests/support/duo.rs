//! Two connections 5 ms apart, and the state visible to an observer.

use std::collections::VecDeque;

use whimbrel_proto::{Ccid, Config, Connection, Datagram, Event, ReceiveMeta};
use whimbrel_units::{Duration, Instant};
use whimbrel_wire::{ChecksumCoverage, Kind, Options, Packet, PacketType, Payload, SeqNo};

const DELAY: Duration = Duration::from_millis(5);
const PORTS: (u16, u16) = (1111, 2222);

/// Two connections and the path between them.
pub(crate) struct Duo {
    pub(crate) now: Instant,
    pub(crate) client: Connection,
    pub(crate) server: Connection,
    /// Packets under way: to the server, to the client.
    under_way: [VecDeque<(Instant, Packet)>; 2],
    /// The last packets that the client sent and received.
    pub(crate) gss: SeqNo,
    pub(crate) gsr: SeqNo,
    /// The greatest acknowledgement that the client received.
    pub(crate) gar: SeqNo,
}

/// A configuration with one CCID.
pub(crate) fn config(ccid: Ccid) -> Config {
    Config::default().sender_ccids([ccid]).receiver_ccids([ccid])
}

/// A client that has sent its Request.
pub(crate) fn requesting(config: Config) -> (Instant, Connection, Packet) {
    let now = Instant::from_secs(1000);
    let mut client =
        Connection::client(now, config, PORTS.0, PORTS.1, 0x1234_5678_9abc).expect("a configuration");
    client.connect(now);
    let request = client.poll_transmit(now).expect("a Request").packet;
    (now, client, request)
}

/// A packet to the client, as if from the server.
pub(crate) fn to_client(kind: Kind, sequence: SeqNo) -> Packet {
    Packet {
        source_port: PORTS.1,
        destination_port: PORTS.0,
        ccval: 0,
        checksum_coverage: ChecksumCoverage::ALL,
        extended: true,
        sequence,
        kind,
        options: Options::new(),
        payload: Payload::EMPTY,
    }
}

impl Duo {
    /// Two ends with their handshake behind them and 150 datagrams each way, so that all windows are
    /// as wide as they get.
    pub(crate) fn connected(config: Config) -> Self {
        let (now, client, request) = requesting(config.clone());
        let mut server =
            Connection::server(now, config, &request, 0xabcd_ef01_2345).expect("a configuration");
        let gss = request.sequence;
        server.handle_packet(now, ReceiveMeta::default(), request);
        let none = SeqNo::ZERO;
        let mut duo = Self { now, client, server, under_way: Default::default(), gss, gsr: none, gar: gss };
        duo.run_for(Duration::from_millis(100));
        for tag in 0..150 {
            let datagram = || Datagram::new(Payload::Opaque { length: 100, tag });
            duo.client.send(duo.now, datagram()).expect("open");
            duo.server.send(duo.now, datagram()).expect("open");
            duo.run_for(Duration::from_millis(20));
        }
        duo.run_for(Duration::from_millis(20));
        // The client has just received the server's first packet.
        let datagram = Datagram::new(Payload::Opaque { length: 100, tag: 0 });
        duo.server.send(duo.now, datagram).expect("open");
        duo.run_for(DELAY + Duration::from_millis(1));
        duo
    }

    pub(crate) fn run_for(&mut self, time: Duration) {
        let deadline = self.now + time;
        loop {
            self.drain();
            let arrivals = self.under_way.iter().filter_map(|queue| queue.front()).map(|(at, _)| *at);
            let wakes = [self.client.poll_timeout(), self.server.poll_timeout()].into_iter().flatten();
            match arrivals.chain(wakes).min() {
                Some(next) if next <= deadline => self.advance(next),
                _ => break,
            }
        }
        self.now = deadline;
    }

    fn advance(&mut self, next: Instant) {
        self.now = next;
        self.client.handle_timeout(next);
        self.server.handle_timeout(next);
        while self.under_way[0].front().is_some_and(|(at, _)| *at <= next) {
            let Some((_, packet)) = self.under_way[0].pop_front() else { break };
            self.server.handle_packet(next, ReceiveMeta::default(), packet);
        }
        while self.under_way[1].front().is_some_and(|(at, _)| *at <= next) {
            let Some((_, packet)) = self.under_way[1].pop_front() else { break };
            let whole = |number: SeqNo, near| {
                if packet.extended { number } else { SeqNo::extend(number.low24(), near) }
            };
            self.gsr = whole(packet.sequence, self.gsr);
            if let Some(ack) = packet.ack().filter(|_| packet.packet_type() != PacketType::Sync) {
                self.gar = self.gar.max(whole(ack, self.gss));
            }
            self.client.handle_packet(next, ReceiveMeta::default(), packet);
        }
    }

    fn drain(&mut self) {
        while let Some(transmit) = self.client.poll_transmit(self.now) {
            self.gss = if transmit.packet.extended {
                transmit.packet.sequence
            } else {
                SeqNo::extend(transmit.packet.sequence.low24(), self.gss)
            };
            self.under_way[0].push_back((self.now + DELAY, transmit.packet));
        }
        while let Some(transmit) = self.server.poll_transmit(self.now) {
            self.under_way[1].push_back((self.now + DELAY, transmit.packet));
        }
        while self.client.poll_event().is_some() {}
        while self.server.poll_event().is_some() {}
    }

    /// The packets that arrived at the client.
    #[allow(dead_code, reason = "not used by every test")]
    pub(crate) fn events(&mut self) -> Vec<Event> {
        core::iter::from_fn(|| self.client.poll_event()).collect()
    }
}
