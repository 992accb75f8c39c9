//! State of a host, shared by its drivers and the handles.

use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use tokio::sync::Notify;
use whimbrel_proto::multipath::{MultipathConfig, MultipathConnection, MultipathEndpoint, Path};
use whimbrel_proto::{
    Config, ConnectError, Connection, ConnectionHandle, Endpoint, ListenError, PathMtuDiscovery, ReceiveMeta,
    Transmit,
};
use whimbrel_units::Instant;
use whimbrel_wire::Packet;

use crate::carrier::{Carrier, PathError, Quoted};
use crate::clock::secret;
use crate::connections::{AnyKind, Connections};
use crate::mailbox::Mailbox;
use crate::socket_buffers::{DropCounter, KernelDrops};
use crate::{HostOptions, NetError, Setup};

/// Packets that wait for one carrier. Further ones are dropped, as by a full queue of an interface.
const MAX_OUTBOX: usize = 512;

/// Number of the outlet of connections over one path.
pub(crate) const MAIN: u64 = 0;

/// Sets the parts of a configuration that are left to the driver, for unknown paths.
fn on_a_real_path(config: Config) -> Config {
    let path_mtu = match config.path_mtu {
        PathMtuDiscovery::Automatic => PathMtuDiscovery::FromLargest,
        chosen => chosen,
    };
    config.path_mtu(path_mtu)
}

/// A local address, whose packets leave by the carrier of one driver.
#[derive(Debug)]
pub(crate) struct Outlet {
    pub(crate) local: SocketAddr,
    /// Packets that another driver has taken from the protocol.
    outbox: VecDeque<(SocketAddr, Transmit)>,
    /// The address is removed once its packets are sent.
    is_removed: bool,
    /// Kernel drops at its socket.
    pub(crate) drops: KernelDrops,
    /// Wakes its driver.
    pub(crate) pending: Arc<Notify>,
}

/// The kind of a connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Paths {
    /// Over one path.
    One,
    /// Over several, or, if the peer does not take part, as many as that.
    Several,
}

/// A connection.
#[derive(Clone, Debug)]
pub(crate) struct Opened {
    pub(crate) paths: Paths,
    pub(crate) handle: ConnectionHandle,
    pub(crate) mailbox: Arc<Mailbox>,
}

/// State shared by the drivers of a host and its handles.
#[derive(Debug)]
pub(crate) struct State {
    options: HostOptions,
    pub(crate) one: Connections<Connection>,
    /// Connections over several paths, if there is a use for them.
    pub(crate) several: Option<Box<Connections<MultipathConnection>>>,
    /// The local addresses, by number.
    pub(crate) outlets: BTreeMap<u64, Outlet>,
    /// Number of the next outlet.
    next_outlet: u64,
    /// Kernel drops at the sockets of outlets that have ended.
    earlier_drops: u64,
    /// Listener, host and sockets that still exist.
    pub(crate) handles: usize,
    /// The driver has ended.
    pub(crate) stopped: bool,
    /// The driver of the main outlet has been woken.
    pub(crate) commanded: bool,
    /// The deadline for which the driver of the main outlet waits.
    pub(crate) awaited: Option<Instant>,
    /// The carrier of the main outlet to use from now on.
    pub(crate) next_carrier: Option<Carrier>,
    /// The path has changed: the system selects this host's source address anew.
    pub(crate) path_changed: bool,
    /// Connections over several paths are accepted first.
    prefers_several: bool,
}

impl State {
    pub(crate) fn new(options: &HostOptions, is_alone: bool) -> io::Result<Self> {
        let config = options.endpoint.is_alone(is_alone && options.endpoint.is_alone);
        let mut endpoint = Endpoint::with_secret(config, secret()?);
        endpoint.set_mobility_secret(secret()?);
        Ok(Self {
            options: options.endpoint(config),
            one: Connections::new(endpoint, options.receive_queue),
            several: None,
            outlets: BTreeMap::new(),
            next_outlet: MAIN,
            earlier_drops: 0,
            handles: 0,
            stopped: false,
            commanded: false,
            awaited: None,
            next_carrier: None,
            path_changed: false,
            prefers_several: false,
        })
    }

    /// The connections of a kind.
    pub(crate) fn of(&mut self, paths: Paths) -> &mut dyn AnyKind {
        match (paths, &mut self.several) {
            (Paths::Several, Some(several)) => &mut **several,
            _ => &mut self.one,
        }
    }

    /// Connections over several paths.
    fn several(&mut self) -> Result<&mut Connections<MultipathConnection>, NetError> {
        if self.several.is_none() {
            let secret = secret().map_err(NetError::io("reading random bytes"))?;
            let endpoint = MultipathEndpoint::with_entropy(self.options.endpoint, secret);
            self.several = Some(Box::new(Connections::new(endpoint, self.options.receive_queue)));
        }
        Ok(self.several.as_mut().expect("made above"))
    }

    /// Opens a connection over one path.
    pub(crate) fn connect(
        &mut self,
        now: Instant,
        remote: SocketAddr,
        source_port: Option<u16>,
        port: u16,
        Setup { config, above, .. }: Setup,
    ) -> Result<Opened, ConnectError> {
        let config = on_a_real_path(config);
        let endpoint = &mut self.one.endpoint;
        let handle = match source_port {
            Some(source_port) => endpoint.connect_from(now, remote, source_port, port, config)?,
            None => endpoint.connect(now, remote, port, config)?,
        };
        let mailbox = self.one.add_client(handle, remote, above);
        Ok(Opened { paths: Paths::One, handle, mailbox })
    }

    /// Opens a connection whose first path that is, and which others may join.
    pub(crate) fn connect_over_several(
        &mut self,
        now: Instant,
        path: Path,
        port: u16,
        Setup { config, above, .. }: Setup,
        settings: MultipathConfig,
    ) -> Result<Opened, NetError> {
        let several = self.several()?;
        let handle = several.endpoint.connect(now, path, port, on_a_real_path(config), settings);
        let handle = handle.map_err(NetError::config)?;
        let mailbox = several.add_client(handle, path, above);
        Ok(Opened { paths: Paths::Several, handle, mailbox })
    }

    /// Invites a client.
    pub(crate) fn invite(
        &mut self,
        now: Instant,
        remote: SocketAddr,
        port: u16,
        client_port: u16,
        Setup { config, above, .. }: Setup,
    ) -> Result<(), ConnectError> {
        let handle = self.one.endpoint.invite(now, remote, port, client_port, on_a_real_path(config))?;
        self.one.add(handle, remote, true, above);
        Ok(())
    }

    /// Accepts connections to that port from now on.
    pub(crate) fn serve(&mut self, port: u16, Setup { config, above, paths }: Setup) -> Result<(), NetError> {
        let service_code = config.service_code;
        let config = on_a_real_path(config);
        if let Some(paths) = &paths {
            let several = self.several()?;
            let listened = several.endpoint.listen(port, config.clone(), paths.settings.clone());
            listened.map_err(NetError::config)?;
            several.serve(port, service_code, above.clone());
        }
        match self.one.endpoint.listen(port, config) {
            Ok(()) => self.one.serve(port, service_code, above),
            // Connections over one path have a setup of their own.
            Err(ListenError::InUse { .. }) if paths.is_some() => {}
            Err(error) => return Err(NetError::config(error)),
        }
        Ok(())
    }

    /// Stops accepting connections to that port. Returns `true` if it did accept them.
    pub(crate) fn stop_listening(&mut self, port: u16) -> bool {
        let stopped = self.several.as_mut().is_some_and(|several| several.stop_listening(port));
        self.one.stop_listening(port) || stopped
    }

    /// Stops accepting connections: those not taken by the application are closed.
    pub(crate) fn stop_serving(&mut self, now: Instant) {
        self.one.stop_serving(now);
        if let Some(several) = &mut self.several {
            several.stop_serving(now);
        }
    }

    /// The next accepted connection, in turns of both kinds.
    pub(crate) fn claim(&mut self) -> Option<Opened> {
        self.prefers_several = !self.prefers_several;
        for paths in [Paths::One, Paths::Several, Paths::One].into_iter().skip(self.prefers_several.into()) {
            let claimed = match paths {
                Paths::One => self.one.claim(),
                Paths::Several => self.several.as_mut().and_then(|several| several.claim()),
            };
            if let Some((handle, mailbox)) = claimed {
                return Some(Opened { paths, handle, mailbox });
            }
        }
        None
    }

    /// `true` if no handle and no connection is left.
    pub(crate) fn is_finished(&self) -> bool {
        let have_ended = || self.several.as_ref().is_none_or(|several| several.have_ended());
        self.handles == 0 && self.one.have_ended() && have_ended()
    }

    /// Adds a local address, of which `pending` announces packets. Returns its number.
    pub(crate) fn add_outlet(
        &mut self,
        local: SocketAddr,
        drops: Option<DropCounter>,
        pending: Arc<Notify>,
    ) -> u64 {
        let number = self.next_outlet;
        self.next_outlet += 1;
        let (outbox, is_removed, drops) = (VecDeque::new(), false, KernelDrops::of(drops));
        self.outlets.insert(number, Outlet { local, outbox, is_removed, drops, pending });
        number
    }

    /// The driver of a local address has ended.
    pub(crate) fn end_outlet(&mut self, number: u64) {
        if let Some(mut outlet) = self.outlets.remove(&number) {
            self.earlier_drops += outlet.drops.total();
        }
    }

    /// The local addresses in use.
    pub(crate) fn locals(&self) -> impl Iterator<Item = SocketAddr> {
        self.outlets.values().filter(|outlet| !outlet.is_removed).map(|outlet| outlet.local)
    }

    /// A local address is gone: ends its subflows, withdraws it from all peers, and ends its driver. Returns
    /// `false` if it is unknown.
    pub(crate) fn remove_local(&mut self, now: Instant, local: SocketAddr) -> bool {
        let mut outlets = self.outlets.values_mut();
        let Some(outlet) = outlets.find(|outlet| outlet.local == local && !outlet.is_removed) else {
            return false;
        };
        outlet.is_removed = true;
        outlet.pending.notify_one();
        let is_shared = self.locals().any(|other| other.ip() == local.ip());
        let Some(several) = &mut self.several else { return true };
        for handle in several.mailboxes().map(|(handle, _)| handle).collect::<Vec<_>>() {
            let Some(connection) = several.endpoint.connection_mut(handle) else { continue };
            let there: Vec<_> = connection.subflows().filter(|(_, path)| path.local == local).collect();
            if !there.is_empty() && !is_shared && connection.is_multipath() {
                connection.lose_address(now, local.ip());
            }
            for (subflow, _) in there {
                connection.abandon_subflow(now, subflow);
            }
            several.endpoint.wake(handle);
        }
        true
    }

    /// `true` if that driver has to end once its packets are sent.
    pub(crate) fn is_ending(&self, number: u64) -> bool {
        self.stopped || self.outlets.get(&number).is_none_or(|outlet| outlet.is_removed)
    }

    /// Kernel drops at the sockets of all local addresses.
    pub(crate) fn kernel_drops(&mut self) -> u64 {
        self.earlier_drops + self.outlets.values_mut().map(|outlet| outlet.drops.total()).sum::<u64>()
    }

    /// Passes a packet that arrived at a local address to the protocol.
    pub(crate) fn handle_packet(
        &mut self,
        now: Instant,
        (number, local): (u64, SocketAddr),
        remote: SocketAddr,
        meta: ReceiveMeta,
        packet: Packet,
    ) {
        let path = Path { local, remote };
        match &mut self.several {
            Some(several) if number != MAIN || several.endpoint.concerns(now, path, &packet) => {
                several.endpoint.handle_packet(now, path, meta, packet);
            }
            _ if number == MAIN => self.one.endpoint.handle_packet(now, remote, meta, packet),
            _ => {}
        }
    }

    /// Passes packets to `carrier`, which sends from this local address, until it has to send them, and
    /// packets of the other addresses to their drivers. Returns `true` if no packet is left.
    pub(crate) fn poll_transmit(&mut self, now: Instant, number: u64, carrier: &mut Carrier) -> bool {
        if let Some(outlet) = self.outlets.get_mut(&number) {
            while let Some((destination, transmit)) = outlet.outbox.pop_front() {
                if carrier.add(destination, &transmit) {
                    return false;
                }
            }
        }
        if number == MAIN {
            while let Some((destination, transmit)) = self.one.endpoint.poll_transmit(now) {
                if carrier.add(destination, &transmit) {
                    return false;
                }
            }
        }
        self.distribute(now, |to, destination, transmit| {
            (to == number).then(|| carrier.add(destination, transmit))
        })
    }

    /// Passes the packets of connections over several paths to `take`, which returns nothing for other
    /// drivers' packets, and `true` when it can take no more. Returns `true` if no packet is left.
    pub(crate) fn distribute(
        &mut self,
        now: Instant,
        mut take: impl FnMut(u64, SocketAddr, &Transmit) -> Option<bool>,
    ) -> bool {
        let Some(several) = &mut self.several else { return true };
        while let Some((path, transmit)) = several.endpoint.poll_transmit(now) {
            let mut outlets = self.outlets.iter_mut();
            let outlet = outlets.find(|(_, outlet)| outlet.local == path.local && !outlet.is_removed);
            let Some((number, outlet)) = outlet else { continue };
            match take(*number, path.remote, &transmit) {
                Some(true) => return false,
                Some(false) => {}
                None if outlet.outbox.len() < MAX_OUTBOX => {
                    outlet.outbox.push_back((path.remote, transmit));
                    outlet.pending.notify_one();
                }
                None => {}
            }
        }
        true
    }

    /// Runs the timers that are due, although no packet can be sent.
    pub(crate) fn handle_timeouts(&mut self, now: Instant) {
        self.one.endpoint.handle_timeout(now);
        if let Some(several) = &mut self.several {
            several.endpoint.handle_timeout(now);
        }
        self.handle_layer_timeouts(now);
    }

    /// Runs the timers of layers that are due.
    pub(crate) fn handle_layer_timeouts(&mut self, now: Instant) {
        self.one.handle_timeouts(now);
        if let Some(several) = &mut self.several {
            several.handle_timeouts(now);
        }
    }

    /// Latest time of the next call to [`State::handle_layer_timeouts`] and [`State::poll_transmit`]; without
    /// `one`, for connections over several paths alone.
    pub(crate) fn poll_timeout(&self, one: bool) -> Option<Instant> {
        let one = one.then(|| self.one.poll_timeout()).flatten();
        let several = self.several.as_ref().and_then(|several| several.poll_timeout());
        one.into_iter().chain(several).min()
    }

    /// Passes the protocol's events to the mailboxes. Returns `true` if connections were accepted.
    pub(crate) fn deliver_events(&mut self, now: Instant) -> bool {
        let accepted = self.one.deliver_events(now);
        self.several.as_mut().is_some_and(|several| several.deliver_events(now)) || accepted
    }

    /// `true` if connections have been used since the last call, so that they have to be polled.
    pub(crate) fn take_acted(&mut self) -> bool {
        let of_several = self.several.as_mut().is_some_and(|several| several.take_acted());
        self.one.take_acted() || of_several
    }

    /// Queries the packet size of the paths of all connections over one path anew.
    pub(crate) fn measure_all(&mut self) {
        let mailboxes = self.one.mailboxes();
        self.one.unmeasured = mailboxes.map(|(handle, mailbox)| (handle, mailbox.remote())).collect();
    }

    /// The connections with paths of that local address whose packet size is not queried yet. Wakes the
    /// drivers of others.
    pub(crate) fn take_unmeasured(&mut self, number: u64, local: SocketAddr) -> Vec<Unmeasured> {
        let one = if number == MAIN { std::mem::take(&mut self.one.unmeasured) } else { Vec::new() };
        let mut taken: Vec<_> =
            one.into_iter().map(|(handle, remote)| (Paths::One, handle, remote)).collect();
        let Some(several) = &mut self.several else { return taken };
        let here = several.unmeasured.extract_if(.., |(_, path)| path.local == local);
        taken.extend(here.map(|(handle, path)| (Paths::Several, handle, path.remote)));
        let Self { outlets, .. } = self;
        several.unmeasured.retain(|(_, path)| {
            let outlet = outlets.values().find(|outlet| outlet.local == path.local && !outlet.is_removed);
            outlet.inspect(|outlet| outlet.pending.notify_one()).is_some()
        });
        taken
    }

    /// Sets the system's limit for datagrams of a connection from a local address.
    pub(crate) fn limit_datagrams(
        &mut self,
        now: Instant,
        local: SocketAddr,
        (paths, handle, remote): Unmeasured,
        limit: usize,
    ) {
        match (paths, &mut self.several) {
            (Paths::Several, Some(several)) => {
                several.limit_datagrams(now, handle, Path { local, remote }, limit);
            }
            _ => self.one.limit_datagrams(now, handle, remote, limit),
        }
    }

    /// The system reported that packets from a local address to `remote` were not sent or not delivered.
    /// `quoted`: a packet that an ICMP message names.
    pub(crate) fn handle_path_error(
        &mut self,
        now: Instant,
        (number, local): (u64, SocketAddr),
        remote: SocketAddr,
        quoted: Option<Quoted>,
        path_error: PathError,
    ) {
        if number == MAIN {
            self.one.handle_path_error(now, remote, quoted, path_error);
        }
        if let Some(several) = &mut self.several {
            several.handle_path_error(now, Path { local, remote }, quoted, path_error);
        }
    }

    /// `true` if a connection over one path waits for its first answer.
    pub(crate) fn is_requesting(&self) -> bool {
        let handles = self.one.mailboxes();
        let mut connections = handles.filter_map(|(handle, _)| self.one.endpoint.connection(handle));
        connections.any(|connection| connection.state() == whimbrel_proto::State::Request)
    }

    /// The driver has ended: notifies all sockets, the listener and the other drivers.
    pub(crate) fn stop(&mut self) {
        self.stopped = true;
        self.one.stop();
        if let Some(several) = &mut self.several {
            several.stop();
        }
        self.outlets.values().for_each(|outlet| outlet.pending.notify_one());
    }
}

/// A connection on a path to a peer whose packet size is not queried yet.
pub(crate) type Unmeasured = (Paths, ConnectionHandle, SocketAddr);

#[cfg(test)]
mod tests;
