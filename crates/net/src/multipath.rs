//! Sockets over several local addresses (MP-DCCP, RFC 9897), in UDP (RFC 6773).
//!
//! ```no_run
//! use whimbrel_net::multipath::{MultipathConfig, MultipathHost};
//! use whimbrel_net::{Config, Bytes};
//!
//! # async fn run() -> Result<(), whimbrel_net::NetError> {
//! // One local address for each radio; the port is chosen by the system.
//! let host = MultipathHost::bind(&["192.0.2.10:0".parse().unwrap(), "198.51.100.10:0".parse().unwrap()])?;
//! let server = "203.0.113.1:6511".parse().unwrap();
//! let socket = host.connect(server, 5001, Config::default(), MultipathConfig::default()).await?;
//! socket.send(Bytes::from_static(b"over either radio"))?;
//! # Ok(())
//! # }
//! ```

mod carriers;
mod shared;
mod socket;

use std::net::SocketAddr;
use std::sync::Arc;

pub use shared::MultipathReceived;
pub use socket::MultipathSocket;
pub use whimbrel_proto::multipath::{
    Dialect, JoinError, KeyType, MultipathConfig, MultipathEndpointConfig, MultipathEvent, MultipathSnapshot,
    Path, PathPriority, SchedulerKind, SubflowId, SubflowSnapshot, SubflowStage,
};
use whimbrel_proto::{Config, ConnectError, ListenError};

use crate::NetError;
use shared::{Handle, Shared};

/// Local addresses, and the connections over them.
#[derive(Debug)]
pub struct MultipathHost {
    shared: Handle,
}

impl MultipathHost {
    /// Binds UDP sockets to local addresses, on the current runtime. Each should be an address of its own interface; the
    /// first one carries the first subflow of connections.
    ///
    /// # Errors
    ///
    /// The system refuses an address, or there is none.
    pub fn bind(locals: &[SocketAddr]) -> Result<Self, NetError> {
        Self::bind_with(locals, MultipathEndpointConfig::default())
    }
    /// As [`MultipathHost::bind`], with other limits.
    ///
    /// # Errors
    ///
    /// The system refuses an address, or there is none.
    pub fn bind_with(locals: &[SocketAddr], limits: MultipathEndpointConfig) -> Result<Self, NetError> {
        if locals.is_empty() {
            return Err(NetError::Config("locals = []: expected at least one address".into()));
        }
        let shared = Shared::start(limits).map_err(NetError::io("start a host"))?;
        let host = Self { shared };
        for local in locals {
            host.add_local(*local)?;
        }
        Ok(host)
    }
    /// Binds a further local address, of an interface that has appeared. Returns the address with its port.
    ///
    /// # Errors
    ///
    /// The system refuses the address.
    pub fn add_local(&self, local: SocketAddr) -> Result<SocketAddr, NetError> {
        carriers::add(self.shared.get(), local).map_err(NetError::io("bind a local address"))
    }
    /// The local addresses, in the order in which they were bound.
    pub fn local_addrs(&self) -> Vec<SocketAddr> {
        self.shared.get().locals()
    }
    /// Accepts connections to a DCCP port, and their further subflows, on all local addresses.
    ///
    /// # Errors
    ///
    /// A configuration is invalid, or the port is in use.
    pub fn listen(&self, port: u16, config: Config, settings: MultipathConfig) -> Result<(), NetError> {
        let result = self.shared.get().command(|endpoint, _| endpoint.listen(port, config, settings));
        result.map_err(|error: ListenError| NetError::Config(error.to_string()))
    }
    /// The next connection whose handshake is complete.
    ///
    /// # Errors
    ///
    /// The runtime has ended.
    pub async fn accept(&self) -> Result<MultipathSocket, NetError> {
        let shared = self.shared.get();
        let handle = shared.accept().await?;
        Ok(MultipathSocket::new(self.shared.clone(), handle))
    }
    /// Connects to a DCCP port of a server at this UDP address, from the first local address of its family. Once the
    /// handshake is complete, subflows from the other local addresses of the family join.
    ///
    /// # Errors
    ///
    /// A configuration is invalid, there is no local address of that family, or the server does not answer or refuses.
    pub async fn connect(
        &self,
        server: SocketAddr,
        port: u16,
        config: Config,
        settings: MultipathConfig,
    ) -> Result<MultipathSocket, NetError> {
        let shared = self.shared.get();
        let locals: Vec<SocketAddr> =
            shared.locals().into_iter().filter(|local| local.is_ipv4() == server.is_ipv4()).collect();
        let Some(first) = locals.first() else {
            return Err(NetError::Config(format!(
                "server = {server}: expected an address of a bound family"
            )));
        };
        let path = Path { local: *first, remote: server };
        let made = shared.command(|endpoint, now| endpoint.connect(now, path, port, config, settings));
        let handle = made.map_err(|error: ConnectError| NetError::Config(error.to_string()))?;
        shared.open(handle);
        let socket = MultipathSocket::new(self.shared.clone(), handle);
        socket.established().await?;
        socket.ready_to_join().await?;
        for local in &locals[1..] {
            // A subflow that cannot join leaves the others as they are.
            let _ = socket.join(*local, server);
        }
        Ok(socket)
    }
}

impl Drop for MultipathHost {
    fn drop(&mut self) {
        Arc::clone(self.shared.get()).on_host_dropped();
    }
}
