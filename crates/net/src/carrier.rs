//! Bytes between the kernel and the protocol: batched, with ECN, over one UDP socket.

use std::io::{self, IoSliceMut};
use std::net::SocketAddr;

use bytes::{Bytes, BytesMut};
use noq_udp::{EcnCodepoint, RecvMeta, UdpSocketState};
use tokio::io::Interest;
use tokio::net::UdpSocket;
use whimbrel_proto::{ReceiveMeta, Transmit};
use whimbrel_wire::{Ecn, Packet};

/// The largest thing one receive call can return: coalesced datagrams fill at most an IP packet.
const LARGEST_RECEIVE: usize = 1 << 16;
/// Receive buffers come in pieces of this size and are used again once nothing refers to them.
const CHUNK: usize = 4 * LARGEST_RECEIVE;
/// The kernel refuses a batch that would not fit an IP packet.
const LARGEST_BATCH: usize = 65_000;

/// One UDP socket.
#[derive(Debug)]
pub(crate) struct Carrier {
    socket: UdpSocket,
    state: UdpSocketState,
    chunk: BytesMut,
    batch: Batch,
    /// Where the packet in `batch.next` goes, while it waits for the batch before it.
    pending: Option<(SocketAddr, Ecn)>,
    is_ipv6: bool,
    /// Packets that no encoding exists for.
    pub(crate) unencodable: u64,
    /// Datagrams that held no DCCP packet.
    pub(crate) malformed: u64,
}

/// Encoded packets of one size for one destination: one system call.
#[derive(Debug)]
struct Batch {
    bytes: Vec<u8>,
    destination: Option<SocketAddr>,
    ecn: Ecn,
    segment: usize,
    segments: usize,
    /// A packet smaller than the others ends a batch.
    complete: bool,
    /// The packet that did not fit, encoded.
    next: Vec<u8>,
}

/// What [`Carrier::receive`] found.
pub(crate) enum Arrival {
    /// Datagrams from one host, one after the other, each `stride` bytes but for the last.
    Datagrams { remote: SocketAddr, meta: ReceiveMeta, bytes: Bytes, stride: usize },
    /// ICMP says that a destination cannot be reached (only on connected sockets).
    Unreachable,
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
        if let (Some(remote), true) = (remote, cfg!(target_os = "linux")) {
            socket.connect(&remote.into())?;
        }
        let socket = UdpSocket::from_std(socket.into())?;
        let state = UdpSocketState::new((&socket).into())?;
        // Best effort: the system caps these.
        let _ = state.set_recv_buffer_size((&socket).into(), 4 << 20);
        let _ = state.set_send_buffer_size((&socket).into(), 4 << 20);
        Ok(Self {
            socket,
            state,
            chunk: BytesMut::zeroed(CHUNK),
            batch: Batch {
                bytes: Vec::with_capacity(1 << 16),
                destination: None,
                ecn: Ecn::NotEct,
                segment: 0,
                segments: 0,
                complete: false,
                next: Vec::with_capacity(1 << 11),
            },
            pending: None,
            is_ipv6: local.is_ipv6(),
            unencodable: 0,
            malformed: 0,
        })
    }

    pub(crate) fn local_addr(&self) -> io::Result<SocketAddr> {
        self.socket.local_addr()
    }

    pub(crate) async fn readable(&self) -> io::Result<()> {
        self.socket.readable().await
    }

    pub(crate) async fn writable(&self) -> io::Result<()> {
        self.socket.writable().await
    }

    /// Takes what one system call gives. `WouldBlock` where nothing waits.
    pub(crate) fn receive(&mut self) -> io::Result<Arrival> {
        if self.chunk.len() < LARGEST_RECEIVE {
            // Reuses the memory when all slices of it are gone, else starts a new piece.
            self.chunk.clear();
            self.chunk.reserve(CHUNK);
            self.chunk.resize(CHUNK, 0);
        }
        let Self { socket, state, chunk, .. } = self;
        let mut meta = [RecvMeta::default()];
        let result = socket.try_io(Interest::READABLE, || {
            let mut slices = [IoSliceMut::new(&mut chunk[..LARGEST_RECEIVE])];
            state.recv((&*socket).into(), &mut slices, &mut meta)
        });
        match result {
            Ok(_) => {}
            Err(error) if is_unreachable(&error) => return Ok(Arrival::Unreachable),
            Err(error) => return Err(error),
        }
        let [meta] = meta;
        let ecn = meta.ecn.map_or(Ecn::NotEct, |codepoint| Ecn::from_bits(codepoint as u8));
        Ok(Arrival::Datagrams {
            remote: unmapped(meta.addr),
            meta: ReceiveMeta { ecn },
            bytes: chunk.split_to(meta.len).freeze(),
            stride: meta.stride.max(1),
        })
    }

    /// Decodes one datagram; counts it where it holds no packet.
    pub(crate) fn decode(&mut self, datagram: Bytes) -> Option<Packet> {
        let packet = Packet::decode(&datagram).ok();
        self.malformed += u64::from(packet.is_none());
        packet
    }

    /// Adds a packet to the batch, sending the batch first where the packet does not fit.
    /// `WouldBlock`: the packet is taken, but wait until writable and [`Carrier::flush`] before the next.
    pub(crate) fn add(&mut self, destination: SocketAddr, transmit: &Transmit) -> io::Result<()> {
        self.batch.next.clear();
        if transmit.packet.encode(&mut self.batch.next).is_err() {
            self.unencodable += 1;
            return Ok(());
        }
        let destination = if self.is_ipv6 { mapped(destination) } else { destination };
        self.pending = Some((destination, transmit.ecn));
        self.take_pending();
        if self.pending.is_some() {
            self.send_batch()?;
            self.take_pending();
        }
        Ok(())
    }

    /// Sends all that was added. `WouldBlock`: wait until writable and flush again.
    pub(crate) fn flush(&mut self) -> io::Result<()> {
        self.send_batch()?;
        self.take_pending();
        self.send_batch()
    }

    fn take_pending(&mut self) {
        if let Some((destination, ecn)) = self.pending {
            let limit = self.state.max_gso_segments().get();
            if self.batch.add(destination, ecn, limit) {
                self.pending = None;
            }
        }
    }

    fn send_batch(&mut self) -> io::Result<()> {
        let Self { socket, state, batch, .. } = self;
        let Some(destination) = batch.destination else { return Ok(()) };
        let transmit = noq_udp::Transmit {
            destination,
            ecn: EcnCodepoint::from_bits(batch.ecn.bits()),
            contents: &batch.bytes,
            segment_size: (batch.segments > 1).then_some(batch.segment),
            src_ip: None,
        };
        match socket.try_io(Interest::WRITABLE, || state.try_send((&*socket).into(), &transmit)) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Err(error),
            // A failed send is a lost packet: congestion control will notice. ICMP errors come up on receive too.
            Ok(()) | Err(_) => {}
        }
        batch.restart();
        Ok(())
    }
}

impl Batch {
    /// Takes the packet in `next` if it fits; else leaves it there and says false.
    fn add(&mut self, destination: SocketAddr, ecn: Ecn, limit: usize) -> bool {
        let size = self.next.len();
        let fits = self.destination.is_none()
            || self.destination == Some(destination)
                && self.ecn == ecn
                && !self.complete
                && self.segments < limit
                && size <= self.segment
                && self.bytes.len() + size <= LARGEST_BATCH;
        if fits {
            if self.destination.is_none() {
                (self.destination, self.ecn, self.segment) = (Some(destination), ecn, size);
            }
            self.bytes.extend_from_slice(&self.next);
            self.complete = size < self.segment;
            self.segments += 1;
        }
        fits
    }

    fn restart(&mut self) {
        self.bytes.clear();
        self.destination = None;
        self.segments = 0;
        self.complete = false;
    }
}

fn is_unreachable(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::ConnectionRefused | io::ErrorKind::HostUnreachable | io::ErrorKind::NetworkUnreachable
    )
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
