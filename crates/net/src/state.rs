//! State of one address, shared by its driver and the handles.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use whimbrel_proto::{Config, ConnectError, ConnectionHandle, Endpoint, ListenError, PathMtuDiscovery};
use whimbrel_units::Instant;

use crate::carrier::{Carrier, PathError, Quoted};
use crate::clock::secret;
use crate::connections::Connections;
use crate::mailbox::Mailbox;
use crate::multipath::Attachment;
use crate::socket_buffers::{DropCounter, KernelDrops};
use crate::{HostOptions, Setup};

/// The largest datagram for a path with an unknown smaller MTU, in bytes. Every path that carries
/// IPv6 carries packets of 1280 bytes (RFC 8200, Section 5): 40 of them IPv6's, 8 UDP's, 52 the
/// header and options that may go with a datagram.
pub(crate) const NARROW_PATH: usize = 1280 - 40 - 8 - 52;

/// Sets the parts of a configuration that are left to the driver, for unknown paths.
pub(crate) fn on_a_real_path(config: Config) -> Config {
    let path_mtu = match config.path_mtu {
        PathMtuDiscovery::Automatic => PathMtuDiscovery::FromLargest,
        chosen => chosen,
    };
    config.path_mtu(path_mtu)
}

/// State shared by the driver of one address and its handles.
#[derive(Debug)]
pub(crate) struct State {
    pub(crate) connections: Connections,
    /// Listener and sockets that still exist.
    pub(crate) handles: usize,
    /// The driver has ended.
    pub(crate) stopped: bool,
    /// The driver has been woken.
    pub(crate) commanded: bool,
    /// This host's address.
    pub(crate) local: SocketAddr,
    /// The carrier to use from now on.
    pub(crate) next_carrier: Option<Carrier>,
    /// The path has changed: the system selects this host's source address anew.
    pub(crate) path_changed: bool,
    /// What the kernel dropped at this host's socket.
    pub(crate) kernel_drops: KernelDrops,
    /// Multipath connections at the same address.
    pub(crate) multipath: Option<Arc<Attachment>>,
}

impl State {
    pub(crate) fn new(
        options: &HostOptions,
        is_alone: bool,
        local: SocketAddr,
        drops: Option<DropCounter>,
    ) -> io::Result<Self> {
        let config = options.endpoint.is_alone(is_alone && options.endpoint.is_alone);
        let mut endpoint = Endpoint::with_secret(config, secret()?);
        endpoint.set_mobility_secret(secret()?);
        Ok(Self {
            connections: Connections::new(endpoint, options.receive_queue),
            handles: 0,
            stopped: false,
            commanded: false,
            local,
            next_carrier: None,
            path_changed: false,
            kernel_drops: KernelDrops::of(drops),
            multipath: None,
        })
    }

    /// Opens a connection.
    pub(crate) fn connect(
        &mut self,
        now: Instant,
        remote: SocketAddr,
        source_port: Option<u16>,
        port: u16,
        Setup { config, above }: Setup,
    ) -> Result<(ConnectionHandle, Arc<Mailbox>), ConnectError> {
        let handle = match source_port {
            Some(source_port) => self.connections.endpoint.connect_from(
                now,
                remote,
                source_port,
                port,
                on_a_real_path(config),
            )?,
            None => self.connections.endpoint.connect(now, remote, port, on_a_real_path(config))?,
        };
        Ok((handle, self.connections.add_client(handle, remote, above)))
    }

    /// Invites a client.
    pub(crate) fn invite(
        &mut self,
        now: Instant,
        remote: SocketAddr,
        port: u16,
        client_port: u16,
        Setup { config, above }: Setup,
    ) -> Result<(), ConnectError> {
        let handle =
            self.connections.endpoint.invite(now, remote, port, client_port, on_a_real_path(config))?;
        self.connections.add(handle, remote, true, above);
        Ok(())
    }

    /// Accepts connections to that port from now on.
    pub(crate) fn serve(&mut self, port: u16, Setup { config, above }: Setup) -> Result<(), ListenError> {
        let service_code = config.service_code;
        self.connections.endpoint.listen(port, on_a_real_path(config))?;
        self.connections.serve(port, service_code, above);
        Ok(())
    }

    /// `true` if no handle and no connection is left.
    pub(crate) fn is_finished(&self) -> bool {
        self.handles == 0 && self.connections.have_ended()
    }

    /// Queries the packet size of all connections' paths anew.
    pub(crate) fn measure_all(&mut self) {
        let mailboxes = self.connections.mailboxes();
        self.connections.unmeasured = mailboxes.map(|(handle, mailbox)| (handle, mailbox.remote())).collect();
    }

    /// Sets the system's limit for datagrams to `remote`.
    pub(crate) fn limit_datagrams(
        &mut self,
        now: Instant,
        handle: ConnectionHandle,
        remote: SocketAddr,
        limit: usize,
    ) {
        let is_there = self.connections.endpoint.remote(handle) == Some(remote);
        let Some(connection) = self.connections.endpoint.connection_mut(handle).filter(|_| is_there) else {
            return;
        };
        if limit < connection.snapshot().max_datagram {
            connection.set_max_datagram(now, limit);
            self.connections.endpoint.wake(handle);
        }
    }

    /// `true` if a connection waits for its first answer.
    pub(crate) fn is_requesting(&self) -> bool {
        let handles = self.connections.mailboxes();
        let mut connections = handles.filter_map(|(handle, _)| self.connections.endpoint.connection(handle));
        connections.any(|connection| connection.state() == whimbrel_proto::State::Request)
    }

    /// The system reported that a packet to `remote` was not sent or not delivered.
    pub(crate) fn handle_path_error(&mut self, now: Instant, remote: SocketAddr, path_error: PathError) {
        let there = self.connections.mailboxes().filter(|(_, mailbox)| mailbox.remote() == remote);
        for handle in there.map(|(handle, _)| handle).collect::<Vec<_>>() {
            self.connections.command(handle, |connection| {
                match path_error {
                    PathError::Unreachable => connection.handle_unreachable(now),
                    PathError::TooLarge(Some(limit)) => {
                        let snapshot = connection.snapshot();
                        if limit < snapshot.max_datagram || snapshot.path_mtu.is_some() {
                            connection.set_max_datagram(now, limit);
                        } else {
                            // The kernel's path MTU was not the reason of the refusal.
                            connection.handle_too_large(now, NARROW_PATH);
                        }
                    }
                    PathError::TooLarge(None) => connection.handle_too_large(now, NARROW_PATH),
                }
            });
        }
    }

    /// An ICMP message reported that one packet to `remote` was not delivered.
    pub(crate) fn handle_report(
        &mut self,
        now: Instant,
        remote: SocketAddr,
        quoted: Quoted,
        path_error: PathError,
    ) {
        let found = self.connections.endpoint.find(remote, quoted.source_port, quoted.destination_port);
        let Some(handle) = found else { return };
        let Some(connection) = self.connections.endpoint.connection_mut(handle) else { return };
        // RFC 4340, Section 14.1: an attacker off the path does not know the numbers of recent packets.
        let is_ours = quoted.sequence.map(|sequence| connection.has_sent(sequence));
        match path_error {
            PathError::Unreachable if is_ours != Some(false) => connection.handle_unreachable(now),
            // Lowering the packet size is permanent, so a message without a sequence number must not do it.
            PathError::TooLarge(limit) if is_ours == Some(true) => {
                // A larger limit is invalid (RFC 1191, Section 3), unless the path MTU is being probed.
                let snapshot = connection.snapshot();
                match limit {
                    Some(limit) if limit < snapshot.max_datagram || snapshot.path_mtu.is_some() => {
                        connection.set_max_datagram(now, limit);
                    }
                    Some(_) => {}
                    None => connection.handle_too_large(now, NARROW_PATH),
                }
            }
            _ => return,
        }
        self.connections.endpoint.wake(handle);
    }

    /// Returns memory that the handshake of a connection, or its traffic, has left behind.
    pub(crate) fn shrink_to_fit(&mut self, handle: ConnectionHandle) {
        if let Some(connection) = self.connections.endpoint.connection_mut(handle) {
            connection.shrink_to_fit();
        }
        self.connections.shrink_to_fit(handle);
    }

    /// The driver has ended: notifies all sockets and the listener.
    pub(crate) fn stop(&mut self) {
        self.stopped = true;
        self.multipath = None;
        self.connections.stop();
    }
}

#[cfg(test)]
mod tests;
