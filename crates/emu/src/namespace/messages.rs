//! Requests to the kernel that configure a device (rtnetlink).

use std::net::IpAddr;

use netlink_packet_core::{NLM_F_ACK, NLM_F_CREATE, NLM_F_REQUEST, NetlinkHeader, NetlinkMessage};
use netlink_packet_route::address::{AddressAttribute, AddressHeaderFlags, AddressMessage, AddressScope};
use netlink_packet_route::link::{LinkAttribute, LinkFlags, LinkMessage};
use netlink_packet_route::route::{
    RouteAttribute, RouteHeader, RouteMessage, RouteProtocol, RouteScope, RouteType,
};
use netlink_packet_route::{AddressFamily, RouteNetlinkMessage};

/// The number of the first device in its namespace: it is chosen in advance, so that the requests can be made
/// in advance.
pub(crate) const DEVICE_INDEX: u32 = 77;
/// The difference between the metrics of the default routes of two devices of a namespace.
const METRIC: u32 = 100;
/// The number of the loopback device in every namespace.
const LOOPBACK_INDEX: u32 = 1;
/// Packets that the device holds until they are read: short bursts find room, a program that floods does not
/// fill memory.
const DEVICE_QUEUE: u32 = 1_000;

/// A request, encoded.
#[derive(Clone, Debug)]
pub(crate) struct Request {
    pub(crate) bytes: Vec<u8>,
    /// `true` if it concerns IPv6, which the system may not have.
    pub(crate) is_optional: bool,
}

/// The requests that bring up the loopback device and the device `index`, with its addresses and a default
/// route for each family. Of several devices the kernel prefers the routes of the one with the lowest index.
pub(crate) fn configuration(index: u32, mtu: u32, addresses: &[(IpAddr, u8)]) -> Vec<Request> {
    let mut loopback = LinkMessage::default();
    (loopback.header.index, loopback.header.flags, loopback.header.change_mask) =
        (LOOPBACK_INDEX, LinkFlags::Up, LinkFlags::Up);
    let mut requests = vec![request(RouteNetlinkMessage::SetLink(loopback), false)];
    requests.extend(device(index, mtu, addresses));
    requests.extend(addresses.iter().map(|(address, _)| {
        let mut route = RouteMessage::default();
        route.header.address_family = family(*address);
        route.header.table = RouteHeader::RT_TABLE_MAIN;
        route.header.protocol = RouteProtocol::Static;
        route.header.scope = if address.is_ipv4() { RouteScope::Link } else { RouteScope::Universe };
        route.header.kind = RouteType::Unicast;
        route.attributes.push(RouteAttribute::Oif(index));
        route.attributes.push(RouteAttribute::Priority((index - DEVICE_INDEX + 1) * METRIC));
        request(RouteNetlinkMessage::NewRoute(route), address.is_ipv6())
    }));
    requests
}

/// The request that takes the device `index` down. The kernel removes its routes, and its IPv6 addresses.
pub(crate) fn down(index: u32) -> Request {
    let mut device = LinkMessage::default();
    (device.header.index, device.header.change_mask) = (index, LinkFlags::Up);
    request(RouteNetlinkMessage::SetLink(device), false)
}

/// The requests that bring up the device `index` with its addresses and the routes to their networks.
pub(crate) fn device(index: u32, mtu: u32, addresses: &[(IpAddr, u8)]) -> Vec<Request> {
    let mut device = LinkMessage::default();
    (device.header.index, device.header.flags, device.header.change_mask) =
        (index, LinkFlags::Up, LinkFlags::Up);
    device.attributes.extend([LinkAttribute::Mtu(mtu), LinkAttribute::TxQueueLen(DEVICE_QUEUE)]);
    let mut requests = vec![request(RouteNetlinkMessage::SetLink(device), false)];
    requests.extend(addresses.iter().map(|&(address, prefix)| {
        let mut message = AddressMessage::default();
        message.header.family = family(address);
        message.header.prefix_len = prefix;
        message.header.index = index;
        message.header.scope = AddressScope::Universe;
        // No other host can have the address.
        message.header.flags = AddressHeaderFlags::Nodad;
        message.attributes.extend([AddressAttribute::Local(address), AddressAttribute::Address(address)]);
        request(RouteNetlinkMessage::NewAddress(message), address.is_ipv6())
    }));
    requests
}

fn family(address: IpAddr) -> AddressFamily {
    if address.is_ipv4() { AddressFamily::Inet } else { AddressFamily::Inet6 }
}

fn request(message: RouteNetlinkMessage, is_optional: bool) -> Request {
    let mut header = NetlinkHeader::default();
    header.flags = NLM_F_REQUEST | NLM_F_ACK | NLM_F_CREATE;
    let mut message = NetlinkMessage::new(header, message.into());
    message.finalize();
    let mut bytes = vec![0; message.buffer_len()];
    message.serialize(&mut bytes);
    Request { bytes, is_optional }
}
