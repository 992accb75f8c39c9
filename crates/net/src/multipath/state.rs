//! The protocol, the security layers and the mailboxes of a host's multipath connections.

use std::collections::{BTreeMap, VecDeque};
use std::net::SocketAddr;
use std::sync::Arc;

use tokio::sync::Notify;
use whimbrel_proto::multipath::{
    MultipathConfig, MultipathConnection, MultipathEndpoint, MultipathEvent, MultipathSnapshot, Path,
};
use whimbrel_proto::repair::RepairCounts;
use whimbrel_proto::{
    ConnectError, ConnectionHandle, Datagram, DatagramId, EndpointEvent, ListenError, SendError, Transmit,
};
use whimbrel_units::Instant;

use super::mailbox::Mailbox;
use crate::Setup;
use crate::carrier::{PathError, Quoted};
use crate::dtls::LayerEvent;
use crate::layers::Layers;
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
    pub(super) endpoint: MultipathEndpoint,
    layers: Layers<MultipathConnection, Mailbox>,
    pub(super) outlets: BTreeMap<u64, Outlet>,
    /// What the kernel dropped at the sockets of outlets that have ended.
    pub(super) earlier_drops: u64,
    /// By handle.
    mailboxes: BTreeMap<ConnectionHandle, Arc<Mailbox>>,
    /// Established connections that the application has not accepted.
    pub(super) unaccepted: VecDeque<(ConnectionHandle, Arc<Mailbox>)>,
    listening: Vec<u16>,
    receive_queue: usize,
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
            endpoint,
            layers: Layers::default(),
            outlets: BTreeMap::new(),
            earlier_drops: 0,
            mailboxes: BTreeMap::new(),
            unaccepted: VecDeque::new(),
            listening: Vec::new(),
            receive_queue,
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
    ) -> Result<(ConnectionHandle, Arc<Mailbox>), ConnectError> {
        let config = on_a_real_path(setup.config);
        let handle = self.endpoint.connect(now, path, port, config, settings)?;
        self.layers.insert(handle.0, setup.above);
        let mailbox = Arc::new(Mailbox::new(self.receive_queue, true));
        self.mailboxes.insert(handle, mailbox.clone());
        self.handles += 1;
        Ok((handle, mailbox))
    }
    /// Accepts connections to a port from now on.
    pub(super) fn listen(
        &mut self,
        port: u16,
        setup: Setup,
        settings: MultipathConfig,
    ) -> Result<(), ListenError> {
        let service_code = setup.config.service_code;
        self.endpoint.listen(port, on_a_real_path(setup.config), settings)?;
        self.layers.serve(port, service_code, setup.above);
        self.listening.push(port);
        Ok(())
    }
    /// The host is gone: nothing accepts connections any more.
    pub(super) fn stop_listening(&mut self, now: Instant) {
        self.is_host_gone = true;
        for port in std::mem::take(&mut self.listening) {
            self.endpoint.stop_listening(port);
            self.layers.stop_serving(port);
        }
        self.unaccepted.clear();
        let unclaimed = self.mailboxes.iter().filter(|(_, mailbox)| !mailbox.inbox().unread.is_claimed());
        let handles: Vec<_> = unclaimed.map(|(handle, _)| *handle).collect();
        handles.into_iter().for_each(|handle| self.close(now, handle));
    }
    /// `true` if the handle still names the mailbox's connection: handles are reused.
    pub(super) fn is_current(&self, handle: ConnectionHandle, mailbox: &Arc<Mailbox>) -> bool {
        self.mailboxes.get(&handle).is_some_and(|known| Arc::ptr_eq(known, mailbox))
    }
    /// Queues a datagram.
    pub(super) fn send(
        &mut self,
        now: Instant,
        handle: ConnectionHandle,
        datagram: Datagram,
    ) -> Result<DatagramId, SendError> {
        let connection = self.endpoint.connection_mut(handle).ok_or(SendError::Closed)?;
        let result = self.layers.send(now, handle.0, connection, datagram);
        self.endpoint.wake(handle);
        result
    }
    /// Makes room for a datagram of that size, or returns the reason for refusing it.
    pub(super) fn make_room(
        &mut self,
        now: Instant,
        handle: ConnectionHandle,
        size: usize,
    ) -> Result<(), SendError> {
        let connection = self.endpoint.connection_mut(handle).ok_or(SendError::Closed)?;
        self.layers.make_room(now, handle.0, connection, size)
    }
    /// Closes a connection.
    pub(super) fn close(&mut self, now: Instant, handle: ConnectionHandle) {
        let Some(connection) = self.endpoint.connection_mut(handle) else { return };
        self.layers.close(now, handle.0, connection);
        connection.close(now);
        self.endpoint.wake(handle);
    }
    /// A snapshot of a connection, as its application sees it.
    pub(super) fn snapshot(&self, handle: ConnectionHandle) -> Option<MultipathSnapshot> {
        let snapshot = self.endpoint.connection(handle)?.snapshot();
        let mut seen = match self.layers.security(handle.0) {
            Some(layer) => layer.seen(snapshot),
            None => snapshot,
        };
        seen.max_datagram = self.layers.room(handle.0, seen.max_datagram);
        Some(seen)
    }
    /// What repair did on a connection.
    pub(super) fn repair(&self, handle: ConnectionHandle) -> Option<RepairCounts> {
        self.layers.repair(handle.0)
    }
    /// The layer that secures a connection.
    pub(super) fn layer(&self, handle: ConnectionHandle) -> Option<&crate::dtls::Layer<MultipathConnection>> {
        self.layers.security(handle.0)
    }

    /// Runs the timers that are due.
    pub(super) fn handle_timeouts(&mut self, now: Instant) {
        self.endpoint.handle_timeout(now);
        for number in self.layers.due(now) {
            self.use_layers(now, ConnectionHandle(number), |layers, connection| {
                layers.handle_timeout(now, number, connection)
            });
        }
    }
    /// Latest time of the next call to [`State::handle_timeouts`].
    pub(super) fn poll_timeout(&self) -> Option<Instant> {
        self.endpoint.poll_timeout().into_iter().chain(self.layers.poll_timeout()).min()
    }
    /// Moves packets to the carriers and events to the application. Returns `true` if a connection was established for
    /// the application to accept.
    pub(super) fn pump(&mut self, now: Instant) -> bool {
        let before = self.unaccepted.len();
        loop {
            while let Some((path, transmit)) = self.endpoint.poll_transmit(now) {
                if let Some(outlet) = self.outlet(path.local)
                    && outlet.outbox.len() < MAX_OUTBOX
                {
                    outlet.outbox.push_back((path.remote, transmit));
                }
            }
            // A layer may answer an event with a packet.
            let Some((handle, event)) = self.endpoint.poll_event() else { break };
            self.process(now, handle, event);
        }
        if self.is_host_gone && self.handles == 0 && self.endpoint.is_empty() {
            self.is_stopped = true;
        }
        for outlet in self.outlets.values() {
            let has_work = !outlet.outbox.is_empty() || !outlet.unmeasured.is_empty();
            if has_work || outlet.is_removed || self.is_stopped {
                outlet.pending.notify_one();
            }
        }
        self.unaccepted.len() > before
    }
    fn process(
        &mut self,
        now: Instant,
        handle: ConnectionHandle,
        event: EndpointEvent<Path, MultipathEvent>,
    ) {
        match event {
            EndpointEvent::Accepted { port, service_code, .. } => {
                self.layers.insert(handle.0, self.layers.above(port, service_code));
                let mailbox = Arc::new(Mailbox::new(self.receive_queue, false));
                self.mailboxes.insert(handle, mailbox);
            }
            EndpointEvent::Connection(event) => {
                let is_new_path =
                    matches!(event, MultipathEvent::Established { .. } | MultipathEvent::SubflowUp(_));
                if is_new_path {
                    self.measure(handle);
                }
                let begins = matches!(event, MultipathEvent::Established { .. });
                let is_drained = event == MultipathEvent::Drained;
                let mut passed = VecDeque::new();
                let connection = self.endpoint.connection_mut(handle);
                if self.layers.filter(now, handle.0, connection, event, &mut passed) {
                    self.endpoint.wake(handle);
                }
                self.deliver(now, handle, passed);
                if is_drained {
                    self.mailboxes.remove(&handle);
                    self.layers.remove(handle.0);
                } else if begins && self.layers.security(handle.0).is_some() {
                    self.begin_handshake(now, handle);
                }
            }
            _ => {}
        }
    }
    /// Delivers events to a connection's mailbox.
    fn deliver(
        &mut self,
        now: Instant,
        handle: ConnectionHandle,
        events: impl IntoIterator<Item = LayerEvent<MultipathEvent>>,
    ) {
        let Some(mailbox) = self.mailboxes.get(&handle).cloned() else { return };
        let was_established = mailbox.inbox().is_multipath.is_some();
        mailbox.deliver(now, events.into_iter());
        let mut inbox = mailbox.inbox();
        if inbox.unread.has_report()
            && let Some(connection) = self.endpoint.connection_mut(handle)
        {
            inbox.unread.report_to(connection);
            self.endpoint.wake(handle);
        }
        let is_new = !was_established && inbox.is_multipath.is_some() && !inbox.unread.is_claimed();
        let is_over = inbox.unread.closed().is_some();
        drop(inbox);
        if is_over {
            self.unaccepted.retain(|(_, waiting)| !Arc::ptr_eq(waiting, &mailbox));
        } else if is_new && self.is_host_gone {
            self.close(now, handle);
        } else if is_new {
            self.unaccepted.push_back((handle, mailbox));
        }
    }
    /// A client has begun the handshake of DTLS: another such handshake may have to end for it.
    fn begin_handshake(&mut self, now: Instant, handle: ConnectionHandle) {
        let Some(mailbox) = self.mailboxes.get(&handle).cloned() else { return };
        if mailbox.inbox().unread.is_claimed() {
            return;
        }
        let mailboxes = &self.mailboxes;
        let is_current = |number: usize, mailbox: &Arc<Mailbox>| {
            mailboxes.get(&ConnectionHandle(number)).is_some_and(|known| Arc::ptr_eq(known, mailbox))
        };
        let Some((_, path)) =
            self.endpoint.connection(handle).and_then(|connection| connection.subflows().next())
        else {
            return;
        };
        let remote = path.remote.ip();
        if let Some(oldest) = self.layers.begin_handshake(handle.0, &mailbox, remote, is_current) {
            self.use_layers(now, ConnectionHandle(oldest), |layers, connection| {
                layers.evict(now, oldest, connection)
            });
        }
    }
    /// Uses the layers of a connection, and delivers the events for its application.
    fn use_layers(
        &mut self,
        now: Instant,
        handle: ConnectionHandle,
        use_it: impl FnOnce(
            &mut Layers<MultipathConnection, Mailbox>,
            &mut MultipathConnection,
        ) -> VecDeque<LayerEvent<MultipathEvent>>,
    ) {
        let Some(connection) = self.endpoint.connection_mut(handle) else {
            self.layers.remove(handle.0);
            return;
        };
        let events = use_it(&mut self.layers, connection);
        self.endpoint.wake(handle);
        self.deliver(now, handle, events);
    }

    /// A local address is gone: ends its subflows, withdraws it from all peers, and ends its task. Returns `false` if it is
    /// unknown.
    pub(super) fn remove_local(&mut self, now: Instant, local: SocketAddr) -> bool {
        let Some(outlet) = self.outlet(local) else { return false };
        outlet.is_removed = true;
        let mut rest = self.outlets.values().filter(|outlet| !outlet.is_removed);
        let is_shared = rest.any(|outlet| outlet.local.ip() == local.ip());
        for handle in self.mailboxes.keys() {
            let Some(connection) = self.endpoint.connection_mut(*handle) else { continue };
            let there: Vec<_> = connection.subflows().filter(|(_, path)| path.local == local).collect();
            let is_used = !there.is_empty();
            if is_used && !is_shared && connection.is_multipath() {
                connection.lose_address(now, local.ip());
            }
            for (subflow, _) in there {
                connection.abandon_subflow(now, subflow);
            }
            if is_used {
                self.endpoint.wake(*handle);
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
    /// Queries the packet size of a connection's paths.
    fn measure(&mut self, handle: ConnectionHandle) {
        let Some(connection) = self.endpoint.connection(handle) else { return };
        let paths: Vec<Path> = connection.subflows().map(|(_, path)| path).collect();
        for path in paths {
            if let Some(outlet) = self.outlet(path.local)
                && !outlet.unmeasured.contains(&path.remote)
            {
                outlet.unmeasured.push(path.remote);
            }
        }
    }
    /// Sets the system's limit for datagrams on a path.
    pub(super) fn limit_datagrams(&mut self, now: Instant, path: Path, limit: usize) {
        for (handle, subflow) in self.endpoint.subflows_on(path) {
            let Some(connection) = self.endpoint.connection_mut(handle) else { continue };
            let now_at = connection.subflow(subflow).map(|it| it.snapshot().max_datagram);
            if now_at.is_some_and(|now_at| limit < now_at) {
                connection.set_max_datagram(now, subflow, limit);
                self.endpoint.wake(handle);
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
        for (handle, subflow) in self.endpoint.subflows_on(path) {
            let Some(connection) = self.endpoint.connection_mut(handle) else { continue };
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
            self.endpoint.wake(handle);
        }
    }
    /// The tasks have ended: notifies all sockets.
    pub(super) fn stop(&mut self) {
        self.is_stopped = true;
        self.mailboxes.values().for_each(|mailbox| mailbox.stop());
        self.outlets.values().for_each(|outlet| outlet.pending.notify_one());
    }
}
