//! Two hosts, their applications, and the laws.

mod packets;

use core::net::SocketAddr;
use std::collections::BTreeSet;

use bytes::Bytes;
use whimbrel_proto::multipath::{
    MultipathConfig, MultipathEndpoint, MultipathEvent, Path, PathPriority, SubflowId, SubflowStage,
};
use whimbrel_proto::{Config, ConnectionHandle, Datagram, DatagramId, EndpointConfig, EndpointEvent};
use whimbrel_units::{Duration, Instant};
use whimbrel_wire::Payload;

use super::plan::{Death, MultipathPlan};
use crate::course::Course;
use crate::path::{self, InFlightPacket, Leaving, Treatment};
use crate::plan::{Dice, START, Side};
use crate::trial::{self, Pair};
use crate::watch::bounds;

const PORT: u16 = 5_001;
/// Most of what a connection remembers: addresses, datasets and confirmations.
const MAX_REMEMBERED: usize = 512;
/// Subflows that a connection keeps: eight live ones, and four times as many including those that have ended.
const MAX_SUBFLOWS: usize = 32;
/// The longest time without a datagram at the receiver of a stream whose first path is clean. Data on a path
/// that fails are lost for a retransmission timeout, which is a second before the first measurement and
/// doubles with the variation of a bad path.
const LONGEST_GAP: Duration = Duration::from_secs(4);
/// Time for a close to complete: closing takes four MSL at most (`TimerConfig::rfc4340`), TIMEWAIT two (RFC
/// 4340, Section 8.3), and the rest is the longest time on a path.
const CLOSING_TIME: Duration = Duration::from_secs(4 * MSL + 2 * MSL + 10);
/// The maximum segment lifetime in seconds (RFC 4340, Section 3.4).
const MSL: u64 = 120;

/// One of the hosts: 0 is the client, 1 the server.
#[derive(Debug)]
struct Host {
    endpoint: MultipathEndpoint,
    handle: Option<ConnectionHandle>,
    /// Datagrams that were accepted and have no outcome yet.
    pending: BTreeSet<DatagramId>,
    /// Numbers of the datagrams that have left.
    next: u64,
    /// Numbers of the datagrams that left while all paths were clean.
    left: BTreeSet<u64>,
    /// Numbers of the datagrams that arrived, and the last one and its time.
    arrived: BTreeSet<u64>,
    last: Option<(u64, Instant)>,
    is_established: bool,
    closed: u32,
    /// The connection has ended, and its handle may be another's.
    is_gone: bool,
}

/// A trial.
pub(super) struct World {
    plan: MultipathPlan,
    config: Config,
    dice: Dice,
    course: Course,
    hosts: [Host; 2],
    death: Option<Death>,
    is_healed: bool,
}

/// A path, as the client sees it.
fn path(line: usize) -> Path {
    let local = SocketAddr::from(([10, 0, line as u8, 1], 0));
    Path { local, remote: SocketAddr::from(([192, 0, 2, 1], 0)) }
}

/// The number of a path, seen from that host.
fn line_of(path: Path, host: usize) -> usize {
    let address = if host == 0 { path.local } else { path.remote };
    match address {
        SocketAddr::V4(address) => usize::from(address.ip().octets()[2]),
        SocketAddr::V6(_) => 0,
    }
}

/// The content of a datagram: its number, and bytes that depend on it.
fn content(number: u64) -> Bytes {
    let mut bytes = number.to_be_bytes().to_vec();
    bytes.resize(40 + (number * 37 % 400) as usize, number as u8);
    bytes.into()
}

impl Pair for World {
    const MAX_BURST: u64 = 600;

    fn run(&mut self) {
        self.run_for(Duration::from_secs(3));
        let limit = self.course.now + Duration::from_secs(120);
        while !(self.hosts[0].is_established && self.hosts[1].is_established) && self.course.now < limit {
            self.run_for(Duration::from_secs(1));
        }
        if !(self.hosts[0].is_established && self.hosts[1].is_established) {
            assert!(!self.must_live(), "no connection on a clean path");
            return self.course.tally.count("no connection");
        }
        self.course.tally.count("connected");
        self.join_all();
        let end = self.course.now + self.plan.duration;
        let mut next_join = self.course.now + Duration::from_secs(5);
        while self.course.now < end {
            self.send(0);
            self.send(1);
            if self.course.now >= next_join {
                self.join_all();
                next_join = self.course.now + Duration::from_secs(5);
            }
            if self.plan.has_commands && self.dice.chance(0.1) {
                self.command();
            }
            self.run_for(self.plan.interval);
        }
        if self.must_live() {
            self.heal();
        }
        self.close();
    }

    fn course(&mut self) -> &mut Course {
        &mut self.course
    }

    fn due(&self, side: Side) -> Option<Instant> {
        self.hosts[side as usize].endpoint.poll_timeout()
    }

    fn handle_timeout(&mut self, side: Side) {
        self.hosts[side as usize].endpoint.handle_timeout(self.course.now);
    }

    fn poll_transmit(&mut self, side: Side) -> Option<Leaving> {
        let (path, transmit) = self.hosts[side as usize].endpoint.poll_transmit(self.course.now)?;
        self.check_joined(side, path, &transmit.packet);
        let line = line_of(path, side as usize);
        self.perhaps_die(side, line, &transmit.packet);
        Some(Leaving { source: path.local, destination: path.remote, path: line, handle: None, transmit })
    }

    fn on_treated(&mut self, side: Side, leaving: &Leaving, _: Treatment) {
        if self.is_healed {
            self.hosts[side as usize].left.extend(packets::number_in(&leaving.transmit.packet));
        }
    }

    fn arrive(&mut self, to: Side, arrived: InFlightPacket) {
        let InFlightPacket { source, destination, meta, packet } = arrived;
        let path = Path { local: destination, remote: source };
        self.hosts[to as usize].endpoint.handle_packet(self.course.now, path, meta, packet);
    }

    /// Packets that arrive at the same time are processed together.
    fn acts_between(&mut self, _: Side) -> bool {
        false
    }

    fn deliver_events(&mut self, side: Side) -> bool {
        let mut any = false;
        let number = side as usize;
        while let Some((handle, event)) = self.hosts[number].endpoint.poll_event() {
            any = true;
            match event {
                EndpointEvent::Accepted { .. } => {
                    self.hosts[number].handle.get_or_insert(handle);
                }
                EndpointEvent::Connection(event) if self.hosts[number].handle == Some(handle) => {
                    self.on_event(number, event);
                }
                _ => {}
            }
        }
        any
    }

    /// The law *bounded*.
    fn check(&mut self) {
        for host in &self.hosts {
            let seen = host.endpoint.snapshot();
            assert!(seen.addresses <= 4 * MAX_SUBFLOWS, "{seen:?}");
            bounds::check_endpoint(&EndpointConfig::default(), &seen, &mut self.course.tally);
            let Some(connection) = host.handle.and_then(|handle| host.endpoint.connection(handle)) else {
                continue;
            };
            let snapshot = connection.snapshot();
            assert!(snapshot.remembered <= MAX_REMEMBERED, "{} remembered", snapshot.remembered);
            assert!(snapshot.subflows.len() <= MAX_SUBFLOWS, "{} subflows", snapshot.subflows.len());
            for subflow in &snapshot.subflows {
                let sent = host.next as usize;
                bounds::check_connection(&self.config, &subflow.connection, sent, &mut self.course.tally);
            }
        }
    }
}

impl Host {
    fn new(endpoint: MultipathEndpoint, handle: Option<ConnectionHandle>) -> Self {
        Self {
            endpoint,
            handle,
            pending: BTreeSet::new(),
            next: 0,
            left: BTreeSet::new(),
            arrived: BTreeSet::new(),
            last: None,
            is_established: false,
            closed: 0,
            is_gone: false,
        }
    }
}

impl World {
    /// A trial that has not begun. `records`: keeps a capture and a log of it.
    pub(super) fn new(plan: MultipathPlan, records: bool) -> Self {
        let settings = MultipathConfig::default().scheduler(plan.scheduler);
        let limits = EndpointConfig::default();
        let mut dice = Dice::of_multipath(plan.seed, "world");
        let mut secret = || core::array::from_fn(|_| dice.word() as u8);
        let (mut server, mut client) = (
            MultipathEndpoint::with_entropy(limits, secret()),
            MultipathEndpoint::with_entropy(limits, secret()),
        );
        server.listen(PORT, plan.config(), settings.clone()).expect("a valid configuration");
        let handle = client.connect(START, path(0), PORT, plan.config(), settings).expect("a free port");
        let paths = plan.lines.iter().enumerate().map(|(line, of)| {
            ["client", "server"].map(|from| {
                let dice = Dice::of_multipath(plan.seed, &format!("path {line} from the {from}"));
                path::Path::new(*of, None, dice)
            })
        });
        Self {
            course: Course::new(START, records, paths.collect()),
            death: plan.death,
            config: plan.config(),
            plan,
            dice,
            hosts: [Host::new(client, Some(handle)), Host::new(server, None)],
            is_healed: false,
        }
    }

    /// `true` if nothing but the applications may end the connection.
    fn must_live(&self) -> bool {
        self.plan.must_live() && self.course.corrupted == 0
    }

    /// `true` if packets may have been forged, by an attacker or by damage that the checksum misses.
    fn may_be_forged(&self) -> bool {
        self.plan.has_attacker() || self.course.corrupted > 0
    }

    /// The law *healed*: with all paths clean, each joins, and the stream uses any of them.
    fn heal(&mut self) {
        (self.is_healed, self.death) = (true, None);
        self.course.paths.iter_mut().flatten().for_each(path::Path::heal);
        let limit = self.course.now + Duration::from_secs(150);
        loop {
            self.join_all();
            for _ in 0..100 {
                self.send(0);
                self.run_for(Duration::from_millis(50));
            }
            let established = self.established(1);
            if established.len() == self.plan.lines.len() {
                break;
            }
            assert!(self.course.now < limit, "only the paths {established:?} have joined again");
        }
        self.course.tally.count("healed");
    }

    /// The laws *closed* and *complete*.
    fn close(&mut self) {
        let by = usize::from(self.plan.server_closes);
        self.course.log(|| format!("host {by} closes"));
        self.act(by, |connection, now| connection.close(now));
        for _ in 0..20 {
            self.send(1 - by);
            self.run_for(self.plan.interval);
        }
        self.run_for(Duration::from_secs(60));
        if self.must_live() {
            assert!(self.hosts.iter().all(|host| host.closed == 1), "a clean path has not carried the close");
            for (from, host) in self.hosts.iter().enumerate() {
                let missing: Vec<_> = host.left.difference(&self.hosts[1 - from].arrived).collect();
                // A reorder buffer that waits for less than the paths differ by drops what is late.
                let may_miss = self.plan.reorder_delay.is_some();
                assert!(
                    missing.is_empty() || may_miss,
                    "{missing:?} of host {from} left, and were lost by the close"
                );
                self.course.tally.add("datagrams on clean paths", host.left.len() as u64);
            }
        }
        // An end that sends nothing does not notice that its peer has gone: RFC 4340 sets no time limit.
        self.act(1 - by, |connection, now| connection.close(now));
        self.run_for(CLOSING_TIME);
        for (number, host) in self.hosts.iter().enumerate() {
            assert!(host.endpoint.is_empty(), "host {number} keeps a connection");
            assert_eq!(host.closed, 1, "ends reported at host {number}");
            assert!(
                host.pending.is_empty(),
                "datagrams without an outcome at host {number}: {:?}",
                host.pending
            );
        }
    }

    /// Paths on which a host has an established subflow.
    fn established(&self, host: usize) -> BTreeSet<usize> {
        let connection =
            self.hosts[host].handle.and_then(|handle| self.hosts[host].endpoint.connection(handle));
        let subflows = connection.map(|connection| connection.snapshot().subflows).unwrap_or_default();
        let is_up = |stage| stage == SubflowStage::Established;
        subflows.iter().filter(|it| is_up(it.stage)).map(|it| line_of(it.path, host)).collect()
    }

    /// The client joins on the paths that it does not use.
    fn join_all(&mut self) {
        let Some(handle) = self.hosts[0].handle else { return };
        let Some(connection) = self.hosts[0].endpoint.connection(handle) else { return };
        let used: BTreeSet<usize> = connection.subflows().map(|(_, path)| line_of(path, 0)).collect();
        for line in 0..self.plan.lines.len() {
            if !used.contains(&line) {
                self.course.wake(Side::Client);
                let _ = self.hosts[0].endpoint.join(self.course.now, handle, path(line), None);
            }
        }
    }

    /// Passes a command to a host's connection, if there is one.
    fn act<T>(
        &mut self,
        host: usize,
        command: impl FnOnce(&mut whimbrel_proto::multipath::MultipathConnection, Instant) -> T,
    ) -> Option<T> {
        self.course.wake(Side::BOTH[host]);
        let (now, host) = (self.course.now, &mut self.hosts[host]);
        let handle = host.handle.filter(|_| !host.is_gone)?;
        let result = command(host.endpoint.connection_mut(handle)?, now);
        host.endpoint.wake(handle);
        Some(result)
    }

    fn send(&mut self, host: usize) {
        let number = self.hosts[host].next;
        let datagram = Datagram::new(Payload::Bytes(content(number)));
        if let Some(Ok(id)) = self.act(host, |connection, now| connection.send(now, datagram)) {
            let host = &mut self.hosts[host];
            host.next += 1;
            assert!(host.pending.insert(id), "two datagrams are {id:?}");
            self.course.tally.count("datagrams sent");
        }
    }

    /// A command of an application at random.
    fn command(&mut self) {
        let (host, line) = (self.dice.below(2) as usize, self.dice.below(3) as usize);
        let (id, value) = (SubflowId(self.dice.below(6) as u32), self.dice.below(16) as u8);
        let kind = self.dice.below(5);
        self.course.log(|| format!("command {kind} at host {host}: path {line}, {id:?}, value {value}"));
        self.act(host, |connection, now| match kind {
            0 => drop(connection.close_subflow(now, id)),
            1 => drop(connection.set_priority(now, id, PathPriority::new(value))),
            2 => drop(connection.announce_address(now, [198, 51, 100, value].into(), None)),
            3 if host == 0 => drop(connection.lose_address(now, path(line).local.ip())),
            _ if host == 0 => drop(connection.remove_address(now, path(line).local.ip())),
            _ => {}
        });
        self.course.tally.count("commands");
    }

    fn run_for(&mut self, time: Duration) {
        let end = self.course.now + time;
        trial::run_until(self, end);
    }

    /// The laws *once*, *outcome* and *alive*.
    fn on_event(&mut self, host: usize, event: MultipathEvent) {
        if self.hosts[host].is_gone {
            return;
        }
        self.course.log(|| format!("host {host} receives {event:?}"));
        match event {
            MultipathEvent::Established { is_multipath } => {
                assert!(is_multipath || self.may_be_forged(), "a regular connection");
                self.hosts[host].is_established = true;
            }
            MultipathEvent::Datagram { payload: Payload::Bytes(bytes), .. } => self.on_datagram(host, &bytes),
            MultipathEvent::DatagramSent { id, .. } => {
                // With copies on several paths it is reported for each.
                self.hosts[host].pending.remove(&id);
            }
            MultipathEvent::DatagramDropped { id, .. } => {
                assert!(self.hosts[host].pending.remove(&id), "{id:?} was dropped after it had left");
                self.course.tally.count("datagrams dropped by their sender");
            }
            MultipathEvent::PathFailed(_) => self.course.tally.count("paths failed"),
            MultipathEvent::PathRecovered(_) => self.course.tally.count("paths recovered"),
            MultipathEvent::SubflowUp(_) => self.course.tally.count("subflows joined"),
            MultipathEvent::Drained => self.hosts[host].is_gone = true,
            MultipathEvent::Closed(error) => {
                self.hosts[host].closed += 1;
                self.course.tally.count(&format!("ended: {error}"));
            }
            _ => {}
        }
    }

    fn on_datagram(&mut self, host: usize, bytes: &[u8]) {
        let number = bytes.first_chunk().map_or(u64::MAX, |first| u64::from_be_bytes(*first));
        let is_genuine = number < self.hosts[1 - host].next && content(number) == *bytes;
        assert!(is_genuine || self.may_be_forged(), "host {host} got data that were not sent: {number}");
        if !is_genuine {
            return self.course.tally.count("forged datagrams");
        }
        let now = self.course.now;
        let (may_be_forged, must_live) = (self.may_be_forged(), self.must_live());
        let to = &mut self.hosts[host];
        assert!(to.closed == 0, "{number} arrived at host {host} after the end");
        assert!(to.arrived.insert(number) || may_be_forged, "{number} arrived twice at host {host}");
        let is_ordered = self.plan.reorder_delay.is_some() && !may_be_forged;
        if let Some((last, at)) = to.last {
            assert!(!is_ordered || number > last, "{number} arrived after {last}");
            let gap = now.saturating_since(at);
            assert!(
                gap < LONGEST_GAP + self.plan.interval || !must_live || self.is_healed,
                "host {host} got nothing for {gap} although a path is clean"
            );
        }
        to.last = Some((number, now));
        self.course.tally.count("datagrams arrived");
    }
}
