//! The paths of a flow, and their subflows.

use std::net::SocketAddr;

use whimbrel_proto::multipath::{MultipathConnection, Path, PathPriority, SubflowId};
use whimbrel_units::Instant;

use super::Join;

/// The paths of a flow.
#[derive(Clone, Debug)]
pub(super) struct Paths {
    /// Their number.
    pub count: usize,
    /// When all but the first join.
    pub join: Join,
    /// Their priorities, if they differ.
    pub priorities: Vec<PathPriority>,
    /// Their weights, if they differ.
    pub weights: Vec<u32>,
    /// Their costs, if they differ.
    pub costs: Vec<u32>,
}

/// The addresses of a path, of which only the number matters. `is_client`: of the client's end.
pub(super) fn addresses(number: usize, is_client: bool) -> Path {
    let client = SocketAddr::from(([10, 0, number as u8, 1], 0));
    let server = SocketAddr::from(([10, 0, 255, 1], 0));
    if is_client { Path { local: client, remote: server } } else { Path { local: server, remote: client } }
}

/// The number of a path.
pub(super) fn number(path: Path, is_client: bool) -> usize {
    let address = if is_client { path.local } else { path.remote };
    match address {
        SocketAddr::V4(address) => usize::from(address.ip().octets()[2]),
        SocketAddr::V6(_) => 0,
    }
}

/// The subflows of the end that adds them.
#[derive(Debug)]
pub(super) struct Subflows {
    paths: Paths,
    /// The path of each subflow.
    of: Vec<(SubflowId, usize)>,
    /// Paths that wait to join.
    to_join: Vec<usize>,
}

impl Subflows {
    pub(super) fn new(paths: Paths) -> Self {
        Self { paths, of: Vec::new(), to_join: Vec::new() }
    }

    /// The first subflow is established.
    pub(super) fn on_established(&mut self, now: Instant, connection: &mut MultipathConnection) {
        self.add(now, connection, SubflowId(0), 0);
        if self.paths.join == Join::AtOnce {
            self.to_join = (1..self.paths.count).collect();
        }
    }

    /// Leaves a path that has failed for the next one, if the paths are used one after the other.
    pub(super) fn on_failure(
        &mut self,
        now: Instant,
        connection: &mut MultipathConnection,
        subflow: SubflowId,
    ) {
        if self.paths.join != Join::OnFailure {
            return;
        }
        let Some((_, path)) = self.of.iter().find(|(id, _)| *id == subflow) else { return };
        self.to_join.push((path + 1) % self.paths.count);
        connection.abandon_subflow(now, subflow);
    }

    /// The paths that join now, if the connection permits.
    pub(super) fn take_joining(&mut self, connection: &MultipathConnection) -> Vec<usize> {
        if self.to_join.is_empty() || !connection.may_join() {
            return Vec::new();
        }
        std::mem::take(&mut self.to_join)
    }

    /// Sets the parameters of a new subflow.
    pub(super) fn add(
        &mut self,
        now: Instant,
        connection: &mut MultipathConnection,
        subflow: SubflowId,
        path: usize,
    ) {
        self.of.push((subflow, path));
        let weight = self.paths.weights.get(path).copied().unwrap_or(1);
        let cost = self.paths.costs.get(path).copied().unwrap_or(0);
        connection.set_shares(subflow, weight, cost);
        if let Some(priority) = self.paths.priorities.get(path) {
            connection.set_priority(now, subflow, *priority);
        }
    }
}
