//! The two endpoints of a trial: what happens next at them, and the laws that hold after it.

use whimbrel_proto::endpoint::InitCookies;
use whimbrel_proto::{ConnectionHandle, Endpoint, EndpointEvent, FreezeScope, State};
use whimbrel_units::{Duration, Instant};

use super::{World, moves};
use crate::course::Course;
use crate::hosts::Host;
use crate::path::{InFlightPacket, Leaving, Treatment};
use crate::plan::{SERVER_PORT, Side};
use crate::trial::{self, Pair};
use crate::watch::pair;

impl Pair for World {
    /// The contents of the send queues, and the answers to arrivals.
    const MAX_BURST: u64 = 1_000;

    fn run(&mut self) {
        trial::run_out(self);
        self.ledger.close(self.course.corrupted, &self.accepted_again, &mut self.course.tally);
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

    fn next_action(&self) -> Option<Instant> {
        let script = self.plan.script.get(self.done).map(|(at, _)| *at);
        let closing = (!self.is_closing).then_some(self.plan.horizon);
        script.into_iter().chain(closing).chain(self.next_report()).min()
    }

    fn act(&mut self) {
        self.deliver_reports();
        self.run_script();
    }

    fn due(&self, side: Side) -> Option<Instant> {
        self.hosts[side as usize].endpoint.poll_timeout()
    }

    fn latency(&self, side: Side) -> Duration {
        self.plan.hosts[side as usize].latency
    }

    fn handle_timeout(&mut self, side: Side) {
        self.hosts[side as usize].within(|endpoint| endpoint.handle_timeout(self.course.now));
    }

    fn poll_transmit(&mut self, side: Side) -> Option<Leaving> {
        let (now, source) = (self.course.now, self.address(side));
        let host = self.host(side);
        let (destination, transmit) = host.poll_transmit(now)?;
        let handle = host.find(&transmit.packet, destination);
        if let Some(handle) = handle {
            host.on_sent(now, handle, &transmit.packet);
        }
        Some(Leaving { source, destination, path: 0, handle, transmit })
    }

    fn on_treated(&mut self, side: Side, leaving: &Leaving, treatment: Treatment) {
        if let (Some(mtu), Some(handle)) = (treatment.too_large_for, leaving.handle) {
            self.on_too_large(side, handle, &leaving.transmit, mtu);
        }
    }

    fn accepts(&mut self, to: Side, arriving: &InFlightPacket) -> bool {
        let destination = arriving.destination;
        let is_old = to == Side::Client && moves::is_clients(destination);
        let accepts = destination == self.address(to) || (is_old && self.plan.old_mapping_lives);
        if !accepts {
            self.course.tally.count("path: to an address no longer in use");
        }
        accepts
    }

    fn arrive(&mut self, to: Side, arrived: InFlightPacket) {
        let InFlightPacket { source, meta, packet, .. } = arrived;
        let now = self.course.now;
        let host = self.host(to);
        host.on_arrival(source, &packet);
        host.handle_packet(now, source, meta, &packet);
    }

    /// A coalesced receive is processed as a whole.
    fn acts_between(&mut self, to: Side) -> bool {
        self.plan.hosts[to as usize].coalesces.is_none() && self.dice.chance(0.7)
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
                        self.course.corrupted,
                        &mut self.course.tally,
                    );
                    if host.perhaps_discard(handle, event, &mut self.ledger, &mut self.course.tally) {
                        self.course.wake(side);
                    }
                    self.check_end(side, handle, event);
                }
                _ => {}
            }
            self.hosts[side as usize].within(|_| drop(event));
        }
        any
    }

    fn look(&mut self, side: Side) {
        self.hosts[side as usize].look(self.course.now, &mut self.course.tally);
    }

    fn check(&mut self) {
        self.check_pairs();
        assert!(
            !self.is_closing || self.course.now <= self.plan.horizon + self.plan.patience || self.is_over(),
            "connections are left long after all were closed: {:?}",
            self.states()
        );
    }
}

impl World {
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
                self.course.wake(side);
                let host = self.host(side);
                host.reads = true;
                for handle in host.watched.keys().copied().collect::<Vec<_>>() {
                    host.command(handle, |connection| connection.unfreeze(now, FreezeScope::Both));
                    host.within(|endpoint| endpoint.close(now, handle));
                }
            }
        }
    }

    fn is_over(&self) -> bool {
        self.hosts.iter().all(|host| host.endpoint.is_empty())
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
        if self.course.forged > 0 || self.rebinds > 0 {
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
            let is_quiet = self.course.next_arrival().is_none();
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
