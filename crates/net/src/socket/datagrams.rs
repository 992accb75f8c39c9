//! Datagrams and events of a socket, and its end.

use bytes::Bytes;
use tokio::sync::Notify;
use whimbrel_proto::{ConnectionError, Datagram, DatagramId, Event, SendError};
use whimbrel_units::{Duration, Instant};
use whimbrel_wire::option::data_dropped::DropCode;

use super::Socket;
use crate::connections::AnyKind;
use crate::unread::Unread;
use crate::waiters::wait;
use crate::{Mark, NetError, ReceiveHalf, Received, SendHalf};

/// The outcome of queueing datagrams.
#[derive(Debug)]
pub(crate) struct Queued {
    /// The datagram queued last.
    last: Option<DatagramId>,
    /// The one that was refused, and why.
    pub(crate) refused: Option<(Datagram, SendError)>,
}

impl Socket {
    /// The time on this socket's clock, for deadlines.
    pub fn now(&self) -> Instant {
        self.shared.clock.now()
    }

    /// Queues a datagram. Its arrival is not confirmed: a dead peer is detected after
    /// [`TimerConfig::idle`](crate::TimerConfig::idle), a minute by default. Where the send queue refuses
    /// when full ([`OverflowPolicy::Refuse`](crate::OverflowPolicy::Refuse)), waits for room; otherwise never
    /// waits.
    ///
    /// Returns its identifier, by which an event reports it if it is dropped before it was sent.
    ///
    /// # Errors
    /// The datagram is too large, the peer no longer receives, or the connection has ended.
    pub async fn send(&self, payload: Bytes) -> Result<DatagramId, NetError> {
        self.send_one(payload, None).await
    }

    /// Queues several datagrams at once, as [`Self::send`] does one: the pieces of a video frame, say. None
    /// is worth sending after `deadline` (on this socket's clock).
    ///
    /// # Errors
    /// Same as [`Self::send`]; those before the one that failed are queued.
    pub async fn send_many(
        &self,
        payloads: impl IntoIterator<Item = Bytes>,
        deadline: Option<Instant>,
    ) -> Result<(), NetError> {
        self.send_all(payloads, deadline).await.map(drop)
    }

    /// Waits until the send queue has room for a datagram of `size` bytes, for an application that decides at
    /// the last moment what to send. Without [`OverflowPolicy::Refuse`](crate::OverflowPolicy::Refuse) it
    /// makes room, and does not wait.
    ///
    /// # Errors
    /// Such a datagram is too large, the peer no longer receives, or the connection has ended.
    pub async fn writable(&self, size: usize) -> Result<(), NetError> {
        wait(&self.mailbox.waiters.writable, || match self.make_room(size) {
            Err(SendError::QueueFull) => None,
            result => Some(result.map_err(|error| self.refusal(error))),
        })
        .await
    }

    /// Queues a datagram that is not worth sending after `deadline` (on this socket's clock). Never waits.
    ///
    /// # Errors
    /// Same as [`Self::send`], or the queue is full and refuses.
    pub fn try_send(&self, payload: Bytes, deadline: Option<Instant>) -> Result<DatagramId, NetError> {
        self.try_send_part(payload, deadline, Mark::SINGLE)
    }

    /// Like [`Self::try_send`], with the place of the datagram in a frame of media, by which
    /// [repair](crate::Setup::repaired) protects whole frames.
    ///
    /// # Errors
    /// Same as [`Self::try_send`].
    pub fn try_send_part(
        &self,
        payload: Bytes,
        deadline: Option<Instant>,
        mark: Mark,
    ) -> Result<DatagramId, NetError> {
        let mut datagram = Some(Datagram { deadline, mark, ..Datagram::new(payload) });
        let queued = self.queue(|| datagram.take());
        match queued.refused {
            None => Ok(queued.last.expect("one datagram was queued")),
            Some((_, error)) => Err(self.refusal(error)),
        }
    }

    /// Queues a datagram that is dropped if it could not be sent until `deadline` (on this socket's clock),
    /// and an event then reports it. Waits as [`Self::send`] does.
    ///
    /// # Errors
    /// Same as [`Self::send`].
    pub async fn send_before(&self, payload: Bytes, deadline: Instant) -> Result<DatagramId, NetError> {
        self.send_one(payload, Some(deadline)).await
    }

    /// Like [`Self::send_before`], with a deadline `lifetime` from now.
    ///
    /// # Errors
    /// Same as [`Self::send`].
    pub async fn send_within(&self, payload: Bytes, lifetime: Duration) -> Result<DatagramId, NetError> {
        self.send_before(payload, self.now() + lifetime).await
    }

    /// The next datagram.
    ///
    /// # Errors
    /// The connection has ended and all that arrived has been read.
    pub async fn recv(&self) -> Result<Received, NetError> {
        self.taken(&self.mailbox.waiters.readable, |unread| unread.pop()).await
    }

    /// Waits for at least one datagram and appends up to `limit` to `out`; returns their number.
    ///
    /// # Errors
    /// The connection has ended and all that arrived has been read.
    pub async fn recv_many(&self, out: &mut Vec<Received>, limit: usize) -> Result<usize, NetError> {
        self.taken(&self.mailbox.waiters.readable, |unread| {
            let taken = unread.pop_many(out, limit);
            (taken > 0 || limit == 0).then_some(taken)
        })
        .await
    }

    /// The next datagram if there is one now. Never waits.
    ///
    /// # Errors
    /// Same as [`Self::recv`].
    pub fn try_recv(&self) -> Result<Option<Received>, NetError> {
        self.taken_now(|unread| unread.pop())
    }

    /// The next event that is not a datagram: drops with their reasons, changes of paths, the end.
    ///
    /// # Errors
    /// The connection has ended and its last event has been read.
    pub async fn event(&self) -> Result<Event, NetError> {
        self.taken(&self.mailbox.waiters.happened, |unread| unread.pop_event()).await
    }

    /// The next event if there is one now. Never waits.
    ///
    /// # Errors
    /// Same as [`Self::event`].
    pub fn try_event(&self) -> Result<Option<Event>, NetError> {
        self.taken_now(|unread| unread.pop_event())
    }

    /// Datagrams dropped because the application did not read them in time.
    pub fn receive_overflows(&self) -> u64 {
        self.mailbox.inbox().unread.overflowed()
    }

    /// Stops receiving: later arrivals are dropped, and the peer is notified (RFC 4340, Section 11.7.2).
    /// Datagrams that have arrived can still be read, and sending continues. This cannot be undone.
    /// Dropping the socket implies it.
    pub fn stop_receiving(&self) {
        self.with(|connections, handle, now| connections.stop_receiving(now, handle));
    }

    /// Sets or clears the slow-receiver state of the application: while it is set, the peer is asked not to
    /// send faster (RFC 4340, Section 11.6), as it is when three quarters of the receive queue
    /// ([`SocketOptions::receive_queue`](crate::SocketOptions::receive_queue)) are full.
    pub fn set_slow_receiver(&self, slow: bool) {
        self.with(|connections, handle, _| {
            let unread = &mut self.mailbox.inbox().unread;
            unread.set_slow(slow);
            connections.report(handle, unread);
        });
    }

    /// Reports that the application discarded a datagram: its own checksum was wrong
    /// ([`DropCode::Corrupt`]), or it had no room
    /// ([`DropCode::ReceiveBuffer`]). The peer's congestion control counts it.
    /// Returns `true` if the peer will be notified: see [`whimbrel_proto::Connection::datagram_discarded`].
    pub fn discarded(&self, received: &Received, code: DropCode) -> bool {
        let discarded =
            |connections: &mut dyn AnyKind, handle, _| connections.discarded(handle, received, code);
        self.with(discarded).unwrap_or(false)
    }

    /// Splits the socket into halves for two tasks. (Where a reference suffices, none is needed: all methods
    /// take `&self`.)
    ///
    /// The connection is closed when both are dropped. Dropping the receiving half alone implies
    /// [`Self::stop_receiving`].
    pub fn split(self) -> (SendHalf, ReceiveHalf) {
        crate::halves::split(self)
    }

    /// Closes gracefully: sends the queued datagrams, then a Close, and waits until the peer answers or is
    /// given up, for no longer than the configuration's [`TimerConfig::close`](crate::TimerConfig::close),
    /// half a minute by default. Datagrams still queued then are dropped and the connection is reset.
    ///
    /// Afterwards [`Self::recv`] still gives what arrived before.
    ///
    /// # Errors
    /// The reason for the end, if it was another than the two ends' agreement: a reset, or a peer that did
    /// not answer.
    pub async fn close(&self) -> Result<(), NetError> {
        self.begin_closing();
        let end = wait(&self.mailbox.waiters.happened, || self.mailbox.inbox().unread.end()).await;
        closed(end)
    }

    /// Queues the datagrams that `next` returns, until it returns none or one is refused.
    pub(crate) fn queue(&self, mut next: impl FnMut() -> Option<Datagram>) -> Queued {
        let now = self.now();
        let mut state = self.shared.lock();
        let is_open = !state.stopped && state.of(self.paths).is_current(self.handle, &self.mailbox);
        let mut queued = Queued { last: None, refused: None };
        while let Some(datagram) = next() {
            let sent = match is_open {
                true => state.of(self.paths).send(now, self.handle, datagram.clone()),
                false => Err(SendError::Closed),
            };
            match sent {
                Ok(id) => queued.last = Some(id),
                Err(error) => {
                    queued.refused = Some((datagram, error));
                    break;
                }
            }
        }
        self.shared.wake_driver(state);
        queued
    }

    /// Queues datagrams, and waits for room where the queue refuses. Returns the last one's identifier.
    async fn send_all(
        &self,
        payloads: impl IntoIterator<Item = Bytes>,
        deadline: Option<Instant>,
    ) -> Result<Option<DatagramId>, NetError> {
        let mut payloads =
            payloads.into_iter().map(|payload| Datagram { deadline, ..Datagram::new(payload) });
        let (mut refused, mut last) = (None, None);
        wait(&self.mailbox.waiters.writable, || {
            let queued = self.queue(|| refused.take().or_else(|| payloads.next()));
            last = queued.last.or(last);
            match queued.refused {
                None => Some(Ok(last)),
                Some((datagram, SendError::QueueFull)) => {
                    refused = Some(datagram);
                    None
                }
                Some((_, error)) => Some(Err(self.refusal(error))),
            }
        })
        .await
    }

    pub(crate) async fn send_one(
        &self,
        payload: Bytes,
        deadline: Option<Instant>,
    ) -> Result<DatagramId, NetError> {
        self.send_all([payload], deadline).await.map(|last| last.expect("one datagram was queued"))
    }

    fn make_room(&self, size: usize) -> Result<(), SendError> {
        if self.shared.lock().stopped {
            return Err(SendError::Closed);
        }
        let made = self.look(|connections, handle, now| connections.make_room(now, handle, size));
        made.unwrap_or(Err(SendError::Closed))
    }

    /// The error of a refusal; for a connection that has ended, the error with which it ended.
    pub(crate) fn refusal(&self, error: SendError) -> NetError {
        if error == SendError::Closed {
            self.mailbox.inbox().unread.end().unwrap_or(ConnectionError::ClosedLocally.into())
        } else {
            error.into()
        }
    }

    /// Waits until `take` finds something, or the connection has ended.
    async fn taken<T>(
        &self,
        notify: &Notify,
        mut take: impl FnMut(&mut Unread) -> Option<T>,
    ) -> Result<T, NetError> {
        wait(notify, || self.taken_now(&mut take).transpose()).await
    }

    /// Result of `take` now.
    pub(crate) fn taken_now<T>(
        &self,
        take: impl FnOnce(&mut Unread) -> Option<T>,
    ) -> Result<Option<T>, NetError> {
        let unread = &mut self.mailbox.inbox().unread;
        match take(unread) {
            Some(found) => Ok(Some(found)),
            None => unread.end().map_or(Ok(None), Err),
        }
    }
}

/// The result of closing a connection that has ended for that reason.
pub(crate) fn closed(end: NetError) -> Result<(), NetError> {
    match end {
        NetError::Connection(ConnectionError::ClosedLocally | ConnectionError::ClosedByPeer) => Ok(()),
        other => Err(other),
    }
}
