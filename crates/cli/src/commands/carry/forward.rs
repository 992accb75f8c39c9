//! Forwarding between a UDP socket and a DCCP connection, in both directions.

use std::io;
use std::net::SocketAddr;

use anyhow::Context;
use bytes::{Bytes, BytesMut};
use tokio::net::UdpSocket;
use tokio::time::{MissedTickBehavior, interval};
use whimbrel_net::{Listener, NetError, SendError, Socket};
use whimbrel_units::Duration;

use super::follow::{Change, Follow};
use super::output::Lines;
use crate::interrupt::Interrupt;

/// The largest UDP datagram.
const LARGEST: usize = 1 << 16;

/// The end of one connection.
pub(super) enum Ending {
    /// Ctrl-C was pressed.
    Interrupted,
    /// The connection is over.
    Over(NetError),
    /// A newer connection takes its place.
    Replaced(Socket),
}

/// Datagrams counted by this end, beside those that the connection counts.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Counts {
    /// Datagrams for which the send queue had no room.
    pub(super) refused: u64,
    /// Datagrams that do not fit a packet on this path.
    pub(super) too_large: u64,
}

/// Forwards between a UDP socket and a connection.
pub(super) struct Forwarding<'a> {
    pub(super) socket: &'a Socket,
    pub(super) udp: &'a UdpSocket,
    /// Destination of the data that arrive over the connection; `None`: the source of the last datagram at the UDP socket.
    pub(super) target: Option<SocketAddr>,
    /// Time after which a datagram in the send queue is dropped.
    pub(super) stale: Duration,
}

impl Forwarding<'_> {
    /// Forwards until the connection ends.
    ///
    /// # Errors
    /// The UDP socket or the output fails.
    pub(super) async fn run(
        mut self,
        lines: &mut Lines,
        interrupt: &mut Interrupt,
        mut follow: Option<Follow>,
        listener: Option<&Listener>,
    ) -> anyhow::Result<Ending> {
        let fixed = self.target.is_some();
        let mut counts = Counts::default();
        let mut buffer = BytesMut::new();
        self.discard_old(&mut buffer);
        let mut ticks = interval(lines.interval());
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        ticks.tick().await;
        loop {
            buffer.resize(LARGEST, 0);
            tokio::select! {
                arrived = self.udp.recv_from(&mut buffer) => match arrived {
                    Ok((size, source)) => {
                        if !fixed {
                            self.target = Some(source);
                        }
                        let datagram = Bytes::copy_from_slice(&buffer[..size]);
                        if let Some(ended) = self.send(datagram, &mut counts, lines)? {
                            return Ok(Ending::Over(ended));
                        }
                    }
                    // An ICMP message about an earlier datagram: its receiver is not running yet.
                    Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => {}
                    Err(error) => return Err(error).context("receiving from UDP"),
                },
                received = self.socket.recv() => match received {
                    Ok(received) => {
                        if let Some(target) = self.target {
                            // A datagram that the system refuses is a lost datagram.
                            let _ = self.udp.send_to(&received.payload, target).await;
                        }
                    }
                    Err(error) => {
                        self.report(lines, counts)?;
                        return Ok(Ending::Over(error));
                    }
                },
                _ = ticks.tick() => self.report(lines, counts)?,
                change = next_change(&mut follow) => {
                    if let Some(follow) = &mut follow {
                        follow.apply(change?, self.socket).await;
                    }
                }
                newer = next_connection(listener) => return Ok(Ending::Replaced(newer?)),
                () = interrupt.raised() => {
                    self.report(lines, counts)?;
                    return Ok(Ending::Interrupted);
                }
            }
        }
    }

    /// Discards what arrived before there was a connection.
    fn discard_old(&mut self, buffer: &mut BytesMut) {
        buffer.resize(LARGEST, 0);
        while let Ok((_, source)) = self.udp.try_recv_from(buffer) {
            self.target = self.target.or(Some(source));
        }
    }

    /// Sends a datagram, or counts it as dropped. Returns the error that ends the connection.
    fn send(
        &self,
        datagram: Bytes,
        counts: &mut Counts,
        lines: &mut Lines,
    ) -> anyhow::Result<Option<NetError>> {
        match self.socket.try_send(datagram, Some(self.socket.now() + self.stale)) {
            Ok(()) => {}
            Err(NetError::Send(SendError::QueueFull)) => counts.refused += 1,
            Err(NetError::Send(error @ SendError::TooLarge { .. })) => {
                if counts.too_large == 0 {
                    lines.warn(&format!("{error}: reduce the packet size of the program"));
                }
                counts.too_large += 1;
            }
            Err(error) => {
                self.report(lines, *counts)?;
                return Ok(Some(error));
            }
        }
        Ok(None)
    }

    fn report(&self, lines: &mut Lines, counts: Counts) -> anyhow::Result<()> {
        match self.socket.snapshot() {
            Some(snapshot) => Ok(lines.interval_of(&snapshot, counts)?),
            None => Ok(()),
        }
    }
}

/// The next change of the link, if it is followed. Cancel safe.
async fn next_change(follow: &mut Option<Follow>) -> anyhow::Result<Change> {
    match follow {
        Some(follow) => follow.next().await,
        None => std::future::pending().await,
    }
}

/// The next connection, if there is a listener. Cancel safe.
async fn next_connection(listener: Option<&Listener>) -> anyhow::Result<Socket> {
    match listener {
        Some(listener) => Ok(listener.accept().await?),
        None => std::future::pending().await,
    }
}
