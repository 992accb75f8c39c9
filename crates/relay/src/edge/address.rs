//! Addresses as a user states them: of servers, of this host, and of programs whose datagrams are carried.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, UdpSocket};
use std::str::FromStr;

use anyhow::{Context, anyhow};
use tokio::net::TcpStream;
use whimbrel_net::{HostPort, NetError, ParseHostPortError, connect_any, interface_addresses};

use super::stream::{self, Stream};

/// The reason why a text is not the address that was expected.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AddressError {
    /// Neither a name nor an address.
    #[error(transparent)]
    Host(#[from] ParseHostPortError),
    /// A name that is not known here.
    #[error("{}", .0.chain())]
    Unknown(NetError),
    /// A name without addresses.
    #[error("{0} has no address")]
    Empty(HostPort),
    /// The port is missing, as the example has one.
    #[error("{host}: expected a port, as in {example}")]
    NoPort {
        /// The text without it.
        host: HostPort,
        /// The same with one.
        example: HostPort,
    },
    /// Port 0, at which nothing listens.
    #[error("no {0} port 0")]
    PortZero(&'static str),
    /// The datagrams of a multicast group, at any port.
    #[error("the datagrams of a group have a certain port: expected another one than 0")]
    GroupPort,
    /// The unspecified address.
    #[error("{address} is no {whose} address: expected that of one, such as 127.0.0.1 for {here}")]
    Unspecified {
        /// The address.
        address: IpAddr,
        /// Expected kind of address.
        whose: &'static str,
        /// One that 127.0.0.1 is the address of.
        here: &'static str,
    },
    /// The address of several hosts.
    #[error("{0} is the address of several hosts, expected that of one")]
    Group(IpAddr),
    /// An option that an address of this kind does not have.
    #[error("{option:?}: expected {}", .keys.join("= or ") + "=")]
    Option {
        /// The option.
        option: String,
        /// The keys of the options that it has.
        keys: &'static [&'static str],
    },
    /// An option without its value.
    #[error("{0:?}: expected a value")]
    NoValue(String),
    /// An option with another value than that expected.
    #[error("{option}: expected {expected}")]
    Value {
        /// The option with its value.
        option: String,
        /// Expected value.
        expected: &'static str,
    },
    /// An option of multicast groups.
    #[error("{option} is for multicast groups, and {address} is none")]
    NoGroup {
        /// The option.
        option: &'static str,
        /// The address.
        address: IpAddr,
    },
    /// The source of a group of IPv6.
    #[error("source= needs a group of IPv4")]
    Source,
    /// An address that each link has, without the link.
    #[error("{0} is an address of any link, expected its interface as well, such as [{0}%eth0]")]
    NoZone(IpAddr),
}

/// Reads the name or address of a server, with or without its port.
///
/// # Errors
/// The text is none.
pub fn parse_server(text: &str) -> Result<HostPort, AddressError> {
    let host: HostPort = text.parse()?;
    if host.port() == Some(0) {
        return Err(AddressError::PortZero("server listens at"));
    }
    if let Ok(address) = host.host().parse() {
        destination(address)?;
        check_zone(address)?;
    }
    Ok(host)
}

/// Checks an address that was given without a zone (RFC 4007, Section 6). The system refuses an address
/// that may name a host on each link.
fn check_zone(address: IpAddr) -> Result<(), AddressError> {
    let IpAddr::V6(v6) = address else { return Ok(()) };
    let is_of_link = match v6.segments()[0] {
        // Groups of an interface and of a link (RFC 4291, Section 2.7).
        group if group >> 8 == 0xff => matches!(group & 0xf, 1 | 2),
        _ => v6.is_unicast_link_local(),
    };
    if is_of_link { Err(AddressError::NoZone(address)) } else { Ok(()) }
}

/// Checks that a connection can be opened to an address.
pub(crate) fn destination(address: IpAddr) -> Result<(), AddressError> {
    match address.to_canonical() {
        address if address.is_unspecified() => {
            Err(AddressError::Unspecified { address, whose: "host's", here: "this host" })
        }
        address if is_group(address) => Err(AddressError::Group(address)),
        _ => Ok(()),
    }
}

/// `true` if an address is one of this host's alone.
pub fn is_loopback(address: IpAddr) -> bool {
    address.to_canonical().is_loopback()
}

/// `true` for multicast addresses and the broadcast address of every network.
fn is_group(address: IpAddr) -> bool {
    address.is_multicast() || address == IpAddr::V4(Ipv4Addr::BROADCAST)
}

/// Reads an address of this host with a port, at which a server listens. Of a name, it is the first address
/// that this host has.
///
/// # Errors
/// The text is none.
pub fn parse_own(text: &str) -> Result<SocketAddr, AddressError> {
    let host: HostPort = text.parse()?;
    let Some(port) = host.port() else {
        return Err(AddressError::NoPort { example: host.or_port(6511), host });
    };
    if let Ok(address) = host.host().parse() {
        check_zone(address)?;
    }
    // The command line is read before there is a runtime.
    let found = tokio::runtime::Builder::new_current_thread()
        .build()
        .map_err(|source| NetError::Io { action: "no runtime", source })
        .and_then(|runtime| runtime.block_on(host.resolve_local(port)))
        .map_err(AddressError::Unknown)?;
    if let Some(group) = found.iter().find(|address| is_group(address.ip())) {
        return Err(AddressError::Group(group.ip()));
    }
    let is_ours = |address: &&SocketAddr| {
        let mut any_port = **address;
        any_port.set_port(0);
        UdpSocket::bind(any_port).is_ok()
    };
    let ours = found.iter().find(is_ours).or(found.first());
    ours.copied().ok_or(AddressError::Empty(host))
}

/// Resolves a server's name.
///
/// # Errors
/// The name cannot be resolved, or an address is not the address of a single host.
pub async fn resolve(server: &HostPort, default_port: u16) -> anyhow::Result<Vec<SocketAddr>> {
    let addresses = server.resolve(default_port).await?;
    for address in &addresses {
        destination(address.ip()).map_err(|error| anyhow!("{server}: {error}"))?;
    }
    Ok(addresses)
}

/// Opens a TCP connection to the first address of a server that answers.
///
/// # Errors
/// None does.
pub async fn connect_tcp(addresses: &[SocketAddr]) -> anyhow::Result<TcpStream> {
    let attempt = |at| async move { TcpStream::connect(at).await.map_err(anyhow::Error::new) };
    connect_any(addresses, attempt).await.map(|(_, stream)| stream).map_err(joined)
}

/// The failures of all addresses of a server as one: the only one as it is, otherwise each with its address.
pub fn joined(mut failures: Vec<(SocketAddr, anyhow::Error)>) -> anyhow::Error {
    // Failure that the user can mend: a refusal of keys rather than an unreachable address.
    let telling = |error: &anyhow::Error| {
        error.chain().any(|cause| matches!(cause.downcast_ref(), Some(NetError::Security(_))))
    };
    if let Some(index) = failures.iter().position(|(_, error)| telling(error)) {
        return failures.swap_remove(index).1;
    }
    if failures.len() < 2 {
        return failures.pop().map_or_else(|| anyhow!("the name has no address"), |(_, error)| error);
    }
    let each: Vec<_> = failures
        .iter()
        .map(|(at, error)| {
            let (at, text) = (at.to_string(), format!("{error:#}"));
            if text.contains(&at) { text } else { format!("{at}: {text}") }
        })
        .collect();
    anyhow!("{}", each.join("; "))
}

/// The place at which a program's datagrams arrive, or to which they go: an address and a port, and for
/// multicast groups, behind commas, `interface=`, `source=` (where they arrive) and `ttl=` (where they go);
/// for all, `stream=`: what programs send there.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ProgramAddress {
    at: HostPort,
    /// The network interface of a group.
    interface: Option<String>,
    /// The only host whose datagrams to the group are taken.
    source: Option<Ipv4Addr>,
    /// The number of networks that datagrams to the group may pass.
    ttl: Option<u8>,
    /// Kind of the datagrams that programs send there.
    stream: Stream,
}

impl fmt::Display for ProgramAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.at.fmt(f)
    }
}

impl From<SocketAddr> for ProgramAddress {
    fn from(at: SocketAddr) -> Self {
        Self::at(at.into())
    }
}

/// Reads a place at which datagrams arrive.
///
/// # Errors
/// The text is none.
pub fn parse_from(text: &str) -> Result<ProgramAddress, AddressError> {
    let place = parse_place(text, &["stream", "interface", "source"])?;
    if let Ok(address) = place.at.host().parse() {
        place.check_from(address)?;
        place.check_zone(address)?;
    }
    Ok(place)
}

/// Reads a place to which datagrams go.
///
/// # Errors
/// The text is none.
pub fn parse_to(text: &str) -> Result<ProgramAddress, AddressError> {
    let place = parse_place(text, &["stream", "interface", "ttl"])?;
    if place.at.port() == Some(0) {
        return Err(AddressError::PortZero("program takes datagrams at"));
    }
    if let Ok(address) = place.at.host().parse() {
        place.check_to(address)?;
        place.check_zone(address)?;
    }
    Ok(place)
}

fn parse_place(text: &str, keys: &'static [&'static str]) -> Result<ProgramAddress, AddressError> {
    let mut parts = text.split(',');
    let at = HostPort::from_str(parts.next().unwrap_or_default())?;
    if at.port().is_none() {
        return Err(AddressError::NoPort { example: at.or_port(5004), host: at });
    }
    let mut place = ProgramAddress::at(at);
    for part in parts {
        let (key, value) = part.split_once('=').unwrap_or((part, ""));
        let wrong = |expected| AddressError::Value { option: part.to_owned(), expected };
        match key {
            _ if !keys.contains(&key) => {
                return Err(AddressError::Option { option: part.to_owned(), keys });
            }
            "interface" if !value.is_empty() => place.interface = Some(value.to_owned()),
            "source" => {
                let source = value
                    .parse()
                    .ok()
                    .filter(|it: &Ipv4Addr| !is_group((*it).into()) && !it.is_unspecified());
                place.source = Some(source.ok_or_else(|| wrong("the IPv4 address of a host"))?);
            }
            "stream" => place.stream = value.parse().map_err(|()| wrong(stream::EXPECTED))?,
            "ttl" => {
                let ttl = value.parse().ok().filter(|ttl| *ttl > 0);
                place.ttl = Some(ttl.ok_or_else(|| wrong("a number from 1 to 255"))?);
            }
            _ => return Err(AddressError::NoValue(part.to_owned())),
        }
    }
    Ok(place)
}

impl ProgramAddress {
    fn at(at: HostPort) -> Self {
        Self { at, interface: None, source: None, ttl: None, stream: Stream::Recognized }
    }

    /// Checks an address at which datagrams are to arrive.
    fn check_from(&self, address: IpAddr) -> Result<(), AddressError> {
        self.check_group_options(address)?;
        match self.source {
            Some(_) if address.is_ipv6() => Err(AddressError::Source),
            _ if is_group(address) && self.at.port() == Some(0) => Err(AddressError::GroupPort),
            _ => Ok(()),
        }
    }

    /// Checks an address to which datagrams are to go.
    fn check_to(&self, address: IpAddr) -> Result<(), AddressError> {
        self.check_group_options(address)?;
        match address {
            address if address.is_unspecified() => {
                Err(AddressError::Unspecified { address, whose: "program's", here: "a program of this host" })
            }
            _ => Ok(()),
        }
    }

    fn check_zone(&self, address: IpAddr) -> Result<(), AddressError> {
        if self.interface.is_some() { Ok(()) } else { check_zone(address) }
    }

    fn check_group_options(&self, address: IpAddr) -> Result<(), AddressError> {
        let option = [
            self.interface.as_ref().map(|_| "interface="),
            self.source.map(|_| "source="),
            self.ttl.map(|_| "ttl="),
        ];
        match option.into_iter().flatten().next() {
            Some(option) if !address.is_multicast() => Err(AddressError::NoGroup { option, address }),
            _ => Ok(()),
        }
    }

    /// The addresses at which datagrams arrive.
    ///
    /// # Errors
    /// The name cannot be resolved, or nothing can arrive at one of its addresses.
    pub(crate) async fn resolve_from(&self) -> anyhow::Result<Vec<SocketAddr>> {
        let found = self.at.resolve_local(0).await?;
        for address in &found {
            self.check_from(address.ip()).map_err(|error| anyhow!("{self}: {error}"))?;
        }
        Ok(found)
    }

    /// The program to which datagrams go, with all addresses of its name.
    ///
    /// # Errors
    /// The name cannot be resolved, or nothing can go to one of its addresses.
    pub(crate) async fn resolve_to(&self) -> anyhow::Result<Program> {
        let addresses = self.at.resolve(0).await?;
        for address in &addresses {
            self.check_to(address.ip()).map_err(|error| anyhow!("{self}: {error}"))?;
        }
        let interface = match addresses.iter().find(|address| address.ip().is_multicast()) {
            Some(group) => Some(self.interface(*group)?),
            None => None,
        };
        Ok(Program { addresses, interface, ttl: self.ttl, stream: self.stream.clone() })
    }

    /// The interface of a group.
    pub(crate) fn interface(&self, group: SocketAddr) -> anyhow::Result<Interface> {
        let zone = match group {
            SocketAddr::V6(v6) => v6.scope_id(),
            SocketAddr::V4(_) => 0,
        };
        let Some(name) = &self.interface else {
            return Ok(Interface { index: zone, v4: None });
        };
        let index = index_of(name).with_context(|| format!("{self}: interface={name}"))?;
        let all = interface_addresses().unwrap_or_default();
        let v4 = all.iter().filter(|each| each.interface == *name).find_map(|each| match each.address? {
            IpAddr::V4(v4) => Some(v4),
            IpAddr::V6(_) => None,
        });
        if v4.is_none() && group.is_ipv4() {
            return Err(anyhow!("{self}: the interface {name} has no IPv4 address"));
        }
        Ok(Interface { index, v4 })
    }

    /// Kind of the datagrams that programs send there.
    pub(crate) fn stream(&self) -> &Stream {
        &self.stream
    }

    /// The only host whose datagrams to the group are taken.
    pub(crate) fn source(&self) -> Option<Ipv4Addr> {
        self.source
    }
}

/// The index of a network interface.
#[cfg(target_os = "linux")]
pub(crate) fn index_of(name: &str) -> std::io::Result<u32> {
    nix::net::if_::if_nametoindex(name).map_err(Into::into)
}

/// The name of the network interface with an index.
#[cfg(target_os = "linux")]
pub(crate) fn interface_of(index: u32) -> Option<String> {
    let name = nix::net::if_::if_indextoname(index).ok()?.into_string().ok();
    // The name of an unknown interface is empty.
    name.filter(|name| !name.is_empty())
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn index_of(_name: &str) -> std::io::Result<u32> {
    Err(std::io::ErrorKind::Unsupported.into())
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn interface_of(_index: u32) -> Option<String> {
    None
}

/// The interface that the zone of an address names.
pub(crate) fn zone_of(address: SocketAddr) -> Option<String> {
    match address {
        SocketAddr::V6(v6) if v6.scope_id() != 0 => interface_of(v6.scope_id()),
        _ => None,
    }
}

/// A network interface of a multicast group; index 0: the system's choice.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Interface {
    pub(crate) index: u32,
    pub(crate) v4: Option<Ipv4Addr>,
}

/// A program to which datagrams go.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Program {
    /// All addresses of its name, at least one.
    pub(crate) addresses: Vec<SocketAddr>,
    /// The interface, if it is a multicast group.
    pub(crate) interface: Option<Interface>,
    pub(crate) ttl: Option<u8>,
    /// Kind of its answers.
    pub(crate) stream: Stream,
}

impl Program {
    /// `true` if any program of several hosts may take the datagrams: none of them answers.
    pub(crate) fn is_group(&self) -> bool {
        self.addresses.iter().any(|address| is_group(address.ip()))
    }
}

#[cfg(test)]
mod tests;
