//! DTLS 1.3 above a simulated connection (RFC 5238): the layer of the sockets, with records as they are on the wire.

use rustc_hash::FxHashMap;
use whimbrel_dtls::{Layer, LayerEvent, RECORD_OVERHEAD, Security};
use whimbrel_proto::{Connection, Datagram, DatagramId, Event, SendError};
use whimbrel_units::Instant;
use whimbrel_wire::Packet;

use crate::transport::{Content, IpHeaders};

/// The largest handshake record, which a path has to carry beside the flow's data.
pub(super) const LARGEST_HANDSHAKE: u32 = 700;
/// Bytes by which a record is longer than its data.
pub(super) const OVERHEAD: u32 = RECORD_OVERHEAD as u32;

/// The layer of one end.
#[derive(Debug)]
pub(super) struct Secured {
    layer: Layer,
    /// The end may send: the handshake is complete. Or it has failed, so that sending fails.
    is_open: bool,
    /// Tag and size of the datagrams in the send queue, which their records do not show.
    waiting: FxHashMap<DatagramId, (u64, u32)>,
    /// Those of the datagram that has left last.
    left: Option<(u64, u32)>,
}

impl Secured {
    pub(super) fn new(security: Security) -> Self {
        Self { layer: Layer::new(security), is_open: false, waiting: FxHashMap::default(), left: None }
    }
    /// `true` if datagrams can be sent.
    pub(super) fn is_open(&self) -> bool {
        self.is_open
    }
    /// Encrypts and queues a datagram.
    pub(super) fn send(
        &mut self,
        now: Instant,
        connection: &mut Connection,
        datagram: Datagram,
        tag: u64,
    ) -> Result<DatagramId, SendError> {
        let size = datagram.payload.len() as u32;
        let id = self.layer.send(now, connection, datagram)?;
        self.waiting.insert(id, (tag, size));
        Ok(id)
    }
    /// The next event for the application.
    pub(super) fn poll_event(&mut self, now: Instant, connection: &mut Connection) -> Option<Event> {
        loop {
            match self.layer.poll_event() {
                Some(LayerEvent::Event(event)) => {
                    match &event {
                        Event::Connected { .. } | Event::Closed(_) => self.is_open = true,
                        Event::DatagramSent { id, .. } => self.left = self.waiting.remove(id),
                        Event::DatagramDropped { id, .. } => {
                            self.waiting.remove(id);
                        }
                        _ => {}
                    }
                    return Some(event);
                }
                // The connection is aborted, and its end follows.
                Some(_) => {}
                None => {
                    let event = connection.poll_event()?;
                    self.layer.handle_event(now, connection, event);
                }
            }
        }
    }
    /// The content of a packet that leaves. The event about its datagram has been polled.
    pub(super) fn content(&mut self, packet: Packet) -> SecuredContent {
        let (tag, length) = self.left.take().unwrap_or_default();
        SecuredContent { packet, tag, length }
    }
    pub(super) fn handle_timeout(&mut self, now: Instant, connection: &mut Connection) {
        self.layer.handle_timeout(now, connection);
    }
    pub(super) fn poll_timeout(&self) -> Option<Instant> {
        self.layer.poll_timeout()
    }
    /// Sends the last record; the connection is closed then.
    pub(super) fn close(&mut self, now: Instant, connection: &mut Connection) {
        self.layer.close(now, connection);
    }
}

/// A packet with a record, and what the record hides: number and length of its datagram. Records of the handshake have no data.
#[derive(Clone, Debug)]
pub(super) struct SecuredContent {
    packet: Packet,
    tag: u64,
    length: u32,
}

impl Content for SecuredContent {
    fn data_length(&self) -> u32 {
        self.length
    }

    fn dccp_packet(&mut self) -> Option<&mut Packet> {
        Some(&mut self.packet)
    }

    fn numbers(&self) -> (u64, u64) {
        (self.packet.sequence.value(), self.tag)
    }

    fn capture_bytes(&self, headers: &IpHeaders, out: &mut Vec<u8>) -> u8 {
        self.packet.capture_bytes(headers, out)
    }
}
