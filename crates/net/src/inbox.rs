//! Received data and events of one socket that wait for its application.

use std::collections::VecDeque;

use bytes::Bytes;
use whimbrel_dtls::SecurityError;
use whimbrel_proto::{Ccid, Connection, ConnectionError, Event};
use whimbrel_units::Instant;
use whimbrel_wire::option::data_dropped::DropCode;
use whimbrel_wire::{Ecn, Payload, SeqNo};

use crate::NetError;
use crate::mailbox::Wake;

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

/// The most unread events kept.
const MAX_EVENTS: usize = 1024;
/// Unread datagrams kept for a connection that the application has not accepted yet: peers may open many and send to each.
const MAX_UNCLAIMED: usize = 64;

/// The receive side of one socket.
#[derive(Debug)]
pub(crate) struct Inbox {
    datagrams: VecDeque<Received>,
    /// Unread datagrams kept.
    limit: usize,
    /// The application has the socket.
    is_claimed: bool,
    events: VecDeque<Event>,
    /// Datagrams that arrived while the application had `limit` unread ones.
    pub(crate) overflowed: u64,
    /// Of these, the packets not yet reported to the connection.
    discarded: Vec<SeqNo>,
    /// The application has declared itself a slow receiver.
    pub(crate) asked_slow: bool,
    /// Slow Receiver was reported to the connection.
    reported_slow: bool,
    pub(crate) connected: Option<(Ccid, Ccid)>,
    pub(crate) closed: Option<ConnectionError>,
    /// Reason why the connection is not secured.
    insecure: Option<SecurityError>,
    /// The driver has ended: nothing more will arrive.
    pub(crate) stopped: bool,
}

impl Inbox {
    pub(crate) fn new(limit: usize) -> Self {
        Self {
            datagrams: VecDeque::new(),
            limit: limit.max(1),
            is_claimed: false,
            events: VecDeque::new(),
            overflowed: 0,
            discarded: Vec::new(),
            asked_slow: false,
            reported_slow: false,
            connected: None,
            closed: None,
            insecure: None,
            stopped: false,
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
                // Live data: a slow reader loses the oldest.
                if self.datagrams.len() >= self.limit() {
                    self.discarded.extend(self.datagrams.pop_front().map(|oldest| oldest.sequence));
                    self.overflowed += 1;
                }
                let payload = match payload {
                    Payload::Bytes(bytes) => bytes,
                    Payload::Opaque { .. } => Bytes::new(),
                };
                self.datagrams.push_back(Received { payload, sequence, ecn, arrival, corrupt });
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
                self.closed = Some(why);
                *wake = Wake::ALL;
            }
            _ => wake.happened = true,
        }
        if self.events.len() == MAX_EVENTS {
            self.events.pop_front();
        }
        self.events.push_back(event);
    }

    /// Reports the state of the receive queue to the connection: datagrams dropped from it, and its filling
    /// (RFC 4340, Sections 11.6 and 11.7).
    pub(crate) fn report_to(&mut self, connection: &mut Connection) {
        for sequence in self.discarded.drain(..) {
            connection.datagram_discarded(sequence, DropCode::ReceiveBuffer);
        }
        let is_slow = self.asked_slow || self.is_filling();
        if is_slow != self.reported_slow {
            self.reported_slow = is_slow;
            connection.set_slow_receiver(is_slow);
        }
    }
    /// `true` if there is something for [`Inbox::report_to`].
    pub(crate) fn has_report(&self) -> bool {
        !self.discarded.is_empty() || (self.asked_slow || self.is_filling()) != self.reported_slow
    }
    /// `true` if three quarters of the queue are full.
    fn is_filling(&self) -> bool {
        self.datagrams.len() >= self.limit() - self.limit() / 4
    }
    fn limit(&self) -> usize {
        if self.is_claimed { self.limit } else { self.limit.min(MAX_UNCLAIMED) }
    }
    /// The application has the socket.
    pub(crate) fn claim(&mut self) {
        self.is_claimed = true;
    }

    /// The oldest unread datagram.
    pub(crate) fn pop(&mut self) -> Option<Received> {
        self.datagrams.pop_front()
    }

    /// Moves up to `limit` datagrams into `out`; returns their number.
    pub(crate) fn pop_many(&mut self, out: &mut Vec<Received>, limit: usize) -> usize {
        let n = limit.min(self.datagrams.len());
        out.extend(self.datagrams.drain(..n));
        n
    }

    pub(crate) fn pop_event(&mut self) -> Option<Event> {
        let event = self.events.pop_front();
        if self.events.is_empty() {
            // They are rare: a socket that has read them keeps no memory for them.
            self.events = VecDeque::new();
        }
        event
    }

    /// `true` if there is a datagram to read, or no more will arrive.
    #[cfg(unix)]
    pub(crate) fn has_datagram(&self) -> bool {
        !self.datagrams.is_empty() || self.end().is_some()
    }

    /// `true` if there is an event to read, or no more will follow.
    #[cfg(unix)]
    pub(crate) fn has_event(&self) -> bool {
        !self.events.is_empty() || self.end().is_some()
    }

    /// Returns memory that traffic has left behind.
    pub(crate) fn shrink_to_fit(&mut self) {
        self.datagrams.shrink_to_fit();
        self.discarded.shrink_to_fit();
    }

    /// The connection is not secured; its end follows.
    pub(crate) fn set_insecure(&mut self, error: SecurityError) {
        self.insecure.get_or_insert(error);
    }

    /// The reason why nothing more will arrive, if so.
    pub(crate) fn end(&self) -> Option<NetError> {
        if let (Some(_), Some(error)) = (self.closed, &self.insecure) {
            return Some(error.clone().into());
        }
        match self.closed {
            Some(why) => Some(why.into()),
            None => self.stopped.then_some(NetError::DriverStopped),
        }
    }
}

#[cfg(test)]
mod tests;
