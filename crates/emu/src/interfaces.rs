//! Hosts with several interfaces: ends of a scenario that share a namespace.
//!
//! Each end of such a host has a device of its own there, with the name and the addresses of its node. The
//! device is up while a link of the node is, so that programs are notified of a handover as on a phone: the
//! interface goes down, its routes go with it, and the routes of the next device in order are used. The
//! device is disabled rather than left without a carrier, because the kernel delays reports of carriers by up
//! to a second.

use nix::libc;
use whimbrel_lab::Plan;

use crate::namespace::DEVICE;

/// A host with several interfaces.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Host {
    /// The nodes that are its interfaces, by their positions in the plan. While several are up, routes lead
    /// over the first.
    pub ends: Vec<usize>,
}

impl Host {
    /// The device of a node: its name, its position in its host, and the host's first node if that is another
    /// one.
    pub(crate) fn interface(hosts: &[Self], plan: &Plan, node: usize) -> (String, u32, Option<usize>) {
        let found =
            hosts.iter().find_map(|host| Some((host, host.ends.iter().position(|&end| end == node)?)));
        match found {
            None => (DEVICE.to_owned(), 0, None),
            Some((host, position)) => (
                plan.nodes[node].clone(),
                position as u32,
                host.ends.first().copied().filter(|_| position > 0),
            ),
        }
    }
}

/// Checks that the nodes can be interfaces of hosts.
pub(crate) fn check_hosts(hosts: &[Host], plan: &Plan, ends: &[usize]) -> Result<(), String> {
    let all = || hosts.iter().flat_map(|host| &host.ends);
    for (place, &node) in all().enumerate() {
        let name = &plan.nodes[node];
        let is_short = !name.is_empty() && name.len() < libc::IFNAMSIZ && name != "lo";
        if !is_short
            || name.starts_with('.')
            || name.contains(|c: char| c.is_whitespace() || "/:%".contains(c))
        {
            return Err(format!(
                "\"{name}\" cannot be the name of an interface: expected at most {} bytes without blanks, `/`, `:` and `%`",
                libc::IFNAMSIZ - 1
            ));
        }
        if all().take(place).any(|&other| other == node) {
            return Err(format!("\"{name}\" is named twice: a node is one interface of one host"));
        }
        if !ends.contains(&node) {
            return Err(format!("\"{name}\" is an interface of a host, and not among the ends"));
        }
    }
    // The first device makes the namespace.
    let place = |node: usize| ends.iter().position(|&end| end == node);
    for host in hosts {
        if host.ends.windows(2).any(|pair| place(pair[0]) > place(pair[1])) {
            return Err("the ends of a host are not in its order".to_owned());
        }
    }
    Ok(())
}

/// `true` if a node is an interface of a host.
pub(crate) fn is_member(hosts: &[Host], node: usize) -> bool {
    hosts.iter().any(|host| host.ends.contains(&node))
}

#[cfg(test)]
mod tests;
