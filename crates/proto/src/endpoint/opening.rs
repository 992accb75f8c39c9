//! Connections that this endpoint opens: as a client, or as a server that invite their client.

use core::net::SocketAddr;

use whimbrel_units::Instant;

use super::held::Held;
use super::initial_sequence::FourTuple;
use super::table::Counted;
use super::{ConnectionHandle, Endpoint, moves};
use crate::{Config, ConnectError, Connection};

/// The first of the ports assigned to clients (RFC 6335, Section 6: dynamic ports).
const FIRST_DYNAMIC_PORT: u16 = 49_152;

impl Endpoint<Connection> {
    /// Opens a connection from an unused port, chosen at random.
    ///
    /// # Errors
    ///
    /// The configuration is invalid, or no port is free towards that destination.
    pub fn connect(
        &mut self,
        now: Instant,
        remote: SocketAddr,
        destination_port: u16,
        config: Config,
    ) -> Result<ConnectionHandle, ConnectError> {
        let tuple = self.free_tuple(remote, destination_port).ok_or(ConnectError::NoPort)?;
        self.open(now, tuple, config)
    }

    /// As [`Endpoint::connect`], from a port that the server knows from signalling, so that it can
    /// [invite](Endpoint::invite) this client.
    ///
    /// # Errors
    ///
    /// The configuration is invalid, or that port is in use towards that destination.
    pub fn connect_from(
        &mut self,
        now: Instant,
        remote: SocketAddr,
        source_port: u16,
        destination_port: u16,
        config: Config,
    ) -> Result<ConnectionHandle, ConnectError> {
        let tuple = FourTuple { address: remote, local_port: source_port, remote_port: destination_port };
        self.check_free(&tuple)?;
        self.open(now, tuple, config)
    }

    /// Waits at `source_port` for the one client at `destination_port` of `remote`, whose address and
    /// port are known from signalling, and sends it Listen packets, so that a NAT in front of this
    /// endpoint lets its Request in (RFC 5596). It does not count against the limits of
    /// [`EndpointConfig`](super::EndpointConfig); no
    /// [`EndpointEvent::Accepted`](super::EndpointEvent::Accepted) announces it, as the handle is known.
    ///
    /// # Errors
    ///
    /// The configuration is invalid, or the connection exists already.
    pub fn invite(
        &mut self,
        now: Instant,
        remote: SocketAddr,
        source_port: u16,
        destination_port: u16,
        config: Config,
    ) -> Result<ConnectionHandle, ConnectError> {
        let tuple = FourTuple { address: remote, local_port: source_port, remote_port: destination_port };
        self.check_free(&tuple)?;
        let seed = self.secret.initial_sequence(now, &tuple).value();
        self.prepare_for(&config);
        let mut connection = Connection::inviting(now, config, source_port, destination_port, seed)?;
        moves::allow(&self.common, &self.secret, &tuple, None, &mut connection);
        connection.invite(now);
        Ok(self.add(tuple, connection))
    }

    fn check_free(&self, tuple: &FourTuple<SocketAddr>) -> Result<(), ConnectError> {
        if self.table.find(tuple).is_some() || self.table.is_taken(&tuple.address) {
            return Err(ConnectError::PortInUse { port: tuple.local_port });
        }
        Ok(())
    }

    fn open(
        &mut self,
        now: Instant,
        tuple: FourTuple<SocketAddr>,
        config: Config,
    ) -> Result<ConnectionHandle, ConnectError> {
        let seed = self.secret.initial_sequence(now, &tuple).value();
        self.prepare_for(&config);
        let mut connection = Connection::client(now, config, tuple.local_port, tuple.remote_port, seed)?;
        moves::allow(&self.common, &self.secret, &tuple, None, &mut connection);
        connection.connect(now);
        Ok(self.add(tuple, connection))
    }
}

impl<C: Held> Endpoint<C> {
    pub(super) fn add(&mut self, tuple: FourTuple<C::Address>, connection: C) -> ConnectionHandle {
        let handle = ConnectionHandle(self.table.insert(tuple, connection, Counted::Not));
        self.wake(handle);
        handle
    }

    /// An unused port towards that destination, chosen at random.
    pub(super) fn free_tuple(
        &mut self,
        address: C::Address,
        remote_port: u16,
    ) -> Option<FourTuple<C::Address>> {
        self.attempts += 1;
        if self.table.is_taken(&address) {
            return None;
        }
        let count = u64::from(u16::MAX - FIRST_DYNAMIC_PORT) + 1;
        let offset = self.secret.port_offset(self.attempts);
        (0..count)
            .map(|step| FIRST_DYNAMIC_PORT + (offset.wrapping_add(step) % count) as u16)
            .map(|local_port| FourTuple { address, local_port, remote_port })
            .find(|tuple| self.table.find(tuple).is_none())
    }
}
