//! State of a host with several local addresses, shared by its tasks and the application.

use std::collections::{BTreeMap, VecDeque};
use std::net::SocketAddr;
use std::sync::Arc;

use tokio::sync::Notify;
use whimbrel_proto::multipath::{MultipathConfig, MultipathConnection, MultipathEndpoint, Path};
use whimbrel_proto::{ConnectError, ConnectionHandle, ListenError, Transmit};
use whimbrel_units::Instant;

use crate::Setup;
use crate::carrier::{PathError, Quoted};
use crate::connections::Connections;
use crate::mailbox::Mailbox;
use crate::socket_buffers::KernelDrops;
use crate::state::{NARROW_PATH, on_a_real_path};

/// Packets that wait for one carrier. Further ones are dropped, as by a full queue of an interface.
const MAX_OUTBOX: usize = 512;

/// The packets for one carrier.
#[derive(Debug)]
pub(super) struct Outlet {
    pub(super) local: SocketAddr,
    pub(super) outbox: VecDeque<(SocketAddr, Transmit)>,
    /// Peers to which the packet size was not yet queried from the system.
    pub(super) unmeasured: Vec<SocketAddr>,
    /// It is to end once its packets are sent.
    pub(super) is_removed: bool,
    /// What the kernel dropped at its socket.
    pub(super) drops: KernelDrops,
    pub(super) pending: Arc<Notify>,
}

/// State shared by tasks and application.
#[derive(Debug)]
pub(super) struct State {
    pub(super) connections: Connections<MultipathConnection>,
    pub(super) outlets: BTreeMap<u64, Outlet>,
    /// What the kernel dropped at the sockets of outlets that have ended.
    pub(super) earlier_drops: u64,
    pub(super) deadline: Option<Instant>,
    /// Hosts and sockets that exist.
    pub(super) handles: usize,
    pub(super) is_host_gone: bool,
    /// Hosts, sockets and connections are gone, or the tasks have ended.
    pub(super) is_stopped: bool,
}

impl State {
    pub(super) fn new(endpoint: MultipathEndpoint, receive_queue: usize) -> Self {
        Self {
            connections: Connections::new(endpoint, receive_queue),
            outlets: BTreeMap::new(),
            earlier_drops: 0,
            deadline: None,
            handles: 1,
            is_host_gone: false,
            is_stopped: false,
        }
    }
    /// Opens a connection.
    pub(super) fn connect(
        &mut self,
        now: Instant,
        path: Path,
        port: u16,
        setup: Setup,
        settings: MultipathConfig,
    ) -> Result<(ConnectionHandle, Arc<Mailbox<MultipathConnection>>), ConnectError> {
        let config = on_a_real_path(setup.config);
        let handle = self.connections.endpoint.connect(now, path, port, config, settings)?;
        self.handles += 1;
        Ok((handle, self.connections.add_client(handle, path, setup.above)))
    }
    /// Accepts connections to a port from now on.
    pub(super) fn listen(
        &mut self,
        port: u16,
        setup: Setup,
        settings: MultipathConfig,
    ) -> Result<(), ListenError> {
        let service_code = setup.config.service_code;
        self.connections.endpoint.listen(port, on_a_real_path(setup.config), settings)?;
        self.connections.serve(port, service_code, setup.above);
        Ok(())
    }
    /// The host is gone: nothing accepts connections any more.
    pub(super) fn stop_serving(&mut self, now: Instant) {
        self.is_host_gone = true;
        self.connections.stop_serving(now);
    }
    /// Runs the timers that are due.
    pub(super) fn handle_timeouts(&mut self, now: Instant) {
        self.connections.endpoint.handle_timeout(now);
        self.connections.handle_timeouts(now);
    }
    /// Moves packets to the carriers and events to the application. Returns `true` if a connection was established for
    /// the application to accept.
    pub(super) fn pump(&mut self, now: Instant) -> bool {
        let mut has_accepted = false;
        loop {
            // First the events: what the application drops is reported by the packets that follow.
            let delivered = self.connections.deliver_events(now);
            has_accepted |= delivered == Some(true);
            let mut has_sent = false;
            while let Some((path, transmit)) = self.connections.endpoint.poll_transmit(now) {
                has_sent = true;
                if let Some(outlet) = self.outlet(path.local)
                    && outlet.outbox.len() < MAX_OUTBOX
                {
                    outlet.outbox.push_back((path.remote, transmit));
                }
            }
            if delivered.is_none() && !has_sent {
                break;
            }
        }
        for (_, path) in std::mem::take(&mut self.connections.unmeasured) {
            if let Some(outlet) = self.outlet(path.local)
                && !outlet.unmeasured.contains(&path.remote)
            {
                outlet.unmeasured.push(path.remote);
            }
        }
        if self.is_host_gone && self.handles == 0 && self.connections.endpoint.is_empty() {
            self.is_stopped = true;
        }
        for outlet in self.outlets.values() {
            let has_work = !outlet.outbox.is_empty() || !outlet.unmeasured.is_empty();
            if has_work || outlet.is_removed || self.is_stopped {
                outlet.pending.notify_one();
            }
        }
        has_accepted
    }

    /// A local address is gone: ends its subflows, withdraws it from all peers, and ends its task. Returns `false` if it is
    /// unknown.
    pub(super) fn remove_local(&mut self, now: Instant, local: SocketAddr) -> bool {
        let Some(outlet) = self.outlet(local) else { return false };
        outlet.is_removed = true;
        let mut rest = self.outlets.values().filter(|outlet| !outlet.is_removed);
        let is_shared = rest.any(|outlet| outlet.local.ip() == local.ip());
        let handles: Vec<_> = self.connections.mailboxes().map(|(handle, _)| handle).collect();
        for handle in handles {
            let Some(connection) = self.connections.endpoint.connection_mut(handle) else { continue };
            let there: Vec<_> = connection.subflows().filter(|(_, path)| path.local == local).collect();
            let is_used = !there.is_empty();
            if is_used && !is_shared && connection.is_multipath() {
                connection.lose_address(now, local.ip());
            }
            for (subflow, _) in there {
                connection.abandon_subflow(now, subflow);
            }
            if is_used {
                self.connections.endpoint.wake(handle);
            }
        }
        true
    }
    /// What the kernel dropped at the sockets of all outlets.
    pub(super) fn kernel_drops(&mut self) -> u64 {
        self.earlier_drops + self.outlets.values_mut().map(|outlet| outlet.drops.total()).sum::<u64>()
    }
    /// The outlet at a local address.
    pub(super) fn outlet(&mut self, local: SocketAddr) -> Option<&mut Outlet> {
        self.outlets.values_mut().find(|outlet| outlet.local == local && !outlet.is_removed)
    }
    /// Sets the system's limit for datagrams on a path.
    pub(super) fn limit_datagrams(&mut self, now: Instant, path: Path, limit: usize) {
        for (handle, subflow) in self.connections.endpoint.subflows_on(path) {
            let Some(connection) = self.connections.endpoint.connection_mut(handle) else { continue };
            let now_at = connection.subflow(subflow).map(|it| it.snapshot().max_datagram);
            if now_at.is_some_and(|now_at| limit < now_at) {
                connection.set_max_datagram(now, subflow, limit);
                self.connections.endpoint.wake(handle);
            }
        }
    }
    /// The system reported that a packet on a path was not sent or not delivered. `quoted`: the packet, if a message named it.
    pub(super) fn handle_path_error(
        &mut self,
        now: Instant,
        path: Path,
        quoted: Option<Quoted>,
        path_error: PathError,
    ) {
        for (handle, subflow) in self.connections.endpoint.subflows_on(path) {
            let Some(connection) = self.connections.endpoint.connection_mut(handle) else { continue };
            let Some(single) = connection.subflow(subflow) else { continue };
            let is_meant = |quoted: Quoted| {
                quoted.source_port == single.source_port()
                    && quoted.destination_port == single.destination_port()
                    && quoted.sequence.is_none_or(|sequence| single.has_sent(sequence))
            };
            if !quoted.is_none_or(is_meant) {
                continue;
            }
            // Lowering the packet size is permanent: a message without a number may be forged.
            let may_resize = quoted.is_none_or(|quoted| quoted.sequence.is_some());
            let snapshot = single.snapshot();
            match path_error {
                PathError::Unreachable => drop(connection.handle_unreachable(now, subflow)),
                PathError::TooLarge(_) if !may_resize => {}
                PathError::TooLarge(Some(limit))
                    if limit < snapshot.max_datagram || snapshot.path_mtu.is_some() =>
                {
                    connection.set_max_datagram(now, subflow, limit);
                }
                // A router's larger limit is invalid (RFC 1191, Section 3).
                PathError::TooLarge(Some(_)) if quoted.is_some() => {}
                PathError::TooLarge(_) => drop(connection.handle_too_large(now, subflow, NARROW_PATH)),
            }
            self.connections.endpoint.wake(handle);
        }
    }
    /// The tasks have ended: notifies all sockets.
    pub(super) fn stop(&mut self) {
        self.is_stopped = true;
        self.connections.stop();
        self.outlets.values().for_each(|outlet| outlet.pending.notify_one());
    }
}
