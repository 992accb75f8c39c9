//! The methods that sockets of one path and of several share: sending, receiving, waiting and closing.

use std::fmt::Debug;

use bytes::Bytes;
use tokio::sync::Notify;
use whimbrel_proto::{ConnectionError, Datagram, DatagramId, SendError};
use whimbrel_units::Instant;
use whimbrel_wire::option::data_dropped::DropCode;

use crate::NetError;
use crate::feedback::{Delivered, Reports};
use crate::streams::Streams;
use crate::unread::Unread;
use crate::waiters::{Waiters, wait};

/// A socket of one path or of several: [`Socket`](crate::Socket) or [`MultipathSocket`](crate::multipath::MultipathSocket).
///
/// It has no methods for applications, and cannot be implemented by them: both types have the same methods of their own.
pub trait DatagramSocket: SocketCore {}

/// The operations of a socket by which the shared methods are implemented.
pub trait SocketCore: Debug + Sized {
    /// A received datagram.
    type Received: Delivered;
    /// An event that is not a datagram.
    type Event;
    /// The protocol's end of the connection.
    type Connection: Reports<<Self::Received as Delivered>::Packet>;

    /// The time on the socket's clock.
    fn clock(&self) -> Instant;
    /// The tasks that wait.
    fn waiters(&self) -> &Waiters;
    /// Calls `look` with what has arrived.
    fn with_unread<T>(&self, look: impl FnOnce(&mut Unread<Self::Received, Self::Event>) -> T) -> T;
    /// Queues the datagrams that `next` returns, until it returns none or one is refused. Returns the last one's identifier.
    fn queue(&self, next: impl FnMut() -> Option<Datagram>) -> Queued;
    /// Makes room in the send queue.
    fn make_room(&self, size: usize) -> Result<(), SendError>;
    /// Begins to close the connection.
    fn begin_closing(&self);
    /// Gives the connection a command, if it still exists.
    fn with_connection<T>(&self, command: impl FnOnce(&mut Self::Connection, Instant) -> T) -> Option<T>;
    /// The state of the socket as a stream and a sink.
    fn streams(&mut self) -> &mut Streams;
}

/// The outcome of queueing datagrams.
#[derive(Debug)]
pub struct Queued {
    /// The datagram queued last.
    pub(crate) last: Option<DatagramId>,
    /// The one that was refused, and why.
    pub(crate) refused: Option<(Datagram, SendError)>,
}

impl Queued {
    /// Queues the datagrams that `next` returns by `send`.
    pub(crate) fn by(
        mut next: impl FnMut() -> Option<Datagram>,
        mut send: impl FnMut(Datagram) -> Result<DatagramId, SendError>,
    ) -> Self {
        let mut last = None;
        while let Some(datagram) = next() {
            match send(datagram.clone()) {
                Ok(id) => last = Some(id),
                Err(error) => return Self { last, refused: Some((datagram, error)) },
            }
        }
        Self { last, refused: None }
    }
}

/// The error of a refusal: for a connection that is over, that of its end.
pub(crate) fn refusal<S: SocketCore>(socket: &S, error: SendError) -> NetError {
    if error == SendError::Closed {
        socket.with_unread(|unread| unread.end()).unwrap_or(ConnectionError::ClosedLocally.into())
    } else {
        error.into()
    }
}

/// Queues datagrams, and waits for room where the queue refuses. Returns the last one's identifier.
pub(crate) async fn send_all<S: SocketCore>(
    socket: &S,
    payloads: impl IntoIterator<Item = Bytes>,
    deadline: Option<Instant>,
) -> Result<Option<DatagramId>, NetError> {
    let mut payloads = payloads.into_iter().map(|payload| Datagram { deadline, ..Datagram::new(payload) });
    let (mut refused, mut last) = (None, None);
    wait(&socket.waiters().writable, || {
        let queued = socket.queue(|| refused.take().or_else(|| payloads.next()));
        last = queued.last.or(last);
        match queued.refused {
            None => Some(Ok(last)),
            Some((datagram, SendError::QueueFull)) => {
                refused = Some(datagram);
                None
            }
            Some((_, error)) => Some(Err(refusal(socket, error))),
        }
    })
    .await
}

/// Queues a datagram, and waits for room where the queue refuses.
pub(crate) async fn send<S: SocketCore>(
    socket: &S,
    payload: Bytes,
    deadline: Option<Instant>,
) -> Result<DatagramId, NetError> {
    send_all(socket, [payload], deadline).await.map(|last| last.expect("one datagram was queued"))
}

/// Queues a datagram. Never waits.
pub(crate) fn try_send<S: SocketCore>(socket: &S, datagram: Datagram) -> Result<DatagramId, NetError> {
    let mut datagram = Some(datagram);
    let queued = socket.queue(|| datagram.take());
    match queued.refused {
        None => Ok(queued.last.expect("one datagram was queued")),
        Some((_, error)) => Err(refusal(socket, error)),
    }
}

/// Waits for room for a datagram of that size.
pub(crate) async fn writable<S: SocketCore>(socket: &S, size: usize) -> Result<(), NetError> {
    wait(&socket.waiters().writable, || match socket.make_room(size) {
        Err(SendError::QueueFull) => None,
        result => Some(result.map_err(|error| refusal(socket, error))),
    })
    .await
}

/// Waits until `take` finds something, or the connection is over.
pub(crate) async fn taken<S: SocketCore, T>(
    socket: &S,
    notify: &Notify,
    mut take: impl FnMut(&mut Unread<S::Received, S::Event>) -> Option<T>,
) -> Result<T, NetError> {
    wait(notify, || socket.with_unread(|unread| take(unread).map(Ok).or_else(|| unread.end().map(Err)))).await
}

/// What `take` finds now.
pub(crate) fn taken_now<S: SocketCore, T>(
    socket: &S,
    take: impl FnOnce(&mut Unread<S::Received, S::Event>) -> Option<T>,
) -> Result<Option<T>, NetError> {
    socket.with_unread(|unread| match take(unread) {
        Some(found) => Ok(Some(found)),
        None => unread.end().map_or(Ok(None), Err),
    })
}

/// Drops what arrives from now on, and reports it to the peer.
pub(crate) fn stop_receiving<S: SocketCore>(socket: &S) {
    socket.with_connection(|connection, now| connection.end_receiving(now));
}

/// Sets whether the application cannot keep up.
pub(crate) fn set_slow_receiver<S: SocketCore>(socket: &S, slow: bool) {
    socket.with_connection(|connection, _| {
        socket.with_unread(|unread| {
            unread.set_slow(slow);
            unread.report_to(connection);
        });
    });
}

/// Reports that the application has discarded a datagram.
pub(crate) fn discarded<S: SocketCore>(socket: &S, received: &S::Received, code: DropCode) -> bool {
    let report = |connection: &mut S::Connection, _| connection.report_discarded(received.packet(), code);
    socket.with_connection(report).unwrap_or(false)
}

/// Closes the connection, and waits until it is over.
pub(crate) async fn close<S: SocketCore>(socket: &S) -> Result<(), NetError> {
    socket.begin_closing();
    closed(wait(&socket.waiters().happened, || socket.with_unread(|unread| unread.end())).await)
}

/// The result of closing a connection that has ended for that reason.
pub(crate) fn closed(end: NetError) -> Result<(), NetError> {
    match end {
        NetError::Connection(ConnectionError::ClosedLocally | ConnectionError::ClosedByPeer) => Ok(()),
        other => Err(other),
    }
}

/// The methods that sockets of one path and of several have in common.
macro_rules! datagram_methods {
    ($socket:ty, $received:ty, $event:ty) => {
        impl $crate::DatagramSocket for $socket {}

        impl $socket {
            /// The time on this socket's clock, for deadlines.
            pub fn now(&self) -> $crate::Instant {
                self.clock()
            }

            /// Queues a datagram. Its arrival is not confirmed: a dead peer is detected after
            /// [`TimerConfig::idle`](crate::TimerConfig::idle), a minute by default. Where the send queue refuses when full
            /// ([`OverflowPolicy::Refuse`](crate::OverflowPolicy::Refuse)), waits for room; otherwise never waits.
            ///
            /// Returns its identifier, by which an event reports it if it is dropped before it was sent.
            ///
            /// # Errors
            /// The datagram is too large, the peer no longer receives, or the connection is over.
            pub async fn send(&self, payload: $crate::Bytes) -> Result<$crate::DatagramId, $crate::NetError> {
                $crate::datagram_socket::send(self, payload, None).await
            }

            /// Queues several datagrams at once, as [`Self::send`] does one: the pieces of a video frame, say.
            /// They are not worth sending after `deadline` (on this socket's clock).
            ///
            /// # Errors
            /// As [`Self::send`]; those before the one that failed are queued.
            pub async fn send_many(
                &self,
                payloads: impl IntoIterator<Item = $crate::Bytes>,
                deadline: Option<$crate::Instant>,
            ) -> Result<(), $crate::NetError> {
                $crate::datagram_socket::send_all(self, payloads, deadline).await.map(drop)
            }

            /// Waits until the send queue has room for a datagram of `size` bytes, for an application that decides at the
            /// last moment what to send. Without [`OverflowPolicy::Refuse`](crate::OverflowPolicy::Refuse) it makes room, and
            /// does not wait.
            ///
            /// # Errors
            /// Such a datagram is too large, the peer no longer receives, or the connection is over.
            pub async fn writable(&self, size: usize) -> Result<(), $crate::NetError> {
                $crate::datagram_socket::writable(self, size).await
            }

            /// Queues a datagram that is not worth sending after `deadline` (on this socket's clock). Never waits.
            ///
            /// # Errors
            /// As [`Self::send`], or the queue is full and refuses.
            pub fn try_send(
                &self,
                payload: $crate::Bytes,
                deadline: Option<$crate::Instant>,
            ) -> Result<$crate::DatagramId, $crate::NetError> {
                self.try_send_part(payload, deadline, $crate::Mark::SINGLE)
            }

            /// As [`Self::try_send`], with the place of the datagram in a frame of media, by which [repair](crate::Setup::repaired)
            /// protects whole frames.
            ///
            /// # Errors
            /// As [`Self::try_send`].
            pub fn try_send_part(
                &self,
                payload: $crate::Bytes,
                deadline: Option<$crate::Instant>,
                mark: $crate::Mark,
            ) -> Result<$crate::DatagramId, $crate::NetError> {
                let datagram = whimbrel_proto::Datagram { payload: payload.into(), deadline, mark };
                $crate::datagram_socket::try_send(self, datagram)
            }

            /// Queues a datagram that is dropped if it could not be sent until `deadline` (on this socket's clock), and an
            /// event then reports it. Waits as [`Self::send`] does.
            ///
            /// # Errors
            /// As [`Self::send`].
            pub async fn send_before(
                &self,
                payload: $crate::Bytes,
                deadline: $crate::Instant,
            ) -> Result<$crate::DatagramId, $crate::NetError> {
                $crate::datagram_socket::send(self, payload, Some(deadline)).await
            }

            /// As [`Self::send_before`], with a deadline `lifetime` from now.
            ///
            /// # Errors
            /// As [`Self::send`].
            pub async fn send_within(
                &self,
                payload: $crate::Bytes,
                lifetime: $crate::Duration,
            ) -> Result<$crate::DatagramId, $crate::NetError> {
                self.send_before(payload, self.now() + lifetime).await
            }

            /// The next datagram.
            ///
            /// # Errors
            /// The connection is over and all that arrived has been read.
            pub async fn recv(&self) -> Result<$received, $crate::NetError> {
                $crate::datagram_socket::taken(self, &self.waiters().readable, |unread| unread.pop()).await
            }

            /// Waits for at least one datagram and appends up to `limit` to `out`; returns their number.
            ///
            /// # Errors
            /// The connection is over and all that arrived has been read.
            pub async fn recv_many(
                &self,
                out: &mut Vec<$received>,
                limit: usize,
            ) -> Result<usize, $crate::NetError> {
                $crate::datagram_socket::taken(self, &self.waiters().readable, |unread| {
                    let taken = unread.pop_many(out, limit);
                    (taken > 0 || limit == 0).then_some(taken)
                })
                .await
            }

            /// The next datagram if there is one now. Never waits.
            ///
            /// # Errors
            /// As [`Self::recv`].
            pub fn try_recv(&self) -> Result<Option<$received>, $crate::NetError> {
                $crate::datagram_socket::taken_now(self, |unread| unread.pop())
            }

            /// The next event that is not a datagram: drops with their reasons, changes of paths, the end.
            ///
            /// # Errors
            /// The connection is over and its last event has been read.
            pub async fn event(&self) -> Result<$event, $crate::NetError> {
                $crate::datagram_socket::taken(self, &self.waiters().happened, |unread| unread.pop_event())
                    .await
            }

            /// The next event if there is one now. Never waits.
            ///
            /// # Errors
            /// As [`Self::event`].
            pub fn try_event(&self) -> Result<Option<$event>, $crate::NetError> {
                $crate::datagram_socket::taken_now(self, |unread| unread.pop_event())
            }

            /// Datagrams dropped because the application did not read them in time.
            pub fn receive_overflows(&self) -> u64 {
                self.with_unread(|unread| unread.overflowed())
            }

            /// Stops receiving: later arrivals are dropped, and the peer is notified (RFC 4340, Section 11.7.2).
            /// Datagrams that have arrived can still be read, and sending continues. This cannot be undone.
            /// Dropping the socket implies it.
            pub fn stop_receiving(&self) {
                $crate::datagram_socket::stop_receiving(self);
            }

            /// Sets or clears the slow-receiver state of the application: while it is set, the peer is asked not to send
            /// faster (RFC 4340, Section 11.6), as it is when three quarters of the receive queue
            /// ([`SocketOptions::receive_queue`](crate::SocketOptions::receive_queue),
            /// [`MultipathOptions::receive_queue`](crate::multipath::MultipathOptions::receive_queue)) are full.
            pub fn set_slow_receiver(&self, slow: bool) {
                $crate::datagram_socket::set_slow_receiver(self, slow);
            }

            /// Reports that the application discarded a datagram: its own checksum was wrong
            /// ([`DropCode::Corrupt`](crate::DropCode::Corrupt)), or it had no room
            /// ([`DropCode::ReceiveBuffer`](crate::DropCode::ReceiveBuffer)). The peer's congestion control counts it.
            /// Returns `true` if the peer will be notified: see [`whimbrel_proto::Connection::datagram_discarded`].
            pub fn discarded(&self, received: &$received, code: $crate::DropCode) -> bool {
                $crate::datagram_socket::discarded(self, received, code)
            }

            /// Splits the socket into halves for two tasks. (Where a reference suffices, none is needed: all methods take
            /// `&self`.)
            ///
            /// The connection is closed when both are dropped. Dropping the receiving half alone implies
            /// [`Self::stop_receiving`].
            pub fn split(self) -> ($crate::SendHalf<Self>, $crate::ReceiveHalf<Self>) {
                $crate::halves::split(self)
            }

            /// Closes gracefully: sends the queued datagrams, then a Close, and waits until the peer answers or is given up,
            /// for no longer than the configuration's [`TimerConfig::close`](crate::TimerConfig::close), half a minute by
            /// default. Datagrams still queued then are dropped and the connection is reset.
            ///
            /// Afterwards [`Self::recv`] still gives what arrived before.
            ///
            /// # Errors
            /// The reason for the end, if it was another than the two ends' agreement: a reset, or a peer that did not answer.
            pub async fn close(&self) -> Result<(), $crate::NetError> {
                $crate::datagram_socket::close(self).await
            }
        }

        $crate::streams::stream_and_sink!($socket, $received);
    };
}
pub(crate) use datagram_methods;
