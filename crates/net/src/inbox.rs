//! Received data and events of one socket that wait for its application.

use bytes::Bytes;
use whimbrel_proto::{Ccid, Event};
use whimbrel_units::Instant;
use whimbrel_wire::{Ecn, Payload, SeqNo};

use crate::feedback::Delivered;
use crate::unread::Unread;
use crate::waiters::Wake;

/// A datagram as the application receives it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Received {
    /// Its data. May be a slice of a receive buffer of 64 KiB: copy it if you keep it for long.
    pub payload: Bytes,
    /// The sequence number of the packet that brought it.
    pub sequence: SeqNo,
    /// The ECN codepoint of that packet.
    pub ecn: Ecn,
    /// Time of its reception from the kernel, or of its release by the reorder buffer, on the socket's clock.
    pub arrival: Instant,
    /// `true` if its data are known to be corrupt (RFC 4340, Section 9.3): only if the configuration
    /// requests such data.
    pub corrupt: bool,
}

impl Delivered for Received {
    type Packet = SeqNo;

    fn packet(&self) -> SeqNo {
        self.sequence
    }
}

/// The receive side of one socket.
#[derive(Debug)]
pub(crate) struct Inbox {
    pub(crate) unread: Unread<Received, Event>,
    pub(crate) connected: Option<(Ccid, Ccid)>,
}

impl Inbox {
    pub(crate) fn new(limit: usize) -> Self {
        Self { unread: Unread::new(limit), connected: None }
    }

    /// Stores an event; adds the waiters concerned to `wake`.
    pub(crate) fn push(&mut self, event: Event, arrival: Instant, wake: &mut Wake) {
        let corrupt = matches!(event, Event::CorruptDatagram { .. });
        match event {
            Event::DatagramSent { .. } | Event::Drained => return,
            Event::Datagram { payload, sequence, ecn }
            | Event::CorruptDatagram { payload, sequence, ecn } => {
                wake.readable = true;
                let payload = match payload {
                    Payload::Bytes(bytes) => bytes,
                    Payload::Opaque { .. } => Bytes::new(),
                };
                self.unread.push(Received { payload, sequence, ecn, arrival, corrupt });
                return;
            }
            Event::SendReady => {
                wake.writable = true;
                return;
            }
            Event::Connected { sender_ccid, receiver_ccid } => {
                self.connected = Some((sender_ccid, receiver_ccid));
                wake.happened = true;
            }
            Event::Closed(why) => {
                self.unread.close(why);
                *wake = Wake::ALL;
            }
            _ => wake.happened = true,
        }
        self.unread.push_event(event);
    }
}

#[cfg(test)]
mod tests;
