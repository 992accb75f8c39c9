//! Bytes between the kernel and the protocol, with ECN, over one of several carriers.
//!
//! UDP encapsulation (RFC 6773) works on every host and path. On Linux there are two more carriers, for
//! packets as IP protocol 33 (RFC 4340): a raw socket, for which the kernel makes the IP header, and a TUN
//! device, behind which this process is a host of its own.

pub(crate) mod source_address;
mod udp;

#[cfg(target_os = "linux")]
mod mtu;

#[cfg(target_os = "linux")]
#[cfg_attr(not(feature = "tun"), allow(dead_code, reason = "most of it is for TUN devices"))]
mod icmp;
#[cfg(target_os = "linux")]
#[cfg_attr(not(feature = "tun"), allow(dead_code, reason = "most of it is for TUN devices"))]
mod ip;
#[cfg(target_os = "linux")]
mod marked;
#[cfg(target_os = "linux")]
mod raw;
#[cfg(all(target_os = "linux", feature = "tun"))]
mod tun;

use std::io;
use std::net::SocketAddr;
use std::time::Duration as StdDuration;

use bytes::Bytes;
use tokio::io::Interest;
use whimbrel_proto::Transmit;
use whimbrel_wire::{Ecn, Packet, SeqNo};

#[cfg(target_os = "linux")]
pub(crate) use raw::RawCarrier;
#[cfg(all(target_os = "linux", feature = "tun"))]
pub(crate) use tun::TunCarrier;
pub use udp::TimedReceiver;
pub(crate) use udp::UdpCarrier;

use crate::Dscp;
use crate::socket_buffers::DropCounter;

/// Number of consecutive errors after which the socket counts as broken.
const MAX_ERRORS: u32 = 1000;
/// The most peers with a stored local address.
const MAX_PEERS: usize = 1 << 17;

/// Readiness to wait for: an ICMP error alone does not make a socket readable.
#[cfg(target_os = "linux")]
const INCOMING: &[Interest] = &[Interest::READABLE, Interest::ERROR];
/// Readiness to wait for.
#[cfg(not(target_os = "linux"))]
const INCOMING: &[Interest] = &[Interest::READABLE];

/// Bytes of DCCP around the application data of a datagram: the longest fixed header (24 bytes) and the 28
/// that the protocol reserves for options.
#[cfg(target_os = "linux")]
const DCCP_OVERHEAD: usize = 52;

/// A carrier of packets.
#[derive(Debug)]
pub(crate) struct Carrier {
    medium: Medium,
    /// Datagrams without a valid DCCP packet.
    pub(crate) malformed: u64,
}

/// The UDP carrier is stored inline: it is the performance-critical one.
#[derive(Debug)]
#[expect(clippy::large_enum_variant, reason = "there is one for each driver")]
enum Medium {
    Udp(UdpCarrier),
    #[cfg(target_os = "linux")]
    Raw(Box<RawCarrier>),
    #[cfg(all(target_os = "linux", feature = "tun"))]
    Tun(Box<TunCarrier>),
}

/// The result of [`Carrier::receive`].
#[derive(Debug)]
pub(crate) enum Arrival {
    /// Datagrams from one host, one after the other, each `stride` bytes but for the last. `stamp` is the
    /// kernel's receive time of the last of them, since 1970, if there is one.
    Datagrams { remote: SocketAddr, ecn: Ecn, stamp: Option<StdDuration>, bytes: Bytes, stride: usize },
    /// An error of earlier packets to that host (only on connected sockets).
    PathError(SocketAddr, PathError),
    /// An error of one packet to that host, which the message quotes. The message may be forged.
    #[cfg_attr(not(target_os = "linux"), expect(dead_code, reason = "only Linux reports them"))]
    Report { remote: SocketAddr, quoted: Quoted, path_error: PathError },
    /// A packet that concerns no connection was dropped.
    #[cfg_attr(not(target_os = "linux"), expect(dead_code, reason = "only where IP is seen"))]
    Noise,
    /// Nothing waits.
    Nothing,
}

/// An error that the system reports for sent packets.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum PathError {
    /// No such protocol, port, host or network; from ICMP or for lack of a route.
    Unreachable,
    /// Larger than the path carries. If known, the application data that fit a datagram, in bytes.
    TooLarge(Option<usize>),
}

/// The beginning of a packet, quoted by an ICMP message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Quoted {
    pub(crate) source_port: u16,
    pub(crate) destination_port: u16,
    /// Messages need not quote more than eight bytes (RFC 792).
    pub(crate) sequence: Option<SeqNo>,
}

/// Calls the same method of either medium.
macro_rules! on_medium {
    ($medium:expr, $carrier:ident => $call:expr) => {
        match $medium {
            Medium::Udp($carrier) => $call,
            #[cfg(target_os = "linux")]
            Medium::Raw($carrier) => $call,
            #[cfg(all(target_os = "linux", feature = "tun"))]
            Medium::Tun($carrier) => $call,
        }
    };
}

impl Carrier {
    /// This end's address; its port is 0 without UDP.
    pub(crate) fn local_addr(&self) -> io::Result<SocketAddr> {
        on_medium!(&self.medium, carrier => carrier.local_addr())
    }

    /// `true` if no other program receives packets for the same address and port.
    pub(crate) fn is_alone(&self) -> bool {
        match &self.medium {
            #[cfg(target_os = "linux")]
            Medium::Raw(_) => false,
            _ => true,
        }
    }

    pub(crate) async fn readable(&self) -> io::Result<()> {
        on_medium!(&self.medium, carrier => carrier.readable().await)
    }

    pub(crate) async fn writable(&self) -> io::Result<()> {
        on_medium!(&self.medium, carrier => carrier.writable().await)
    }

    /// Receives by one system call.
    ///
    /// # Errors
    /// The medium is broken.
    pub(crate) fn receive(&mut self) -> io::Result<Arrival> {
        on_medium!(&mut self.medium, carrier => carrier.receive())
    }

    /// Decodes one datagram; counts it as malformed if it holds no packet.
    pub(crate) fn decode(&mut self, datagram: Bytes) -> Option<Packet> {
        let packet = Packet::decode(&datagram).ok();
        self.malformed += u64::from(packet.is_none());
        packet
    }

    /// Accepts a packet to send. If `true`, [`Carrier::flush`] must follow before the next.
    pub(crate) fn add(&mut self, destination: SocketAddr, transmit: &Transmit) -> bool {
        on_medium!(&mut self.medium, carrier => carrier.add(destination, transmit))
    }

    /// Sends all packets added. On `WouldBlock`, wait until writable and flush again.
    pub(crate) fn flush(&mut self) -> io::Result<()> {
        on_medium!(&mut self.medium, carrier => carrier.flush())
    }

    /// The application data that fit a datagram to `destination` by the MTU of its interface and route and by
    /// the ICMP messages of routers; `None` if the system does not know.
    pub(crate) fn datagram_limit(&self, destination: SocketAddr) -> Option<usize> {
        on_medium!(&self.medium, carrier => carrier.datagram_limit(destination))
    }

    /// `true` if this host can send to `destination` by this carrier now, as far as the system reports it.
    pub(crate) fn has_route(&self, destination: SocketAddr) -> bool {
        match &self.medium {
            Medium::Udp(carrier) => carrier.has_route(destination),
            #[cfg(target_os = "linux")]
            Medium::Raw(_) => true,
            #[cfg(all(target_os = "linux", feature = "tun"))]
            Medium::Tun(_) => true,
        }
    }

    /// Forgets the local addresses of peers after a change of route: answers no longer come from them.
    pub(crate) fn forget_source_addresses(&mut self) {
        match &mut self.medium {
            Medium::Udp(carrier) => carrier.forget_source_addresses(),
            #[cfg(target_os = "linux")]
            Medium::Raw(_) => {}
            #[cfg(all(target_os = "linux", feature = "tun"))]
            Medium::Tun(_) => {}
        }
    }

    /// Sets the DSCP of the packets that are sent from now on.
    ///
    /// # Errors
    /// This system cannot mark packets.
    pub(crate) fn set_dscp(&mut self, dscp: Dscp) -> io::Result<()> {
        if !dscp.is_default() && !cfg!(target_os = "linux") {
            let message = "only Linux sends packets with a DSCP here";
            return Err(io::Error::new(io::ErrorKind::Unsupported, message));
        }
        on_medium!(&mut self.medium, carrier => carrier.set_dscp(dscp));
        Ok(())
    }

    /// Reads what the kernel dropped instead of passing it to this carrier; `None` for one without a socket.
    pub(crate) fn drop_counter(&self) -> Option<DropCounter> {
        match &self.medium {
            Medium::Udp(carrier) => Some(carrier.drop_counter()),
            #[cfg(target_os = "linux")]
            Medium::Raw(carrier) => Some(carrier.drop_counter()),
            #[cfg(all(target_os = "linux", feature = "tun"))]
            Medium::Tun(_) => None,
        }
    }

    /// The errors of sending since the last call.
    pub(crate) fn take_path_errors(&mut self) -> Vec<(SocketAddr, PathError)> {
        on_medium!(&mut self.medium, carrier => carrier.take_path_errors())
    }
}

impl From<UdpCarrier> for Carrier {
    fn from(carrier: UdpCarrier) -> Self {
        Self { medium: Medium::Udp(carrier), malformed: 0 }
    }
}

#[cfg(target_os = "linux")]
impl From<RawCarrier> for Carrier {
    fn from(carrier: RawCarrier) -> Self {
        Self { medium: Medium::Raw(Box::new(carrier)), malformed: 0 }
    }
}

#[cfg(all(target_os = "linux", feature = "tun"))]
impl From<TunCarrier> for Carrier {
    fn from(carrier: TunCarrier) -> Self {
        Self { medium: Medium::Tun(Box::new(carrier)), malformed: 0 }
    }
}

fn would_block<T>(result: &io::Result<T>) -> bool {
    matches!(result, Err(error) if error.kind() == io::ErrorKind::WouldBlock)
}

/// `true` if a UDP socket's call returned that nothing listens at the address of an earlier datagram, as an
/// ICMP message reports: any later call may return it, of either direction.
pub fn is_refusal(error: &io::Error) -> bool {
    // Windows calls it a reset.
    matches!(error.kind(), io::ErrorKind::ConnectionRefused | io::ErrorKind::ConnectionReset)
}

/// The meaning of an error for the packets' destination. Send and receive calls return both kinds: an ICMP
/// message is returned by the next call, of either kind.
fn path_error(error: &io::Error) -> Option<PathError> {
    match error.kind() {
        io::ErrorKind::HostUnreachable | io::ErrorKind::NetworkUnreachable => Some(PathError::Unreachable),
        _ if is_refusal(error) => Some(PathError::Unreachable),
        _ if error.raw_os_error() == Some(rustix::io::Errno::MSGSIZE.raw_os_error()) => {
            Some(PathError::TooLarge(None))
        }
        _ => None,
    }
}
