//! A stream of datagrams over a path that fades, changes its MTU and recovers, to a receiver that may be
//! stopped for a while.

use std::collections::{BTreeMap, VecDeque};

use whimbrel_proto::{
    Ccid, Config, Connection, Datagram, Event, OverflowPolicy, PathMtuDiscovery, ReceiveMeta, SendError,
    SendQueueConfig, Transmit,
};
use whimbrel_units::{ByteCount, DataRate, Duration, Instant};
use whimbrel_wire::{DccpOption, Packet, Payload};

/// Headers that a packet has on the link besides its options.
const HEADERS: u64 = 20 + 16;

/// The application's data from a time on.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DataSource {
    /// From then on, in ms.
    pub(crate) from: u64,
    /// Data in a datagram.
    pub(crate) size: u32,
    /// From one datagram to the next; zero for as many as can leave.
    pub(crate) interval: Duration,
}

/// A temporary impairment.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Trouble {
    /// Nothing arrives, either way.
    Fade,
    /// Packets to the receiver larger than this many bytes, from the DCCP header on, do not arrive.
    Narrow(usize),
    /// The receiver's process is stopped: what arrives waits for it.
    Stopped,
    /// The same, and what arrives is lost.
    StoppedDeaf,
}

/// A whole test case, times in ms.
#[derive(Clone, Debug)]
pub(crate) struct StreamPlan {
    pub(crate) ccid: Ccid,
    /// The link to the receiver; the reverse path has the same delay, and no limit.
    pub(crate) rate: DataRate,
    pub(crate) one_way: Duration,
    /// Packets that the link's queue holds.
    pub(crate) queue: usize,
    pub(crate) sources: Vec<DataSource>,
    /// From, until, impairment.
    pub(crate) troubles: Vec<(u64, u64, Trouble)>,
}

/// The stream under way.
pub(crate) struct Stream {
    plan: StreamPlan,
    now: Instant,
    client: Connection,
    server: Option<Connection>,
    config: Config,
    /// Time at which the packets in the queue and on the link have left it.
    departures: VecDeque<Instant>,
    flying: BTreeMap<(Instant, u64), (bool, ReceiveMeta, Packet)>,
    order: u64,
    next_datagram: Instant,
    delivered: u64,
}

impl Stream {
    pub(crate) fn new(plan: StreamPlan, change: impl FnOnce(&mut Config)) -> Self {
        let mut config = Config::default()
            .sender_ccids([plan.ccid])
            .receiver_ccids([plan.ccid])
            .path_mtu(PathMtuDiscovery::FromLargest)
            .send_queue(SendQueueConfig::default().max_datagrams(4).overflow(OverflowPolicy::Refuse));
        change(&mut config);
        let now = Instant::ZERO;
        let mut client = Connection::client(now, config.clone(), 1, 2, 1 << 40).expect("a configuration");
        client.connect(now);
        Self {
            plan,
            now,
            client,
            server: None,
            config,
            departures: VecDeque::new(),
            flying: BTreeMap::new(),
            order: 0,
            next_datagram: now,
            delivered: 0,
        }
    }

    pub(crate) fn client(&self) -> &Connection {
        &self.client
    }

    /// Runs until `ms`; data per second that arrived meanwhile.
    pub(crate) fn run_until(&mut self, ms: u64) -> DataRate {
        let (deadline, before, start) = (Instant::from_millis(ms), self.delivered, self.now);
        while self.step(deadline) {}
        self.now = deadline;
        ByteCount::new(self.delivered - before) / (deadline - start)
    }

    fn trouble(&self, is: impl Fn(Trouble) -> bool) -> Option<&(u64, u64, Trouble)> {
        let now = self.now;
        let lasts =
            |from: u64, until: u64| now >= Instant::from_millis(from) && now < Instant::from_millis(until);
        self.plan.troubles.iter().find(|(from, until, trouble)| lasts(*from, *until) && is(*trouble))
    }

    /// Time at which the receiver resumes, if it is stopped, and whether packets wait.
    fn stopped(&self) -> Option<(Instant, bool)> {
        let stopped = self.trouble(|trouble| matches!(trouble, Trouble::Stopped | Trouble::StoppedDeaf));
        stopped.map(|(_, until, trouble)| (Instant::from_millis(*until), *trouble == Trouble::Stopped))
    }

    fn source(&self) -> Option<(usize, DataSource)> {
        let begun = |source: &DataSource| Instant::from_millis(source.from) <= self.now;
        let place = self.plan.sources.iter().rposition(begun)?;
        Some((place, self.plan.sources[place]))
    }

    fn step(&mut self, deadline: Instant) -> bool {
        self.drain();
        let stopped = self.stopped();
        let server = self.server.as_ref().and_then(Connection::poll_timeout);
        let server = match (server, stopped) {
            (Some(at), Some((until, _))) => Some(at.max(until)),
            (at, _) => at,
        };
        let arrival = self.flying.keys().next().map(|(at, _)| *at);
        let next = self.plan.sources.iter().map(|source| Instant::from_millis(source.from));
        let next = next.filter(|from| *from > self.now).min();
        let datagram = (self.next_datagram > self.now).then_some(self.next_datagram);
        let times = [server, self.client.poll_timeout(), arrival, next, datagram];
        let Some(next) = times.into_iter().flatten().min().filter(|next| *next <= deadline) else {
            return false;
        };
        self.now = next.max(self.now);
        let now = self.now;
        self.client.handle_timeout(now);
        let stopped = self.stopped();
        if let Some(server) = self.server.as_mut().filter(|_| stopped.is_none()) {
            server.handle_timeout(now);
        }
        while let Some(entry) = self.flying.first_entry().filter(|entry| entry.key().0 <= now) {
            let key = *entry.key();
            let (to_server, meta, packet) = entry.remove();
            match stopped.filter(|_| to_server) {
                Some((until, true)) => _ = self.flying.insert((until, key.1), (to_server, meta, packet)),
                Some((_, false)) => {}
                None => self.arrive(to_server, meta, packet),
            }
        }
        true
    }

    fn arrive(&mut self, to_server: bool, meta: ReceiveMeta, packet: Packet) {
        let now = self.now;
        if !to_server {
            self.client.handle_packet(now, meta, packet);
        } else if let Some(server) = &mut self.server {
            server.handle_packet(now, meta, packet);
        } else {
            self.server = Connection::server(now, self.config.clone(), &packet, 1 << 20).ok();
        }
        self.drain();
    }

    fn offer(&mut self) {
        let Some((_, source)) = self.source() else { return };
        let room = self.client.snapshot();
        while self.next_datagram <= self.now {
            let length = source.size.min(room.max_datagram as u32);
            let datagram = Datagram::new(Payload::Opaque { length, tag: 0 });
            let full = match self.client.send(self.now, datagram) {
                Err(SendError::QueueFull) => true,
                other => other.is_err(),
            };
            if source.interval.is_zero() {
                if full {
                    return;
                }
            } else {
                self.next_datagram =
                    self.next_datagram.max(self.now.saturating_sub(source.interval)) + source.interval;
            }
        }
    }

    fn drain(&mut self) {
        let now = self.now;
        let is_stopped = self.stopped().is_some();
        loop {
            self.offer();
            let Some(transmit) = self.client.poll_transmit(now) else { break };
            self.carry(transmit);
        }
        while self.client.poll_event().is_some() {}
        let Some(mut server) = self.server.take() else { return };
        if !is_stopped {
            while let Some(transmit) = server.poll_transmit(now) {
                if self.trouble(|trouble| trouble == Trouble::Fade).is_none() {
                    self.launch(now + self.plan.one_way, false, transmit);
                }
            }
            while let Some(event) = server.poll_event() {
                if let Event::Datagram { payload, .. } = event {
                    self.delivered += payload.len() as u64;
                }
            }
        }
        self.server = Some(server);
    }

    /// Over the link to the receiver.
    fn carry(&mut self, transmit: Transmit) {
        let now = self.now;
        while self.departures.front().is_some_and(|departure| *departure <= now) {
            self.departures.pop_front();
        }
        let options: usize = transmit.packet.options.iter().map(DccpOption::encoded_len).sum();
        let size = 16 + options + transmit.packet.payload.len();
        let is_lost = self.departures.len() > self.plan.queue
            || self
                .trouble(|trouble| match trouble {
                    Trouble::Fade => true,
                    Trouble::Narrow(limit) => size > limit,
                    _ => false,
                })
                .is_some();
        if is_lost {
            return;
        }
        let start = self.departures.back().copied().unwrap_or(now);
        let departure = start + ByteCount::new(HEADERS - 16 + size as u64) / self.plan.rate;
        self.departures.push_back(departure);
        self.launch(departure + self.plan.one_way, true, transmit);
    }

    fn launch(&mut self, at: Instant, to_server: bool, transmit: Transmit) {
        self.order += 1;
        let meta = ReceiveMeta { ecn: transmit.ecn, ..ReceiveMeta::default() };
        self.flying.insert((at, self.order), (to_server, meta, transmit.packet));
    }
}
