//! The protocol, the layers and the mailboxes of connections, over one path each or over several.

use std::collections::VecDeque;
use std::sync::Arc;

use whimbrel_proto::endpoint::{EndpointEvent, Held};
use whimbrel_proto::repair::RepairCounts;
use whimbrel_proto::{Connection, ConnectionHandle, Datagram, DatagramId, Endpoint, SendError};
use whimbrel_units::Instant;
use whimbrel_wire::ServiceCode;

use crate::delivery::Delivery;
use crate::dtls::{Layer, LayerEvent};
use crate::kind::Kind;
use crate::layers::{Above, Layers};
use crate::mailbox::Mailbox;
use crate::waiters::Wake;

#[cfg(test)]
mod tests;

/// The most connections that wait for the application, unless more are open: of those that have ended, the oldest is dropped.
const MAX_WAITING: usize = 1024;

/// An event of an endpoint, with its connection.
type EventOf<C> = (ConnectionHandle, EndpointEvent<<C as Held>::Address, <C as Held>::Event>);

/// The protocol and the mailboxes of its connections.
#[derive(Debug)]
pub(crate) struct Connections<C: Kind = Connection> {
    pub(crate) endpoint: Endpoint<C>,
    layers: Layers<C, Mailbox<C>>,
    /// By handle.
    mailboxes: Vec<Option<Arc<Mailbox<C>>>>,
    /// Mailboxes of connections that have not ended.
    open: usize,
    /// Accepted connections not yet taken by the application.
    unclaimed: VecDeque<(ConnectionHandle, Arc<Mailbox<C>>)>,
    /// The ports that are served, while there is somebody to accept connections.
    listening: Option<Vec<u16>>,
    /// Unread datagrams kept for each socket.
    inbox_limit: usize,
    /// Connections on paths with a packet size not yet queried from the system, and their addresses.
    pub(crate) unmeasured: Vec<(ConnectionHandle, C::Address)>,
}

impl<C: Kind> Connections<C> {
    pub(crate) fn new(endpoint: Endpoint<C>, inbox_limit: usize) -> Self {
        Self {
            endpoint,
            layers: Layers::default(),
            mailboxes: Vec::new(),
            open: 0,
            unclaimed: VecDeque::new(),
            listening: None,
            inbox_limit,
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
    ) -> Arc<Mailbox<C>> {
        self.layers.insert(handle.0, above);
        let mailbox = Arc::new(Mailbox::new(C::peer(address), is_server, self.inbox_limit));
        if self.mailboxes.len() <= handle.0 {
            self.mailboxes.resize(handle.0 + 1, None);
        }
        self.mailboxes[handle.0] = Some(mailbox.clone());
        self.open += 1;
        if C::MEASURES_AT_ONCE {
            self.unmeasured.push((handle, address));
        }
        mailbox
    }
    /// As [`Connections::add`], for a client.
    pub(crate) fn add_client(
        &mut self,
        handle: ConnectionHandle,
        address: C::Address,
        above: Above,
    ) -> Arc<Mailbox<C>> {
        let mailbox = self.add(handle, address, false, above);
        mailbox.inbox().unread.claim();
        mailbox
    }
    /// The mailboxes, by handle.
    pub(crate) fn mailboxes(&self) -> impl Iterator<Item = (ConnectionHandle, &Arc<Mailbox<C>>)> {
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
        let waits = |mailbox: &Mailbox<C>| {
            let inbox = mailbox.inbox();
            mailbox.is_server && inbox.opened.is_none() && inbox.unread.closed().is_none()
        };
        let waiting: Vec<_> =
            self.mailboxes().filter(|(_, mailbox)| waits(mailbox)).map(|(handle, _)| handle).collect();
        for handle in waiting {
            self.command(handle, |connection| connection.cut(now));
        }
    }
    /// The next accepted connection.
    pub(crate) fn claim(&mut self) -> Option<(ConnectionHandle, Arc<Mailbox<C>>)> {
        let claimed = self.unclaimed.pop_front()?;
        claimed.1.inbox().unread.claim();
        Some(claimed)
    }
    /// `true` if the handle still names the mailbox's connection: handles are reused.
    pub(crate) fn is_current(&self, handle: ConnectionHandle, mailbox: &Arc<Mailbox<C>>) -> bool {
        is_current(&self.mailboxes, handle.0, mailbox)
    }
    /// `true` if all connections have ended.
    pub(crate) fn have_ended(&self) -> bool {
        self.open == 0
    }

    /// Passes the protocol's events to the mailboxes and wakes the waiting tasks. Returns `true` if connections were
    /// accepted; `None` if there was no event.
    pub(crate) fn deliver_events(&mut self, now: Instant) -> Option<bool> {
        let waited = self.unclaimed.len();
        let mut next = Some(self.endpoint.poll_event()?);
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
        Some(self.unclaimed.len() > waited)
    }
    /// Delivers an event and all that follow it on the same connection; returns the first of another.
    fn deliver(&mut self, now: Instant, handle: ConnectionHandle, first: C::Events) -> Option<EventOf<C>> {
        let Some(Some(mailbox)) = self.mailboxes.get(handle.0) else { return self.endpoint.poll_event() };
        let mailbox = mailbox.clone();
        let mut delivery = Delivery::default();
        let mut inbox = mailbox.inbox();
        let was_open = inbox.unread.closed().is_none();
        let (mut event, mut acted, mut begins) = (first, false, false);
        let has_layers = self.layers.has(handle.0);
        let is_secured = self.layers.security(handle.0).is_some();
        let mut passed = VecDeque::new();
        let other = loop {
            begins |= is_secured && mailbox.is_server && C::is_opening(&event);
            if let Some(connection) = self.endpoint.connection(handle) {
                connection.new_paths(&event, |address| self.unmeasured.push((handle, address)));
            }
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
            acted = true;
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
    fn finish(&mut self, handle: ConnectionHandle, mailbox: &Arc<Mailbox<C>>, delivery: &Delivery) {
        mailbox.waiters.wake(delivery.wake);
        if delivery.is_open && mailbox.is_server && self.listening.is_some() {
            let has_ended = |mailbox: &Mailbox<C>| mailbox.inbox().unread.closed().is_some();
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
        let Some(connection) = self.endpoint.connection_mut(handle) else { return };
        self.layers.close(now, handle.0, connection);
        connection.begin_close(now);
        self.endpoint.wake(handle);
    }
    /// A snapshot of a connection, as its application sees it.
    pub(crate) fn snapshot(&self, handle: ConnectionHandle) -> Option<C::Snapshot> {
        let mut seen = self.endpoint.connection(handle)?.seen(self.layers.security(handle.0));
        let max_datagram = C::max_datagram_of(&mut seen);
        *max_datagram = self.layers.room(handle.0, *max_datagram);
        Some(seen)
    }
    /// What repair did on a connection.
    pub(crate) fn repair(&self, handle: ConnectionHandle) -> Option<RepairCounts> {
        self.layers.repair(handle.0)
    }
    /// The layer that secures a connection.
    pub(crate) fn layer(&self, handle: ConnectionHandle) -> Option<&Layer<C>> {
        self.layers.security(handle.0)
    }
    /// Returns memory that the handshake of a connection, or its traffic, has left behind, other than in the connection.
    pub(crate) fn shrink_to_fit(&mut self, handle: ConnectionHandle) {
        self.layers.shrink_to_fit(handle.0);
        if let Some(Some(mailbox)) = self.mailboxes.get(handle.0) {
            mailbox.inbox().unread.shrink_to_fit();
        }
    }

    /// A client has begun the handshake of DTLS: another such handshake may have to end for it.
    fn begin_handshake(&mut self, now: Instant, handle: ConnectionHandle, mailbox: &Arc<Mailbox<C>>) {
        let source = mailbox.remote().ip();
        let mailboxes = &self.mailboxes;
        let is_current = |number, mailbox: &Arc<Mailbox<C>>| is_current(mailboxes, number, mailbox);
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
        use_it: impl FnOnce(&mut Layers<C, Mailbox<C>>, &mut C) -> VecDeque<LayerEvent<C::Events>>,
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
    /// The driver has ended: notifies all sockets.
    pub(crate) fn stop(&mut self) {
        for mailbox in self.mailboxes.iter().flatten() {
            mailbox.inbox().unread.stop();
            mailbox.waiters.wake(Wake::ALL);
        }
    }
}

fn is_current<C: Kind>(
    mailboxes: &[Option<Arc<Mailbox<C>>>],
    number: usize,
    mailbox: &Arc<Mailbox<C>>,
) -> bool {
    matches!(mailboxes.get(number), Some(Some(known)) if Arc::ptr_eq(known, mailbox))
}
