//! The run of one trial.

mod actions;
mod liveness;
pub(crate) mod moves;
mod run;
mod sizes;

use core::net::SocketAddr;
use std::collections::BTreeSet;

use whimbrel_units::Instant;

use crate::course::Course;
use crate::hosts::Host;
use crate::path::Path;
use crate::plan::{Dice, Plan, SERVER_PORT, Side};
use crate::watch::ledger::Ledger;
use sizes::Report;

/// Two hosts and the network between them.
#[derive(Debug)]
pub struct World {
    plan: Plan,
    course: Course,
    hosts: [Host; 2],
    /// Number of actions of the script that are done.
    done: usize,
    is_closing: bool,
    /// The client's present address, and the number of its changes.
    place: u8,
    rebinds: u32,
    /// `true` if the client's drivers were notified of the last change.
    is_move_known: bool,
    ledger: Ledger,
    /// Client ports for which the server has accepted connections, and those with more than one.
    accepted: BTreeSet<u16>,
    accepted_again: BTreeSet<u16>,
    /// Client ports that the server has invited. If that crosses a Request that was answered with a cookie,
    /// the ends may have different keys.
    invited: BTreeSet<u16>,
    /// Routers' messages in transit.
    reports: Vec<(Instant, Report)>,
    dice: Dice,
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
            course: Course::new(plan.start, record, vec![paths]),
            hosts,
            done: 0,
            is_closing: false,
            place: 1,
            rebinds: 0,
            is_move_known: false,
            ledger: Ledger::default(),
            accepted: BTreeSet::new(),
            accepted_again: BTreeSet::new(),
            invited: BTreeSet::new(),
            reports: Vec::new(),
            dice: plan.dice("applications"),
            plan,
        }
    }

    fn host(&mut self, side: Side) -> &mut Host {
        &mut self.hosts[side as usize]
    }

    /// The path from a host.
    fn path(&mut self, from: Side) -> &mut Path {
        &mut self.course.paths[0][from as usize]
    }

    fn address(&self, of: Side) -> SocketAddr {
        match of {
            Side::Client => client_address(self.place),
            Side::Server => server_address(),
        }
    }
}

fn client_address(place: u8) -> SocketAddr {
    SocketAddr::from(([192, 0, 2, place], 6511))
}

fn server_address() -> SocketAddr {
    SocketAddr::from(([198, 51, 100, 2], 6511))
}
