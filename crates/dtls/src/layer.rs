//! DTLS between a DCCP connection and its application.

use std::collections::VecDeque;

use bytes::Bytes;
use whimbrel_proto::layer::{Step, Transport};
use whimbrel_proto::multipath::{MultipathConnection, MultipathSnapshot};
use whimbrel_proto::{
    Connection, ConnectionError, ConnectionSnapshot, Datagram, DatagramId, Event, Role, SendError,
};
use whimbrel_units::Instant;
use whimbrel_wire::Payload;

use crate::session::LARGEST;
use crate::{Fingerprint, RECORD_OVERHEAD, Security, SecurityError, Session, SessionEvent};

/// An event of a secured connection.
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
pub enum LayerEvent<E = Event> {
    /// An event of the connection for its application. [`Event::Connected`] follows the handshake of DTLS,
    /// not DCCP's; data is decrypted and authentic.
    Event(E),
    /// The connection is not secured, or not any more. It is aborted: [`Event::Closed`] follows.
    Failed(SecurityError),
}

/// DTLS between a DCCP connection and its application.
///
/// The connection is one over a single path, or over several ([`MultipathConnection`]): there, records are
/// above the connection's numbers (MP_SEQ), so that a session does not depend on the paths that exist.
///
/// The driver of the connection passes each of its events to [`Layer::handle_event`] and sends through
/// [`Layer::send`]. After each call it polls the connection, as after any command.
#[derive(Debug)]
pub struct Layer<C: Transport = Connection> {
    security: Security,
    /// `None` before the connection is open.
    session: Option<Box<Session>>,
    /// The event by which the connection opened, until the session is established.
    opened: Option<C::Event>,
    /// Handshake records in the send queue.
    queued: Vec<DatagramId>,
    /// A handshake record for which the send queue had no room.
    refused: Option<Bytes>,
    events: VecDeque<LayerEvent<C::Event>>,
    /// Datagrams and bytes that were not the application's: sent, and received.
    own_sent: Count,
    own_received: Count,
    has_failed: bool,
    /// The connection has ended.
    is_over: bool,
    /// The connection was given a command.
    has_acted: bool,
    /// Probes of path MTU discovery wait for the end of the handshake.
    holds_probes: bool,
    /// Others needed its place.
    is_evicted: bool,
}

/// Datagrams and their bytes.
#[derive(Clone, Copy, Debug, Default)]
struct Count {
    datagrams: u64,
    bytes: u64,
}

impl Count {
    fn add(&mut self, bytes: usize) {
        self.datagrams += 1;
        self.bytes += bytes as u64;
    }

    /// Subtracts these from counts of records, and the bytes by which the other records are longer than their
    /// datagrams.
    fn leave_out(self, datagrams: &mut u64, bytes: &mut u64) {
        *datagrams = datagrams.saturating_sub(self.datagrams);
        *bytes = bytes.saturating_sub(self.bytes + *datagrams * RECORD_OVERHEAD as u64);
    }
}

impl<C: Transport> Layer<C> {
    /// A layer for a connection that is not open yet.
    pub fn new(security: Security) -> Self {
        Self {
            security,
            session: None,
            opened: None,
            queued: Vec::new(),
            refused: None,
            events: VecDeque::new(),
            own_sent: Count::default(),
            own_received: Count::default(),
            has_failed: false,
            is_over: false,
            has_acted: false,
            holds_probes: false,
            is_evicted: false,
        }
    }

    /// Fingerprint of the peer's key; `None` before it was proved.
    pub fn peer(&self) -> Option<Fingerprint> {
        self.session.as_ref()?.peer()
    }

    /// `true` between DCCP's handshake and the end of DTLS's.
    pub fn is_shaking_hands(&self) -> bool {
        self.opened.is_some() && !self.is_over
    }

    /// Number of datagrams of the peer that had no effect: forged, damaged or replayed ones, and clear data.
    pub fn ignored(&self) -> u64 {
        self.session.as_ref().map_or(0, |session| session.ignored())
    }

    /// `true` if the layer has given the connection a command since the last call, after which it has to be
    /// polled.
    pub fn take_acted(&mut self) -> bool {
        std::mem::take(&mut self.has_acted)
    }

    /// Processes an event of the connection. The events for the application follow by [`Layer::poll_event`].
    pub fn handle_event(&mut self, now: Instant, connection: &mut C, mut event: C::Event) {
        match C::step(&mut event) {
            Step::Opened => {
                let session = Session::new(now, connection.role(), self.security.clone(), connection.rtt());
                self.session = Some(Box::new(session));
                self.opened = Some(event);
                // Probes are larger than what a client has to send for them.
                if connection.role() == Role::Server {
                    connection.hold_path_probes(now, true);
                    self.holds_probes = true;
                }
            }
            Step::Datagram(payload) => {
                let record = core::mem::replace(payload, Payload::Bytes(Bytes::new()));
                return self.receive(now, connection, &record, event);
            }
            // A damaged record cannot be authentic.
            Step::Damaged(_) => {}
            Step::Outcome(id) if self.forget(*id) => {}
            Step::SendReady => {
                self.flush(now, connection);
                if self.refused.is_none() {
                    self.pass(event);
                }
            }
            Step::Resized(max_datagram) => {
                *max_datagram = room(*max_datagram);
                self.pass(event);
            }
            Step::Closed(why) => {
                let by_peer = matches!(why, ConnectionError::Reset(_) | ConnectionError::ClosedByPeer);
                if self.is_shaking_hands() && by_peer {
                    let is_busy = matches!(why, ConnectionError::Reset(reset) if reset.is_busy());
                    let error = if is_busy { SecurityError::Busy } else { SecurityError::EndedByPeer };
                    self.events.push_back(LayerEvent::Failed(error));
                }
                self.is_over = true;
                self.pass(event);
            }
            Step::Outcome(_) | Step::Classified(_) | Step::Other => self.pass(event),
        }
        self.settle(now, connection);
    }

    /// Runs timers that are due. An early call does nothing.
    pub fn handle_timeout(&mut self, now: Instant, connection: &mut C) {
        if let Some(session) = &mut self.session {
            session.handle_timeout(now);
            self.settle(now, connection);
        }
    }

    /// Latest time of the next call to [`Layer::handle_timeout`].
    pub fn poll_timeout(&self) -> Option<Instant> {
        self.session.as_ref().filter(|_| !self.is_over)?.poll_timeout()
    }

    /// The next event.
    pub fn poll_event(&mut self) -> Option<LayerEvent<C::Event>> {
        self.events.pop_front()
    }

    /// Encrypts and queues a datagram, as [`Connection::send`] queues one.
    ///
    /// # Errors
    /// See [`Connection::send`]; [`SendError::Closed`] also before the handshake is complete.
    pub fn send(
        &mut self,
        now: Instant,
        connection: &mut C,
        datagram: Datagram,
    ) -> Result<DatagramId, SendError> {
        let size = datagram.payload.len();
        // Refused data is not encrypted.
        self.make_room(now, connection, size)?;
        let Some(session) = &mut self.session else { return Err(SendError::Closed) };
        let sealed = match &datagram.payload {
            Payload::Bytes(bytes) => session.seal(now, bytes),
            // The simulator's placeholders have no bytes.
            Payload::Opaque { .. } => session.seal(now, &vec![0; size]),
        };
        let result = match sealed {
            Some(record) => connection.send(now, Datagram { payload: Payload::Bytes(record), ..datagram }),
            None => Err(SendError::Closed),
        };
        if self.session.as_ref().is_some_and(|session| session.has_transmits() || session.is_over()) {
            self.settle(now, connection);
        }
        result
    }

    /// Makes room for a datagram of `size` bytes, as [`Connection::make_room`] does.
    ///
    /// # Errors
    /// Same as [`Layer::send`].
    pub fn make_room(&self, now: Instant, connection: &mut C, size: usize) -> Result<(), SendError> {
        let is_open = self.session.as_ref().is_some_and(|session| session.is_established());
        if !is_open || self.is_over {
            return Err(SendError::Closed);
        }
        if self.refused.is_some() {
            return Err(SendError::QueueFull);
        }
        if size > LARGEST {
            return Err(SendError::TooLarge { size, limit: LARGEST });
        }
        connection.make_room(now, size + RECORD_OVERHEAD).map_err(|error| match error {
            SendError::TooLarge { limit, .. } => SendError::TooLarge { size, limit: room(limit) },
            other => other,
        })
    }

    /// Sends the last record (close_notify). [`Connection::close`] follows.
    pub fn close(&mut self, now: Instant, connection: &mut C) {
        if let Some(session) = &mut self.session {
            session.close();
            self.flush(now, connection);
        }
    }

    /// Returns memory that the handshake, or traffic, has left behind.
    pub fn shrink_to_fit(&mut self) {
        self.queued.shrink_to_fit();
        self.events.shrink_to_fit();
        if let Some(session) = &mut self.session {
            session.shrink_to_fit();
        }
    }

    /// Gives up the handshake and aborts the connection, because others need its place.
    pub fn evict(&mut self, now: Instant, connection: &mut C) {
        if let Some(session) = self.session.as_mut().filter(|session| !session.is_established()) {
            session.fail(SecurityError::Evicted);
            self.is_evicted = true;
            self.settle(now, connection);
        }
    }

    /// Datagrams that were not the application's and have left.
    fn own_sent(&self) -> Count {
        let datagrams = self.own_sent.datagrams.saturating_sub(self.queued.len() as u64);
        Count { datagrams, bytes: self.own_sent.bytes }
    }

    /// Removes a datagram from those in the send queue. Returns `true` if it was a handshake record: there
    /// are few.
    fn forget(&mut self, id: DatagramId) -> bool {
        let found = self.queued.iter().position(|queued| *queued == id);
        found.map(|place| self.queued.swap_remove(place)).is_some()
    }

    fn pass(&mut self, event: C::Event) {
        self.events.push_back(LayerEvent::Event(event));
    }

    /// Passes a record to the session. `event`: the event of its arrival, without the record.
    fn receive(&mut self, now: Instant, connection: &mut C, record: &Payload, event: C::Event) {
        let Some(session) = &mut self.session else { return };
        let Payload::Bytes(record) = record else { return };
        session.handle_datagram(now, record);
        let mut has_data = false;
        self.take_events(|data| {
            has_data = true;
            let mut event = event.clone();
            if let Step::Datagram(payload) = C::step(&mut event) {
                *payload = data.into();
            }
            Some(event)
        });
        if !has_data {
            self.own_received.add(record.len());
        }
        self.settle(now, connection);
    }

    /// Takes the session's events; `event` makes an event of decrypted data.
    fn take_events(&mut self, mut event: impl FnMut(Bytes) -> Option<C::Event>) {
        let Some(session) = &mut self.session else { return };
        while let Some(next) = session.poll_event() {
            let next = match next {
                SessionEvent::Established { .. } => self.opened.take().map(LayerEvent::Event),
                SessionEvent::Datagram(data) => event(data).map(LayerEvent::Event),
                // The end of the connection follows.
                SessionEvent::Closed => None,
                SessionEvent::Failed(error) => {
                    self.has_failed = true;
                    Some(LayerEvent::Failed(error))
                }
            };
            self.events.extend(next);
        }
    }

    /// Sends the records of the session, takes its events, and ends the connection if it has failed.
    fn settle(&mut self, now: Instant, connection: &mut C) {
        // Data comes only with a datagram: see `receive`.
        self.take_events(|_| None);
        self.flush(now, connection);
        if self.holds_probes && self.session.as_ref().is_some_and(|session| session.is_established()) {
            (self.holds_probes, self.has_acted) = (false, true);
            connection.hold_path_probes(now, false);
        }
        if self.has_failed && !self.is_over {
            (self.is_over, self.has_acted) = (true, true);
            if self.is_evicted {
                connection.abort_as_busy(now);
            } else {
                connection.abort(now);
            }
        }
        let waits = !self.queued.is_empty() || self.refused.is_some();
        if let Some(session) = &mut self.session {
            session.set_waiting(now, waits);
        }
    }

    /// Queues the session's own records.
    fn flush(&mut self, now: Instant, connection: &mut C) {
        let Some(session) = &mut self.session else { return };
        while let Some(record) = self.refused.take().or_else(|| session.poll_transmit()) {
            let datagram = Datagram::new(record.clone());
            match connection.send(now, datagram) {
                Ok(id) => {
                    self.has_acted = true;
                    self.queued.push(id);
                    self.own_sent.add(record.len());
                }
                Err(SendError::QueueFull) => {
                    self.refused = Some(record);
                    return;
                }
                // The connection has ended, or cannot carry it: the handshake's time limit ends it.
                Err(_) => {}
            }
        }
    }
}

impl Layer<Connection> {
    /// A snapshot of the connection as its application sees it: without the datagrams of the handshake, and
    /// without the bytes by which records are longer.
    pub fn seen(&self, mut snapshot: ConnectionSnapshot) -> ConnectionSnapshot {
        snapshot.max_datagram = room(snapshot.max_datagram).min(LARGEST);
        let counts = &mut snapshot.statistics;
        self.own_sent().leave_out(&mut counts.datagrams_sent, &mut counts.bytes_sent);
        self.own_received.leave_out(&mut counts.datagrams_received, &mut counts.bytes_received);
        snapshot
    }
}

impl Layer<MultipathConnection> {
    /// A snapshot of the connection as its application sees it: without the datagrams of the handshake, and
    /// without the bytes by which records are longer. Snapshots of single subflows include both.
    pub fn seen(&self, mut snapshot: MultipathSnapshot) -> MultipathSnapshot {
        snapshot.max_datagram = room(snapshot.max_datagram).min(LARGEST);
        let counts = &mut snapshot.statistics;
        self.own_sent().leave_out(&mut counts.datagrams_sent, &mut counts.bytes_sent);
        self.own_received.leave_out(&mut counts.datagrams_received, &mut counts.bytes_received);
        snapshot
    }
}

/// Room for data in a datagram of that size.
fn room(max_datagram: usize) -> usize {
    max_datagram.saturating_sub(RECORD_OVERHEAD)
}

#[cfg(test)]
mod tests;
