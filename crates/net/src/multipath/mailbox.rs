//! The application's side of one multipath connection.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use tokio::sync::Notify;
use whimbrel_dtls::{LayerEvent, SecurityError};
use whimbrel_proto::ConnectionError;
use whimbrel_proto::multipath::{MultipathEvent, SubflowId};
use whimbrel_units::Instant;
use whimbrel_wire::{Ecn, Payload, SeqNo};

use crate::NetError;
use crate::mailbox::{Wake, wait};

/// The most unread events kept.
const MAX_EVENTS: usize = 1024;
/// Unread datagrams kept for a connection that the application has not accepted yet.
const MAX_UNCLAIMED: usize = 64;

/// A datagram as the application receives it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MultipathReceived {
    /// Its data. May be a slice of a receive buffer of 64 KiB: copy it if you keep it for long.
    pub payload: Bytes,
    /// Its number in the multipath connection.
    pub sequence: SeqNo,
    /// The subflow on which it arrived.
    pub subflow: SubflowId,
    /// The ECN codepoint with which it arrived.
    pub ecn: Ecn,
    /// Time of its reception from the kernel, or of its release by the reorder buffer, on the socket's clock.
    pub arrival: Instant,
}

/// State shared by the tasks and one socket besides the protocol.
#[derive(Debug)]
pub(crate) struct Mailbox {
    inbox: Mutex<Inbox>,
    readable: Notify,
    writable: Notify,
    happened: Notify,
}

/// Data and events that wait for the application.
#[derive(Debug)]
pub(super) struct Inbox {
    pub(super) datagrams: VecDeque<MultipathReceived>,
    limit: usize,
    /// The application has the socket.
    pub(super) is_claimed: bool,
    pub(super) events: VecDeque<MultipathEvent>,
    /// Datagrams dropped because the application had not read earlier ones.
    pub(super) overflowed: u64,
    /// `true` once the handshake is complete and the extensions are in use; `false` in a regular connection.
    pub(super) is_multipath: Option<bool>,
    pub(super) closed: Option<ConnectionError>,
    /// Reason why the connection is not secured.
    insecure: Option<SecurityError>,
    /// Nothing more will arrive: the tasks have ended.
    stopped: bool,
}

impl Mailbox {
    pub(super) fn new(limit: usize, is_claimed: bool) -> Self {
        let inbox = Inbox {
            datagrams: VecDeque::new(),
            limit: limit.max(1),
            is_claimed,
            events: VecDeque::new(),
            overflowed: 0,
            is_multipath: None,
            closed: None,
            insecure: None,
            stopped: false,
        };
        let (readable, writable, happened) = Default::default();
        Self { inbox: Mutex::new(inbox), readable, writable, happened }
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
        self.wake(wake);
    }
    /// Nothing more will arrive.
    pub(super) fn stop(&self) {
        self.inbox().stopped = true;
        self.wake(Wake::ALL);
    }
    fn wake(&self, wake: Wake) {
        let all = [
            (wake.readable, &self.readable),
            (wake.writable, &self.writable),
            (wake.happened, &self.happened),
        ];
        all.iter().filter(|(is_meant, _)| *is_meant).for_each(|(_, notify)| notify.notify_waiters());
    }
    /// Waits for datagrams until `look` returns a value.
    pub(super) async fn when_readable<T>(&self, look: impl FnMut() -> Option<T>) -> T {
        wait(&self.readable, look).await
    }
    /// Waits for room in the send queue until `look` returns a value.
    pub(super) async fn when_writable<T>(&self, look: impl FnMut() -> Option<T>) -> T {
        wait(&self.writable, look).await
    }
    /// Waits for events until `look` returns a value.
    pub(super) async fn when_happened<T>(&self, look: impl FnMut() -> Option<T>) -> T {
        wait(&self.happened, look).await
    }
}

impl Inbox {
    fn push(&mut self, now: Instant, event: LayerEvent<MultipathEvent>, wake: &mut Wake) {
        let event = match event {
            LayerEvent::Event(event) => event,
            LayerEvent::Failed(error) => {
                self.insecure.get_or_insert(error);
                return;
            }
            _ => return,
        };
        match event {
            MultipathEvent::Datagram { payload, sequence, subflow, ecn } => {
                wake.readable = true;
                let limit = if self.is_claimed { self.limit } else { self.limit.min(MAX_UNCLAIMED) };
                // Live data: a slow reader loses the oldest.
                while self.datagrams.len() >= limit {
                    self.datagrams.pop_front();
                    self.overflowed += 1;
                }
                let payload = match payload {
                    Payload::Bytes(bytes) => bytes,
                    Payload::Opaque { .. } => Bytes::new(),
                };
                let received = MultipathReceived { payload, sequence, subflow, ecn, arrival: now };
                self.datagrams.push_back(received);
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
                self.closed = Some(why);
                *wake = Wake::ALL;
                return;
            }
            _ => wake.happened = true,
        }
        if self.events.len() == MAX_EVENTS {
            self.events.pop_front();
        }
        self.events.push_back(event);
    }
    /// The reason why nothing more will arrive, if so.
    pub(super) fn end(&self) -> Option<NetError> {
        if let (Some(_), Some(error)) = (self.closed, &self.insecure) {
            return Some(error.clone().into());
        }
        match self.closed {
            Some(why) => Some(why.into()),
            None => self.stopped.then_some(NetError::DriverStopped),
        }
    }
}
