//! Bytes between the kernel and the protocol, with ECN, over one of several carriers.
//!
//! Inside UDP (RFC 6773) is what every host and path allows. On Linux there are two more, where packets
//! travel as RFC 4340 has them, as IP protocol 33: a raw socket, for which the kernel makes the IP
//! header, and a TUN device, behind which this process is a host of its own.

mod udp;
pub(crate) mod way;

#[cfg(target_os = "linux")]
mod mtu;

#[cfg(target_os = "linux")]
mod icmp;
#[cfg(target_os = "linux")]
mod ip;
#[cfg(target_os = "linux")]
mod raw;
#[cfg(target_os = "linux")]
mod tun;

use std::io;
use std::net::SocketAddr;
use std::time::Duration as SystemTime;

use bytes::Bytes;
use tokio::io::Interest;
use whimbrel_proto::Transmit;
use whimbrel_wire::{Ecn, Packet, SeqNo};

#[cfg(target_os = "linux")]
pub(crate) use raw::RawCarrier;
#[cfg(target_os = "linux")]
pub(crate) use tun::TunCarrier;
pub(crate) use udp::UdpCarrier;

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

/// What goes with the application data of a datagram, besides IP's header and UDP's: the longest fixed header
/// (24 bytes) and the 28 that the protocol keeps for options.
const DCCP_OVERHEAD: usize = 52;

/// What packets travel in.
#[derive(Debug)]
pub(crate) struct Carrier {
    medium: Medium,
    /// Datagrams that held no DCCP packet.
    pub(crate) malformed: u64,
}

/// The first stands here itself: it is the one that has to be quick.
#[derive(Debug)]
#[expect(clippy::large_enum_variant, reason = "there is one for each driver")]
enum Medium {
    Udp(UdpCarrier),
    #[cfg(target_os = "linux")]
    Raw(Box<RawCarrier>),
    #[cfg(target_os = "linux")]
    Tun(Box<TunCarrier>),
}

/// What [`Carrier::receive`] found.
#[derive(Debug)]
pub(crate) enum Arrival {
    /// Datagrams from one host, one after the other, each `stride` bytes but for the last. `stamp`: when the kernel got the
    /// last of them, since 1970, if it says so.
    Datagrams { remote: SocketAddr, ecn: Ecn, stamp: Option<SystemTime>, bytes: Bytes, stride: usize },
    /// What became of earlier packets to that host (only on connected sockets).
    Trouble(SocketAddr, Trouble),
    /// What became of one packet to that host, which the message quotes. Anybody may have sent it.
    #[cfg_attr(not(target_os = "linux"), expect(dead_code, reason = "only Linux tells"))]
    Report { remote: SocketAddr, quoted: Quoted, trouble: Trouble },
    /// Something that is nobody's business was dropped.
    #[cfg_attr(not(target_os = "linux"), expect(dead_code, reason = "only where IP is seen"))]
    Noise,
    /// Nothing waits.
    Nothing,
}

/// What the system says about packets that were sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Trouble {
    /// No such protocol, port, host or network; from ICMP or for want of a route.
    Unreachable,
    /// Larger than the path carries. Where it is known: the application data that fit a datagram, in bytes.
    TooLarge(Option<usize>),
}

/// The beginning of a packet that an ICMP message is about.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Quoted {
    pub(crate) source_port: u16,
    pub(crate) destination_port: u16,
    /// Messages need not quote more than eight bytes (RFC 792).
    pub(crate) sequence: Option<SeqNo>,
}

/// Calls the same method of whatever the medium is.
macro_rules! on_medium {
    ($medium:expr, $carrier:ident => $call:expr) => {
        match $medium {
            Medium::Udp($carrier) => $call,
            #[cfg(target_os = "linux")]
            Medium::Raw($carrier) => $call,
            #[cfg(target_os = "linux")]
            Medium::Tun($carrier) => $call,
        }
    };
}

impl Carrier {
    /// What this end's address is: without a UDP port where there is no UDP.
    pub(crate) fn local_addr(&self) -> io::Result<SocketAddr> {
        on_medium!(&self.medium, carrier => carrier.local_addr())
    }

    /// Whether no other program gets packets for the same address and port.
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

    /// Takes what one system call gives.
    ///
    /// # Errors
    /// The medium is broken.
    pub(crate) fn receive(&mut self) -> io::Result<Arrival> {
        on_medium!(&mut self.medium, carrier => carrier.receive())
    }

    /// Decodes one datagram; counts it where it holds no packet.
    pub(crate) fn decode(&mut self, datagram: Bytes) -> Option<Packet> {
        let packet = Packet::decode(&datagram).ok();
        self.malformed += u64::from(packet.is_none());
        packet
    }

    /// Takes a packet to send. True: [`Carrier::flush`] before the next.
    pub(crate) fn add(&mut self, destination: SocketAddr, transmit: &Transmit) -> bool {
        on_medium!(&mut self.medium, carrier => carrier.add(destination, transmit))
    }

    /// Sends all that was added. `WouldBlock`: wait until writable and flush again.
    pub(crate) fn flush(&mut self) -> io::Result<()> {
        on_medium!(&mut self.medium, carrier => carrier.flush())
    }

    /// The application data that fit a datagram to `destination` by the MTU of the interface and route that its packets take,
    /// and by what routers on the path have said; `None` where the system does not know.
    pub(crate) fn datagram_limit(&self, destination: SocketAddr) -> Option<usize> {
        on_medium!(&self.medium, carrier => carrier.datagram_limit(destination))
    }

    /// Whether this host could send to `destination` by this carrier now, as far as that can be told.
    pub(crate) fn has_way(&self, destination: SocketAddr) -> bool {
        match &self.medium {
            Medium::Udp(carrier) => carrier.has_way(destination),
            #[cfg(target_os = "linux")]
            Medium::Raw(_) | Medium::Tun(_) => true,
        }
    }

    /// Packets take another way than before: answers no longer come from the address that was known.
    pub(crate) fn forget_ways(&mut self) {
        if let Medium::Udp(carrier) = &mut self.medium {
            carrier.forget_ways();
        }
    }

    /// What sending ran into since this was last asked.
    pub(crate) fn take_troubles(&mut self) -> Vec<(SocketAddr, Trouble)> {
        on_medium!(&mut self.medium, carrier => carrier.take_troubles())
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

#[cfg(target_os = "linux")]
impl From<TunCarrier> for Carrier {
    fn from(carrier: TunCarrier) -> Self {
        Self { medium: Medium::Tun(Box::new(carrier)), malformed: 0 }
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
            Some(Trouble::TooLarge(None))
        }
        _ => None,
    }
}
