//! The paths of a connection over several (MP-DCCP, RFC 9897).

use std::net::SocketAddr;

use whimbrel_proto::multipath::{JoinError, MultipathSnapshot, Path, PathPriority, SubflowId};

use super::Socket;
use crate::connections::AnyKind;
use crate::state::Paths;

impl Socket {
    /// The state of each path, and of their connection; `None` if it was opened over one path
    /// ([`Setup::over_paths`]), and once its state is removed.
    ///
    /// [`Setup::over_paths`]: crate::Setup::over_paths
    pub fn paths(&self) -> Option<MultipathSnapshot> {
        let state = self.shared.lock();
        let several = state.several.as_ref().filter(|_| self.paths == Paths::Several)?;
        let is_current = several.is_current(self.handle, &self.mailbox);
        several.endpoint.connection(self.handle).filter(|_| is_current).map(|it| it.snapshot())
    }

    /// `true` if both ends use the extensions for several paths.
    pub fn is_multipath(&self) -> bool {
        self.command_paths(|connection, _| connection.is_multipath()).unwrap_or(false)
    }

    /// Adds a path from a local address of this end ([`Host::add_local`](crate::Host::add_local)) to an
    /// address of the peer. Its outcome is an event.
    ///
    /// # Errors
    ///
    /// The reason for which no path can be added now.
    pub fn join(&self, local: SocketAddr, remote: SocketAddr) -> Result<SubflowId, JoinError> {
        let mut state = self.shared.lock();
        let several = state.several.as_mut().filter(|_| self.paths == Paths::Several);
        let several = several.filter(|several| several.is_current(self.handle, &self.mailbox));
        let path = Path { local, remote };
        let joined = several.ok_or(JoinError::NotReady)?.endpoint.join(self.now(), self.handle, path, None);
        self.shared.wake_driver(state);
        joined
    }

    /// Sets the priority of a path, and notifies the peer. Returns `false` if the path does not exist.
    pub fn set_priority(&self, subflow: SubflowId, priority: PathPriority) -> bool {
        self.command_paths(|connection, now| connection.set_priority(now, subflow, priority)).unwrap_or(false)
    }

    /// Sets a path's share under [`SchedulerKind::Weighted`] and its cost under
    /// [`SchedulerKind::CheapestFirst`], for data of this end. Returns `false` if the path does not exist.
    ///
    /// [`SchedulerKind::Weighted`]: crate::multipath::SchedulerKind::Weighted
    /// [`SchedulerKind::CheapestFirst`]: crate::multipath::SchedulerKind::CheapestFirst
    pub fn set_shares(&self, subflow: SubflowId, weight: u32, cost: u32) -> bool {
        self.command_paths(|connection, _| connection.set_shares(subflow, weight, cost)).unwrap_or(false)
    }

    /// Withdraws a local address, and closes its paths. Returns `false` if no path used it. One that has
    /// disappeared with its interface is removed by [`Host::remove_local`](crate::Host::remove_local).
    pub fn remove_address(&self, local: SocketAddr) -> bool {
        self.command_paths(|connection, now| connection.remove_address(now, local.ip())).unwrap_or(false)
    }

    /// Closes one path in order. Returns `false` if it does not exist.
    pub fn close_subflow(&self, subflow: SubflowId) -> bool {
        self.command_paths(|connection, now| connection.close_subflow(now, subflow)).unwrap_or(false)
    }
}
