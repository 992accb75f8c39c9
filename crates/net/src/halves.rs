//! The sending and the receiving half of a socket, for two tasks.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use futures_core::Stream;
use futures_sink::Sink;
use thiserror::Error;
use whimbrel_units::{Duration, Instant};

use crate::streams::{Reading, Streams, Writing};
use crate::{DatagramId, NetError, Received, Socket};

/// Splits a socket into halves.
pub(crate) fn split(mut socket: Socket) -> (SendHalf, ReceiveHalf) {
    let Streams { reading, writing } = std::mem::take(&mut socket.streams);
    let socket = Arc::new(socket);
    let receiving = ReceiveHalf { socket: socket.clone(), reading, is_reunited: false };
    (SendHalf { socket, writing }, receiving)
}

/// The sending half of a socket: a [`Sink`] of datagrams.
#[derive(Debug)]
pub struct SendHalf {
    socket: Arc<Socket>,
    writing: Writing,
}

impl SendHalf {
    /// Datagrams given to the sink from now on are dropped if they could not be sent after that time.
    #[must_use]
    pub fn with_lifetime(mut self, lifetime: Duration) -> Self {
        self.writing.lifetime = Some(lifetime);
        self
    }

    /// Like [`Socket::send`].
    ///
    /// # Errors
    /// Same as [`Socket::send`].
    pub async fn send(&self, payload: Bytes) -> Result<DatagramId, NetError> {
        self.socket.send(payload).await
    }

    /// Like [`Socket::send_before`].
    ///
    /// # Errors
    /// Same as [`Socket::send`].
    pub async fn send_before(&self, payload: Bytes, deadline: Instant) -> Result<DatagramId, NetError> {
        self.socket.send_before(payload, deadline).await
    }

    /// The whole socket, for events, snapshots and all else.
    pub fn socket(&self) -> &Socket {
        &self.socket
    }

    /// The socket of both halves.
    ///
    /// # Errors
    /// The halves belong to different sockets.
    pub fn reunite(self, mut other: ReceiveHalf) -> Result<Socket, ReuniteError> {
        if !Arc::ptr_eq(&self.socket, &other.socket) {
            return Err(ReuniteError(Box::new((self, other))));
        }
        other.is_reunited = true;
        let reading = std::mem::take(&mut other.reading);
        drop(other);
        let mut socket = Arc::into_inner(self.socket).expect("there are two halves");
        socket.streams = Streams { reading, writing: self.writing };
        Ok(socket)
    }
}

/// The receiving half of a socket: a [`Stream`] of datagrams.
#[derive(Debug)]
pub struct ReceiveHalf {
    socket: Arc<Socket>,
    reading: Reading,
    is_reunited: bool,
}

impl ReceiveHalf {
    /// Like [`Socket::recv`].
    ///
    /// # Errors
    /// Same as [`Socket::recv`].
    pub async fn recv(&self) -> Result<Received, NetError> {
        self.socket.recv().await
    }

    /// The whole socket, for events, snapshots and all else.
    pub fn socket(&self) -> &Socket {
        &self.socket
    }
}

impl Drop for ReceiveHalf {
    fn drop(&mut self) {
        if !self.is_reunited {
            self.socket.stop_receiving();
        }
    }
}

/// The halves of different sockets are no socket. Contains both.
#[derive(Debug, Error)]
#[error("the halves are of different sockets")]
pub struct ReuniteError(pub Box<(SendHalf, ReceiveHalf)>);

impl Stream for ReceiveHalf {
    type Item = Result<Received, NetError>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let half = &mut *self;
        half.reading.poll_next(cx, &half.socket)
    }
}

impl Sink<Bytes> for SendHalf {
    type Error = NetError;

    fn poll_ready(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Result<(), NetError>> {
        self.poll_flush(cx)
    }

    fn start_send(mut self: Pin<&mut Self>, payload: Bytes) -> Result<(), NetError> {
        let half = &mut *self;
        half.writing.start_send(payload, &half.socket)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Result<(), NetError>> {
        let half = &mut *self;
        half.writing.poll_queued(cx, &half.socket)
    }

    fn poll_close(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Result<(), NetError>> {
        let half = &mut *self;
        half.writing.poll_close(cx, &half.socket)
    }
}
