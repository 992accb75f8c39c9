//! Sockets as a `Stream` of received datagrams and a `Sink` of sent ones.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use futures_core::Stream;
use futures_sink::Sink;
use tokio::sync::Notify;
use tokio::sync::futures::OwnedNotified;
use whimbrel_proto::{ConnectionError, SendError};
use whimbrel_units::{Duration, Instant};

use crate::{NetError, Received, Socket};

/// A place among the tasks that a mailbox wakes, for functions that are polled.
#[derive(Debug, Default)]
struct Waiter(Option<Pin<Box<OwnedNotified>>>);

impl Waiter {
    /// Polls `look` now and after each notification.
    fn poll<T>(
        &mut self,
        cx: &mut Context<'_>,
        notify: &Arc<Notify>,
        mut look: impl FnMut() -> Option<T>,
    ) -> Poll<T> {
        let renewed = || notify.clone().notified_owned();
        // Created before `look` is called: it receives a wake-up between that call and waiting.
        let notified = self.0.get_or_insert_with(|| Box::pin(renewed()));
        loop {
            if let Some(found) = look() {
                return Poll::Ready(found);
            }
            std::task::ready!(notified.as_mut().poll(cx));
            notified.set(renewed());
        }
    }
}

/// The state of a stream of received datagrams.
#[derive(Debug, Default)]
pub(crate) struct Reading {
    waiter: Waiter,
    has_ended: bool,
}

impl Reading {
    pub(crate) fn poll_next(
        &mut self,
        cx: &mut Context<'_>,
        socket: &Socket,
    ) -> Poll<Option<Result<Received, NetError>>> {
        if self.has_ended {
            return Poll::Ready(None);
        }
        let look = || socket.try_recv().transpose();
        let next = std::task::ready!(self.waiter.poll(cx, &socket.mailbox.readable, look));
        self.has_ended = next.is_err();
        Poll::Ready(match next {
            Err(NetError::Connection(ConnectionError::ClosedByPeer | ConnectionError::ClosedLocally)) => None,
            next => Some(next),
        })
    }
}

/// The state of a sink of sent datagrams.
#[derive(Debug, Default)]
pub(crate) struct Writing {
    waiter: Waiter,
    /// The datagram that the full queue refused, and its deadline.
    refused: Option<Bytes>,
    deadline: Option<Instant>,
    pub(crate) lifetime: Option<Duration>,
    is_closing: bool,
}

impl Writing {
    /// Queues the refused datagram as soon as there is room.
    pub(crate) fn poll_queued(
        &mut self,
        cx: &mut Context<'_>,
        socket: &Socket,
    ) -> Poll<Result<(), NetError>> {
        let Self { waiter, refused, deadline, .. } = self;
        if refused.is_none() {
            return Poll::Ready(Ok(()));
        }
        waiter.poll(cx, &socket.mailbox.writable, || {
            match socket.queue(refused, &mut std::iter::empty(), *deadline) {
                Err(NetError::Send(SendError::QueueFull)) => None,
                result => {
                    *refused = None;
                    Some(result)
                }
            }
        })
    }

    pub(crate) fn start_send(&mut self, payload: Bytes, socket: &Socket) -> Result<(), NetError> {
        self.deadline = self.lifetime.map(|lifetime| socket.now() + lifetime);
        self.refused = Some(payload);
        match socket.queue(&mut self.refused, &mut std::iter::empty(), self.deadline) {
            // It stays in `refused`: `poll_queued` follows.
            Err(NetError::Send(SendError::QueueFull)) => Ok(()),
            result => {
                self.refused = None;
                result
            }
        }
    }

    pub(crate) fn poll_close(&mut self, cx: &mut Context<'_>, socket: &Socket) -> Poll<Result<(), NetError>> {
        if !self.is_closing {
            std::task::ready!(self.poll_queued(cx, socket))?;
            self.is_closing = true;
            // The next wake-up is another one.
            self.waiter = Waiter::default();
            socket.start_closing();
        }
        let mailbox = &socket.mailbox;
        self.waiter.poll(cx, &mailbox.happened, || mailbox.inbox().end()).map(|_| Ok(()))
    }
}

/// The received datagrams. It ends when either end closes the connection; any other end is an error, which is the last item.
impl Stream for Socket {
    type Item = Result<Received, NetError>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let mut reading = std::mem::take(&mut self.reading);
        let next = reading.poll_next(cx, &self);
        self.reading = reading;
        next
    }
}

/// Queues datagrams as [`Socket::send`] does. It is flushed when they are in the send queue, and closed as by [`Socket::close`]. A
/// datagram that is too large is refused by an error, after which others can be sent.
impl Sink<Bytes> for Socket {
    type Error = NetError;

    fn poll_ready(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Result<(), NetError>> {
        self.poll_flush(cx)
    }

    fn start_send(mut self: Pin<&mut Self>, payload: Bytes) -> Result<(), NetError> {
        let mut writing = std::mem::take(&mut self.writing);
        let result = writing.start_send(payload, &self);
        self.writing = writing;
        result
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Result<(), NetError>> {
        let mut writing = std::mem::take(&mut self.writing);
        let result = writing.poll_queued(cx, &self);
        self.writing = writing;
        result
    }

    fn poll_close(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Result<(), NetError>> {
        let mut writing = std::mem::take(&mut self.writing);
        let result = writing.poll_close(cx, &self);
        self.writing = writing;
        result
    }
}
