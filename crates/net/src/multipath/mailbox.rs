//! The application's side of one multipath connection.

use std::sync::{Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use whimbrel_proto::multipath::{MultipathEvent, SubflowId};
use whimbrel_units::Instant;
use whimbrel_wire::{Ecn, Payload, SeqNo};

use crate::dtls::LayerEvent;
use crate::feedback::Delivered;
use crate::unread::Unread;
use crate::waiters::{Waiters, Wake};

/// A datagram as the application receives it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MultipathReceived {
    /// Its data. May be a slice of a receive buffer of 64 KiB: copy it if you keep it for long.
    pub payload: Bytes,
    /// Its number in the multipath connection.
    pub sequence: SeqNo,
    /// The subflow on which it arrived.
    pub subflow: SubflowId,
    /// The number of its packet on that subflow.
    pub packet: SeqNo,
    /// The ECN codepoint with which it arrived.
    pub ecn: Ecn,
    /// Time of its reception from the kernel, or of its release by the reorder buffer, on the socket's clock.
    pub arrival: Instant,
}

impl Delivered for MultipathReceived {
    type Packet = (SubflowId, SeqNo);

    fn packet(&self) -> (SubflowId, SeqNo) {
        (self.subflow, self.packet)
    }
}

/// State shared by the tasks and one socket besides the protocol.
#[derive(Debug)]
pub(crate) struct Mailbox {
    inbox: Mutex<Inbox>,
    pub(super) waiters: Waiters,
}

/// Data and events that wait for the application.
#[derive(Debug)]
pub(super) struct Inbox {
    pub(super) unread: Unread<MultipathReceived, MultipathEvent>,
    /// `true` once the handshake is complete and the extensions are in use; `false` in a regular connection.
    pub(super) is_multipath: Option<bool>,
}

impl Mailbox {
    pub(super) fn new(limit: usize, is_claimed: bool) -> Self {
        let mut unread = Unread::new(limit);
        if is_claimed {
            unread.claim();
        }
        Self { inbox: Mutex::new(Inbox { unread, is_multipath: None }), waiters: Waiters::default() }
    }
    pub(super) fn inbox(&self) -> MutexGuard<'_, Inbox> {
        // A panic elsewhere must not spread: the inbox is consistent between calls.
        self.inbox.lock().unwrap_or_else(PoisonError::into_inner)
    }
    /// Stores events, and wakes the tasks that wait for them.
    pub(super) fn deliver(&self, now: Instant, events: impl Iterator<Item = LayerEvent<MultipathEvent>>) {
        let mut wake = Wake::default();
        let mut inbox = self.inbox();
        events.for_each(|event| inbox.push(now, event, &mut wake));
        drop(inbox);
        self.waiters.wake(wake);
    }
    /// Nothing more will arrive.
    pub(super) fn stop(&self) {
        self.inbox().unread.stop();
        self.waiters.wake(Wake::ALL);
    }
}

impl Inbox {
    fn push(&mut self, now: Instant, event: LayerEvent<MultipathEvent>, wake: &mut Wake) {
        let event = match event {
            LayerEvent::Event(event) => event,
            LayerEvent::Failed(error) => return self.unread.set_insecure(error),
            _ => return,
        };
        match event {
            MultipathEvent::Datagram { payload, sequence, subflow, packet, ecn } => {
                wake.readable = true;
                let payload = match payload {
                    Payload::Bytes(bytes) => bytes,
                    Payload::Opaque { .. } => Bytes::new(),
                };
                self.unread.push(MultipathReceived { payload, sequence, subflow, packet, ecn, arrival: now });
                return;
            }
            MultipathEvent::SendReady => {
                wake.writable = true;
                return;
            }
            MultipathEvent::DatagramSent { .. } | MultipathEvent::Drained => return,
            MultipathEvent::Established { is_multipath } => {
                self.is_multipath = Some(is_multipath);
                wake.happened = true;
                return;
            }
            MultipathEvent::Closed(why) => {
                self.unread.close(why);
                *wake = Wake::ALL;
                return;
            }
            _ => wake.happened = true,
        }
        self.unread.push_event(event);
    }
}
