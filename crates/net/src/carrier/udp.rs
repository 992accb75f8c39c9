//! Bytes between the kernel and the protocol: batched, with ECN, over one UDP socket.

mod batch;
#[cfg(target_os = "linux")]
mod filter;
#[cfg(target_os = "linux")]
mod receive;
#[cfg(not(target_os = "linux"))]
#[path = "udp/receive_portable.rs"]
mod receive;
#[cfg(target_os = "linux")]
mod timed;
#[cfg(not(target_os = "linux"))]
#[path = "udp/timed_portable.rs"]
mod timed;

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration as StdDuration;

use noq_udp::{EcnCodepoint, UdpSocketState};
use rustc_hash::FxHashMap;
use tokio::io::Interest;
use whimbrel_proto::Transmit;
use whimbrel_wire::Ecn;

use super::{Arrival, INCOMING, MAX_ERRORS, MAX_PEERS, PathError, path_error, would_block};
use crate::Dscp;
use crate::receive_buffers::{ReceiveBuffers, with_buffers};
use crate::socket_buffers::{DropCounter, enlarge_buffers};
use crate::watched::WatchedSocket;
use batch::Batch;
use receive::Receiver;
pub use timed::TimedReceiver;

/// One UDP socket.
#[derive(Debug)]
pub(crate) struct UdpCarrier {
    socket: Arc<WatchedSocket>,
    state: UdpSocketState,
    dscp: Dscp,
    receiver: Receiver,
    batch: Batch,
    /// The address to which the socket is connected.
    connected: Option<SocketAddr>,
    is_ipv6: bool,
    /// The address that each peer sends to, if the socket has several: answers come from there.
    local_addresses: Option<FxHashMap<SocketAddr, IpAddr>>,
    /// Errors of sending.
    path_errors: Vec<(SocketAddr, PathError)>,
    errors_in_a_row: u32,
    /// Packets that cannot be encoded.
    pub(crate) unencodable: u64,
}

impl UdpCarrier {
    /// Binds a UDP socket. With `remote` it is also connected, so that it receives ICMP errors.
    pub(crate) fn bind(local: SocketAddr, remote: Option<SocketAddr>) -> io::Result<Self> {
        Self::bind_on(local, None, remote)
    }

    /// Like [`UdpCarrier::bind`]. With `interface`, packets leave by that network interface regardless of the
    /// routes, and only packets that arrive there are received (Linux).
    pub(crate) fn bind_on(
        local: SocketAddr,
        interface: Option<&str>,
        remote: Option<SocketAddr>,
    ) -> io::Result<Self> {
        let socket = socket2::Socket::new(socket2::Domain::for_address(local), socket2::Type::DGRAM, None)?;
        if local.is_ipv6() {
            // A wildcard listener serves IPv4 as well.
            let _ = socket.set_only_v6(false);
        }
        if let Some(interface) = interface {
            #[cfg(target_os = "linux")]
            socket.bind_device(Some(interface.as_bytes()))?;
            #[cfg(not(target_os = "linux"))]
            return Err(io::Error::new(
                io::ErrorKind::Unsupported,
                format!("binding a socket to the interface {interface} needs Linux"),
            ));
        }
        socket.bind(&local.into())?;
        Self::with_socket(socket.into(), remote)
    }

    /// Takes over a UDP socket that is bound. With `remote` it is also connected.
    pub(crate) fn with_socket(socket: std::net::UdpSocket, remote: Option<SocketAddr>) -> io::Result<Self> {
        let local = socket.local_addr()?;
        socket.set_nonblocking(true)?;
        let connected = remote.filter(|_| cfg!(target_os = "linux"));
        if let Some(remote) = connected {
            let remote = if local.is_ipv6() { mapped(remote) } else { remote };
            socket.connect(remote)?;
        }
        let state = UdpSocketState::new((&socket).into())?;
        enlarge_buffers(&socket)?;
        #[cfg(target_os = "linux")]
        filter::drop_without_checksum((&socket).into())?;
        let has_many_addresses = local.ip().is_unspecified() && connected.is_none();
        Ok(Self {
            receiver: Receiver::new(&socket),
            socket: Arc::new(WatchedSocket::new(socket)?),
            state,
            dscp: Dscp::DEFAULT,
            batch: Batch::new(),
            connected,
            is_ipv6: local.is_ipv6(),
            local_addresses: has_many_addresses.then(FxHashMap::default),
            path_errors: Vec::new(),
            errors_in_a_row: 0,
            unencodable: 0,
        })
    }

    /// Sets the DSCP of the packets that are sent from now on.
    pub(crate) fn set_dscp(&mut self, dscp: Dscp) {
        self.dscp = dscp;
    }

    pub(crate) fn local_addr(&self) -> io::Result<SocketAddr> {
        self.socket.local_addr()
    }

    pub(crate) async fn readable(&self) -> io::Result<()> {
        let interest = INCOMING.iter().copied().reduce(|all, one| all | one);
        self.socket.ready(interest.unwrap_or(Interest::READABLE)).await
    }

    pub(crate) async fn writable(&self) -> io::Result<()> {
        self.socket.writable().await
    }

    /// Receives by one system call.
    ///
    /// # Errors
    /// The socket is broken.
    pub(crate) fn receive(&mut self) -> io::Result<Arrival> {
        with_buffers(|buffers| self.receive_into(buffers))
    }

    fn receive_into(&mut self, buffers: &mut ReceiveBuffers) -> io::Result<Arrival> {
        let Self { socket, state, receiver, .. } = self;
        let mut result = Err(io::ErrorKind::WouldBlock.into());
        for interest in INCOMING {
            result = socket.try_read(*interest, |socket| receiver.receive(socket, state, buffers.current()));
            if !would_block(&result) {
                break;
            }
        }
        let received = match result {
            Ok(received) => received,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(Arrival::Nothing),
            Err(error) => {
                let path_error = path_error(&error);
                // Windows has a message per refused datagram of a listener's, without the address.
                self.errors_in_a_row += u32::from(path_error.is_none());
                return match (self.connected, path_error) {
                    (Some(remote), Some(path_error)) => Ok(Arrival::PathError(remote, path_error)),
                    _ if self.errors_in_a_row < MAX_ERRORS => Ok(Arrival::Nothing),
                    _ => Err(error),
                };
            }
        };
        self.errors_in_a_row = 0;
        let Received { remote, length, stride, ecn, to, stamp } = received;
        if let (Some(known), Some(local)) = (&mut self.local_addresses, to) {
            if known.len() >= MAX_PEERS {
                // The addresses are stored again with each peer's next packet.
                known.clear();
            }
            known.insert(remote, local);
        }
        let bytes = buffers.take(length);
        Ok(Arrival::Datagrams { remote: unmapped(remote), ecn, stamp, bytes, stride: stride.max(1) })
    }

    /// Accepts a packet to send. If `true`, [`UdpCarrier::flush`] must follow before the next.
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

    /// Sends all packets added. On `WouldBlock`, wait until writable and flush again.
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
            match send(socket, state, &transmit, self.dscp, ecn) {
                Ok(()) => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Err(error),
                // A packet that was not sent counts as lost: congestion control will detect it.
                Err(error) => {
                    self.path_errors.extend(path_error(&error).map(|what| (unmapped(destination), what)))
                }
            }
            self.batch.next();
        }
        Ok(())
    }

    /// `true` if this host can send to `destination` from the socket's address: the address is still the
    /// host's, and there is a route.
    pub(crate) fn has_route(&self, destination: SocketAddr) -> bool {
        let local = self.socket.local_addr().map(|local| unmapped(local).ip());
        local.is_ok_and(|local| super::source_address::source_towards(destination, Some(local)).is_some())
    }

    /// The application data that fit a datagram to `destination`, as far as the system reports it.
    #[cfg(target_os = "linux")]
    pub(crate) fn datagram_limit(&self, destination: SocketAddr) -> Option<usize> {
        const UDP_HEADER: usize = 8;
        let local = unmapped(self.socket.local_addr().ok()?);
        let mtu = super::mtu::path_mtu(local, destination)?;
        super::icmp::fits(destination.is_ipv4(), mtu)?.checked_sub(UDP_HEADER)
    }

    /// The application data that fit a datagram to `destination`: unknown on this system.
    #[cfg(not(target_os = "linux"))]
    pub(crate) fn datagram_limit(&self, _destination: SocketAddr) -> Option<usize> {
        None
    }

    /// Forgets the addresses that peers send to: until they are stored again, the system chooses.
    pub(crate) fn forget_source_addresses(&mut self) {
        if let Some(known) = &mut self.local_addresses {
            known.clear();
        }
    }

    pub(crate) fn drop_counter(&self) -> DropCounter {
        DropCounter::of(&self.socket)
    }

    /// The errors of sending since the last call.
    pub(crate) fn take_path_errors(&mut self) -> Vec<(SocketAddr, PathError)> {
        std::mem::take(&mut self.path_errors)
    }
}

/// Sends by one system call.
fn send(
    socket: &WatchedSocket,
    state: &UdpSocketState,
    transmit: &noq_udp::Transmit<'_>,
    dscp: Dscp,
    ecn: Ecn,
) -> io::Result<()> {
    #[cfg(target_os = "linux")]
    if !dscp.is_default() {
        return super::marked::send(&**socket, transmit, dscp.traffic_class(ecn));
    }
    let _ = (dscp, ecn);
    state.try_send((&**socket).into(), transmit)
}

/// The result of one receive call.
#[derive(Debug)]
struct Received {
    remote: SocketAddr,
    length: usize,
    /// The size of each datagram but for the last.
    stride: usize,
    ecn: Ecn,
    /// The address of this host that they were sent to.
    to: Option<IpAddr>,
    /// Receive time of the kernel, since 1970.
    stamp: Option<StdDuration>,
}

/// A dual-stack socket expects IPv4 destinations as mapped addresses.
fn mapped(address: SocketAddr) -> SocketAddr {
    match address {
        SocketAddr::V4(v4) => SocketAddr::new(v4.ip().to_ipv6_mapped().into(), v4.port()),
        SocketAddr::V6(_) => address,
    }
}

/// A dual-stack socket reports IPv4 peers as mapped addresses; the protocol uses IPv4 addresses.
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
