//! DTLS 1.3 above a simulated connection (RFC 5238): the layer of the sockets, with records as they are on the wire.

use std::collections::BTreeMap;
use std::fmt;

use schemars::JsonSchema;
use serde::Deserialize;
use whimbrel_dtls::{Layer, LayerEvent, RECORD_OVERHEAD, Security};
use whimbrel_proto::layer::Transport;
use whimbrel_proto::multipath::{MultipathConnection, MultipathEvent};
use whimbrel_proto::{Connection, Datagram, DatagramId, DropReason, Event, LossVerdict, SendError};
use whimbrel_units::Instant;
use whimbrel_wire::SeqNo;
use whimbrel_wire::option::data_dropped::DropCode;

/// The largest handshake record, which a path has to carry beside the flow's data.
const LARGEST_HANDSHAKE: u32 = 700;

/// Encryption of a flow.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Encryption {
    /// Data travel as they are.
    #[default]
    None,
    /// DTLS 1.3 (RFC 5238): a handshake after that of DCCP, and 22 bytes more in each data packet.
    Dtls,
}

impl Encryption {
    /// Bytes by which a record is longer than its data.
    pub(super) fn overhead(self) -> u32 {
        match self {
            Self::None => 0,
            Self::Dtls => RECORD_OVERHEAD as u32,
        }
    }
    /// The largest datagram that a connection has to carry for datagrams of `payload` bytes.
    pub(super) fn max_datagram(self, payload: u32) -> usize {
        match self {
            Self::None => payload as usize,
            Self::Dtls => (payload + self.overhead()).max(LARGEST_HANDSHAKE) as usize,
        }
    }
    /// The layers of the client and of the server; `None` without encryption.
    pub(super) fn layers<C: Secures>(self, seeds: [u64; 2]) -> [Option<Box<Secured<C>>>; 2] {
        match self {
            Self::None => [None, None],
            Self::Dtls => {
                whimbrel_dtls::simulated(seeds).map(|security| Some(Box::new(Secured::new(security))))
            }
        }
    }
}

/// A connection that can be secured in the simulator.
pub(super) trait Secures: Transport<Event: Send> + fmt::Debug + Send + 'static {
    /// The number of datagrams that have left of which another copy may follow.
    const COPIES: usize;

    /// Closes the connection.
    fn close(&mut self, now: Instant);
    /// The meaning of an event.
    fn note(event: &Self::Event) -> Note<'_>;
}

/// The meaning of an event for an end and its layer.
pub(super) enum Note<'a> {
    /// Data can be sent, or sending fails from now on.
    Open,
    /// A datagram with that number arrived.
    Arrived(SeqNo),
    /// A datagram has left.
    Sent(DatagramId),
    /// A datagram will never leave.
    Dropped(DatagramId, DropReason),
    /// The receiver reported corrupt data.
    ReportedCorrupt,
    /// The receiver classified losses.
    Classified(&'a LossVerdict),
    /// None.
    Other,
}

impl Secures for Connection {
    const COPIES: usize = 0;

    fn close(&mut self, now: Instant) {
        Connection::close(self, now);
    }
    fn note(event: &Event) -> Note<'_> {
        match event {
            Event::Connected { .. } | Event::Closed(_) => Note::Open,
            Event::Datagram { sequence, .. } => Note::Arrived(*sequence),
            Event::DatagramSent { id, .. } => Note::Sent(*id),
            Event::DatagramDropped { id, reason } => Note::Dropped(*id, *reason),
            Event::DataDropped { code: DropCode::Corrupt | DropCode::DeliveredCorrupt, .. } => {
                Note::ReportedCorrupt
            }
            Event::LossClassified(verdict) => Note::Classified(verdict),
            _ => Note::Other,
        }
    }
}

impl Secures for MultipathConnection {
    const COPIES: usize = 1024;

    fn close(&mut self, now: Instant) {
        MultipathConnection::close(self, now);
    }
    fn note(event: &MultipathEvent) -> Note<'_> {
        match event {
            MultipathEvent::Established { .. } | MultipathEvent::Closed(_) => Note::Open,
            MultipathEvent::Datagram { sequence, .. } => Note::Arrived(*sequence),
            MultipathEvent::DatagramSent { id, .. } => Note::Sent(*id),
            MultipathEvent::DatagramDropped { id, reason } => Note::Dropped(*id, *reason),
            _ => Note::Other,
        }
    }
}

/// The tag and the size of a datagram, which its record does not show.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Hidden {
    /// The number of the datagram at its source.
    pub(super) tag: u64,
    /// Its size in bytes.
    pub(super) length: u32,
}

/// The layer of one end.
#[derive(Debug)]
pub(super) struct Secured<C: Secures> {
    layer: Layer<C>,
    /// The end may send: the handshake is complete. Or it has failed, so that sending fails.
    is_open: bool,
    /// The datagrams in the send queue.
    waiting: BTreeMap<DatagramId, Hidden>,
    /// The last datagrams that have left, of which copies may follow.
    copied: BTreeMap<DatagramId, Hidden>,
    /// The datagram that has left last.
    left: Option<Hidden>,
}

impl<C: Secures> Secured<C> {
    fn new(security: Security) -> Self {
        Self {
            layer: Layer::new(security),
            is_open: false,
            waiting: BTreeMap::new(),
            copied: BTreeMap::new(),
            left: None,
        }
    }
    /// `true` if datagrams can be sent.
    pub(super) fn is_open(&self) -> bool {
        self.is_open
    }
    /// Encrypts and queues a datagram.
    pub(super) fn send(
        &mut self,
        now: Instant,
        connection: &mut C,
        datagram: Datagram,
        tag: u64,
    ) -> Result<DatagramId, SendError> {
        let length = datagram.payload.len() as u32;
        let id = self.layer.send(now, connection, datagram)?;
        self.waiting.insert(id, Hidden { tag, length });
        Ok(id)
    }
    /// Processes an event of the connection.
    pub(super) fn handle_event(&mut self, now: Instant, connection: &mut C, event: C::Event) {
        self.layer.handle_event(now, connection, event);
    }
    /// The next event for the application of those that have been processed.
    pub(super) fn poll_event(&mut self) -> Option<C::Event> {
        loop {
            // After a failure the connection is aborted, and its end follows.
            let LayerEvent::Event(event) = self.layer.poll_event()? else { continue };
            match C::note(&event) {
                Note::Open => self.is_open = true,
                Note::Sent(id) => self.on_sent(id),
                Note::Dropped(id, _) => {
                    self.waiting.remove(&id);
                }
                _ => {}
            }
            return Some(event);
        }
    }
    fn on_sent(&mut self, id: DatagramId) {
        let hidden = self.waiting.remove(&id);
        self.left = hidden.or_else(|| self.copied.get(&id).copied());
        if let Some(hidden) = hidden.filter(|_| C::COPIES > 0) {
            self.copied.insert(id, hidden);
            if self.copied.len() > C::COPIES {
                self.copied.pop_first();
            }
        }
    }
    /// What the record hides that has left last. The event about its datagram has been polled.
    pub(super) fn take_left(&mut self) -> Hidden {
        self.left.take().unwrap_or_default()
    }
    /// `true` if the connection has received a command from the layer since the last call.
    pub(super) fn take_acted(&mut self) -> bool {
        self.layer.take_acted()
    }
    pub(super) fn handle_timeout(&mut self, now: Instant, connection: &mut C) {
        self.layer.handle_timeout(now, connection);
    }
    pub(super) fn poll_timeout(&self) -> Option<Instant> {
        self.layer.poll_timeout()
    }
    /// Sends the last record; the connection is closed then.
    pub(super) fn close(&mut self, now: Instant, connection: &mut C) {
        self.layer.close(now, connection);
    }
}
