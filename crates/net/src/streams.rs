//! Sockets as a `Stream` of received datagrams and a `Sink` of sent ones.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use futures_core::Stream;
use futures_sink::Sink;
use tokio::sync::Notify;
use tokio::sync::futures::OwnedNotified;
use whimbrel_proto::{ConnectionError, Datagram, SendError};
use whimbrel_units::Duration;

use crate::socket::closed;
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

/// The state of a socket as a stream and a sink.
#[derive(Debug, Default)]
pub(crate) struct Streams {
    pub(crate) reading: Reading,
    pub(crate) writing: Writing,
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
        let look = || socket.taken_now(|unread| unread.pop()).transpose();
        let next = std::task::ready!(self.waiter.poll(cx, &socket.mailbox.waiters.readable, look));
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
    /// The datagram that the full queue refused.
    refused: Option<Datagram>,
    pub(crate) lifetime: Option<Duration>,
    is_closing: bool,
}

impl Writing {
    /// Queues the refused datagram; leaves it if there is still no room. Returns `None` then.
    fn queue(refused: &mut Option<Datagram>, socket: &Socket) -> Option<Result<(), NetError>> {
        match socket.queue(|| refused.take()).refused {
            None => Some(Ok(())),
            Some((datagram, SendError::QueueFull)) => {
                *refused = Some(datagram);
                None
            }
            Some((_, error)) => Some(Err(socket.refusal(error))),
        }
    }

    /// Queues the refused datagram as soon as there is room.
    pub(crate) fn poll_queued(
        &mut self,
        cx: &mut Context<'_>,
        socket: &Socket,
    ) -> Poll<Result<(), NetError>> {
        let Self { waiter, refused, .. } = self;
        if refused.is_none() {
            return Poll::Ready(Ok(()));
        }
        waiter.poll(cx, &socket.mailbox.waiters.writable, || Self::queue(refused, socket))
    }

    pub(crate) fn start_send(&mut self, payload: Bytes, socket: &Socket) -> Result<(), NetError> {
        let deadline = self.lifetime.map(|lifetime| socket.now() + lifetime);
        self.refused = Some(Datagram { deadline, ..Datagram::new(payload) });
        // Without room it stays in `refused`: `poll_queued` follows.
        Self::queue(&mut self.refused, socket).unwrap_or(Ok(()))
    }

    pub(crate) fn poll_close(&mut self, cx: &mut Context<'_>, socket: &Socket) -> Poll<Result<(), NetError>> {
        if !self.is_closing {
            std::task::ready!(self.poll_queued(cx, socket))?;
            self.is_closing = true;
            // The next wake-up is another one.
            self.waiter = Waiter::default();
            socket.begin_closing();
        }
        let end = || socket.mailbox.inbox().unread.end();
        self.waiter.poll(cx, &socket.mailbox.waiters.happened, end).map(closed)
    }
}

/// Calls `poll` with the state of a socket as a stream and a sink, and the socket.
fn with_streams<T>(socket: &mut Socket, poll: impl FnOnce(&mut Streams, &Socket) -> T) -> T {
    let mut streams = std::mem::take(&mut socket.streams);
    let result = poll(&mut streams, socket);
    socket.streams = streams;
    result
}

/// The received datagrams. It ends when either end closes the connection; any other end is an error, which is
/// the last item.
impl Stream for Socket {
    type Item = Result<Received, NetError>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        with_streams(&mut self, |streams, socket| streams.reading.poll_next(cx, socket))
    }
}

/// Queues datagrams as its method `send` does. It is flushed when they are in the send queue, and closed as
/// by its method `close`. A datagram that is too large is refused by an error, after which others can be
/// sent.
impl Sink<Bytes> for Socket {
    type Error = NetError;

    fn poll_ready(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Result<(), NetError>> {
        self.poll_flush(cx)
    }

    fn start_send(mut self: Pin<&mut Self>, payload: Bytes) -> Result<(), NetError> {
        with_streams(&mut self, |streams, socket| streams.writing.start_send(payload, socket))
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Result<(), NetError>> {
        with_streams(&mut self, |streams, socket| streams.writing.poll_queued(cx, socket))
    }

    fn poll_close(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Result<(), NetError>> {
        with_streams(&mut self, |streams, socket| streams.writing.poll_close(cx, socket))
    }
}
