//! IP protocol 33 through a TUN device: behind it, this process is a host of its own.
//!
//! No kernel owns the addresses behind the device, so no kernel answers for them: this also works with a
//! kernel that has DCCP itself. The device's administrator gives it a route to the addresses.

use std::io;
use std::net::{IpAddr, SocketAddr};

use tun_rs::{AsyncDevice, DeviceBuilder};
use whimbrel_proto::Transmit;
use whimbrel_wire::checksum::{PROTOCOL, PseudoHeader, internet_checksum};

use super::{Arrival, MAX_ERRORS, PathError, icmp, ip, path_error};
use crate::Dscp;
use crate::receive_buffers::ReceiveBuffers;

/// One TUN device, and the addresses of the host behind it.
pub(crate) struct TunCarrier {
    device: AsyncDevice,
    /// At most one of each family.
    addresses: Vec<IpAddr>,
    mtu: usize,
    dscp: Dscp,
    buffers: ReceiveBuffers,
    /// The packet that the device has not accepted yet, and its destination.
    packet: Vec<u8>,
    waiting: Option<SocketAddr>,
    path_errors: Vec<(SocketAddr, PathError)>,
    errors_in_a_row: u32,
    /// Packets that cannot be encoded.
    pub(crate) unencodable: u64,
    /// Packets with a wrong checksum, fragments, and packets for other hosts.
    pub(crate) refused: u64,
}

impl std::fmt::Debug for TunCarrier {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TunCarrier").field("addresses", &self.addresses).field("mtu", &self.mtu).finish()
    }
}

impl TunCarrier {
    /// Opens or creates the device, and brings it up if permitted.
    pub(crate) fn open(name: &str, addresses: Vec<IpAddr>) -> io::Result<Self> {
        let device = DeviceBuilder::new().name(name).inherit_enable_state().build_async()?;
        if !device.is_running()? {
            device.enabled(true)?;
        }
        let mtu = device.mtu()?.into();
        Ok(Self {
            device,
            addresses,
            mtu,
            dscp: Dscp::DEFAULT,
            buffers: ReceiveBuffers::new(),
            packet: Vec::with_capacity(1 << 11),
            waiting: None,
            path_errors: Vec::new(),
            errors_in_a_row: 0,
            unencodable: 0,
            refused: 0,
        })
    }

    /// Sets the DSCP of the packets that are sent from now on.
    pub(crate) fn set_dscp(&mut self, dscp: Dscp) {
        self.dscp = dscp;
    }

    pub(crate) fn local_addr(&self) -> io::Result<SocketAddr> {
        let first = self.addresses.first().ok_or(io::ErrorKind::AddrNotAvailable)?;
        Ok(SocketAddr::new(*first, 0))
    }

    pub(crate) async fn readable(&self) -> io::Result<()> {
        self.device.readable().await
    }

    pub(crate) async fn writable(&self) -> io::Result<()> {
        self.device.writable().await
    }

    /// Receives one packet.
    ///
    /// # Errors
    /// The device is gone.
    pub(crate) fn receive(&mut self) -> io::Result<Arrival> {
        let length = match self.device.try_recv(self.buffers.current()) {
            Ok(length) => length,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(Arrival::Nothing),
            Err(error) => {
                self.errors_in_a_row += 1;
                return if self.errors_in_a_row < MAX_ERRORS { Ok(Arrival::Noise) } else { Err(error) };
            }
        };
        self.errors_in_a_row = 0;
        let arrival = self.take(length);
        self.refused += u64::from(arrival.is_none());
        Ok(arrival.unwrap_or(Arrival::Noise))
    }

    /// Interprets the packet in the receive buffer.
    fn take(&mut self, length: usize) -> Option<Arrival> {
        let packet = &self.buffers.current()[..length];
        let header = ip::parse(packet).ok()?;
        if !self.addresses.contains(&header.destination) {
            return None;
        }
        let body = &packet[header.start..header.end];
        let remote = SocketAddr::new(header.source, 0);
        match header.protocol {
            PROTOCOL => {
                if !ip::is_intact(header.source, header.destination, body) {
                    return None;
                }
                let bytes = self.buffers.take(length).slice(header.start..header.end);
                let stride = bytes.len();
                Some(Arrival::Datagrams { remote, ecn: header.ecn, stamp: None, bytes, stride })
            }
            icmp::ICMPV4 if header.destination.is_ipv4() => report(header.protocol, body, header.destination),
            icmp::ICMPV6 if is_icmpv6_right(&header, body) => {
                report(header.protocol, body, header.destination)
            }
            _ => None,
        }
    }

    /// Accepts a packet to send. If `true`, [`TunCarrier::flush`] must follow before the next.
    pub(crate) fn add(&mut self, destination: SocketAddr, transmit: &Transmit) -> bool {
        let to = destination.ip();
        let Some(source) = self.addresses.iter().find(|local| local.is_ipv4() == to.is_ipv4()).copied()
        else {
            self.path_errors.push((destination, PathError::Unreachable));
            return false;
        };
        let length = transmit.packet.encoded_len();
        self.packet.clear();
        let encoded =
            ip::write(source, to, PROTOCOL, self.dscp.traffic_class(transmit.ecn), length, &mut self.packet)
                && PseudoHeader::between(source, to)
                    .is_some_and(|sum| transmit.packet.encode_with_checksum(&sum, &mut self.packet).is_ok());
        if !encoded {
            self.unencodable += 1;
            return false;
        }
        // The device accepts any size; this host has to respect its MTU.
        if self.packet.len() > self.mtu {
            self.path_errors.push((destination, PathError::TooLarge(icmp::fits(to.is_ipv4(), self.mtu))));
            return false;
        }
        self.waiting = Some(destination);
        true
    }

    /// Sends the packet added. On `WouldBlock`, wait until writable and flush again.
    pub(crate) fn flush(&mut self) -> io::Result<()> {
        let Some(destination) = self.waiting else { return Ok(()) };
        match self.device.try_send(&self.packet) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Err(error),
            // A packet that was not sent counts as lost: congestion control will detect it.
            Err(error) => self.path_errors.extend(path_error(&error).map(|what| (destination, what))),
            Ok(_) => {}
        }
        self.waiting = None;
        Ok(())
    }

    /// The application data that fit a datagram to `destination` through the device.
    pub(crate) fn datagram_limit(&self, destination: SocketAddr) -> Option<usize> {
        icmp::fits(destination.is_ipv4(), self.mtu)
    }

    /// The errors of sending since the last call.
    pub(crate) fn take_path_errors(&mut self) -> Vec<(SocketAddr, PathError)> {
        std::mem::take(&mut self.path_errors)
    }
}

/// Interprets an ICMP message about a packet of this host.
fn report(protocol: u8, body: &[u8], host: IpAddr) -> Option<Arrival> {
    let message = icmp::parse(protocol, body, host)?;
    let remote = SocketAddr::new(message.destination, 0);
    Some(Arrival::Report { remote, quoted: message.quoted, path_error: message.path_error })
}

/// The checksum of ICMPv6 covers a pseudo-header (RFC 4443, Section 2.3). Such messages are rare, so
/// the pseudo-header is allocated.
fn is_icmpv6_right(header: &ip::IpHeader, body: &[u8]) -> bool {
    let (IpAddr::V6(source), IpAddr::V6(destination)) = (header.source, header.destination) else {
        return false;
    };
    let mut covered = Vec::with_capacity(40 + body.len());
    covered.extend(source.octets());
    covered.extend(destination.octets());
    covered.extend((body.len() as u64).to_be_bytes()[4..].iter());
    covered.extend([0, 0, 0, icmp::ICMPV6]);
    covered.extend(body);
    internet_checksum(&covered) == 0
}
