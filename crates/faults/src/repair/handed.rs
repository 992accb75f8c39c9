//! The bytes that the layer hands to its connection.

use whimbrel_proto::repair::Below;
use whimbrel_proto::{Connection, Datagram, DatagramId, SendError};
use whimbrel_units::Instant;
use whimbrel_wire::Payload;

use super::{CODED, IN_PARTS, LAST, ORIGINAL};

/// Bytes of the datagrams that a connection accepted.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Handed {
    /// Of original datagrams.
    pub(super) original: u64,
    /// Of coded packets.
    pub(super) coded: u64,
}

impl Handed {
    fn note(&mut self, bytes: &[u8]) {
        match bytes.strip_prefix(&[IN_PARTS]).unwrap_or(bytes).first().map(|first| first & !LAST) {
            Some(ORIGINAL) => self.original += bytes.len() as u64,
            Some(kind) if CODED.contains(&kind) => self.coded += bytes.len() as u64,
            _ => {}
        }
    }
}

/// A connection below the layer. What leaves it is no measure of the layer: a connection drops originals that
/// have waited for too long, and sends coded packets that were queued behind them.
#[derive(Debug)]
pub(super) struct Counted<'a> {
    pub(super) connection: &'a mut Connection,
    pub(super) handed: &'a mut Handed,
}

impl Below<Connection> for Counted<'_> {
    fn connection(&mut self) -> &mut Connection {
        self.connection
    }

    fn send(&mut self, now: Instant, datagram: Datagram) -> Result<DatagramId, SendError> {
        let payload = datagram.payload.clone();
        let sent = self.connection.send(now, datagram)?;
        if let Payload::Bytes(bytes) = &payload {
            self.handed.note(bytes);
        }
        Ok(sent)
    }

    fn make_room(&mut self, now: Instant, size: usize) -> Result<(), SendError> {
        self.connection.make_room(now, size)
    }

    fn max_datagram(&mut self) -> usize {
        Below::max_datagram(self.connection)
    }
}
