//! IP protocol 33 by a raw socket: the kernel makes the IP header, this end the checksum.
//!
//! A raw socket needs privilege, and each one of a host gets a copy of every DCCP packet to the
//! addresses it is bound to: packets of unknown connections get no Reset here, as they may be another
//! program's. While one is open the kernel sends no ICMP "protocol unreachable"; with none, a host without
//! DCCP answers with it, and the error queue returns it here with the packet that it quotes.

mod error_queue;

use std::io::{self, IoSliceMut};
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use nix::sys::socket::{setsockopt, sockopt::ReceiveTimestampns};
use noq_udp::{EcnCodepoint, RecvMeta, UdpSocketState};
use rustc_hash::FxHashMap;
use socket2::{Domain, Protocol, Socket, Type};
use tokio::io::Interest;
use whimbrel_proto::Transmit;
use whimbrel_wire::Ecn;
use whimbrel_wire::checksum::{PROTOCOL, PseudoHeader};

use super::{Arrival, INCOMING, MAX_ERRORS, MAX_PEERS, PathError, ip, path_error, would_block};
use crate::Dscp;
use crate::receive_buffers::ReceiveBuffers;
use crate::socket_buffers::{DropCounter, enlarge_buffers};
use crate::watched::WatchedSocket;

/// One raw socket.
#[derive(Debug)]
pub(crate) struct RawCarrier {
    socket: Arc<WatchedSocket<Socket>>,
    state: UdpSocketState,
    dscp: Dscp,
    buffers: ReceiveBuffers,
    local: IpAddr,
    /// The address that each peer sends to, if the socket has several: answers come from there.
    local_addresses: FxHashMap<IpAddr, IpAddr>,
    /// The packet that the kernel has not accepted yet.
    packet: Vec<u8>,
    /// Its source, its destination and its ECN codepoint.
    waiting: Option<(IpAddr, SocketAddr, Ecn)>,
    path_errors: Vec<(SocketAddr, PathError)>,
    errors_in_a_row: u32,
    /// Packets that cannot be encoded.
    pub(crate) unencodable: u64,
    /// Packets with a wrong checksum.
    pub(crate) corrupt: u64,
}

impl RawCarrier {
    /// Opens a raw socket for the address, or for all of its family.
    pub(crate) fn bind(local: IpAddr) -> io::Result<Self> {
        let local_port_0 = SocketAddr::new(local, 0);
        let protocol = Protocol::from(i32::from(PROTOCOL));
        let socket = Socket::new(Domain::for_address(local_port_0), Type::RAW, Some(protocol))?;
        socket.set_nonblocking(true)?;
        socket.bind(&local_port_0.into())?;
        error_queue::enable(&socket, local)?;
        // Without this option, arrival times are taken at the receive call. There is room for the timestamp,
        // as nothing is coalesced.
        let _ = setsockopt(&socket, ReceiveTimestampns, &true);
        // Paces nothing, names no port: what it does for ECN and the addresses is the same for raw sockets.
        let state = UdpSocketState::new((&socket).into())?;
        enlarge_buffers(&socket)?;
        Ok(Self {
            socket: Arc::new(WatchedSocket::new(socket)?),
            state,
            dscp: Dscp::DEFAULT,
            buffers: ReceiveBuffers::new(),
            local,
            local_addresses: FxHashMap::default(),
            packet: Vec::with_capacity(1 << 11),
            waiting: None,
            path_errors: Vec::new(),
            errors_in_a_row: 0,
            unencodable: 0,
            corrupt: 0,
        })
    }

    /// Sets the DSCP of the packets that are sent from now on.
    pub(crate) fn set_dscp(&mut self, dscp: Dscp) {
        self.dscp = dscp;
    }

    pub(crate) fn local_addr(&self) -> io::Result<SocketAddr> {
        Ok(SocketAddr::new(self.local, 0))
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
        if let Some(report) = self.report() {
            return Ok(report);
        }
        let mut meta = [RecvMeta::default()];
        let Self { socket, state, buffers, .. } = self;
        let result = socket.try_read(Interest::READABLE, |socket| {
            let mut slices = [IoSliceMut::new(buffers.current())];
            state.recv(socket.into(), &mut slices, &mut meta)
        });
        if let Err(error) = result {
            if error.kind() == io::ErrorKind::WouldBlock {
                return Ok(Arrival::Nothing);
            }
            // The packet that an error concerns is in the error queue.
            self.errors_in_a_row += 1;
            return if self.errors_in_a_row < MAX_ERRORS { Ok(Arrival::Noise) } else { Err(error) };
        }
        self.errors_in_a_row = 0;
        let [meta] = meta;
        Ok(self.take(&meta).unwrap_or(Arrival::Noise))
    }

    /// An ICMP message about an earlier packet, from the error queue.
    fn report(&mut self) -> Option<Arrival> {
        let result = self.socket.try_read(Interest::ERROR, error_queue::read);
        if would_block(&result) {
            return None;
        }
        Some(result.ok().flatten().unwrap_or(Arrival::Noise))
    }

    /// The packet in the receive buffer, if it is one for this end.
    fn take(&mut self, meta: &RecvMeta) -> Option<Arrival> {
        let remote = meta.addr.ip();
        let to = meta.dst_ip?;
        // RFC 4340 defines connections between two hosts only.
        if to.is_multicast() || to == IpAddr::from([255; 4]) {
            return None;
        }
        let received = &self.buffers.current()[..meta.len];
        // Over IPv4 a raw socket sees the IP header, over IPv6 it does not (RFC 3542, Section 3).
        let skipped = if remote.is_ipv4() { usize::from(received.first()? & 0xf) * 4 } else { 0 };
        if !ip::is_intact(remote, to, received.get(skipped..)?) {
            self.corrupt += 1;
            return None;
        }
        if self.local.is_unspecified() {
            if self.local_addresses.len() >= MAX_PEERS {
                // The addresses are stored again with each peer's next packet.
                self.local_addresses.clear();
            }
            self.local_addresses.insert(remote, to);
        }
        let bytes = self.buffers.take(meta.len).slice(skipped..);
        let ecn = meta.ecn.map_or(Ecn::NotEct, |codepoint| Ecn::from_bits(codepoint as u8));
        let stride = bytes.len();
        Some(Arrival::Datagrams {
            remote: without_port(meta.addr),
            ecn,
            stamp: meta.timestamp,
            bytes,
            stride,
        })
    }

    /// Accepts a packet to send. If `true`, [`RawCarrier::flush`] must follow before the next.
    pub(crate) fn add(&mut self, destination: SocketAddr, transmit: &Transmit) -> bool {
        let Some(source) = self.source_for(destination) else {
            self.path_errors.push((destination, PathError::Unreachable));
            return false;
        };
        self.packet.clear();
        let encoded = PseudoHeader::between(source, destination.ip())
            .is_some_and(|sum| transmit.packet.encode_with_checksum(&sum, &mut self.packet).is_ok());
        if encoded {
            self.waiting = Some((source, destination, transmit.ecn));
        } else {
            self.unencodable += 1;
        }
        encoded
    }

    /// The address that packets to `destination` come from.
    fn source_for(&mut self, destination: SocketAddr) -> Option<IpAddr> {
        if !self.local.is_unspecified() {
            return Some(self.local);
        }
        if let Some(known) = self.local_addresses.get(&destination.ip()) {
            return Some(*known);
        }
        let source = source_address(destination).ok()?;
        self.local_addresses.insert(destination.ip(), source);
        Some(source)
    }

    /// Sends the packet added. On `WouldBlock`, wait until writable and flush again.
    pub(crate) fn flush(&mut self) -> io::Result<()> {
        let Some((source, destination, ecn)) = self.waiting else { return Ok(()) };
        let Self { socket, state, packet, dscp, .. } = self;
        let transmit = noq_udp::Transmit {
            destination,
            ecn: EcnCodepoint::from_bits(ecn.bits()),
            contents: packet,
            segment_size: None,
            src_ip: Some(source),
        };
        let send = || {
            if dscp.is_default() {
                state.try_send((&***socket).into(), &transmit)
            } else {
                super::marked::send(&***socket, &transmit, dscp.traffic_class(ecn))
            }
        };
        let mut result = send();
        if result.as_ref().is_err_and(|error| error.kind() != io::ErrorKind::WouldBlock) {
            // The call returns a pending ICMP error of another packet once, and sends nothing.
            result = send();
        }
        match result {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Err(error),
            // A packet that was not sent counts as lost: congestion control will detect it.
            Err(error) => self.path_errors.extend(path_error(&error).map(|what| (destination, what))),
            Ok(()) => {}
        }
        self.waiting = None;
        Ok(())
    }

    /// The application data that fit a datagram to `destination`, as far as the system reports it.
    pub(crate) fn datagram_limit(&self, destination: SocketAddr) -> Option<usize> {
        let mtu = super::mtu::path_mtu(SocketAddr::new(self.local, 0), destination)?;
        super::icmp::fits(destination.is_ipv4(), mtu)
    }

    pub(crate) fn drop_counter(&self) -> DropCounter {
        DropCounter::of(&self.socket)
    }

    /// The errors of sending since the last call.
    pub(crate) fn take_path_errors(&mut self) -> Vec<(SocketAddr, PathError)> {
        std::mem::take(&mut self.path_errors)
    }
}

/// The address with port 0: raw sockets have no ports.
fn without_port(mut address: SocketAddr) -> SocketAddr {
    address.set_port(0);
    address
}

/// This host's address towards `destination`: the kernel's choice for UDP holds for all protocols.
pub(crate) fn source_address(destination: SocketAddr) -> io::Result<IpAddr> {
    let socket = Socket::new(Domain::for_address(destination), Type::DGRAM, None)?;
    let mut somewhere = destination;
    // Any port will do, as nothing is sent.
    somewhere.set_port(DISCARD);
    socket.connect(&somewhere.into())?;
    let local = socket.local_addr()?.as_socket().ok_or(io::ErrorKind::AddrNotAvailable)?;
    Ok(local.ip())
}

/// The Discard service's port.
const DISCARD: u16 = 9;
