//! The sending and the receiving half of a socket, for two tasks.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use futures_core::Stream;
use futures_sink::Sink;
use thiserror::Error;
use whimbrel_units::{Duration, Instant};

use crate::datagram_socket;
use crate::streams::{Reading, Streams, Writing};
use crate::{DatagramId, DatagramSocket, NetError, Socket};

/// Splits a socket into halves.
pub(crate) fn split<S: DatagramSocket>(mut socket: S) -> (SendHalf<S>, ReceiveHalf<S>) {
    let Streams { reading, writing } = std::mem::take(socket.streams());
    let socket = Arc::new(socket);
    let receiving = ReceiveHalf { socket: socket.clone(), reading, is_reunited: false };
    (SendHalf { socket, writing }, receiving)
}

/// The sending half of a socket of one path or of several: a [`Sink`] of datagrams.
#[derive(Debug)]
pub struct SendHalf<S: DatagramSocket = Socket> {
    socket: Arc<S>,
    writing: Writing,
}

impl<S: DatagramSocket> SendHalf<S> {
    /// Datagrams that are given to the sink from now on are dropped if they could not be sent after that time.
    #[must_use]
    pub fn with_lifetime(mut self, lifetime: Duration) -> Self {
        self.writing.lifetime = Some(lifetime);
        self
    }

    /// As [`Socket::send`].
    ///
    /// # Errors
    /// As [`Socket::send`].
    pub async fn send(&self, payload: Bytes) -> Result<DatagramId, NetError> {
        datagram_socket::send(&*self.socket, payload, None).await
    }

    /// As [`Socket::send_before`].
    ///
    /// # Errors
    /// As [`Socket::send`].
    pub async fn send_before(&self, payload: Bytes, deadline: Instant) -> Result<DatagramId, NetError> {
        datagram_socket::send(&*self.socket, payload, Some(deadline)).await
    }

    /// The whole socket, for events, snapshots and all else.
    pub fn socket(&self) -> &S {
        &self.socket
    }

    /// The socket of both halves.
    ///
    /// # Errors
    /// They are halves of different sockets.
    pub fn reunite(self, mut other: ReceiveHalf<S>) -> Result<S, ReuniteError<S>> {
        if !Arc::ptr_eq(&self.socket, &other.socket) {
            return Err(ReuniteError(Box::new((self, other))));
        }
        other.is_reunited = true;
        let reading = std::mem::take(&mut other.reading);
        drop(other);
        let mut socket = Arc::into_inner(self.socket).expect("there are two halves");
        *socket.streams() = Streams { reading, writing: self.writing };
        Ok(socket)
    }
}

/// The receiving half of a socket of one path or of several: a [`Stream`] of datagrams.
#[derive(Debug)]
pub struct ReceiveHalf<S: DatagramSocket = Socket> {
    socket: Arc<S>,
    reading: Reading,
    is_reunited: bool,
}

impl<S: DatagramSocket> ReceiveHalf<S> {
    /// As [`Socket::recv`].
    ///
    /// # Errors
    /// As [`Socket::recv`].
    pub async fn recv(&self) -> Result<S::Received, NetError> {
        datagram_socket::taken(&*self.socket, &self.socket.waiters().readable, |unread| unread.pop()).await
    }

    /// The whole socket, for events, snapshots and all else.
    pub fn socket(&self) -> &S {
        &self.socket
    }
}

impl<S: DatagramSocket> Drop for ReceiveHalf<S> {
    fn drop(&mut self) {
        if !self.is_reunited {
            datagram_socket::stop_receiving(&*self.socket);
        }
    }
}

/// The halves of different sockets are no socket. Contains both.
#[derive(Debug, Error)]
#[error("the halves are of different sockets")]
pub struct ReuniteError<S: DatagramSocket = Socket>(pub Box<(SendHalf<S>, ReceiveHalf<S>)>);

impl<S: DatagramSocket> Stream for ReceiveHalf<S> {
    type Item = Result<S::Received, NetError>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let half = &mut *self;
        half.reading.poll_next(cx, &*half.socket)
    }
}

impl<S: DatagramSocket> Sink<Bytes> for SendHalf<S> {
    type Error = NetError;

    fn poll_ready(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Result<(), NetError>> {
        self.poll_flush(cx)
    }

    fn start_send(mut self: Pin<&mut Self>, payload: Bytes) -> Result<(), NetError> {
        let half = &mut *self;
        half.writing.start_send(payload, &*half.socket)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Result<(), NetError>> {
        let half = &mut *self;
        half.writing.poll_queued(cx, &*half.socket)
    }

    fn poll_close(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Result<(), NetError>> {
        let half = &mut *self;
        half.writing.poll_close(cx, &*half.socket)
    }
}
