//! Whether a host can be reached, and by which way, as the system sees it: told at once when that changes.
//!
//! On Linux the kernel says so over a netlink socket: an interface went down or lost its carrier, an
//! address came or went, a route changed. After each such word [`LinkMonitor`] asks the kernel which way
//! it would send a packet now. So it is right whatever there is of default routes, metrics and policies.

#[cfg(target_os = "linux")]
mod netlink;
#[cfg(not(target_os = "linux"))]
#[path = "link_monitor/unsupported.rs"]
mod netlink;

use std::collections::VecDeque;
use std::net::IpAddr;

use crate::NetError;

/// What became of the way to a host.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum LinkEvent {
    /// There is none any more: the interface is down or has no carrier, or no route is left.
    Down,
    /// There is one again. What else is different from before has been said.
    Up,
    /// Packets leave from another address.
    AddressChanged,
    /// Packets leave through another interface, or another gateway.
    RouteChanged,
}

/// The way by which packets to a host leave.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Way {
    /// The interface's number.
    pub index: u32,
    /// The interface's name.
    pub interface: String,
    /// Their source address, where they are not bound to another.
    pub source: Option<IpAddr>,
    /// The router that gets them; `None`: the host is a neighbour.
    pub gateway: Option<IpAddr>,
}

/// Follows the way to a host: see the module.
#[derive(Debug)]
pub struct LinkMonitor {
    source: netlink::Source,
    course: Course,
}

impl LinkMonitor {
    /// Follows the way to `remote`. With `interface`, only a way through that one counts; else whichever the
    /// system's routes choose, which is mostly the one that carries the default route.
    ///
    /// # Errors
    /// Not on this system: only Linux tells. There is no such interface. The system refuses.
    pub fn open(remote: IpAddr, interface: Option<&str>) -> Result<Self, NetError> {
        let mut source = netlink::Source::open(remote, interface)?;
        let course = Course::new(source.way()?);
        Ok(Self { source, course })
    }

    /// The way to the host now; `None`: there is none.
    pub fn way(&self) -> Option<&Way> {
        self.course.now.as_ref()
    }

    /// The next event. Giving up waiting loses none.
    ///
    /// # Errors
    /// The system tells no more.
    pub async fn next(&mut self) -> Result<LinkEvent, NetError> {
        loop {
            if let Some(event) = self.course.events.pop_front() {
                return Ok(event);
            }
            let lost = self.source.changed(self.course.now.as_ref().map(|way| way.index)).await?;
            if lost {
                // It may be back by now: it was away nevertheless.
                self.course.turn(None);
            }
            let way = self.source.way()?;
            self.course.turn(way);
        }
    }
}

/// Turns what is into what has changed.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Course {
    now: Option<Way>,
    /// The last one that there was.
    last: Option<Way>,
    events: VecDeque<LinkEvent>,
}

impl Course {
    fn new(now: Option<Way>) -> Self {
        Self { last: now.clone(), now, events: VecDeque::new() }
    }

    fn turn(&mut self, way: Option<Way>) {
        match (&self.now, &way) {
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
        self.now = way;
    }
}

#[cfg(test)]
mod tests;
