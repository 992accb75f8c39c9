//! Bytes between the kernel and the protocol: batched, with ECN, over one UDP socket.

mod batch;

use std::io::{self, IoSliceMut};
use std::net::{IpAddr, SocketAddr};

use bytes::Bytes;
use noq_udp::{EcnCodepoint, RecvMeta, UdpSocketState};
use rustc_hash::FxHashMap;
use tokio::io::Interest;
use tokio::net::UdpSocket;
use whimbrel_proto::{ReceiveMeta, Transmit};
use whimbrel_wire::{Ecn, Packet};

use crate::receive_buffers::ReceiveBuffers;
use batch::Batch;

/// Socket buffers asked for, in bytes; the system has its own opinion.
const SOCKET_BUFFER: usize = 4 << 20;
/// After so many errors in a row the socket is taken for broken.
const MAX_ERRORS: u32 = 1000;
/// Peers whose way to this host is remembered.
const MAX_PEERS: usize = 1 << 17;

/// What there may be to receive: an ICMP error alone does not make a socket readable.
#[cfg(target_os = "linux")]
const INCOMING: &[Interest] = &[Interest::READABLE, Interest::ERROR];
/// What there may be to receive.
#[cfg(not(target_os = "linux"))]
const INCOMING: &[Interest] = &[Interest::READABLE];

/// One UDP socket.
#[derive(Debug)]
pub(crate) struct Carrier {
    socket: UdpSocket,
    state: UdpSocketState,
    buffers: ReceiveBuffers,
    batch: Batch,
    /// Where the socket is connected to.
    connected: Option<SocketAddr>,
    is_ipv6: bool,
    /// The address that each peer sends to, where the socket has several: answers come from there.
    local_addresses: Option<FxHashMap<SocketAddr, IpAddr>>,
    /// What sending ran into.
    troubles: Vec<(SocketAddr, Trouble)>,
    errors_in_a_row: u32,
    /// Packets that no encoding exists for.
    pub(crate) unencodable: u64,
    /// Datagrams that held no DCCP packet.
    pub(crate) malformed: u64,
}

/// What [`Carrier::receive`] found.
#[derive(Debug)]
pub(crate) enum Arrival {
    /// Datagrams from one host, one after the other, each `stride` bytes but for the last.
    Datagrams { remote: SocketAddr, meta: ReceiveMeta, bytes: Bytes, stride: usize },
    /// What became of earlier packets to that host (only on connected sockets).
    Trouble(SocketAddr, Trouble),
    /// Nothing waits.
    Nothing,
}

/// What the system says about packets that were sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Trouble {
    /// No such port, host or network; from ICMP or for want of a route.
    Unreachable,
    /// Larger than the path carries.
    TooLarge,
}

impl Carrier {
    /// Binds a UDP socket. With `remote` it is also connected, so that ICMP errors are heard.
    pub(crate) fn bind(local: SocketAddr, remote: Option<SocketAddr>) -> io::Result<Self> {
        let socket = socket2::Socket::new(socket2::Domain::for_address(local), socket2::Type::DGRAM, None)?;
        if local.is_ipv6() {
            // A wildcard listener serves IPv4 as well.
            let _ = socket.set_only_v6(false);
        }
        socket.set_nonblocking(true)?;
        socket.bind(&local.into())?;
        let connected = remote.filter(|_| cfg!(target_os = "linux"));
        if let Some(remote) = connected {
            socket.connect(&remote.into())?;
        }
        let socket = UdpSocket::from_std(socket.into())?;
        let state = UdpSocketState::new((&socket).into())?;
        let _ = state.set_recv_buffer_size((&socket).into(), SOCKET_BUFFER);
        let _ = state.set_send_buffer_size((&socket).into(), SOCKET_BUFFER);
        let has_many_addresses = local.ip().is_unspecified() && connected.is_none();
        Ok(Self {
            socket,
            state,
            buffers: ReceiveBuffers::new(),
            batch: Batch::new(),
            connected,
            is_ipv6: local.is_ipv6(),
            local_addresses: has_many_addresses.then(FxHashMap::default),
            troubles: Vec::new(),
            errors_in_a_row: 0,
            unencodable: 0,
            malformed: 0,
        })
    }

    pub(crate) fn local_addr(&self) -> io::Result<SocketAddr> {
        self.socket.local_addr()
    }

    pub(crate) async fn readable(&self) -> io::Result<()> {
        let interest = INCOMING.iter().copied().reduce(|all, one| all | one);
        self.socket.ready(interest.unwrap_or(Interest::READABLE)).await.map(drop)
    }

    pub(crate) async fn writable(&self) -> io::Result<()> {
        self.socket.writable().await
    }

    /// Takes what one system call gives.
    ///
    /// # Errors
    /// The socket is broken.
    pub(crate) fn receive(&mut self) -> io::Result<Arrival> {
        let Self { socket, state, buffers, .. } = self;
        let mut meta = [RecvMeta::default()];
        let mut receive = |interest| {
            socket.try_io(interest, || {
                let mut slices = [IoSliceMut::new(buffers.current())];
                state.recv((&*socket).into(), &mut slices, &mut meta)
            })
        };
        let mut result = Err(io::ErrorKind::WouldBlock.into());
        for interest in INCOMING {
            result = receive(*interest);
            if !would_block(&result) {
                break;
            }
        }
        if let Err(error) = result {
            if error.kind() == io::ErrorKind::WouldBlock {
                return Ok(Arrival::Nothing);
            }
            self.errors_in_a_row += 1;
            return match (self.connected, trouble(&error)) {
                (Some(remote), Some(trouble)) => Ok(Arrival::Trouble(remote, trouble)),
                _ if self.errors_in_a_row < MAX_ERRORS => Ok(Arrival::Nothing),
                _ => Err(error),
            };
        }
        self.errors_in_a_row = 0;
        let [meta] = meta;
        if let (Some(known), Some(local)) = (&mut self.local_addresses, meta.dst_ip) {
            if known.len() >= MAX_PEERS {
                // They are learnt again with each peer's next packet.
                known.clear();
            }
            known.insert(meta.addr, local);
        }
        let ecn = meta.ecn.map_or(Ecn::NotEct, |codepoint| Ecn::from_bits(codepoint as u8));
        Ok(Arrival::Datagrams {
            remote: unmapped(meta.addr),
            meta: ReceiveMeta { ecn },
            bytes: self.buffers.take(meta.len),
            stride: meta.stride.max(1),
        })
    }

    /// Decodes one datagram; counts it where it holds no packet.
    pub(crate) fn decode(&mut self, datagram: Bytes) -> Option<Packet> {
        let packet = Packet::decode(&datagram).ok();
        self.malformed += u64::from(packet.is_none());
        packet
    }

    /// Takes a packet to send. True: [`Carrier::flush`] before the next.
    pub(crate) fn add(&mut self, destination: SocketAddr, transmit: &Transmit) -> bool {
        let destination = if self.is_ipv6 { mapped(destination) } else { destination };
        match self.batch.add(destination, transmit, self.state.max_gso_segments().get()) {
            Ok(full) => full,
            Err(_) => {
                self.unencodable += 1;
                false
            }
        }
    }

    /// Sends all that was added. `WouldBlock`: wait until writable and flush again.
    pub(crate) fn flush(&mut self) -> io::Result<()> {
        while let Some((destination, ecn)) = self.batch.address() {
            let Self { socket, state, batch, .. } = self;
            let transmit = noq_udp::Transmit {
                destination,
                ecn: EcnCodepoint::from_bits(ecn.bits()),
                contents: batch.contents(),
                segment_size: batch.segment_size(),
                src_ip: self.local_addresses.as_ref().and_then(|known| known.get(&destination).copied()),
            };
            match socket.try_io(Interest::WRITABLE, || state.try_send((&*socket).into(), &transmit)) {
                Ok(()) => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Err(error),
                // What was not sent is a lost packet: congestion control will notice.
                Err(error) => self.troubles.extend(trouble(&error).map(|what| (unmapped(destination), what))),
            }
            self.batch.next();
        }
        Ok(())
    }

    /// What sending ran into since this was last asked.
    pub(crate) fn take_troubles(&mut self) -> Vec<(SocketAddr, Trouble)> {
        std::mem::take(&mut self.troubles)
    }
}

fn would_block<T>(result: &io::Result<T>) -> bool {
    matches!(result, Err(error) if error.kind() == io::ErrorKind::WouldBlock)
}

/// What an error means for the packets' destination. Both calls tell of both kinds: an ICMP message is
/// told by whichever comes first.
fn trouble(error: &io::Error) -> Option<Trouble> {
    match error.kind() {
        io::ErrorKind::ConnectionRefused
        | io::ErrorKind::HostUnreachable
        | io::ErrorKind::NetworkUnreachable => Some(Trouble::Unreachable),
        _ if error.raw_os_error() == Some(rustix::io::Errno::MSGSIZE.raw_os_error()) => {
            Some(Trouble::TooLarge)
        }
        _ => None,
    }
}

/// A dual-stack socket takes IPv4 destinations as mapped addresses.
fn mapped(address: SocketAddr) -> SocketAddr {
    match address {
        SocketAddr::V4(v4) => SocketAddr::new(v4.ip().to_ipv6_mapped().into(), v4.port()),
        SocketAddr::V6(_) => address,
    }
}

/// A dual-stack socket reports IPv4 peers as mapped addresses; the protocol knows them by their own.
fn unmapped(address: SocketAddr) -> SocketAddr {
    match address {
        SocketAddr::V6(v6) => match v6.ip().to_ipv4_mapped() {
            Some(v4) => SocketAddr::new(v4.into(), v6.port()),
            None => address,
        },
        SocketAddr::V4(_) => address,
    }
}

#[cfg(test)]
mod tests;
