//! Execution of the script's actions.

use whimbrel_proto::{Config, ConnectionHandle, Datagram};
use whimbrel_units::Instant;

use super::{World, server_address};
use crate::hosts::Host;
use crate::plan::{Action, PLACES, SERVER_PORT, Side};

impl World {
    pub(super) fn perform(&mut self, action: Action) {
        let now = self.course.now;
        match action {
            Action::Connect { config, from } => self.connect(*config, from),
            Action::Invite { port } => self.invite(port),
            Action::Send { side, which, count, lifetime } => {
                let deadline = lifetime.map(|lifetime| now + lifetime);
                for _ in 0..count {
                    self.send(side, which, deadline);
                }
            }
            Action::SendOne { side, which, size } => {
                // An application sends datagrams that fit the reported limit.
                let host = self.host(side);
                let connection = host.pick(which).and_then(|handle| host.endpoint.connection(handle));
                let most = connection.map_or(size, |it| it.snapshot().max_datagram);
                self.send_one(side, which, size.min(most), None);
            }
            Action::Close { side, which } => {
                self.command(side, which, |host, handle| host.within(|endpoint| endpoint.close(now, handle)));
            }
            Action::Abort { side, which } => {
                self.command(side, which, |host, handle| host.within(|endpoint| endpoint.abort(now, handle)));
            }
            Action::Unreachable { side, which } => self.command(side, which, |host, handle| {
                let ports =
                    host.endpoint.connection(handle).map(|it| (it.source_port(), it.destination_port()));
                if let (Some((source, destination)), Some(remote)) = (ports, host.endpoint.remote(handle)) {
                    host.within(|endpoint| endpoint.handle_unreachable(now, remote, source, destination));
                }
            }),
            Action::Limit { side, which, size } => self.command(side, which, |host, handle| {
                host.command(handle, |connection| connection.set_max_datagram(now, size));
            }),
            Action::Stop { side, which } => self.command(side, which, |host, handle| {
                host.command(handle, |connection| connection.stop_receiving(now));
            }),
            Action::Slow { side, which, slow } => self.command(side, which, |host, handle| {
                host.command(handle, |connection| connection.set_slow_receiver(slow));
            }),
            Action::Read { side, reads } => {
                // All applications read in the end.
                let reads = reads || self.is_closing;
                let now = self.course.now;
                self.course.wake(side);
                let host = self.host(side);
                if reads && !host.reads {
                    host.resumed = Some(now);
                }
                host.reads = reads;
            }
            Action::Freeze { side, which, scope, frozen } => {
                // No connection is frozen in the end.
                if !(frozen && self.is_closing) {
                    self.command(side, which, |host, handle| {
                        host.command(handle, |connection| match frozen {
                            true => connection.freeze(now, scope),
                            false => connection.unfreeze(now, scope),
                        });
                    });
                }
            }
            Action::Probe { side, which } => self.command(side, which, |host, handle| {
                host.command(handle, |connection| {
                    connection.probe(now);
                });
            }),
            Action::Cut { from, cut } => {
                self.path(from).cut_until = if cut { Instant::FAR_FUTURE } else { Instant::ZERO };
            }
            Action::Narrow { from, mtu } => self.narrow(from, mtu),
            Action::Rebind => {
                self.rebinds += 1;
                self.ledger.on_move();
                (self.place, self.is_move_known) = (PLACES as u8 + 1 + self.rebinds as u8, false);
                self.course.tally.count("path: the client's address changed");
            }
            Action::Move { place, known } => self.go_to(place, known),
        }
    }

    fn command(&mut self, side: Side, which: u64, command: impl FnOnce(&mut Host, ConnectionHandle)) {
        let host = self.host(side);
        if let Some(handle) = host.pick(which) {
            command(host, handle);
            self.course.wake(side);
        }
    }

    fn send(&mut self, side: Side, which: u64, deadline: Option<Instant>) {
        let size = self.dice.within(&self.plan.sizes);
        self.send_one(side, which, size, deadline);
    }

    fn send_one(&mut self, side: Side, which: u64, size: usize, deadline: Option<Instant>) {
        let now = self.course.now;
        let payload = self.ledger.payload(size);
        let host = &mut self.hosts[side as usize];
        let Some(handle) = host.pick(which) else { return };
        self.course.wake(side);
        if let Some(watched) = host.watched.get_mut(&handle) {
            watched.rate.on_offered(now);
        }
        let datagram = Datagram { deadline, ..Datagram::new(payload) };
        if let Ok(id) = host.within(|endpoint| endpoint.send(now, handle, datagram))
            && let Some(watched) = host.watched.get_mut(&handle)
        {
            let tag = self.ledger.taken(side, watched.port, size);
            watched.pending.insert(id, tag);
            watched.handed_over += 1;
            self.course.tally.count("datagrams handed over");
        }
    }

    fn connect(&mut self, config: Config, from: Option<u16>) {
        if self.is_closing {
            return;
        }
        let (now, remote) = (self.course.now, server_address());
        let least = *self.plan.sizes.start();
        let host = self.host(Side::Client);
        let handle = host.within(|endpoint| match from {
            Some(port) => endpoint.connect_from(now, remote, port, SERVER_PORT, config.clone()),
            None => endpoint.connect(now, remote, SERVER_PORT, config.clone()),
        });
        let handle = handle.expect("a plan's configuration is valid, and its ports are free");
        let port = host.endpoint.connection(handle).map(|connection| connection.source_port());
        let port = port.expect("it is new");
        host.watch(handle, port, config, least);
        self.course.wake(Side::Client);
        if self.accepted.contains(&port) {
            // The server may still have the port's last connection, the end of which was lost.
            self.accepted_again.insert(port);
        }
    }

    fn invite(&mut self, port: u16) {
        if self.is_closing {
            return;
        }
        let (now, remote, config) = (self.course.now, self.address(Side::Client), self.plan.server.clone());
        let least = *self.plan.sizes.start();
        let host = self.host(Side::Server);
        let reads = host.reads;
        // The Request may have arrived before the invitation.
        let invited = host.within(|endpoint| endpoint.invite(now, remote, SERVER_PORT, port, config.clone()));
        if let Ok(handle) = invited {
            host.watch(handle, port, config, least);
            self.course.wake(Side::Server);
            self.invited.insert(port);
            if !reads {
                // An earlier connection of this port may have come and gone without having been announced.
                self.note_accepted(port);
            }
            self.note_accepted(port);
        }
    }

    pub(super) fn note_accepted(&mut self, port: u16) {
        if !self.accepted.insert(port) {
            self.accepted_again.insert(port);
        }
    }
}
