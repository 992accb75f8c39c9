//! The protocol, the layers and the mailboxes of connections, over one path each or over several.

use std::collections::VecDeque;
use std::sync::Arc;

use whimbrel_proto::endpoint::{Address, EndpointEvent, Held};
use whimbrel_proto::layer::Step;
use whimbrel_proto::repair::RepairCounts;
use whimbrel_proto::{
    Connection, ConnectionHandle, ConnectionSnapshot, Datagram, DatagramId, Endpoint, SendError,
};
use whimbrel_units::Instant;
use whimbrel_wire::ServiceCode;
use whimbrel_wire::option::data_dropped::DropCode;

use crate::Received;
use crate::carrier::{PathError, Quoted};
use crate::delivery::Delivery;
use crate::dtls::{Fingerprint, Layer, LayerEvent};
use crate::kind::Kind;
use crate::layers::{Above, Layers};
use crate::mailbox::Mailbox;
use crate::multipath::SubflowId;
use crate::unread::Unread;
use crate::waiters::Wake;

#[cfg(test)]
mod tests;

/// The most connections that wait for the application, unless more are open: of those that have ended, the
/// oldest is dropped.
const MAX_WAITING: usize = 1024;

/// An event of an endpoint, with its connection.
type EventOf<C> = (ConnectionHandle, EndpointEvent<<C as Held>::Address, <C as Held>::Event>);

/// The largest datagram for a path with an unknown smaller MTU, in bytes. Every path that carries
/// IPv6 carries packets of 1280 bytes (RFC 8200, Section 5): 40 of them IPv6's, 8 UDP's, 52 the
/// header and options that may go with a datagram.
pub(crate) const NARROW_PATH: usize = 1280 - 40 - 8 - 52;

/// The protocol and the mailboxes of its connections.
#[derive(Debug)]
pub(crate) struct Connections<C: Kind = Connection> {
    pub(crate) endpoint: Endpoint<C>,
    layers: Layers<C, Mailbox>,
    /// By handle.
    mailboxes: Vec<Option<Arc<Mailbox>>>,
    /// Accepted connections not yet taken by the application.
    unclaimed: VecDeque<(ConnectionHandle, Arc<Mailbox>)>,
    /// The ports that are served, while there is somebody to accept connections.
    listening: Option<Vec<u16>>,
    /// Unread datagrams kept for each socket.
    inbox_limit: usize,
    /// Delivering events has given connections commands.
    has_acted: bool,
    /// Connections on paths with a packet size not yet queried from the system, and their addresses.
    pub(crate) unmeasured: Vec<(ConnectionHandle, C::Address)>,
}

impl<C: Kind> Connections<C> {
    pub(crate) fn new(endpoint: Endpoint<C>, inbox_limit: usize) -> Self {
        Self {
            endpoint,
            layers: Layers::default(),
            mailboxes: Vec::new(),
            unclaimed: VecDeque::new(),
            listening: None,
            inbox_limit,
            has_acted: false,
            unmeasured: Vec::new(),
        }
    }
    /// Adds the layer and the mailbox of a connection to or from that address.
    pub(crate) fn add(
        &mut self,
        handle: ConnectionHandle,
        address: C::Address,
        is_server: bool,
        above: Above,
    ) -> Arc<Mailbox> {
        self.layers.insert(handle.0, above);
        let mailbox = Arc::new(Mailbox::new(address.remote(), is_server, self.inbox_limit));
        if self.mailboxes.len() <= handle.0 {
            self.mailboxes.resize(handle.0 + 1, None);
        }
        self.mailboxes[handle.0] = Some(mailbox.clone());
        if C::MEASURES_AT_ONCE {
            self.unmeasured.push((handle, address));
        }
        mailbox
    }
    /// Like [`Connections::add`], for a client.
    pub(crate) fn add_client(
        &mut self,
        handle: ConnectionHandle,
        address: C::Address,
        above: Above,
    ) -> Arc<Mailbox> {
        let mailbox = self.add(handle, address, false, above);
        mailbox.inbox().unread.claim();
        mailbox
    }
    /// The mailboxes, by handle.
    pub(crate) fn mailboxes(&self) -> impl Iterator<Item = (ConnectionHandle, &Arc<Mailbox>)> {
        let mailboxes = self.mailboxes.iter().enumerate();
        mailboxes.filter_map(|(index, mailbox)| Some((ConnectionHandle(index), mailbox.as_ref()?)))
    }

    /// The endpoint accepts connections to that port from now on.
    pub(crate) fn serve(&mut self, port: u16, service_code: ServiceCode, above: Above) {
        self.layers.serve(port, service_code, above);
        self.listening.get_or_insert_default().push(port);
    }
    /// `true` if connections are accepted.
    pub(crate) fn is_serving(&self) -> bool {
        self.listening.is_some()
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
        let waits = |mailbox: &Mailbox| {
            let inbox = mailbox.inbox();
            mailbox.is_server && !inbox.is_open && inbox.unread.closed().is_none()
        };
        let waiting: Vec<_> =
            self.mailboxes().filter(|(_, mailbox)| waits(mailbox)).map(|(handle, _)| handle).collect();
        for handle in waiting {
            self.command(handle, |connection| connection.abort(now));
        }
    }
    /// The next accepted connection.
    pub(crate) fn claim(&mut self) -> Option<(ConnectionHandle, Arc<Mailbox>)> {
        let claimed = self.unclaimed.pop_front()?;
        claimed.1.inbox().unread.claim();
        Some(claimed)
    }
    /// `true` if the delivery of events has given connections commands since the last call.
    pub(crate) fn take_acted(&mut self) -> bool {
        std::mem::take(&mut self.has_acted)
    }
    /// `true` if nothing but TIMEWAIT is left of any connection.
    pub(crate) fn have_ended(&self) -> bool {
        self.endpoint.len() == self.endpoint.snapshot().time_wait
    }

    /// Passes the protocol's events to the mailboxes and wakes the waiting tasks. Returns `true` if
    /// connections were accepted.
    pub(crate) fn deliver_events(&mut self, now: Instant) -> bool {
        let waited = self.unclaimed.len();
        let mut next = self.endpoint.poll_event();
        while let Some((handle, event)) = next {
            next = match event {
                EndpointEvent::Accepted { from, port, service_code } => {
                    self.add(handle, from, true, self.layers.above(port, service_code));
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
        first: <C as Held>::Event,
    ) -> Option<EventOf<C>> {
        let Some(Some(mailbox)) = self.mailboxes.get(handle.0) else { return self.endpoint.poll_event() };
        let mailbox = mailbox.clone();
        let mut delivery = Delivery::default();
        let mut inbox = mailbox.inbox();
        let (mut event, mut acted, mut begins) = (first, false, false);
        let has_layers = self.layers.has(handle.0);
        let is_secured = self.layers.security(handle.0).is_some();
        let mut passed = VecDeque::new();
        let other = loop {
            begins |= is_secured && mailbox.is_server && matches!(C::step(&mut event), Step::Opened);
            if let Some(connection) = self.endpoint.connection(handle) {
                connection.new_paths(&event, |address| self.unmeasured.push((handle, address)));
            }
            if has_layers {
                let connection = self.endpoint.connection_mut(handle);
                acted |= self.layers.filter(now, handle.0, connection, event, &mut passed);
                for event in passed.drain(..) {
                    delivery.push(event, (&self.endpoint, handle), (&mailbox, &mut inbox), now);
                }
            } else {
                let event = LayerEvent::Event(event);
                delivery.push(event, (&self.endpoint, handle), (&mailbox, &mut inbox), now);
            }
            match self.endpoint.poll_event() {
                Some((same, EndpointEvent::Connection(next))) if same == handle => event = next,
                other => break other,
            }
        };
        if inbox.unread.has_report()
            && let Some(connection) = self.endpoint.connection_mut(handle)
        {
            inbox.unread.report_to(connection);
            acted = true;
        }
        drop(inbox);
        if acted {
            self.endpoint.wake(handle);
            self.has_acted = true;
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
        if delivery.is_open && mailbox.is_server && self.listening.is_some() {
            let has_ended = |mailbox: &Mailbox| mailbox.inbox().unread.closed().is_some();
            if self.unclaimed.len() >= MAX_WAITING
                && let Some(oldest) = self.unclaimed.iter().position(|(_, mailbox)| has_ended(mailbox))
            {
                self.unclaimed.remove(oldest);
            }
            self.unclaimed.push_back((handle, mailbox.clone()));
        }
        if delivery.is_drained {
            // The handle will name another connection; owners of the mailbox may still read it.
            self.mailboxes[handle.0] = None;
            self.layers.remove(handle.0);
        }
    }

    /// Gives a connection a command, if it exists.
    pub(crate) fn command<T>(
        &mut self,
        handle: ConnectionHandle,
        command: impl FnOnce(&mut C) -> T,
    ) -> Option<T> {
        let result = command(self.endpoint.connection_mut(handle)?);
        self.endpoint.wake(handle);
        Some(result)
    }
    /// All subflows on a path, and their connections.
    pub(crate) fn on_path(&self, path: C::Address) -> Vec<(ConnectionHandle, SubflowId)> {
        let of = |handle| C::on_path_of(&self.endpoint, handle, path).into_iter().map(move |id| (handle, id));
        self.mailboxes().flat_map(|(handle, _)| of(handle)).collect()
    }
    /// Sets the system's limit for datagrams of a connection on a path.
    pub(crate) fn limit_datagrams(
        &mut self,
        now: Instant,
        handle: ConnectionHandle,
        path: C::Address,
        limit: usize,
    ) {
        for subflow in C::on_path_of(&self.endpoint, handle, path) {
            let Some(connection) = self.endpoint.connection_mut(handle) else { return };
            let present = connection.subflow(subflow).map(|it| it.snapshot().max_datagram);
            if present.is_some_and(|present| limit < present) {
                connection.report(now, subflow, |it| it.set_max_datagram(now, limit));
                self.endpoint.wake(handle);
            }
        }
    }
    /// The system reported that packets on a path were not sent or not delivered. `quoted`: a packet that an
    /// ICMP message names.
    pub(crate) fn handle_path_error(
        &mut self,
        now: Instant,
        path: C::Address,
        quoted: Option<Quoted>,
        path_error: PathError,
    ) {
        let on_path = || self.on_path(path);
        let concerned = match quoted {
            Some(quoted) => C::senders_of(&self.endpoint, quoted, path, on_path),
            None => on_path(),
        };
        for (handle, subflow) in concerned {
            let Some(connection) = self.endpoint.connection_mut(handle) else { continue };
            connection.report(now, subflow, |it| report(it, now, quoted, path_error));
            self.endpoint.wake(handle);
        }
    }

    /// A client has begun the handshake of DTLS: another such handshake may have to end for it.
    fn begin_handshake(&mut self, now: Instant, handle: ConnectionHandle, mailbox: &Arc<Mailbox>) {
        let source = mailbox.remote().ip();
        let mailboxes = &self.mailboxes;
        let is_current = |number, mailbox: &Arc<Mailbox>| is_current(mailboxes, number, mailbox);
        if let Some(old) = self.layers.begin_handshake(handle.0, mailbox, source, is_current) {
            self.use_layers(now, ConnectionHandle(old), |layers, connection| {
                layers.evict(now, old, connection)
            });
        }
    }
    /// Latest time of the next call to [`Connections::handle_timeouts`], or of polling the endpoint.
    pub(crate) fn poll_timeout(&self) -> Option<Instant> {
        self.endpoint.poll_timeout().into_iter().chain(self.layers.poll_timeout()).min()
    }
    /// Runs the timers of security layers that are due.
    pub(crate) fn handle_timeouts(&mut self, now: Instant) {
        // Each at most once: what is due again at once waits for the next round.
        for number in self.layers.due(now) {
            self.use_layers(now, ConnectionHandle(number), |layers, connection| {
                layers.handle_timeout(now, number, connection)
            });
        }
    }
    /// Uses the layers of a connection, and delivers the events for its application.
    fn use_layers(
        &mut self,
        now: Instant,
        handle: ConnectionHandle,
        use_it: impl FnOnce(&mut Layers<C, Mailbox>, &mut C) -> VecDeque<LayerEvent<<C as Held>::Event>>,
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
            delivery.push(event, (&self.endpoint, handle), (&mailbox, &mut inbox), now);
        }
        drop(inbox);
        self.finish(handle, &mailbox, &delivery);
    }
    /// The driver has ended: notifies all sockets.
    pub(crate) fn stop(&mut self) {
        for mailbox in self.mailboxes.iter().flatten() {
            mailbox.inbox().unread.stop();
            mailbox.waiters.wake(Wake::ALL);
        }
    }
}

/// Reports an error of its path to a connection.
fn report(connection: &mut Connection, now: Instant, quoted: Option<Quoted>, path_error: PathError) {
    let snapshot = connection.snapshot();
    match path_error {
        PathError::Unreachable => connection.handle_unreachable(now),
        // RFC 4340, Section 14.1: an attacker off the path does not know the numbers of recent packets.
        // Lowering the packet size is permanent, so a message without a sequence number must not do it.
        PathError::TooLarge(_) if quoted.is_some_and(|quoted| quoted.sequence.is_none()) => {}
        PathError::TooLarge(Some(limit)) if limit < snapshot.max_datagram || snapshot.path_mtu.is_some() => {
            connection.set_max_datagram(now, limit);
        }
        // A router's larger limit is invalid (RFC 1191, Section 3), unless the path MTU is being probed.
        PathError::TooLarge(Some(_)) if quoted.is_some() => {}
        // The kernel's path MTU, if known, was not the reason of the refusal.
        PathError::TooLarge(_) => connection.handle_too_large(now, NARROW_PATH),
    }
}

/// The connections of a kind, for sockets, which do not depend on it. The connection of a handle exists
/// ([`AnyKind::is_current`]).
pub(crate) trait AnyKind {
    /// `true` if the handle still names the mailbox's connection: handles are reused.
    fn is_current(&self, handle: ConnectionHandle, mailbox: &Arc<Mailbox>) -> bool;
    /// Queues a datagram.
    fn send(
        &mut self,
        now: Instant,
        handle: ConnectionHandle,
        datagram: Datagram,
    ) -> Result<DatagramId, SendError>;
    /// Makes room for a datagram of that size, or returns the reason for refusing it.
    fn make_room(&mut self, now: Instant, handle: ConnectionHandle, size: usize) -> Result<(), SendError>;
    /// Closes a connection.
    fn close(&mut self, now: Instant, handle: ConnectionHandle);
    /// Ends a connection at once.
    fn abort(&mut self, now: Instant, handle: ConnectionHandle);
    /// A snapshot of a connection, as its application sees it.
    fn snapshot(&self, handle: ConnectionHandle) -> Option<ConnectionSnapshot>;
    /// Repair counters of a connection.
    fn repair(&self, handle: ConnectionHandle) -> Option<RepairCounts>;
    /// The peer's fingerprint.
    fn peer(&self, handle: ConnectionHandle) -> Option<Fingerprint>;
    /// Number of datagrams that were not authentic.
    fn forgeries(&self, handle: ConnectionHandle) -> u64;
    /// Reports to the peer what is new about its unread datagrams.
    fn report(&mut self, handle: ConnectionHandle, unread: &mut Unread);
    /// Reports that the application has discarded a datagram. Returns `true` if the peer will be notified.
    fn discarded(&mut self, handle: ConnectionHandle, received: &Received, code: DropCode) -> bool;
    /// The application receives no more datagrams.
    fn stop_receiving(&mut self, now: Instant, handle: ConnectionHandle);
    /// Returns memory that the handshake of a connection, or its traffic, has left behind.
    fn shrink_to_fit(&mut self, handle: ConnectionHandle);
}

impl<C: Kind> AnyKind for Connections<C> {
    fn is_current(&self, handle: ConnectionHandle, mailbox: &Arc<Mailbox>) -> bool {
        is_current(&self.mailboxes, handle.0, mailbox)
    }
    fn send(
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
    fn make_room(&mut self, now: Instant, handle: ConnectionHandle, size: usize) -> Result<(), SendError> {
        let connection = self.endpoint.connection_mut(handle).ok_or(SendError::Closed)?;
        self.layers.make_room(now, handle.0, connection, size)
    }
    fn close(&mut self, now: Instant, handle: ConnectionHandle) {
        let Some(connection) = self.endpoint.connection_mut(handle) else { return };
        self.layers.close(now, handle.0, connection);
        connection.begin_close(now);
        self.endpoint.wake(handle);
    }
    fn abort(&mut self, now: Instant, handle: ConnectionHandle) {
        self.command(handle, |connection| connection.abort(now));
    }
    fn snapshot(&self, handle: ConnectionHandle) -> Option<ConnectionSnapshot> {
        let mut seen = self.endpoint.connection(handle)?.seen(self.layers.security(handle.0))?;
        seen.max_datagram = self.layers.room(handle.0, seen.max_datagram);
        Some(seen)
    }
    fn repair(&self, handle: ConnectionHandle) -> Option<RepairCounts> {
        self.layers.repair(handle.0)
    }
    fn peer(&self, handle: ConnectionHandle) -> Option<Fingerprint> {
        self.layers.security(handle.0)?.peer()
    }
    fn forgeries(&self, handle: ConnectionHandle) -> u64 {
        self.layers.security(handle.0).map_or(0, Layer::ignored)
    }
    fn report(&mut self, handle: ConnectionHandle, unread: &mut Unread) {
        self.command(handle, |connection| unread.report_to(connection));
    }
    fn discarded(&mut self, handle: ConnectionHandle, received: &Received, code: DropCode) -> bool {
        let packet = (received.subflow, received.packet);
        self.command(handle, |connection| connection.report_discarded(packet, code)).unwrap_or(false)
    }
    fn stop_receiving(&mut self, now: Instant, handle: ConnectionHandle) {
        self.command(handle, |connection| connection.end_receiving(now));
    }
    fn shrink_to_fit(&mut self, handle: ConnectionHandle) {
        if let Some(connection) = self.endpoint.connection_mut(handle) {
            connection.release_memory();
        }
        self.layers.shrink_to_fit(handle.0);
        if let Some(Some(mailbox)) = self.mailboxes.get(handle.0) {
            mailbox.inbox().unread.shrink_to_fit();
        }
    }
}

fn is_current(mailboxes: &[Option<Arc<Mailbox>>], number: usize, mailbox: &Arc<Mailbox>) -> bool {
    matches!(mailboxes.get(number), Some(Some(known)) if Arc::ptr_eq(known, mailbox))
}
