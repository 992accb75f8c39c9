//! The UDP socket towards the relay.

use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use anyhow::{Context, Result, bail, ensure};

use crate::args::End;
use crate::report::shortened;
use crate::waiting::Waiting;

/// A socket for both directions.
#[derive(Debug)]
pub(crate) struct Port {
    receiving: tokio::net::UdpSocket,
    /// The same socket: Zenoh calls subscribers from threads of its own, where nothing can be awaited.
    sending: UdpSocket,
    target: Target,
    sent: AtomicU64,
}

/// The destination of datagrams.
#[derive(Debug)]
enum Target {
    /// To the address with which the socket is connected.
    Connected,
    /// To the sender of the newest datagram.
    Newest { is_local: bool, state: Mutex<State> },
}

#[derive(Debug, Default)]
struct State {
    address: Option<SocketAddr>,
    waiting: Waiting,
}

impl Port {
    /// Opens the socket of that end.
    pub(crate) fn open(end: &End) -> Result<Self> {
        let (socket, target) = match (end.relay, end.bind) {
            (Some(relay), _) => {
                let any = match relay {
                    SocketAddr::V4(_) => SocketAddr::from((Ipv4Addr::UNSPECIFIED, 0)),
                    SocketAddr::V6(_) => SocketAddr::from((Ipv6Addr::UNSPECIFIED, 0)),
                };
                let socket = UdpSocket::bind(any).with_context(|| format!("--relay {relay}"))?;
                // From now on, the system takes datagrams from that address only.
                socket.connect(relay).with_context(|| format!("--relay {relay}"))?;
                (socket, Target::Connected)
            }
            (None, Some(bind)) => {
                let socket = UdpSocket::bind(bind).with_context(|| format!("--bind {bind}"))?;
                (socket, Target::Newest { is_local: bind.ip().is_loopback(), state: Mutex::default() })
            }
            (None, None) => bail!("expected --relay or --bind"),
        };
        socket.set_nonblocking(true)?;
        let sending = socket.try_clone()?;
        let receiving = tokio::net::UdpSocket::from_std(socket)?;
        Ok(Self { receiving, sending, target, sent: AtomicU64::new(0) })
    }

    /// The address of this socket.
    pub(crate) fn address(&self) -> Result<SocketAddr> {
        Ok(self.sending.local_addr()?)
    }

    /// Datagrams that were sent.
    pub(crate) fn sent(&self) -> u64 {
        self.sent.load(Ordering::Relaxed)
    }

    /// `true` if the other address is known from the beginning.
    pub(crate) fn is_connected(&self) -> bool {
        matches!(self.target, Target::Connected)
    }

    /// Sends a datagram, or keeps it until there is an address. An error if a datagram is lost.
    pub(crate) fn send(&self, key: &str, datagram: Vec<u8>) -> Result<()> {
        let Target::Newest { state, .. } = &self.target else { return self.transmit(None, &datagram) };
        let mut state = lock(state);
        if state.address.is_some() {
            return self.transmit(state.address, &datagram);
        }
        match state.waiting.keep(key, datagram) {
            Some(oldest) => bail!("key {}: no room until the relay sends something", shortened(&oldest)),
            None => Ok(()),
        }
    }

    /// Sends an empty message to the relay, by which the other end learns where to send.
    pub(crate) fn greet(&self, greeting: &[u8]) -> Result<()> {
        self.transmit(None, greeting)
    }

    /// Sends to that address from now on, first what has waited. Returns an error per lost datagram.
    pub(crate) fn answer_to(&self, from: SocketAddr) -> Vec<anyhow::Error> {
        let Target::Newest { state, .. } = &self.target else { return Vec::new() };
        let mut state = lock(state);
        state.address = Some(from);
        state.waiting.take().filter_map(|datagram| self.transmit(Some(from), &datagram).err()).collect()
    }

    /// The next datagram, and its sender.
    pub(crate) async fn receive<'a>(&self, buffer: &'a mut [u8]) -> Result<(&'a [u8], SocketAddr)> {
        let (length, from) = self.receiving.recv_from(buffer).await?;
        if let Target::Newest { is_local: true, .. } = self.target {
            ensure!(from.ip().is_loopback(), "a datagram from {from}, expected from this host only");
        }
        Ok((&buffer[..length], from))
    }

    fn transmit(&self, to: Option<SocketAddr>, datagram: &[u8]) -> Result<()> {
        let send = || match to {
            Some(to) => self.sending.send_to(datagram, to),
            None => self.sending.send(datagram),
        };
        send().or_else(|error| match error.kind() {
            // The error belongs to an earlier datagram; the present one has not been sent yet.
            io::ErrorKind::ConnectionRefused | io::ErrorKind::ConnectionReset => send(),
            _ => Err(error),
        })?;
        self.sent.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }
}

fn lock(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}
