//! What has arrived for one socket and waits for its application.

use std::collections::VecDeque;

use bytes::Bytes;
use whimbrel_proto::{Ccid, ConnectionError, Event};
use whimbrel_units::Instant;
use whimbrel_wire::{Ecn, Payload, SeqNo};

/// A datagram as the application receives it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Received {
    /// Its data. A slice of a receive buffer: copy it if you keep it for long.
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
#[derive(Debug, Default)]
pub(crate) struct Inbox {
    datagrams: VecDeque<Received>,
    events: VecDeque<Event>,
    /// Datagrams that arrived while the application had `limit` unread ones.
    pub(crate) overflowed: u64,
    pub(crate) connected: Option<(Ccid, Ccid)>,
    pub(crate) closed: Option<ConnectionError>,
    pub(crate) send_ready: bool,
}

impl Inbox {
    /// Takes an event; whether a reader, a writer or anybody else should be woken is the caller's to do.
    pub(crate) fn push(&mut self, event: Event, arrival: Instant, limit: usize) {
        match event {
            Event::Datagram { payload, sequence, ecn } => {
                // Live data: a slow reader loses the oldest.
                if self.datagrams.len() >= limit {
                    self.datagrams.pop_front();
                    self.overflowed += 1;
                }
                let payload = match payload {
                    Payload::Bytes(bytes) => bytes,
                    Payload::Opaque { .. } => Bytes::new(),
                };
                self.datagrams.push_back(Received { payload, sequence, ecn, arrival });
            }
            Event::DatagramSent { .. } | Event::Drained => {}
            Event::SendReady => self.send_ready = true,
            other => {
                match other {
                    Event::Connected { sender_ccid, receiver_ccid } => {
                        self.connected = Some((sender_ccid, receiver_ccid));
                    }
                    Event::Closed(why) => self.closed = Some(why),
                    _ => {}
                }
                if self.events.len() == MAX_EVENTS {
                    self.events.pop_front();
                }
                self.events.push_back(other);
            }
        }
    }

    pub(crate) fn pop(&mut self) -> Option<Received> {
        self.datagrams.pop_front()
    }

    pub(crate) fn pop_event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    /// Moves up to `limit` datagrams into `out`; tells how many.
    pub(crate) fn pop_many(&mut self, out: &mut Vec<Received>, limit: usize) -> usize {
        let n = limit.min(self.datagrams.len());
        out.extend(self.datagrams.drain(..n));
        n
    }
}
