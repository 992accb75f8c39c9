//! The run of one trial.

mod actions;
mod liveness;
pub(crate) mod moves;
mod sizes;

use core::net::SocketAddr;
use std::collections::BTreeSet;

use whimbrel_proto::endpoint::InitCookies;
use whimbrel_proto::{ConnectionHandle, Endpoint, EndpointEvent, FreezeScope, State, Transmit};
use whimbrel_units::Instant;
use whimbrel_wire::{Packet, PacketType};

use crate::campaign::AnyWorld;
use crate::capture::{Direction, Passage};
use crate::hosts::Host;
use crate::path::{InFlightPacket, Path};
use crate::plan::{Dice, Plan, SERVER_PORT, Side};
use crate::record::Record;
use crate::tally::Tally;
use crate::watch::ledger::Ledger;
use crate::watch::pair;
use sizes::Report;

/// Packets that a host may send at one instant: the contents of the send queues, and the answers to
/// arrivals. More are a livelock.
const MAX_BURST: u64 = 1_000;
/// Events after which a trial that has not ended has a livelock.
const MAX_STEPS: u64 = 2_000_000;

/// Two hosts and the network between them.
#[derive(Debug)]
pub struct World {
    plan: Plan,
    now: Instant,
    hosts: [Host; 2],
    paths: [Path; 2],
    /// Number of actions of the script that are done.
    done: usize,
    is_closing: bool,
    /// The client's present address, and the number of its changes.
    place: u8,
    rebinds: u32,
    /// `true` if the client's drivers were notified of the last change.
    is_move_known: bool,
    ledger: Ledger,
    /// Client ports for which the server has accepted connections, and those it has accepted more than one for.
    accepted: BTreeSet<u16>,
    accepted_again: BTreeSet<u16>,
    /// Client ports that the server has invited. If that crosses a Request that was answered with a cookie, the ends
    /// may have different keys.
    invited: BTreeSet<u16>,
    /// Packets that were tampered with, and those with changed data that the receiver cannot detect.
    forged: u64,
    corrupted: u64,
    /// Routers' messages in transit.
    reports: Vec<(Instant, Report)>,
    dice: Dice,
    tally: Tally,
    record: Record,
    digest: u64,
}

impl AnyWorld for World {
    fn run(&mut self) {
        self.run_trial();
    }
    fn now(&self) -> Instant {
        self.now
    }
    fn take_results(&mut self) -> (Tally, u64) {
        (std::mem::take(&mut self.tally), self.digest)
    }
    fn take_record(&mut self) -> Option<(Vec<u8>, String)> {
        self.record.take()
    }
}

impl World {
    /// A trial that has not begun. `record` keeps a capture and a log of it.
    pub fn new(plan: Plan, record: bool) -> Self {
        let mut hosts = [Host::new(Side::Client, &plan), Host::new(Side::Server, &plan)];
        let listen = hosts[1].within(|endpoint| endpoint.listen(SERVER_PORT, plan.server.clone()));
        listen.expect("a plan's configuration is valid");
        let paths = [
            Path::new(plan.paths[0], plan.hosts[1].coalesces, plan.dice("path from the client")),
            Path::new(plan.paths[1], plan.hosts[0].coalesces, plan.dice("path from the server")),
        ];
        Self {
            now: plan.start,
            hosts,
            paths,
            done: 0,
            is_closing: false,
            place: 1,
            rebinds: 0,
            is_move_known: false,
            ledger: Ledger::default(),
            accepted: BTreeSet::new(),
            accepted_again: BTreeSet::new(),
            invited: BTreeSet::new(),
            forged: 0,
            corrupted: 0,
            reports: Vec::new(),
            dice: plan.dice("applications"),
            tally: Tally::default(),
            record: Record::new(record, 1),
            digest: 0,
            plan,
        }
    }
    /// Adds a line to the log, if there is one.
    fn record(&mut self, line: impl FnOnce() -> String) {
        self.record.line(self.now, line);
    }

    /// Runs the trial to its end.
    fn run_trial(&mut self) {
        for step in 0.. {
            assert!(step < MAX_STEPS, "no end after {MAX_STEPS} events, at {}", self.now);
            self.settle();
            let Some(next) = self.next_event() else { break };
            self.now = next.max(self.now);
            self.deliver_reports();
            self.run_script();
            self.wake();
            self.deliver();
        }
        self.ledger.close(self.corrupted, &self.accepted_again, &mut self.tally);
        for host in &mut self.hosts {
            assert!(
                host.endpoint.is_empty(),
                "{:?}: connections are left: {:?}",
                host.side,
                host.watched.keys()
            );
            assert!(
                host.watched.is_empty(),
                "{:?}: the end of {:?} was not reported",
                host.side,
                host.watched.keys()
            );
            host.close();
        }
    }
    fn next_event(&self) -> Option<Instant> {
        let script = self.plan.script.get(self.done).map(|(at, _)| *at);
        let closing = (!self.is_closing).then_some(self.plan.horizon);
        let arrivals = self.paths.iter().filter_map(Path::next_arrival);
        let wakes = self.hosts.iter().filter_map(Host::wakes);
        arrivals.chain(wakes).chain(script).chain(closing).chain(self.next_report()).min()
    }
    fn host(&mut self, side: Side) -> &mut Host {
        &mut self.hosts[side as usize]
    }

    /// Runs the actions of the script that are due.
    fn run_script(&mut self) {
        while let Some((at, action)) = self.plan.script.get(self.done)
            && *at <= self.now
        {
            let action = action.clone();
            self.done += 1;
            self.record(|| format!("action {action:?}"));
            self.perform(action);
        }
        if !self.is_closing && self.now >= self.plan.horizon {
            self.is_closing = true;
            self.check_sizes();
            self.check_rate();
            self.check_moves();
            self.hosts[1].within(|endpoint| endpoint.stop_listening(SERVER_PORT));
            for side in Side::BOTH {
                let now = self.now;
                let host = self.host(side);
                (host.reads, host.is_awake) = (true, true);
                for handle in host.watched.keys().copied().collect::<Vec<_>>() {
                    host.command(handle, |connection| connection.unfreeze(now, FreezeScope::Both));
                    host.within(|endpoint| endpoint.close(now, handle));
                }
            }
        }
    }

    /// Wakes the hosts with expired deadlines.
    fn wake(&mut self) {
        for host in &mut self.hosts {
            if host.wakes().is_some_and(|at| at <= self.now) {
                host.within(|endpoint| endpoint.handle_timeout(self.now));
                host.is_awake = true;
            }
        }
    }
    /// Processes arrived packets. Drivers may or may not drain in between.
    fn deliver(&mut self) {
        for from in Side::BOTH {
            while let Some(in_flight) = self.paths[from as usize].take_due(self.now) {
                self.arrive(from.other(), in_flight);
                // A coalesced receive is processed as a whole.
                if !self.is_coalesced(from.other()) && self.dice.chance(0.7) {
                    self.settle();
                }
            }
        }
    }
    fn is_coalesced(&self, to: Side) -> bool {
        self.plan.hosts[to as usize].coalesces.is_some()
    }
    fn arrive(&mut self, to: Side, in_flight: InFlightPacket) {
        let now = self.now;
        let InFlightPacket { source, destination, meta, packet } = in_flight;
        let is_old = to == Side::Client && moves::is_clients(destination);
        if destination != self.address(to) && !(is_old && self.plan.old_mapping_lives) {
            self.tally.count("path: to an address no longer in use");
            return;
        }
        let at = Passage { now, side: to, path: 0, way: Direction::In };
        self.record.packet(at, (source, destination), meta.ecn, &packet, None);
        self.record(|| format!("to {to:?} from {source}, {:?}: {packet:?}", meta.ecn));
        self.tally.count("packets arrived");
        let host = self.host(to);
        host.on_arrival(source, &packet);
        host.handle_packet(now, source, meta, &packet);
        host.is_awake = true;
        self.look(to);
    }
    fn address(&self, of: Side) -> SocketAddr {
        match of {
            Side::Client => client_address(self.place),
            Side::Server => server_address(),
        }
    }

    /// Drains the hosts with events, and checks the laws.
    fn settle(&mut self) {
        for side in Side::BOTH {
            if core::mem::take(&mut self.host(side).is_awake) {
                self.look(side);
                self.drain(side);
                self.look(side);
            }
        }
        self.check_pairs();
        assert!(
            !self.is_closing || self.now <= self.plan.horizon + self.plan.patience || self.is_over(),
            "connections are left long after all were closed: {:?}",
            self.states()
        );
    }
    fn is_over(&self) -> bool {
        self.hosts.iter().all(|host| host.endpoint.is_empty())
    }
    fn look(&mut self, side: Side) {
        self.hosts[side as usize].look(self.now, &mut self.tally);
    }
    fn drain(&mut self, side: Side) {
        // A connection is announced before its first packet leaves.
        self.deliver_events(side);
        loop {
            let sent = self.transmit(side);
            let reported = self.deliver_events(side);
            if !sent && !reported {
                break;
            }
        }
        let now = self.now;
        let host = self.host(side);
        let due = host.endpoint.poll_timeout();
        assert!(
            due.is_none_or(|due| due > now),
            "drained at {now}, the {side:?} requests a wake-up at {due:?}"
        );
        host.within(|endpoint| endpoint.handle_timeout(now));
        assert_eq!(host.endpoint.poll_timeout(), due, "waking the {side:?} early changes something");
    }
    fn transmit(&mut self, side: Side) -> bool {
        let mut any = false;
        while let Some((remote, transmit)) = self.hosts[side as usize].poll_transmit(self.now) {
            any = true;
            let now = self.now;
            let host = self.host(side);
            if host.burst.0 != now {
                host.burst = (now, 0);
            }
            host.burst.1 += 1;
            assert!(host.burst.1 <= MAX_BURST, "the {side:?} does not stop sending at {now}: {transmit:?}");
            let packet = &transmit.packet;
            let handle = host.find(packet, remote);
            if let Some(handle) = handle {
                host.on_sent(now, handle, packet);
            }
            self.note(side, &transmit.packet);
            let source = self.address(side);
            let treatment = self.paths[side as usize].offer(now, source, remote, &transmit, &mut self.tally);
            self.record(|| {
                format!("from {side:?} to {remote}, {:?}: {:?}", treatment.remark, transmit.packet)
            });
            if let (Some(mtu), Some(handle)) = (treatment.too_large_for, handle) {
                self.on_too_large(side, handle, &transmit, mtu);
            }
            self.forged += u64::from(treatment.is_hostile);
            self.corrupted += u64::from(treatment.is_corrupt);
            let at = Passage { now, side, path: 0, way: Direction::Out };
            let Transmit { packet, ecn } = &transmit;
            self.record.packet(at, (source, remote), *ecn, packet, treatment.remark);
        }
        any
    }
    fn note(&mut self, side: Side, packet: &Packet) {
        let parts = [
            self.now.as_nanos(),
            side as u64,
            packet.packet_type() as u64,
            packet.sequence.value(),
            packet.ack().map_or(0, |ack| ack.value()),
            packet.encoded_len() as u64,
        ];
        for part in parts {
            // FNV-1a, by words.
            self.digest = (self.digest ^ part).wrapping_mul(0x0100_0000_01b3).rotate_left(29);
        }
        self.tally.count(match packet.packet_type() {
            PacketType::Request => "sent: Request",
            PacketType::Response => "sent: Response",
            PacketType::Data => "sent: Data",
            PacketType::Ack => "sent: Ack",
            PacketType::DataAck => "sent: DataAck",
            PacketType::CloseReq => "sent: CloseReq",
            PacketType::Close => "sent: Close",
            PacketType::Reset => "sent: Reset",
            PacketType::Sync => "sent: Sync",
            PacketType::SyncAck => "sent: SyncAck",
            PacketType::Listen => "sent: Listen",
        });
    }
    fn deliver_events(&mut self, side: Side) -> bool {
        if !self.hosts[side as usize].reads {
            return false;
        }
        let mut any = false;
        while let Some((handle, event)) = self.hosts[side as usize].within(Endpoint::poll_event) {
            any = true;
            self.record(|| format!("{side:?} receives {event:?} of {handle:?}"));
            match &event {
                EndpointEvent::Accepted { .. } => self.accept(handle),
                EndpointEvent::Connection(event) => {
                    let host = &mut self.hosts[side as usize];
                    host.on_event(
                        (self.now, handle),
                        event,
                        &mut self.ledger,
                        self.corrupted,
                        &mut self.tally,
                    );
                    host.perhaps_discard(handle, event, &mut self.ledger, &mut self.tally);
                    self.check_end(side, handle, event);
                }
                _ => {}
            }
            self.hosts[side as usize].within(|_| drop(event));
        }
        any
    }
    fn accept(&mut self, handle: ConnectionHandle) {
        let now = self.now;
        let (config, least) = (self.plan.server.clone(), *self.plan.sizes.start());
        let is_closing = self.is_closing;
        let host = self.host(Side::Server);
        let Some(port) = host.endpoint.connection(handle).map(|connection| connection.destination_port())
        else {
            panic!("{handle:?} is over before it was announced");
        };
        host.watch(handle, port, config, least);
        if is_closing {
            host.within(|endpoint| endpoint.close(now, handle));
        }
        self.note_accepted(port);
    }

    /// Checks that both ends of a connection are compatible, as long as no packet was tampered with.
    fn check_pairs(&self) {
        // After a change of address, packets may match other connections.
        if self.forged > 0 || self.rebinds > 0 {
            return;
        }
        let [client, server] = &self.hosts;
        let is_stateless = server.plan.endpoint.init_cookies != InitCookies::Never;
        for watched in client.watched.values() {
            let port = watched.port;
            if self.accepted_again.contains(&port) {
                continue;
            }
            // A Request from the same port at another address makes another connection.
            let (ours, theirs) =
                (client.connection(port), server.connection_with(port, self.address(Side::Client)));
            let Some(ours) = ours else { continue };
            let (state, other) = (ours.state(), theirs.map(|it| it.state()));
            let was_accepted = self.accepted.contains(&port) || !server.reads;
            assert!(
                pair::fit(state, other, was_accepted, is_stateless),
                "port {port}: the client is in {state}, the server in {other:?}"
            );
            let is_quiet = self.paths.iter().all(Path::is_empty);
            if let Some(theirs) = theirs
                && (state, theirs.state()) == (State::Open, State::Open)
                && is_quiet
                && let Some(disagreement) = pair::disagreement(ours, theirs)
            {
                panic!("port {port}: {disagreement}");
            }
        }
    }
    fn states(&self) -> Vec<(Side, u16, Option<State>)> {
        let state = |host: &Host, port| host.connection(port).map(|connection| connection.state());
        self.hosts
            .iter()
            .flat_map(|host| {
                host.watched.values().map(move |watched| (host.side, watched.port, state(host, watched.port)))
            })
            .collect()
    }
}

fn client_address(place: u8) -> SocketAddr {
    SocketAddr::from(([192, 0, 2, place], 6511))
}
fn server_address() -> SocketAddr {
    SocketAddr::from(([198, 51, 100, 2], 6511))
}
