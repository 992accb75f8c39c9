//! The protocol and the mailboxes of its connections, shared by the driver and the handles.

use std::collections::VecDeque;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use whimbrel_proto::endpoint::EndpointEvent;
use whimbrel_proto::repair::RepairCounts;
use whimbrel_proto::{
    Config, ConnectError, ConnectionHandle, ConnectionSnapshot, Datagram, DatagramId, Endpoint, Event,
    ListenError, PathMtuDiscovery, SendError,
};
use whimbrel_units::Instant;

use crate::carrier::{Carrier, PathError, Quoted};
use crate::clock::secret;
use crate::delivery::Delivery;
use crate::dtls::LayerEvent;
use crate::layers::Layers;
use crate::mailbox::Mailbox;
use crate::multipath::Attachment;
use crate::socket_buffers::{DropCounter, KernelDrops};
use crate::waiters::Wake;
use crate::{HostOptions, Setup};

/// The largest datagram for a path with an unknown smaller MTU, in bytes. Every path that carries
/// IPv6 carries packets of 1280 bytes (RFC 8200, Section 5): 40 of them IPv6's, 8 UDP's, 52 the
/// header and options that may go with a datagram.
pub(crate) const NARROW_PATH: usize = 1280 - 40 - 8 - 52;

/// Sets the parts of a configuration that are left to the driver, for unknown paths.
pub(crate) fn on_a_real_path(config: Config) -> Config {
    let path_mtu = match config.path_mtu {
        PathMtuDiscovery::Automatic => PathMtuDiscovery::FromLargest,
        chosen => chosen,
    };
    config.path_mtu(path_mtu)
}

/// The protocol and the mailboxes of its connections.
#[derive(Debug)]
pub(crate) struct State {
    pub(crate) endpoint: Endpoint,
    /// By handle.
    mailboxes: Vec<Option<Arc<Mailbox>>>,
    /// Mailboxes of connections that have not ended.
    open: usize,
    /// Accepted connections not yet taken by the application.
    unclaimed: VecDeque<(ConnectionHandle, Arc<Mailbox>)>,
    /// The ports that a listener serves, while it exists.
    listening: Option<Vec<u16>>,
    /// Listener and sockets that still exist.
    pub(crate) handles: usize,
    /// The driver has ended.
    pub(crate) stopped: bool,
    /// The driver has been woken.
    pub(crate) commanded: bool,
    /// Unread datagrams kept for each socket.
    inbox_limit: usize,
    /// This host's address.
    pub(crate) local: SocketAddr,
    /// The carrier to use from now on.
    pub(crate) next_carrier: Option<Carrier>,
    /// The path has changed: the system selects this host's source address anew.
    pub(crate) path_changed: bool,
    /// Connections on paths with a packet size not yet queried from the system, and their peers.
    pub(crate) unmeasured: Vec<(ConnectionHandle, SocketAddr)>,
    /// What the kernel dropped at this host's socket.
    pub(crate) kernel_drops: KernelDrops,
    layers: Layers,
    /// Multipath connections at the same address.
    pub(crate) multipath: Option<Arc<Attachment>>,
}

impl State {
    pub(crate) fn new(
        options: &HostOptions,
        is_alone: bool,
        local: SocketAddr,
        drops: Option<DropCounter>,
    ) -> io::Result<Self> {
        let config = options.endpoint.is_alone(is_alone && options.endpoint.is_alone);
        let mut endpoint = Endpoint::with_secret(config, secret()?);
        endpoint.set_mobility_secret(secret()?);
        Ok(Self {
            endpoint,
            mailboxes: Vec::new(),
            open: 0,
            unclaimed: VecDeque::new(),
            listening: None,
            handles: 0,
            stopped: false,
            commanded: false,
            inbox_limit: options.receive_queue,
            local,
            next_carrier: None,
            path_changed: false,
            unmeasured: Vec::new(),
            kernel_drops: KernelDrops::of(drops),
            layers: Layers::default(),
            multipath: None,
        })
    }

    /// Opens a connection.
    pub(crate) fn connect(
        &mut self,
        now: Instant,
        remote: SocketAddr,
        source_port: Option<u16>,
        port: u16,
        Setup { config, above }: Setup,
    ) -> Result<(ConnectionHandle, Arc<Mailbox>), ConnectError> {
        let handle = match source_port {
            Some(source_port) => {
                self.endpoint.connect_from(now, remote, source_port, port, on_a_real_path(config))?
            }
            None => self.endpoint.connect(now, remote, port, on_a_real_path(config))?,
        };
        self.layers.insert(handle.0, above);
        let mailbox = self.add_mailbox(handle, remote, false);
        mailbox.inbox().unread.claim();
        Ok((handle, mailbox))
    }

    /// `true` if connections are accepted.
    pub(crate) fn is_serving(&self) -> bool {
        self.listening.is_some()
    }

    /// Invites a client.
    pub(crate) fn invite(
        &mut self,
        now: Instant,
        remote: SocketAddr,
        port: u16,
        client_port: u16,
        Setup { config, above }: Setup,
    ) -> Result<(), ConnectError> {
        let handle = self.endpoint.invite(now, remote, port, client_port, on_a_real_path(config))?;
        self.layers.insert(handle.0, above);
        self.add_mailbox(handle, remote, true);
        Ok(())
    }

    /// Accepts connections to that port from now on.
    pub(crate) fn serve(&mut self, port: u16, Setup { config, above }: Setup) -> Result<(), ListenError> {
        let service_code = config.service_code;
        self.endpoint.listen(port, on_a_real_path(config))?;
        self.layers.serve(port, service_code, above);
        self.listening.get_or_insert_default().push(port);
        Ok(())
    }

    /// Stops accepting connections to that port. Returns `true` if it did accept them.
    pub(crate) fn stop_listening(&mut self, port: u16) -> bool {
        if let Some(listening) = &mut self.listening {
            listening.retain(|served| *served != port);
        }
        self.layers.stop_serving(port);
        self.endpoint.stop_listening(port)
    }

    /// Stops accepting connections: those not taken by the application are closed.
    pub(crate) fn stop_serving(&mut self, now: Instant) {
        for port in self.listening.take().unwrap_or_default() {
            self.stop_listening(port);
        }
        for (handle, _) in std::mem::take(&mut self.unclaimed) {
            self.close(now, handle);
        }
        // Connections with an incomplete handshake are not taken either.
        for index in 0..self.mailboxes.len() {
            let waits = self.mailboxes[index].as_ref().is_some_and(|mailbox| {
                let inbox = mailbox.inbox();
                mailbox.is_server && inbox.connected.is_none() && inbox.unread.closed().is_none()
            });
            if waits {
                self.endpoint.abort(now, ConnectionHandle(index));
            }
        }
    }

    /// The next accepted connection.
    pub(crate) fn claim(&mut self) -> Option<(ConnectionHandle, Arc<Mailbox>)> {
        let claimed = self.unclaimed.pop_front()?;
        claimed.1.inbox().unread.claim();
        Some(claimed)
    }

    /// `true` if the handle still names the mailbox's connection: handles are reused.
    pub(crate) fn is_current(&self, handle: ConnectionHandle, mailbox: &Arc<Mailbox>) -> bool {
        matches!(self.mailboxes.get(handle.0), Some(Some(known)) if Arc::ptr_eq(known, mailbox))
    }

    /// `true` if no handle and no connection is left.
    pub(crate) fn is_finished(&self) -> bool {
        self.handles == 0 && self.open == 0
    }

    fn add_mailbox(&mut self, handle: ConnectionHandle, remote: SocketAddr, is_server: bool) -> Arc<Mailbox> {
        let mailbox = Arc::new(Mailbox::new(remote, is_server, self.inbox_limit));
        if self.mailboxes.len() <= handle.0 {
            self.mailboxes.resize(handle.0 + 1, None);
        }
        self.mailboxes[handle.0] = Some(mailbox.clone());
        self.open += 1;
        self.unmeasured.push((handle, remote));
        mailbox
    }

    /// Queries the packet size of all connections' paths anew.
    pub(crate) fn measure_all(&mut self) {
        let mailboxes = self.mailboxes.iter().enumerate();
        let known = mailboxes.filter_map(|(index, mailbox)| Some((index, mailbox.as_ref()?.remote())));
        self.unmeasured = known.map(|(index, remote)| (ConnectionHandle(index), remote)).collect();
    }

    /// Sets the system's limit for datagrams to `remote`.
    pub(crate) fn limit_datagrams(
        &mut self,
        now: Instant,
        handle: ConnectionHandle,
        remote: SocketAddr,
        limit: usize,
    ) {
        let is_there = self.endpoint.remote(handle) == Some(remote);
        let Some(connection) = self.endpoint.connection_mut(handle).filter(|_| is_there) else { return };
        if limit < connection.snapshot().max_datagram {
            connection.set_max_datagram(now, limit);
            self.endpoint.wake(handle);
        }
    }

    /// Passes the protocol's events to the mailboxes and wakes the waiting tasks. Returns `true` if
    /// connections were accepted.
    pub(crate) fn deliver_events(&mut self, now: Instant) -> bool {
        let waited = self.unclaimed.len();
        let mut next = self.endpoint.poll_event();
        while let Some((handle, event)) = next {
            next = match event {
                EndpointEvent::Accepted { from: remote, port, service_code } => {
                    self.layers.insert(handle.0, self.layers.above(port, service_code));
                    self.add_mailbox(handle, remote, true);
                    self.endpoint.poll_event()
                }
                EndpointEvent::Connection(event) => self.deliver(now, handle, event),
                _ => self.endpoint.poll_event(),
            };
        }
        self.unclaimed.len() > waited
    }

    /// Delivers an event and all that follow it on the same connection; returns the first of another.
    fn deliver(
        &mut self,
        now: Instant,
        handle: ConnectionHandle,
        first: Event,
    ) -> Option<(ConnectionHandle, EndpointEvent)> {
        let Some(Some(mailbox)) = self.mailboxes.get(handle.0) else { return self.endpoint.poll_event() };
        let mailbox = mailbox.clone();
        let mut delivery = Delivery::default();
        let mut inbox = mailbox.inbox();
        let was_open = inbox.unread.closed().is_none();
        let (mut event, mut acted, mut begins) = (first, false, false);
        let has_layers = self.layers.has(handle.0);
        let mut passed = VecDeque::new();
        let other = loop {
            begins |= matches!(event, Event::Connected { .. })
                && mailbox.is_server
                && self.layers.security(handle.0).is_some();
            if has_layers {
                let connection = self.endpoint.connection_mut(handle);
                acted |= self.layers.filter(now, handle.0, connection, event, &mut passed);
                passed.drain(..).for_each(|event| delivery.push(event, &mailbox, &mut inbox, now));
            } else {
                delivery.push(LayerEvent::Event(event), &mailbox, &mut inbox, now);
            }
            match self.endpoint.poll_event() {
                Some((same, EndpointEvent::Connection(next))) if same == handle => event = next,
                other => break other,
            }
        };
        self.open -= usize::from(was_open && inbox.unread.closed().is_some());
        if inbox.unread.has_report()
            && let Some(connection) = self.endpoint.connection_mut(handle)
        {
            inbox.unread.report_to(connection);
        }
        drop(inbox);
        if acted {
            self.endpoint.wake(handle);
        }
        self.finish(handle, &mailbox, &delivery);
        if begins {
            self.begin_handshake(now, handle, &mailbox);
        }
        other
    }

    /// Wakes the tasks that wait for what was delivered.
    fn finish(&mut self, handle: ConnectionHandle, mailbox: &Arc<Mailbox>, delivery: &Delivery) {
        mailbox.waiters.wake(delivery.wake);
        if delivery.is_connected && mailbox.is_server && self.listening.is_some() {
            self.unclaimed.push_back((handle, mailbox.clone()));
        }
        if delivery.is_drained {
            // The handle will name another connection; owners of the mailbox may still read it.
            self.mailboxes[handle.0] = None;
            self.layers.remove(handle.0);
        }
    }

    /// `true` if a connection waits for its first answer.
    pub(crate) fn is_requesting(&self) -> bool {
        let handles = self.mailboxes.iter().enumerate().filter(|(_, mailbox)| mailbox.is_some());
        let mut connections =
            handles.filter_map(|(index, _)| self.endpoint.connection(ConnectionHandle(index)));
        connections.any(|connection| connection.state() == whimbrel_proto::State::Request)
    }

    /// The system reported that a packet to `remote` was not sent or not delivered.
    pub(crate) fn handle_path_error(&mut self, now: Instant, remote: SocketAddr, path_error: PathError) {
        for (index, mailbox) in self.mailboxes.iter().enumerate() {
            let handle = ConnectionHandle(index);
            if mailbox.as_ref().is_some_and(|mailbox| mailbox.remote() == remote)
                && let Some(connection) = self.endpoint.connection_mut(handle)
            {
                match path_error {
                    PathError::Unreachable => connection.handle_unreachable(now),
                    PathError::TooLarge(Some(limit)) => {
                        let snapshot = connection.snapshot();
                        if limit < snapshot.max_datagram || snapshot.path_mtu.is_some() {
                            connection.set_max_datagram(now, limit);
                        } else {
                            // The kernel's path MTU was not the reason of the refusal.
                            connection.handle_too_large(now, NARROW_PATH);
                        }
                    }
                    PathError::TooLarge(None) => connection.handle_too_large(now, NARROW_PATH),
                }
                self.endpoint.wake(handle);
            }
        }
    }

    /// An ICMP message reported that one packet to `remote` was not delivered.
    pub(crate) fn handle_report(
        &mut self,
        now: Instant,
        remote: SocketAddr,
        quoted: Quoted,
        path_error: PathError,
    ) {
        let found = self.endpoint.find(remote, quoted.source_port, quoted.destination_port);
        let Some(handle) = found else { return };
        let Some(connection) = self.endpoint.connection_mut(handle) else { return };
        // RFC 4340, Section 14.1: an attacker off the path does not know the numbers of recent packets.
        let is_ours = quoted.sequence.map(|sequence| connection.has_sent(sequence));
        match path_error {
            PathError::Unreachable if is_ours != Some(false) => connection.handle_unreachable(now),
            // Lowering the packet size is permanent, so a message without a sequence number must not do it.
            PathError::TooLarge(limit) if is_ours == Some(true) => {
                // A larger limit is invalid (RFC 1191, Section 3), unless the path MTU is being probed.
                let snapshot = connection.snapshot();
                match limit {
                    Some(limit) if limit < snapshot.max_datagram || snapshot.path_mtu.is_some() => {
                        connection.set_max_datagram(now, limit);
                    }
                    Some(_) => {}
                    None => connection.handle_too_large(now, NARROW_PATH),
                }
            }
            _ => return,
        }
        self.endpoint.wake(handle);
    }

    /// Queues a datagram.
    pub(crate) fn send(
        &mut self,
        now: Instant,
        handle: ConnectionHandle,
        datagram: Datagram,
    ) -> Result<DatagramId, SendError> {
        let connection = self.endpoint.connection_mut(handle).ok_or(SendError::Closed)?;
        let sent = self.layers.send(now, handle.0, connection, datagram);
        self.endpoint.wake(handle);
        sent
    }

    /// Makes room for a datagram of that size, or returns the reason for refusing it.
    pub(crate) fn make_room(
        &mut self,
        now: Instant,
        handle: ConnectionHandle,
        size: usize,
    ) -> Result<(), SendError> {
        let connection = self.endpoint.connection_mut(handle).ok_or(SendError::Closed)?;
        self.layers.make_room(now, handle.0, connection, size)
    }

    /// Closes a connection.
    pub(crate) fn close(&mut self, now: Instant, handle: ConnectionHandle) {
        if let Some(connection) = self.endpoint.connection_mut(handle) {
            self.layers.close(now, handle.0, connection);
        }
        self.endpoint.close(now, handle);
    }

    /// A snapshot of a connection, as its application sees it.
    pub(crate) fn snapshot(&self, handle: ConnectionHandle) -> Option<ConnectionSnapshot> {
        let snapshot = self.endpoint.connection(handle)?.snapshot();
        let mut seen = match self.layers.security(handle.0) {
            Some(layer) => layer.seen(snapshot),
            None => snapshot,
        };
        seen.max_datagram = self.layers.room(handle.0, seen.max_datagram);
        Some(seen)
    }

    /// Returns memory that the handshake of a connection, or its traffic, has left behind.
    pub(crate) fn shrink_to_fit(&mut self, handle: ConnectionHandle) {
        if let Some(connection) = self.endpoint.connection_mut(handle) {
            connection.shrink_to_fit();
        }
        self.layers.shrink_to_fit(handle.0);
        if let Some(Some(mailbox)) = self.mailboxes.get(handle.0) {
            mailbox.inbox().unread.shrink_to_fit();
        }
    }

    /// What repair did on a connection.
    pub(crate) fn repair(&self, handle: ConnectionHandle) -> Option<RepairCounts> {
        self.layers.repair(handle.0)
    }

    /// The layer that secures a connection.
    pub(crate) fn layer(&self, handle: ConnectionHandle) -> Option<&crate::dtls::Layer> {
        self.layers.security(handle.0)
    }

    /// A client has begun the handshake of DTLS: another such handshake may have to end for it.
    fn begin_handshake(&mut self, now: Instant, handle: ConnectionHandle, mailbox: &Arc<Mailbox>) {
        let mailboxes = &self.mailboxes;
        let is_current = |number: usize, mailbox: &Arc<Mailbox>| matches!(mailboxes.get(number), Some(Some(known)) if Arc::ptr_eq(known, mailbox));
        if let Some(old) = self.layers.begin_handshake(handle.0, mailbox, mailbox.remote().ip(), is_current) {
            self.use_layers(ConnectionHandle(old), now, |layers, connection| {
                layers.evict(now, old, connection)
            });
        }
    }

    /// Latest time of the next call to [`State::handle_timeouts`], or of polling the endpoint.
    pub(crate) fn poll_timeout(&self) -> Option<Instant> {
        self.endpoint.poll_timeout().into_iter().chain(self.layers.poll_timeout()).min()
    }

    /// Runs the timers of security layers that are due.
    pub(crate) fn handle_timeouts(&mut self, now: Instant) {
        // Each at most once: what is due again at once waits for the next round.
        let due: Vec<_> = self.layers.due(now);
        for number in due {
            self.use_layers(ConnectionHandle(number), now, |layers, connection| {
                layers.handle_timeout(now, number, connection)
            });
        }
    }

    /// Uses the layers of a connection, and delivers the events for its application.
    fn use_layers(
        &mut self,
        handle: ConnectionHandle,
        now: Instant,
        use_it: impl FnOnce(&mut Layers, &mut whimbrel_proto::Connection) -> VecDeque<LayerEvent>,
    ) {
        let Some(Some(mailbox)) = self.mailboxes.get(handle.0) else { return };
        let mailbox = mailbox.clone();
        let Some(connection) = self.endpoint.connection_mut(handle) else {
            self.layers.remove(handle.0);
            return;
        };
        let events = use_it(&mut self.layers, connection);
        self.endpoint.wake(handle);
        let mut delivery = Delivery::default();
        let mut inbox = mailbox.inbox();
        for event in events {
            delivery.push(event, &mailbox, &mut inbox, now);
        }
        drop(inbox);
        self.finish(handle, &mailbox, &delivery);
    }

    /// The driver has ended: notifies all sockets and the listener.
    pub(crate) fn stop(&mut self) {
        self.stopped = true;
        self.multipath = None;
        for mailbox in self.mailboxes.iter().flatten() {
            mailbox.inbox().unread.stop();
            mailbox.waiters.wake(Wake::ALL);
        }
    }
}

#[cfg(test)]
mod tests;
