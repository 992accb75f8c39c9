//! Interfaces as Linux reports them.

use std::io;
use std::net::IpAddr;

use netlink_sys::Socket;
use nix::ifaddrs::getifaddrs;
use nix::net::if_::InterfaceFlags;
use tokio::io::unix::AsyncFd;

use super::InterfaceAddress;
use crate::NetError;
use crate::link_monitor::netlink::{socket, watch};

/// The multicast groups to listen to (`enum rtnetlink_groups` of `linux/rtnetlink.h`): links, and addresses
/// of both families.
const GROUPS: [u32; 3] = [1, 5, 9];
/// The kernel's messages are shorter.
const LONGEST: usize = 1 << 16;

const LISTENING: &str = "subscribing to the system's notifications of interfaces";

pub(super) fn addresses() -> Result<Vec<InterfaceAddress>, NetError> {
    let listed = getifaddrs().map_err(|error| NetError::Io {
        action: "listing the addresses of the network interfaces",
        source: error.into(),
    })?;
    let mut found = Vec::new();
    for each in listed {
        let storage = each.address;
        let address = storage.and_then(|storage| {
            let v4 = storage.as_sockaddr_in().map(|v4| IpAddr::from(v4.ip()));
            v4.or_else(|| storage.as_sockaddr_in6().map(|v6| IpAddr::from(v6.ip())))
        });
        let is_up = each.flags.contains(InterfaceFlags::IFF_UP | InterfaceFlags::IFF_RUNNING);
        // Every interface is listed with its link-layer address, too: as one without an address.
        found.push(InterfaceAddress { interface: each.interface_name, address, is_up });
    }
    found.sort();
    found.dedup();
    Ok(found)
}

/// The kernel's notifications.
#[derive(Debug)]
pub(super) struct News {
    socket: AsyncFd<Socket>,
    buffer: Vec<u8>,
}

impl News {
    pub(super) fn open() -> Result<Self, NetError> {
        let groups = GROUPS.iter().fold(0, |all, group| all | 1 << (group - 1));
        let socket = socket(groups).and_then(watch).map_err(NetError::io(LISTENING))?;
        Ok(Self { socket, buffer: Vec::with_capacity(LONGEST) })
    }

    /// Waits for a notification.
    pub(super) async fn next(&mut self) -> Result<(), NetError> {
        let Self { socket, buffer } = self;
        loop {
            let mut guard = socket.readable().await.map_err(NetError::io(LISTENING))?;
            buffer.clear();
            match guard.try_io(|socket| socket.get_ref().recv(buffer, 0)) {
                Ok(Ok(_)) => return Ok(()),
                // The kernel dropped notifications: the next query has the present state.
                Ok(Err(error)) if error.raw_os_error() == Some(nix::errno::Errno::ENOBUFS as i32) => {
                    return Ok(());
                }
                Ok(Err(error)) if error.kind() == io::ErrorKind::Interrupted => {}
                Ok(Err(error)) => return Err(NetError::io(LISTENING)(error)),
                Err(_would_block) => {}
            }
        }
    }
}
