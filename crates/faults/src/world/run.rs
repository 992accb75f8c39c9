//! The loop of a trial: what happens next, and the laws that hold after it.

use whimbrel_proto::endpoint::InitCookies;
use whimbrel_proto::{ConnectionHandle, Endpoint, EndpointEvent, FreezeScope, State, Transmit};
use whimbrel_units::Instant;
use whimbrel_wire::{Packet, PacketType};

use super::{World, moves};
use crate::campaign::AnyWorld;
use crate::capture::{Direction, Passage};
use crate::course::Course;
use crate::hosts::Host;
use crate::path::InFlightPacket;
use crate::plan::{SERVER_PORT, Side};
use crate::watch::pair;

/// Packets that a host may send at one instant: the contents of the send queues, and the answers to
/// arrivals. More are a livelock.
const MAX_BURST: u64 = 1_000;

/// Events after which a trial that has not ended has a livelock.
const MAX_STEPS: u64 = 2_000_000;

impl AnyWorld for World {
    fn run(&mut self) {
        for step in 0.. {
            assert!(step < MAX_STEPS, "no end after {MAX_STEPS} events, at {}", self.course.now);
            self.settle();
            let Some(next) = self.next_event() else { break };
            self.course.now = next.max(self.course.now);
            self.deliver_reports();
            self.run_script();
            self.wake();
            self.deliver();
        }
        self.ledger.close(self.corrupted, &self.accepted_again, &mut self.course.tally);
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
    fn course(&mut self) -> &mut Course {
        &mut self.course
    }
}

impl World {
    fn next_event(&self) -> Option<Instant> {
        let script = self.plan.script.get(self.done).map(|(at, _)| *at);
        let closing = (!self.is_closing).then_some(self.plan.horizon);
        let arrivals = self.paths.iter().filter_map(|path| path.in_flight.next_arrival());
        let wakes = self.hosts.iter().filter_map(Host::wakes);
        arrivals.chain(wakes).chain(script).chain(closing).chain(self.next_report()).min()
    }
    /// Runs the actions of the script that are due.
    fn run_script(&mut self) {
        while let Some((at, action)) = self.plan.script.get(self.done)
            && *at <= self.course.now
        {
            let action = action.clone();
            self.done += 1;
            self.course.log(|| format!("action {action:?}"));
            self.perform(action);
        }
        if !self.is_closing && self.course.now >= self.plan.horizon {
            self.is_closing = true;
            self.check_sizes();
            self.check_rate();
            self.check_moves();
            self.hosts[1].within(|endpoint| endpoint.stop_listening(SERVER_PORT));
            for side in Side::BOTH {
                let now = self.course.now;
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
            if host.wakes().is_some_and(|at| at <= self.course.now) {
                host.within(|endpoint| endpoint.handle_timeout(self.course.now));
                host.is_awake = true;
            }
        }
    }
    /// Processes arrived packets. Drivers may or may not drain in between.
    fn deliver(&mut self) {
        for from in Side::BOTH {
            while let Some(in_flight) = self.paths[from as usize].in_flight.take_due(self.course.now) {
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
        let now = self.course.now;
        let InFlightPacket { source, destination, meta, packet } = in_flight;
        let is_old = to == Side::Client && moves::is_clients(destination);
        if destination != self.address(to) && !(is_old && self.plan.old_mapping_lives) {
            self.course.tally.count("path: to an address no longer in use");
            return;
        }
        let at = Passage { side: to, path: 0, way: Direction::In };
        self.course.capture(at, (source, destination), meta.ecn, &packet, None);
        self.course.log(|| format!("to {to:?} from {source}, {:?}: {packet:?}", meta.ecn));
        self.course.tally.count("packets arrived");
        let host = self.host(to);
        host.on_arrival(source, &packet);
        host.handle_packet(now, source, meta, &packet);
        host.is_awake = true;
        self.look(to);
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
            !self.is_closing || self.course.now <= self.plan.horizon + self.plan.patience || self.is_over(),
            "connections are left long after all were closed: {:?}",
            self.states()
        );
    }
    fn is_over(&self) -> bool {
        self.hosts.iter().all(|host| host.endpoint.is_empty())
    }
    fn look(&mut self, side: Side) {
        self.hosts[side as usize].look(self.course.now, &mut self.course.tally);
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
        let now = self.course.now;
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
        while let Some((remote, transmit)) = self.hosts[side as usize].poll_transmit(self.course.now) {
            any = true;
            let now = self.course.now;
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
            let treatment =
                self.paths[side as usize].offer(now, source, remote, &transmit, &mut self.course.tally);
            self.course
                .log(|| format!("from {side:?} to {remote}, {:?}: {:?}", treatment.remark, transmit.packet));
            if let (Some(mtu), Some(handle)) = (treatment.too_large_for, handle) {
                self.on_too_large(side, handle, &transmit, mtu);
            }
            self.forged += u64::from(treatment.is_hostile);
            self.corrupted += u64::from(treatment.is_corrupt);
            let at = Passage { side, path: 0, way: Direction::Out };
            let Transmit { packet, ecn } = &transmit;
            self.course.capture(at, (source, remote), *ecn, packet, treatment.remark);
        }
        any
    }
    fn note(&mut self, side: Side, packet: &Packet) {
        let parts = [
            self.course.now.as_nanos(),
            side as u64,
            packet.packet_type() as u64,
            packet.sequence.value(),
            packet.ack().map_or(0, |ack| ack.value()),
            packet.encoded_len() as u64,
        ];
        self.course.on_sent(&parts);
        self.course.tally.count(match packet.packet_type() {
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
            self.course.log(|| format!("{side:?} receives {event:?} of {handle:?}"));
            match &event {
                EndpointEvent::Accepted { .. } => self.accept(handle),
                EndpointEvent::Connection(event) => {
                    let host = &mut self.hosts[side as usize];
                    host.on_event(
                        (self.course.now, handle),
                        event,
                        &mut self.ledger,
                        self.corrupted,
                        &mut self.course.tally,
                    );
                    host.perhaps_discard(handle, event, &mut self.ledger, &mut self.course.tally);
                    self.check_end(side, handle, event);
                }
                _ => {}
            }
            self.hosts[side as usize].within(|_| drop(event));
        }
        any
    }
    fn accept(&mut self, handle: ConnectionHandle) {
        let now = self.course.now;
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
            let is_quiet = self.paths.iter().all(|path| path.in_flight.next_arrival().is_none());
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
