//! Reachability of a host and the route to it, as the system has it, with events on each change.
//!
//! On Linux the kernel notifies over a netlink socket: an interface went down or lost its carrier, an
//! address was added or removed, a route changed. After each notification [`LinkMonitor`] queries the kernel
//! for the present route, so that default routes, metrics and policies are all respected.

#[cfg(all(target_os = "linux", feature = "netlink"))]
pub(crate) mod netlink;
#[cfg(not(all(target_os = "linux", feature = "netlink")))]
#[path = "link_monitor/unsupported.rs"]
mod netlink;

use std::collections::VecDeque;
use std::net::IpAddr;

use crate::NetError;

/// A change of the route to a host.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum LinkEvent {
    /// The route is gone: the interface is down or has no carrier, or no route is left.
    Down,
    /// There is a route again. Other changes were reported before.
    Up,
    /// Packets leave from another address.
    AddressChanged,
    /// Packets leave through another interface, or another gateway.
    RouteChanged,
}

/// The route by which packets to a host leave.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Route {
    /// The interface's number.
    pub index: u32,
    /// The interface's name.
    pub interface: String,
    /// Their source address, unless bound to another.
    pub source: Option<IpAddr>,
    /// The next-hop router; `None` if the host is a neighbour.
    pub gateway: Option<IpAddr>,
}

/// Follows the route to a host: see the module.
#[derive(Debug)]
pub struct LinkMonitor {
    source: netlink::LinkEvents,
    tracker: RouteTracker,
}

impl LinkMonitor {
    /// Follows the route to `remote`. With `interface`, only a route through that one counts; otherwise the
    /// route that the system selects, usually the default route.
    ///
    /// # Errors
    /// The system is not Linux; there is no such interface; the system refuses.
    pub fn open(remote: IpAddr, interface: Option<&str>) -> Result<Self, NetError> {
        let mut source = netlink::LinkEvents::open(remote, interface)?;
        let tracker = RouteTracker::new(source.route()?);
        Ok(Self { source, tracker })
    }

    /// The present route to the host; `None` if there is none.
    pub fn route(&self) -> Option<&Route> {
        self.tracker.now.as_ref()
    }

    /// The next event. Cancel safe.
    ///
    /// # Errors
    /// The system's notifications failed.
    pub async fn next(&mut self) -> Result<LinkEvent, NetError> {
        loop {
            if let Some(event) = self.tracker.events.pop_front() {
                return Ok(event);
            }
            let lost = self.source.changed(self.tracker.now.as_ref().map(|route| route.index)).await?;
            if lost {
                // The route may be back by now, but it was away.
                self.tracker.update(None);
            }
            let route = self.source.route()?;
            self.tracker.update(route);
        }
    }
}

/// Derives changes from successive routes.
#[derive(Clone, PartialEq, Eq, Debug)]
struct RouteTracker {
    now: Option<Route>,
    /// The last route that existed.
    last: Option<Route>,
    events: VecDeque<LinkEvent>,
}

impl RouteTracker {
    fn new(now: Option<Route>) -> Self {
        Self { last: now.clone(), now, events: VecDeque::new() }
    }

    fn update(&mut self, route: Option<Route>) {
        match (&self.now, &route) {
            (Some(_), None) => self.events.push_back(LinkEvent::Down),
            (None, None) => {}
            (before, Some(after)) => {
                if let Some(last) = &self.last {
                    if last.source != after.source {
                        self.events.push_back(LinkEvent::AddressChanged);
                    }
                    if (last.index, last.gateway) != (after.index, after.gateway) {
                        self.events.push_back(LinkEvent::RouteChanged);
                    }
                }
                if before.is_none() {
                    self.events.push_back(LinkEvent::Up);
                }
                self.last = Some(after.clone());
            }
        }
        self.now = route;
    }
}

#[cfg(test)]
mod tests;
