//! What has arrived for one socket and waits for its application.

use std::collections::VecDeque;

use bytes::Bytes;
use whimbrel_proto::{Ccid, ConnectionError, Event};
use whimbrel_units::Instant;
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
    /// How the network marked that packet.
    pub ecn: Ecn,
    /// When it was taken from the kernel, on the socket's clock.
    pub arrival: Instant,
}

/// Events kept for an application that does not ask for them.
const MAX_EVENTS: usize = 1024;

/// The receive side of one socket.
#[derive(Debug)]
pub(crate) struct Inbox {
    datagrams: VecDeque<Received>,
    /// Unread datagrams kept.
    limit: usize,
    events: VecDeque<Event>,
    /// Datagrams that arrived while the application had `limit` unread ones.
    pub(crate) overflowed: u64,
    pub(crate) connected: Option<(Ccid, Ccid)>,
    pub(crate) closed: Option<ConnectionError>,
    /// The driver has ended: nothing will come any more.
    pub(crate) stopped: bool,
}

impl Inbox {
    pub(crate) fn new(limit: usize) -> Self {
        Self {
            datagrams: VecDeque::new(),
            limit: limit.max(1),
            events: VecDeque::new(),
            overflowed: 0,
            connected: None,
            closed: None,
            stopped: false,
        }
    }

    /// Takes an event; adds to `wake` whom it concerns.
    pub(crate) fn push(&mut self, event: Event, arrival: Instant, wake: &mut Wake) {
        match event {
            Event::DatagramSent { .. } | Event::Drained => return,
            Event::Datagram { payload, sequence, ecn } => {
                wake.readable = true;
                // Live data: a slow reader loses the oldest.
                if self.datagrams.len() >= self.limit {
                    self.datagrams.pop_front();
                    self.overflowed += 1;
                }
                let payload = match payload {
                    Payload::Bytes(bytes) => bytes,
                    Payload::Opaque { .. } => Bytes::new(),
                };
                self.datagrams.push_back(Received { payload, sequence, ecn, arrival });
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

    /// The oldest unread datagram.
    pub(crate) fn pop(&mut self) -> Option<Received> {
        self.datagrams.pop_front()
    }

    /// Moves up to `limit` datagrams into `out`; tells how many.
    pub(crate) fn pop_many(&mut self, out: &mut Vec<Received>, limit: usize) -> usize {
        let n = limit.min(self.datagrams.len());
        out.extend(self.datagrams.drain(..n));
        n
    }

    pub(crate) fn pop_event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    /// Why nothing more will come, if so.
    pub(crate) fn end(&self) -> Option<NetError> {
        match self.closed {
            Some(why) => Some(why.into()),
            None => self.stopped.then_some(NetError::DriverStopped),
        }
    }
}

#[cfg(test)]
mod tests;
