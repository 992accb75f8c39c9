//! Received data and events of one socket that wait for its application.

use bytes::Bytes;
use whimbrel_proto::{Ccid, Connection, Event};
use whimbrel_units::Instant;
use whimbrel_wire::option::data_dropped::DropCode;
use whimbrel_wire::{Ecn, Payload, SeqNo};

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
    /// Packets whose datagrams were dropped because the application had too many unread ones, not yet reported to the connection.
    discarded: Vec<SeqNo>,
    /// The application has declared itself a slow receiver.
    pub(crate) asked_slow: bool,
    /// Slow Receiver was reported to the connection.
    reported_slow: bool,
    pub(crate) connected: Option<(Ccid, Ccid)>,
}

impl Inbox {
    pub(crate) fn new(limit: usize) -> Self {
        Self {
            unread: Unread::new(limit),
            discarded: Vec::new(),
            asked_slow: false,
            reported_slow: false,
            connected: None,
        }
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
                let lost = self.unread.push(Received { payload, sequence, ecn, arrival, corrupt });
                self.discarded.extend(lost.map(|oldest| oldest.sequence));
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

    /// Reports the state of the receive queue to the connection: datagrams dropped from it, and its filling
    /// (RFC 4340, Sections 11.6 and 11.7).
    pub(crate) fn report_to(&mut self, connection: &mut Connection) {
        for sequence in self.discarded.drain(..) {
            connection.datagram_discarded(sequence, DropCode::ReceiveBuffer);
        }
        let is_slow = self.is_slow();
        if is_slow != self.reported_slow {
            self.reported_slow = is_slow;
            connection.set_slow_receiver(is_slow);
        }
    }

    /// `true` if there is something for [`Inbox::report_to`].
    pub(crate) fn has_report(&self) -> bool {
        !self.discarded.is_empty() || self.is_slow() != self.reported_slow
    }

    fn is_slow(&self) -> bool {
        self.asked_slow || self.unread.is_filling()
    }

    /// Returns memory that traffic has left behind.
    pub(crate) fn shrink_to_fit(&mut self) {
        self.unread.shrink_to_fit();
        self.discarded.shrink_to_fit();
    }
}

#[cfg(test)]
mod tests;
