//! DTLS 1.3 above a simulated connection (RFC 5238): the layer of the sockets, with records as they are on the wire.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Deserialize;
use whimbrel_dtls::{Layer, LayerEvent, RECORD_OVERHEAD, Security};
use whimbrel_proto::layer::Transport;
use whimbrel_proto::multipath::{MultipathConnection, MultipathEvent};
use whimbrel_proto::{Connection, Datagram, DatagramId, Event, SendError};
use whimbrel_units::Instant;
use whimbrel_wire::Packet;

use super::{Content, IpHeaders};

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
pub(super) trait Secures: Transport {
    /// The number of datagrams that have left of which another copy may follow.
    const COPIES: usize;

    /// The meaning of an event for the tags of records.
    fn note(event: &Self::Event) -> Note;
}

/// The meaning of an event for the tags of records.
pub(super) enum Note {
    /// Data can be sent, or sending fails from now on.
    Open,
    /// A datagram has left.
    Sent(DatagramId),
    /// A datagram will never leave.
    Dropped(DatagramId),
    /// None.
    Other,
}

impl Secures for Connection {
    const COPIES: usize = 0;

    fn note(event: &Event) -> Note {
        match event {
            Event::Connected { .. } | Event::Closed(_) => Note::Open,
            Event::DatagramSent { id, .. } => Note::Sent(*id),
            Event::DatagramDropped { id, .. } => Note::Dropped(*id),
            _ => Note::Other,
        }
    }
}

impl Secures for MultipathConnection {
    const COPIES: usize = 1024;

    fn note(event: &MultipathEvent) -> Note {
        match event {
            MultipathEvent::Established { .. } | MultipathEvent::Closed(_) => Note::Open,
            MultipathEvent::DatagramSent { id, .. } => Note::Sent(*id),
            MultipathEvent::DatagramDropped { id, .. } => Note::Dropped(*id),
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
                Note::Dropped(id) => {
                    self.waiting.remove(&id);
                }
                Note::Other => {}
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

impl Secured<Connection> {
    /// The next event of the connection for the application.
    pub(super) fn next_event(&mut self, now: Instant, connection: &mut Connection) -> Option<Event> {
        loop {
            if let Some(event) = self.poll_event() {
                return Some(event);
            }
            let event = connection.poll_event()?;
            self.handle_event(now, connection, event);
        }
    }
}

/// A packet with a record, and what the record hides. Records of the handshake have no data.
#[derive(Clone, Debug)]
pub(super) struct SecuredContent {
    /// The packet.
    pub(super) packet: Packet,
    /// What its record hides.
    pub(super) hidden: Hidden,
}

impl Content for SecuredContent {
    fn data_length(&self) -> u32 {
        self.hidden.length
    }

    fn dccp_packet(&mut self) -> Option<&mut Packet> {
        Some(&mut self.packet)
    }

    fn numbers(&self) -> (u64, u64) {
        (self.packet.sequence.value(), self.hidden.tag)
    }

    fn capture_bytes(&self, headers: &IpHeaders, out: &mut Vec<u8>) -> u8 {
        self.packet.capture_bytes(headers, out)
    }
}
