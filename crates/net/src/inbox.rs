//! Received data and events of one socket that wait for its application.

use bytes::Bytes;
use whimbrel_proto::{Ccid, Connection, Event};
use whimbrel_units::Instant;
use whimbrel_wire::{Ecn, Payload, SeqNo};

use crate::feedback::Feedback;
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

/// The receive side of one socket.
#[derive(Debug)]
pub(crate) struct Inbox {
    pub(crate) unread: Unread<Received, Event>,
    pub(crate) feedback: Feedback<Connection>,
    pub(crate) connected: Option<(Ccid, Ccid)>,
}

impl Inbox {
    pub(crate) fn new(limit: usize) -> Self {
        Self { unread: Unread::new(limit), feedback: Feedback::default(), connected: None }
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
                if let Some(oldest) = self.unread.push(Received { payload, sequence, ecn, arrival, corrupt })
                {
                    self.feedback.drop(oldest.sequence);
                }
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

    /// Reports the state of the receive queue to the connection.
    pub(crate) fn report_to(&mut self, connection: &mut Connection) {
        self.feedback.report(self.unread.is_filling(), connection);
    }

    /// `true` if there is something for [`Inbox::report_to`].
    pub(crate) fn has_report(&self) -> bool {
        self.feedback.is_due(self.unread.is_filling())
    }

    /// Returns memory that traffic has left behind.
    pub(crate) fn shrink_to_fit(&mut self) {
        self.unread.shrink_to_fit();
        self.feedback.shrink_to_fit();
    }
}

#[cfg(test)]
mod tests;
