//! The addresses of nodes.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// The addresses of the nodes of an emulated network: consecutive ones of an IPv4 and of an IPv6 network, in
/// the order of the scenario. The default plan has the IPv4 addresses that capture files of simulated runs
/// have.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AddressPlan {
    v4: Ipv4Addr,
    v6: Ipv6Addr,
}

impl AddressPlan {
    /// Bits of the IPv4 network of all nodes.
    pub const V4_PREFIX: u8 = 16;
    /// Bits of the IPv6 network of all nodes.
    pub const V6_PREFIX: u8 = 64;
    /// The most nodes that have addresses.
    pub const MOST: usize = (1 << (32 - Self::V4_PREFIX)) - 2;

    /// The networks 10.`level`.0.0/16 and fd57:4942:524c:`level`::/64. A program in an emulated network that
    /// emulates a network itself uses the next level.
    pub const fn new(level: u8) -> Self {
        Self {
            v4: Ipv4Addr::new(10, level, 0, 0),
            v6: Ipv6Addr::new(0xfd57, 0x4942, 0x524c, level as u16, 0, 0, 0, 0),
        }
    }

    /// The IPv4 address of a node, by its position in the plan.
    pub const fn v4(self, node: usize) -> Ipv4Addr {
        Ipv4Addr::from_bits(self.v4.to_bits() + node as u32 + 1)
    }

    /// The IPv6 address of a node, by its position in the plan.
    pub const fn v6(self, node: usize) -> Ipv6Addr {
        Ipv6Addr::from_bits(self.v6.to_bits() + node as u128 + 1)
    }

    /// The position of the node with this address.
    pub fn node(self, address: IpAddr) -> Option<usize> {
        let offset = match address {
            IpAddr::V4(address) => u128::from(address.to_bits().checked_sub(self.v4.to_bits())?),
            IpAddr::V6(address) => address.to_bits().checked_sub(self.v6.to_bits())?,
        };
        (1..=Self::MOST as u128).contains(&offset).then(|| offset as usize - 1)
    }
}
