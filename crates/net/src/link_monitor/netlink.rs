//! Linux's notifications of interfaces, addresses and routes (rtnetlink).

use std::io;
use std::net::IpAddr;

use netlink_packet_core::{NLM_F_REQUEST, NetlinkHeader, NetlinkMessage, NetlinkPayload};
use netlink_packet_route::link::{LinkAttribute, LinkFlags, LinkMessage};
use netlink_packet_route::route::{RouteAddress, RouteAttribute, RouteMessage, RouteType};
use netlink_packet_route::{AddressFamily, RouteNetlinkMessage};
use netlink_sys::protocols::NETLINK_ROUTE;
use netlink_sys::{Socket, SocketAddr};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

use super::Route;
use crate::NetError;

/// The multicast groups to listen to (`enum rtnetlink_groups` of `linux/rtnetlink.h`): links, and addresses
/// and routes of both families.
const GROUPS: [u32; 5] = [1, 5, 7, 9, 11];
/// The kernel's messages are shorter.
const LONGEST: usize = 1 << 16;

const LISTENING: &str = "subscribing to the system's link notifications";
const ASKING: &str = "querying the system for the route to a host";

/// The netlink sockets for notifications and for queries.
#[derive(Debug)]
pub(super) struct LinkEvents {
    news: AsyncFd<Socket>,
    questions: Socket,
    buffer: Vec<u8>,
    remote: IpAddr,
    /// The only interface that counts.
    interface: Option<String>,
}

impl LinkEvents {
    pub(super) fn open(remote: IpAddr, interface: Option<&str>) -> Result<Self, NetError> {
        let groups = GROUPS.iter().fold(0, |all, group| all | 1 << (group - 1));
        let mut source = Self {
            news: socket(groups).and_then(watch).map_err(NetError::io(LISTENING))?,
            questions: socket(0).map_err(NetError::io(ASKING))?,
            buffer: Vec::with_capacity(LONGEST),
            remote,
            interface: interface.map(str::to_owned),
        };
        if let Some(name) = interface {
            let mut question = LinkMessage::default();
            question.attributes.push(LinkAttribute::IfName(name.to_owned()));
            source.ask(RouteNetlinkMessage::GetLink(question)).map_err(|error| {
                match error.raw_os_error() {
                    Some(_) => NetError::Config(format!("there is no network interface {name:?}: {error}")),
                    None => NetError::io(ASKING)(error),
                }
            })?;
        }
        Ok(source)
    }

    /// The route by which a packet would leave now.
    pub(super) fn route(&mut self) -> Result<Option<Route>, NetError> {
        self.look_up().map_err(NetError::io(ASKING))
    }

    /// Waits until the kernel reports a change. Returns `true` if the interface with that number was down
    /// or without carrier, even if only briefly.
    pub(super) async fn changed(&mut self, index: Option<u32>) -> Result<bool, NetError> {
        let Self { news, buffer, .. } = self;
        loop {
            let mut guard = news.readable().await.map_err(NetError::io(LISTENING))?;
            buffer.clear();
            match guard.try_io(|socket| socket.get_ref().recv(buffer, 0)) {
                Ok(Ok(_)) => break,
                // The kernel dropped notifications: the next query has the present state.
                Ok(Err(error)) if error.raw_os_error() == Some(nix::errno::Errno::ENOBUFS as i32) => {
                    return Ok(false);
                }
                Ok(Err(error)) if error.kind() == io::ErrorKind::Interrupted => {}
                Ok(Err(error)) => return Err(NetError::io(LISTENING)(error)),
                Err(_would_block) => {}
            }
        }
        Ok(messages(buffer).iter().any(|payload| match payload {
            NetlinkPayload::InnerMessage(RouteNetlinkMessage::NewLink(link)) => {
                Some(link.header.index) == index && !is_up(link)
            }
            NetlinkPayload::InnerMessage(RouteNetlinkMessage::DelLink(link)) => {
                // A bridge that loses a port sends the same message, but of another family.
                Some(link.header.index) == index && link.header.interface_family == AddressFamily::Unspec
            }
            _ => false,
        }))
    }

    fn look_up(&mut self) -> io::Result<Option<Route>> {
        let Some(RouteNetlinkMessage::NewRoute(route)) = self.ask_for(route_to(self.remote))? else {
            return Ok(None);
        };
        let Some((index, source, gateway)) = read_route(&route) else { return Ok(None) };
        let mut question = LinkMessage::default();
        question.header.index = index;
        let answer = self.ask_for(RouteNetlinkMessage::GetLink(question))?;
        let Some(RouteNetlinkMessage::NewLink(link)) = answer.filter(|_| index != 0) else { return Ok(None) };
        let interface = link.attributes.iter().find_map(|attribute| match attribute {
            LinkAttribute::IfName(name) => Some(name.clone()),
            _ => None,
        });
        let Some(interface) = interface.filter(|_| is_up(&link)) else { return Ok(None) };
        let counts = self.interface.as_ref().is_none_or(|wanted| *wanted == interface);
        Ok(counts.then_some(Route { index, interface, source, gateway }))
    }

    /// The answer to a query; `None` if the kernel returns an error, as without a route.
    fn ask_for(&mut self, question: RouteNetlinkMessage) -> io::Result<Option<RouteNetlinkMessage>> {
        match self.ask(question) {
            Ok(answer) => Ok(Some(answer)),
            Err(error) if error.raw_os_error().is_some() => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// The answer to a query; the kernel's error is returned with its number.
    fn ask(&mut self, question: RouteNetlinkMessage) -> io::Result<RouteNetlinkMessage> {
        let mut header = NetlinkHeader::default();
        header.flags = NLM_F_REQUEST;
        let mut message = NetlinkMessage::new(header, NetlinkPayload::from(question));
        message.finalize();
        let mut bytes = vec![0; message.buffer_len()];
        message.serialize(&mut bytes);
        self.questions.send(&bytes, 0)?;
        // The kernel has answered when `send` returns.
        self.buffer.clear();
        self.questions.recv(&mut self.buffer, 0)?;
        for payload in messages(&self.buffer) {
            match payload {
                NetlinkPayload::InnerMessage(answer) => return Ok(answer),
                NetlinkPayload::Error(objection) => return Err(objection.to_io()),
                _ => {}
            }
        }
        Err(io::ErrorKind::InvalidData.into())
    }
}

pub(crate) fn socket(groups: u32) -> io::Result<Socket> {
    let mut socket = Socket::new(NETLINK_ROUTE)?;
    socket.set_non_blocking(true)?;
    socket.bind(&SocketAddr::new(0, groups))?;
    Ok(socket)
}

#[expect(deprecated, reason = "unsound for types that could close their descriptor: this socket does not")]
pub(crate) fn watch(socket: Socket) -> io::Result<AsyncFd<Socket>> {
    AsyncFd::with_interest(socket, Interest::READABLE)
}

/// The messages of one datagram that can be decoded.
fn messages(mut bytes: &[u8]) -> Vec<NetlinkPayload<RouteNetlinkMessage>> {
    let mut found = Vec::new();
    while let Some(length) = bytes.first_chunk().map(|word| u32::from_ne_bytes(*word) as usize)
        && let Some(message) = bytes.get(..length).filter(|message| message.len() >= 16)
    {
        // A message that this version of the library cannot decode does not hide the next.
        found.extend(NetlinkMessage::deserialize(message).map(|message| message.payload).ok());
        bytes = bytes.get(length.next_multiple_of(4)..).unwrap_or_default();
    }
    found
}

/// `true` if packets can leave there: it is up and has a carrier.
fn is_up(link: &LinkMessage) -> bool {
    link.header.flags.contains(LinkFlags::Up | LinkFlags::LowerUp)
}

fn route_to(remote: IpAddr) -> RouteNetlinkMessage {
    let mut question = RouteMessage::default();
    (question.header.address_family, question.header.destination_prefix_length) = match remote {
        IpAddr::V4(_) => (AddressFamily::Inet, 32),
        IpAddr::V6(_) => (AddressFamily::Inet6, 128),
    };
    question.attributes.push(RouteAttribute::Destination(remote.into()));
    RouteNetlinkMessage::GetRoute(question)
}

/// Interface, source and gateway of a usable route.
fn read_route(route: &RouteMessage) -> Option<(u32, Option<IpAddr>, Option<IpAddr>)> {
    let (mut index, mut source, mut gateway) = (None, None, None);
    for attribute in &route.attributes {
        match attribute {
            RouteAttribute::Oif(number) => index = Some(*number),
            RouteAttribute::PrefSource(address) => source = ip(address),
            RouteAttribute::Gateway(address) => gateway = ip(address),
            _ => {}
        }
    }
    let leads = matches!(route.header.kind, RouteType::Unicast | RouteType::Local);
    Some((index.filter(|_| leads)?, source, gateway))
}

fn ip(address: &RouteAddress) -> Option<IpAddr> {
    match address {
        RouteAddress::Inet(v4) => Some((*v4).into()),
        RouteAddress::Inet6(v6) => Some((*v6).into()),
        _ => None,
    }
}
