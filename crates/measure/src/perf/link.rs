//! One data connection: DCCP, UDP or TCP.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use tokio::io::Interest;
use tokio::net::{TcpStream, UdpSocket};
use whimbrel_net::{
    Clock, ConnectionError, ConnectionSnapshot, Ecn, Mark, NetError, Received, RepairCounts, SendError,
    Socket, TimedReceiver, is_refusal,
};
use whimbrel_units::{Duration, Instant};

use super::tcp::{self, TcpFigures};

/// One data connection, shared by the task that sends on it and the task that receives.
#[derive(Clone, Debug)]
pub(crate) enum Link {
    Dccp(Arc<Socket>),
    /// Connected to its peer.
    Udp(Arc<UdpSocket>),
    Tcp(Arc<TcpStream>),
}

/// A datagram that arrived.
pub(crate) struct Arrival {
    pub(crate) bytes: Bytes,
    pub(crate) at: Instant,
    pub(crate) marked: bool,
    /// The path had lost it.
    pub(crate) is_repaired: bool,
}

/// The state of a link's receiver between two calls.
#[derive(Debug, Default)]
pub(crate) struct ReceiveBuffer {
    received: Vec<Received>,
    bytes: BytesMut,
    /// Of a link of UDP.
    timed: Option<TimedReceiver>,
}

impl Link {
    /// This end's address.
    pub(crate) fn local(&self) -> Option<SocketAddr> {
        match self {
            Self::Dccp(socket) => Some(socket.local()),
            Self::Udp(socket) => socket.local_addr().ok(),
            Self::Tcp(stream) => stream.local_addr().ok(),
        }
    }

    /// Sends one datagram (or, on TCP, as many bytes). Waits while the transport blocks.
    pub(crate) async fn send(&self, payload: &Bytes) -> anyhow::Result<()> {
        match self {
            Self::Dccp(socket) => socket.send(payload.clone()).await.map(drop).map_err(explained),
            Self::Udp(socket) => match socket.send(payload).await {
                // A full device queue or an unreachable destination is a lost datagram.
                Ok(_) => Ok(()),
                Err(error) if is_refusal(&error) => Ok(()),
                Err(error) => Err(error.into()),
            },
            Self::Tcp(stream) => {
                let mut rest: &[u8] = payload;
                while !rest.is_empty() {
                    stream.writable().await?;
                    match stream.try_write(rest) {
                        Ok(written) => rest = &rest[written..],
                        Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                        Err(error) => return Err(error.into()),
                    }
                }
                Ok(())
            }
        }
    }

    /// Sends one datagram that is stale `stale_after` from now. Never waits; returns `false` if it was
    /// refused.
    pub(crate) fn send_live(
        &self,
        payload: &Bytes,
        stale_after: Duration,
        mark: Mark,
    ) -> anyhow::Result<bool> {
        let taken = match self {
            Self::Dccp(socket) => {
                match socket.try_send_part(payload.clone(), Some(socket.now() + stale_after), mark) {
                    Ok(_) => true,
                    Err(NetError::Send(SendError::QueueFull)) => false,
                    Err(error) => return Err(explained(error)),
                }
            }
            Self::Udp(socket) => socket.try_send(payload).is_ok(),
            // For a byte stream only the number of bytes matters.
            Self::Tcp(stream) => match stream.try_write(payload) {
                Ok(written) => written > 0,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => false,
                Err(error) => return Err(error.into()),
            },
        };
        Ok(taken)
    }

    /// Waits for data and passes it to `each`. Returns `false` if the connection has ended.
    pub(crate) async fn receive(
        &self,
        clock: &Clock,
        buffer: &mut ReceiveBuffer,
        mut each: impl FnMut(Arrival),
    ) -> anyhow::Result<bool> {
        match self {
            Self::Dccp(socket) => {
                buffer.received.clear();
                match socket.recv_many(&mut buffer.received, 256).await {
                    Ok(_) => {}
                    Err(error @ NetError::Connection(ConnectionError::TimedOut)) => return Err(error.into()),
                    Err(NetError::Connection(_)) => return Ok(false),
                    Err(error) => return Err(error.into()),
                }
                let now = clock.now();
                let socket_now = socket.now();
                for received in buffer.received.drain(..) {
                    // Two clocks with two epochs: the age of the datagram is valid on both.
                    let age = socket_now - received.arrival;
                    let at = now.saturating_sub(age);
                    let marked = received.ecn == Ecn::Ce;
                    each(Arrival { bytes: received.payload, at, marked, is_repaired: received.repaired });
                }
                Ok(true)
            }
            Self::Udp(socket) => {
                let ReceiveBuffer { bytes, timed, .. } = buffer;
                bytes.resize(1 << 16, 0);
                let timed = timed.get_or_insert_with(|| TimedReceiver::new(&**socket, *clock));
                let (taken, at) = loop {
                    match socket.async_io(Interest::READABLE, || timed.receive(&**socket, bytes)).await {
                        Ok((taken, _, at)) => break (taken, at),
                        Err(error) if is_refusal(&error) => {}
                        Err(error) => return Err(error.into()),
                    }
                };
                let bytes = Bytes::copy_from_slice(&bytes[..taken]);
                each(Arrival { bytes, at, marked: false, is_repaired: false });
                Ok(true)
            }
            Self::Tcp(stream) => {
                buffer.bytes.resize(1 << 16, 0);
                loop {
                    stream.readable().await?;
                    match stream.try_read(&mut buffer.bytes) {
                        Ok(0) => return Ok(false),
                        Ok(taken) => {
                            let bytes = Bytes::copy_from_slice(&buffer.bytes[..taken]);
                            each(Arrival { bytes, at: clock.now(), marked: false, is_repaired: false });
                            return Ok(true);
                        }
                        Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                        Err(error) if error.kind() == io::ErrorKind::ConnectionReset => return Ok(false),
                        Err(error) => return Err(error.into()),
                    }
                }
            }
        }
    }

    /// A snapshot of the DCCP connection, if it is one.
    pub(crate) fn snapshot(&self) -> Option<ConnectionSnapshot> {
        match self {
            Self::Dccp(socket) => socket.snapshot(),
            Self::Udp(_) | Self::Tcp(_) => None,
        }
    }

    /// Repair counters, if both ends repair.
    pub(crate) fn repair(&self) -> Option<RepairCounts> {
        match self {
            Self::Dccp(socket) => socket.repair(),
            Self::Udp(_) | Self::Tcp(_) => None,
        }
    }

    /// The kernel's figures of the connection, if it is TCP.
    pub(crate) fn tcp_figures(&self) -> Option<TcpFigures> {
        match self {
            Self::Tcp(stream) => tcp::figures(stream),
            Self::Dccp(_) | Self::Udp(_) => None,
        }
    }

    /// Selects the kernel's congestion control of a TCP connection.
    ///
    /// # Errors
    /// The kernel does not have it, or does not allow it.
    pub(crate) fn set_congestion(&self, name: &str) -> anyhow::Result<()> {
        match self {
            Self::Tcp(stream) => tcp::set_congestion(&**stream, name),
            Self::Dccp(_) | Self::Udp(_) => Ok(()),
        }
    }

    /// Closes the connection.
    pub(crate) async fn close(&self) {
        if let Self::Dccp(socket) = self {
            // The streams have ended: how the connection ends changes no result.
            let _ = socket.close().await;
        }
    }
}

/// A failure to send, with a remedy if there is one.
fn explained(error: NetError) -> anyhow::Error {
    let hint = match &error {
        NetError::Send(SendError::TooLarge { limit, .. }) => {
            Some(format!("the path carries less than --size; try --size {limit}"))
        }
        _ => None,
    };
    let error = anyhow::Error::new(error);
    match hint {
        Some(hint) => error.context(hint),
        None => error,
    }
}
