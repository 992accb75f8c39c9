//! Received data and events of one socket that wait for its application.

use bytes::Bytes;
use whimbrel_proto::Connection;
use whimbrel_units::Instant;
use whimbrel_wire::{Ecn, SeqNo};

use crate::feedback::Delivered;
use crate::kind::{Kind, Meaning};
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
pub(crate) struct Inbox<C: Kind = Connection> {
    pub(crate) unread: Unread<C::Received, C::Events>,
    /// The connection is open.
    pub(crate) opened: Option<C::Opened>,
}

impl<C: Kind> Inbox<C> {
    pub(crate) fn new(limit: usize) -> Self {
        Self { unread: Unread::new(limit), opened: None }
    }

    /// Stores an event; adds the waiters concerned to `wake`.
    pub(crate) fn push(&mut self, event: C::Events, arrival: Instant, wake: &mut Wake) {
        let event = match C::meaning(event, arrival) {
            Meaning::Nothing => None,
            Meaning::Datagram(datagram) => {
                wake.readable = true;
                self.unread.push(datagram);
                None
            }
            Meaning::Room => {
                wake.writable = true;
                None
            }
            Meaning::Opened(opened, event) => {
                self.opened = Some(opened);
                wake.happened = true;
                event
            }
            Meaning::Closed(why, event) => {
                self.unread.close(why);
                *wake = Wake::ALL;
                event
            }
            Meaning::Other(event) => {
                wake.happened = true;
                Some(event)
            }
        };
        if let Some(event) = event {
            self.unread.push_event(event);
        }
    }
}

#[cfg(test)]
mod tests;
