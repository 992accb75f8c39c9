//! One connection, for an application.

mod connecting;
mod datagrams;
mod freezing;
mod mobility;
mod paths;

use std::net::SocketAddr;
use std::sync::Arc;

use whimbrel_proto::multipath::MultipathConnection;
use whimbrel_proto::repair::RepairCounts;
use whimbrel_proto::{Connection, ConnectionHandle, ConnectionSnapshot};
use whimbrel_units::Instant;

pub(crate) use connecting::add_locals;
pub(crate) use datagrams::closed;

use crate::connections::AnyKind;
use crate::driver::Shared;
use crate::dtls::Fingerprint;
use crate::mailbox::Mailbox;
use crate::state::{Opened, Paths};
use crate::streams::Streams;

/// One DCCP connection, over UDP unless its [`Host`](crate::Host) uses another carrier; over one path, or
/// over several ([`Setup::over_paths`](crate::Setup::over_paths)).
///
/// Its methods take `&self`: several tasks may send, receive and watch events at the same time.
/// Dropping it closes the connection in good order as long as the runtime lives.
#[derive(Debug)]
pub struct Socket {
    pub(crate) shared: Arc<Shared>,
    paths: Paths,
    handle: ConnectionHandle,
    pub(crate) mailbox: Arc<Mailbox>,
    pub(crate) streams: Streams,
}

impl Socket {
    /// A handle for a connection of the driver; it is counted already.
    pub(crate) fn new(shared: Arc<Shared>, Opened { paths, handle, mailbox }: Opened) -> Self {
        Self { shared, paths, handle, mailbox, streams: Streams::default() }
    }

    /// Uses the connection without effects that the driver has to process; `None` once its state is removed.
    fn look<T>(&self, look: impl FnOnce(&mut dyn AnyKind, ConnectionHandle, Instant) -> T) -> Option<T> {
        let now = self.shared.clock.now();
        let mut state = self.shared.lock();
        let connections = state.of(self.paths);
        let is_current = connections.is_current(self.handle, &self.mailbox);
        is_current.then(|| look(connections, self.handle, now))
    }

    /// Uses the connection, and wakes the driver.
    fn with<T>(&self, use_it: impl FnOnce(&mut dyn AnyKind, ConnectionHandle, Instant) -> T) -> Option<T> {
        let result = self.look(use_it);
        if result.is_some() {
            self.shared.wake_driver(self.shared.lock());
        }
        result
    }

    /// Gives a connection over one path a command, if it still exists.
    fn command<T>(&self, command: impl FnOnce(&mut Connection, Instant) -> T) -> Option<T> {
        let now = self.shared.clock.now();
        let mut state = self.shared.lock();
        if self.paths == Paths::Several || !state.one.is_current(self.handle, &self.mailbox) {
            return None;
        }
        let result = state.one.command(self.handle, |connection| command(connection, now));
        self.shared.wake_driver(state);
        result
    }

    /// Gives a connection over several paths a command, if it still exists.
    fn command_paths<T>(&self, command: impl FnOnce(&mut MultipathConnection, Instant) -> T) -> Option<T> {
        let now = self.shared.clock.now();
        let mut state = self.shared.lock();
        let several = state.several.as_mut().filter(|_| self.paths == Paths::Several)?;
        if !several.is_current(self.handle, &self.mailbox) {
            return None;
        }
        let result = several.command(self.handle, |connection| command(connection, now));
        self.shared.wake_driver(state);
        result
    }

    /// The peer's UDP address; without UDP, its IP address with port 0. A client's address may change:
    /// [`Event::PeerMoved`](crate::Event::PeerMoved) reports it. Of several paths, the address of the first.
    pub fn remote(&self) -> SocketAddr {
        self.mailbox.remote()
    }

    /// This end's UDP address; without UDP, its host's with port 0. See [`Socket::rebind`]. Of several, the
    /// first.
    pub fn local(&self) -> SocketAddr {
        self.shared.local()
    }

    /// A snapshot of the connection; `None` once its state is removed. Over several paths, it has the rates
    /// and counts of all of them ([`MultipathSnapshot::whole`](crate::multipath::MultipathSnapshot::whole)),
    /// and [`Socket::paths`] has each.
    pub fn snapshot(&self) -> Option<ConnectionSnapshot> {
        self.look(|connections, handle, _| connections.snapshot(handle)).flatten()
    }

    /// The fingerprint of the key by which the peer has authenticated itself; `None` if the connection is not
    /// secured ([`Setup::secured`](crate::Setup::secured)), and once its state is removed.
    pub fn peer(&self) -> Option<Fingerprint> {
        self.look(|connections, handle, _| connections.peer(handle)).flatten()
    }

    /// Number of datagrams of the peer that were not authentic, or came twice, and were discarded. Zero if
    /// the connection is not secured.
    pub fn forgeries(&self) -> u64 {
        self.look(|connections, handle, _| connections.forgeries(handle)).unwrap_or(0)
    }

    /// Repair counters ([`Setup::repaired`](crate::Setup::repaired)); `None` if the ends have not agreed on
    /// it, and once the connection has ended.
    pub fn repair(&self) -> Option<RepairCounts> {
        self.look(|connections, handle, _| connections.repair(handle)).flatten()
    }

    /// Number of datagrams that the kernel dropped at this end's UDP or raw sockets: they came faster than
    /// they were read, or their checksum was wrong. All connections of a [`Listener`](crate::Listener) or
    /// [`Host`](crate::Host) share the sockets. 0 on systems other than Linux.
    pub fn kernel_drops(&self) -> u64 {
        self.shared.lock().kernel_drops()
    }

    /// Returns memory that the handshake, or traffic, has left behind: a quarter of what a connection
    /// takes. It is allocated again when it is needed. For servers with many connections, most of which are
    /// idle.
    pub fn shrink_to_fit(&self) {
        self.look(|connections, handle, _| connections.shrink_to_fit(handle));
    }

    /// Ends the connection at once with a Reset.
    pub fn abort(&self) {
        self.with(|connections, handle, now| connections.abort(now, handle));
    }

    /// Begins to close the connection.
    pub(crate) fn begin_closing(&self) {
        self.with(|connections, handle, now| connections.close(now, handle));
    }
}

impl Drop for Socket {
    fn drop(&mut self) {
        self.stop_receiving();
        self.begin_closing();
        let mut state = self.shared.lock();
        state.handles -= 1;
        // The driver ends if that was the last.
        self.shared.wake_driver(state);
    }
}
