//! The local addresses of a multipath connection, which come and go with their interfaces.

use std::net::{IpAddr, SocketAddr, SocketAddrV6};
use std::time::Duration as StdDuration;

use anyhow::{Context, anyhow};
use tokio::time::timeout;
use whimbrel_net::multipath::{JoinError, MultipathEvent, PathPriority, SubflowId};
use whimbrel_net::{
    Clock, ConnectionError, Event, Host, HostOptions, InterfaceAddress, InterfaceMonitor, NetError, Setup,
    Socket, interface_addresses,
};
use whimbrel_units::{Duration, Instant};

use crate::Refused;
use crate::edge::address::index_of;

mod spec;

pub use spec::{PathSpec, PathSpecError};
use spec::{Place, Reach, is_every_hosts};

/// Time limit for the handshakes over one path before the next one is tried, and over the last one.
const PATH_TIME: StdDuration = StdDuration::from_secs(6);
const LAST_PATH_TIME: StdDuration = StdDuration::from_secs(30);
/// Time between two attempts to use a path: at first, and at most.
const FIRST_RETRY: Duration = Duration::from_secs(1);
const LAST_RETRY: Duration = Duration::from_secs(10);

/// An address with any port; with an interface, a link-local one of that.
fn any_port(address: IpAddr, interface: Option<&str>) -> std::io::Result<SocketAddr> {
    Ok(match (address, interface) {
        (IpAddr::V6(v6), Some(interface)) => SocketAddrV6::new(v6, 0, 0, index_of(interface)?).into(),
        _ => SocketAddr::new(address, 0),
    })
}

/// Checks paths before a connection is attempted.
///
/// # Errors
/// An interface does not exist, an address is not this host's, or two paths are one.
pub(crate) fn check(specs: &[PathSpec]) -> Result<(), Refused> {
    let addresses = interface_addresses().map_err(|error| Refused(format!("--path: {}", error.chain())))?;
    check_among(specs, &addresses)
}

fn check_among(specs: &[PathSpec], addresses: &[InterfaceAddress]) -> Result<(), Refused> {
    let mut names: Vec<_> = addresses.iter().map(|each| each.interface.as_str()).collect();
    names.sort_unstable();
    names.dedup();
    for (index, spec) in specs.iter().enumerate() {
        let place = &spec.place;
        match place {
            Place::Interface(name) | Place::Zoned(_, name) if !names.contains(&name.as_str()) => {
                return Err(Refused(format!(
                    "--path {place}: there is no such network interface; there are {}",
                    names.join(", ")
                )));
            }
            Place::Address(address)
                if !is_every_hosts(*address)
                    && !addresses.iter().any(|each| each.address == Some(*address)) =>
            {
                return Err(Refused(format!("--path {place}: no network interface has this address")));
            }
            Place::Zoned(address, name)
                if !addresses
                    .iter()
                    .any(|each| each.address == Some((*address).into()) && each.interface == *name) =>
            {
                return Err(Refused(format!("--path {place}: {name} does not have this address")));
            }
            _ => {}
        }
        for other in &specs[..index] {
            let shared = Reach::ALL.into_iter().find_map(|reach| {
                let address = spec.address(addresses, reach)?;
                (other.address(addresses, reach) == Some(address)).then_some(address.0)
            });
            if *place == other.place || shared.is_some() {
                let address = shared.map_or(String::new(), |address| format!(", {address}"));
                return Err(Refused(format!(
                    "--path {} and --path {place} have one address{address}",
                    other.place
                )));
            }
        }
    }
    Ok(())
}

/// A path of a connection.
#[derive(Debug)]
struct Path {
    spec: PathSpec,
    /// Its address and port, while it is bound.
    local: Option<SocketAddr>,
    /// Its subflow, while it joins or carries data.
    subflow: Option<SubflowId>,
    /// Time of the next attempt to use it.
    retry: Option<Instant>,
    pause: Duration,
}

/// The paths of a connection.
#[derive(Debug)]
pub(crate) struct Paths {
    host: Host,
    monitor: InterfaceMonitor,
    server: SocketAddr,
    clock: Clock,
    paths: Vec<Path>,
}

/// A line about an event of a path, at the end that does not choose the paths.
pub(super) fn line(event: &MultipathEvent, socket: &Socket) -> Option<String> {
    let (subflow, what) = meaning(event)?;
    let subflows = socket.paths().map(|snapshot| snapshot.subflows).unwrap_or_default();
    let remote = subflows.iter().find(|each| each.id == subflow).map(|each| each.path.remote);
    Some(match remote {
        Some(remote) => format!("path from {remote} {what}"),
        None => format!("path {} {what}", subflow.0),
    })
}

/// The next event about a path, or that an encoder should make a key frame.
pub(super) async fn event(socket: &Socket) -> MultipathEvent {
    loop {
        match socket.event().await {
            Ok(Event::Paths(event)) => return *event,
            Ok(Event::NewStartNeeded { stream }) => return MultipathEvent::NewStartNeeded { stream },
            Ok(_) => {}
            // The end of the connection is reported elsewhere.
            Err(_) => std::future::pending().await,
        }
    }
}

/// The subflow of an event, and its meaning for a reader.
fn meaning(event: &MultipathEvent) -> Option<(SubflowId, String)> {
    match event {
        MultipathEvent::SubflowUp(subflow) => Some((*subflow, "is in use".to_owned())),
        MultipathEvent::SubflowDown { subflow, error } => Some((*subflow, format!("has ended: {error}"))),
        MultipathEvent::PathFailed(subflow) => Some((*subflow, "does not answer".to_owned())),
        MultipathEvent::PathRecovered(subflow) => Some((*subflow, "answers again".to_owned())),
        _ => None,
    }
}

/// A change of the paths.
#[derive(Debug)]
pub(crate) enum PathChange {
    /// Addresses of interfaces have changed.
    Interfaces,
    /// A path may be tried again.
    Retry,
    /// The connection reports a change.
    Event(MultipathEvent),
}

impl Paths {
    /// Opens a connection over the first path that answers. The others join once [`Paths::apply`] runs.
    ///
    /// # Errors
    /// No path has an address, or none leads to the other end.
    pub(crate) async fn connect(
        specs: &[PathSpec],
        server: SocketAddr,
        port: u16,
        setup: Setup,
        options: HostOptions,
    ) -> anyhow::Result<(Self, Socket)> {
        let host = Host::without_address(options.peer(Some(server)))?;
        let monitor = InterfaceMonitor::open().context("following the interfaces")?;
        let paths = specs.iter().map(|spec| Path {
            spec: spec.clone(),
            local: None,
            subflow: None,
            retry: None,
            pause: FIRST_RETRY,
        });
        let mut all = Self { host, monitor, server, clock: Clock::start(), paths: paths.collect() };
        let family = Reach::of(server.ip());
        let mut failure = None;
        for index in 0..all.paths.len() {
            let place = all.paths[index].spec.place.clone();
            match all.bind(index) {
                Ok(None) => {
                    let error = anyhow!("--path {place}: it is down, or has no {family} address");
                    failure = failure.or(Some(error));
                    continue;
                }
                Err(error) => {
                    failure = Some(anyhow::Error::new(error).context(format!("--path {place}")));
                    continue;
                }
                Ok(Some(_)) => {}
            }
            let Some(local) = all.paths[index].local else { continue };
            let is_last = index + 1 == all.paths.len();
            let limit = if is_last { LAST_PATH_TIME } else { PATH_TIME };
            let connecting = timeout(limit, all.host.connect_from(local, server, port, setup.clone()));
            match connecting.await.unwrap_or(Err(NetError::Connection(ConnectionError::TimedOut))) {
                Ok(socket) => {
                    let first = socket.paths().and_then(|it| it.subflows.first().map(|it| it.id));
                    all.paths[index].subflow = first;
                    if let Some(first) = first {
                        all.configure(index, first, &socket);
                    }
                    return Ok((all, socket));
                }
                // Another path leads to the same end, which refuses this one.
                Err(error @ NetError::Security(_)) => return Err(error.into()),
                Err(error) => failure = Some(anyhow::Error::new(error).context(format!("--path {place}"))),
            }
        }
        Err(failure.unwrap_or_else(|| anyhow!("no --path can be used")))
    }

    /// Binds a path to its present address instead of the previous one. Returns `None` without an address,
    /// and `true` if the address has changed.
    fn bind(&mut self, index: usize) -> Result<Option<bool>, NetError> {
        let path = &mut self.paths[index];
        let address = path.spec.address(self.monitor.addresses(), Reach::of(self.server.ip()));
        let binding = |source| NetError::Io { action: "binding the address of a network interface", source };
        let address = match address {
            Some((address, interface)) => Some(any_port(address, interface).map_err(binding)?),
            None => None,
        };
        let without_port = |mut local: SocketAddr| {
            local.set_port(0);
            local
        };
        if address.is_some() && path.local.map(without_port) == address {
            return Ok(Some(false));
        }
        if let Some(old) = path.local.take() {
            path.subflow = None;
            self.host.remove_local(old);
        }
        let Some(any_port) = address else { return Ok(None) };
        path.local = Some(match &path.spec.place {
            Place::Interface(name) | Place::Zoned(_, name) => self.host.add_local_on(any_port, name)?,
            Place::Address(_) => self.host.add_local(any_port)?,
        });
        path.pause = FIRST_RETRY;
        Ok(Some(true))
    }

    /// The next change. Cancel safe.
    ///
    /// # Errors
    /// The interfaces cannot be followed any more.
    pub(crate) async fn next(&mut self, socket: &Socket) -> anyhow::Result<PathChange> {
        let retry = self.paths.iter().filter_map(|path| path.retry).min();
        let retried = async {
            match retry {
                Some(retry) => self.clock.sleep_until(retry).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            changed = self.monitor.changed() => {
                changed.context("following the interfaces")?;
                Ok(PathChange::Interfaces)
            }
            event = event(socket) => Ok(PathChange::Event(event)),
            () = retried => Ok(PathChange::Retry),
        }
    }

    /// Applies a change. Returns lines about it.
    pub(crate) fn apply(&mut self, change: PathChange, socket: &Socket) -> Vec<String> {
        match change {
            PathChange::Interfaces => self.update(socket, |_| true),
            PathChange::Retry => {
                let now = self.clock.now();
                self.update(socket, |path| path.retry.is_some_and(|retry| retry <= now))
            }
            PathChange::Event(event) => self.on_event(event),
        }
    }

    /// Binds the paths that are selected, and joins those that have no subflow.
    pub(crate) fn join_all(&mut self, socket: &Socket) -> Vec<String> {
        self.update(socket, |_| true)
    }

    fn update(&mut self, socket: &Socket, selects: impl Fn(&Path) -> bool) -> Vec<String> {
        let mut lines = Vec::new();
        for index in 0..self.paths.len() {
            if !selects(&self.paths[index]) {
                continue;
            }
            let (place, old) = (self.paths[index].spec.place.clone(), self.paths[index].local);
            let was_retried = self.paths[index].retry.take().is_some();
            match self.bind(index) {
                Ok(None) => {
                    lines.extend(old.map(|old| format!("path {place} ({}) is gone", old.ip())));
                    continue;
                }
                Ok(Some(_)) => {}
                Err(error) => {
                    if !was_retried {
                        lines.push(format!("path {place}: {}", error.chain()));
                    }
                    self.retry_later(index);
                    continue;
                }
            }
            let path = &mut self.paths[index];
            let (Some(local), None) = (path.local, path.subflow) else { continue };
            match socket.join(local, self.server) {
                Ok(subflow) => {
                    path.subflow = Some(subflow);
                    self.configure(index, subflow, socket);
                }
                // The last handshake is not complete yet, or the other end takes no part.
                Err(JoinError::NotReady) => self.retry_later(index),
                Err(error) => {
                    lines.push(format!("path {place}: {error}"));
                    self.retry_later(index);
                }
            }
        }
        lines
    }

    fn retry_later(&mut self, index: usize) {
        let now = self.clock.now();
        let path = &mut self.paths[index];
        path.retry = Some(now + path.pause);
        path.pause = (path.pause * 2).min(LAST_RETRY);
    }

    /// Sets the properties of a path's subflow. By default, paths cost more in the given order.
    fn configure(&self, index: usize, subflow: SubflowId, socket: &Socket) {
        let spec = &self.paths[index].spec;
        socket.set_shares(subflow, spec.weight.unwrap_or(1), spec.cost.unwrap_or(index as u32));
        if let Some(priority) = spec.priority {
            socket.set_priority(subflow, PathPriority::new(priority));
        }
    }

    fn on_event(&mut self, event: MultipathEvent) -> Vec<String> {
        let Some((subflow, what)) = meaning(&event) else { return Vec::new() };
        let Some(index) = self.paths.iter().position(|path| path.subflow == Some(subflow)) else {
            return Vec::new();
        };
        let path = &mut self.paths[index];
        let line = match path.local {
            Some(local) => format!("path {} ({}) {what}", path.spec.place, local.ip()),
            None => format!("path {} {what}", path.spec.place),
        };
        match event {
            MultipathEvent::SubflowUp(_) => path.pause = FIRST_RETRY,
            MultipathEvent::SubflowDown { .. } => {
                path.subflow = None;
                self.retry_later(index);
            }
            _ => {}
        }
        vec![line]
    }
}

#[cfg(test)]
mod tests;
