//! Clients that move: servers follow them, and no other host.

use core::net::SocketAddr;

use whimbrel_proto::{Connection, ConnectionError, ConnectionHandle, Event, PathChange, PathId, State};
use whimbrel_wire::ResetCode;

use super::World;
use crate::plan::Side;

/// `true` if an address is one that the client's host can have.
pub(crate) fn is_clients(address: SocketAddr) -> bool {
    matches!(address, SocketAddr::V4(address) if address.ip().octets()[..3] == [192, 0, 2])
}

impl World {
    /// Moves the client's host.
    pub(super) fn go_to(&mut self, place: u8, known: Option<PathChange>) {
        let (now, from) = (self.course.now, self.place);
        if place == from {
            return;
        }
        self.rebinds += 1;
        self.ledger.on_move();
        (self.place, self.is_move_known) = (place, known.is_some());
        self.course.tally.count("path: the client moved");
        for host in &mut self.hosts {
            host.on_move();
        }
        let Some(change) = known else { return };
        let host = self.host(Side::Client);
        for handle in host.watched.keys().copied().collect::<Vec<_>>() {
            let names = (PathId(from.into()), PathId(place.into()));
            host.command(handle, |connection| {
                connection.path_changed_between(now, change, names.0, names.1);
            });
            if change != PathChange::Keep {
                host.restart(handle);
            }
        }
        self.course.wake(Side::Client);
    }

    /// Checks, before the connections close, the addresses at which servers have their clients.
    pub(super) fn check_moves(&mut self) {
        let is_quiet = self.course.next_arrival().is_none();
        if self.course.forged > 0 || !self.is_move_known || !is_quiet {
            return;
        }
        let here = self.address(Side::Client);
        let [client, server] = &self.hosts;
        for watched in client.watched.values().filter(|it| !self.accepted_again.contains(&it.port)) {
            let Some(ours) = client.connection(watched.port) else { continue };
            let found = server.watched.iter().find(|(_, other)| other.port == watched.port);
            let Some((handle, _)) = found else { continue };
            let is_open = server.connection(watched.port).is_some_and(|it| it.state() == State::Open);
            if ours.state() == State::Open && ours.may_move() && !ours.is_announcing() && is_open {
                let there = server.endpoint.remote(*handle);
                assert_eq!(there, Some(here), "port {}: where the server sends to", watched.port);
                self.course.tally.count("path: the server has followed");
            }
        }
    }

    /// A connection has ended: checks that a move of its client was not the reason, if both had agreed on
    /// moves.
    pub(super) fn check_end(&mut self, side: Side, handle: ConnectionHandle, event: &Event) {
        let Event::Closed(ConnectionError::Reset(reset)) = event else { return };
        let [client, server] = &self.hosts;
        let may_be_lost = self.course.forged > 0 || !self.plan.is_clean || side != Side::Client;
        if may_be_lost || reset.code != ResetCode::NoConnection {
            return;
        }
        let Some(port) = client.watched.get(&handle).map(|watched| watched.port) else { return };
        let is_known = server.connection(port).is_some_and(|it| it.state() == State::Open && it.may_move());
        // A client that got no key from its server, in a Response without room for it, has not agreed.
        let is_known = is_known && client.connection(port).is_some_and(Connection::may_move);
        assert!(
            !is_known || self.accepted_again.contains(&port) || self.invited.contains(&port),
            "port {port}: the client ended a connection as lost that the server still has"
        );
    }
}
