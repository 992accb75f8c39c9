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
//! socket.send(Bytes::from_static(b"over either radio")).await?;
//! # Ok(())
//! # }
//! ```

mod attachment;
mod carriers;
mod options;
mod received;
mod shared;
mod socket;
mod state;

use std::net::SocketAddr;

pub(crate) use attachment::Attachment;
pub use options::MultipathOptions;
pub use received::MultipathReceived;
pub(crate) use shared::Shared;
pub use socket::MultipathSocket;
pub use whimbrel_proto::multipath::{
    Dialect, JoinError, KeyType, MultipathConfig, MultipathEvent, MultipathSnapshot, MultipathStatistics,
    Path, PathPriority, SchedulerKind, SubflowId, SubflowSnapshot, SubflowStage,
};

use crate::clock::Clock;
use crate::{Listener, NetError, Setup};
use shared::Handle;

/// Local addresses, and the connections over them.
///
/// Dropping it closes the connections that were not accepted yet; the accepted ones continue.
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
        Self::bind_with(locals, MultipathOptions::default())
    }
    /// As [`MultipathHost::bind`], with options.
    ///
    /// # Errors
    ///
    /// The system refuses an address, or there is none.
    pub fn bind_with(locals: &[SocketAddr], options: MultipathOptions) -> Result<Self, NetError> {
        if locals.is_empty() {
            return Err(NetError::Config("locals = []: expected at least one address".into()));
        }
        let host = Self::new(options)?;
        for local in locals {
            host.add_local(*local)?;
        }
        Ok(host)
    }
    /// A host without an address yet: see [`MultipathHost::add_local`].
    ///
    /// # Errors
    ///
    /// The system has no entropy.
    pub fn new(options: MultipathOptions) -> Result<Self, NetError> {
        let shared = Shared::start(options, Clock::start()).map_err(NetError::io("start a host"))?;
        Ok(Self { shared })
    }
    /// Binds a further local address, of an interface that has appeared. Returns the address with its port.
    ///
    /// # Errors
    ///
    /// The system refuses the address.
    pub fn add_local(&self, local: SocketAddr) -> Result<SocketAddr, NetError> {
        carriers::add(self.shared.get(), local, None).map_err(NetError::io("bind a local address"))
    }
    /// As [`MultipathHost::add_local`], for an address of a network interface by which the packets leave, whatever the
    /// system's routes prefer: two radios often have one default route (Linux).
    ///
    /// # Errors
    ///
    /// The system refuses the address or the interface.
    pub fn add_local_on(&self, local: SocketAddr, interface: &str) -> Result<SocketAddr, NetError> {
        let bound = carriers::add(self.shared.get(), local, Some(interface));
        bound.map_err(NetError::io("bind an address of a network interface"))
    }
    /// Removes a local address that has disappeared, with its port. Its subflows end in all connections, and the peers are
    /// notified by the others. Returns `false` if it is unknown.
    pub fn remove_local(&self, local: SocketAddr) -> bool {
        self.shared.get().with(|state, now| state.remove_local(now, local))
    }
    /// The local addresses, in the order in which they were bound.
    pub fn local_addrs(&self) -> Vec<SocketAddr> {
        self.shared.get().locals()
    }
    /// Accepts connections to a DCCP port, and their further subflows, on all local addresses. With
    /// [security](Setup::secured), data are encrypted by one DTLS session for all subflows.
    ///
    /// # Errors
    ///
    /// A configuration is invalid, or the port is in use.
    pub fn listen(
        &self,
        port: u16,
        setup: impl Into<Setup>,
        settings: MultipathConfig,
    ) -> Result<(), NetError> {
        let result = self.shared.get().with(|state, _| state.listen(port, setup.into(), settings));
        result.map_err(|error| NetError::Config(error.to_string()))
    }
    /// The next connection whose handshakes are complete.
    ///
    /// # Errors
    ///
    /// The runtime has ended.
    pub async fn accept(&self) -> Result<MultipathSocket, NetError> {
        self.shared.get().accept().await.map(MultipathSocket::new)
    }
    /// Connects to a DCCP port of a server at this UDP address, from the first local address of its family. Once the
    /// handshakes are complete, subflows from the other local addresses of the family join.
    ///
    /// # Errors
    ///
    /// A configuration is invalid, there is no local address of that family, or the server does not answer or refuses.
    pub async fn connect(
        &self,
        server: SocketAddr,
        port: u16,
        setup: impl Into<Setup>,
        settings: MultipathConfig,
    ) -> Result<MultipathSocket, NetError> {
        let mut locals = self.shared.get().locals();
        locals.retain(|local| local.is_ipv4() == server.is_ipv4());
        let Some(first) = locals.first() else {
            return Err(NetError::Config(format!(
                "server = {server}: expected an address of a bound family"
            )));
        };
        let socket = self.connect_from(*first, server, port, setup, settings).await?;
        for local in &locals[1..] {
            // A subflow that cannot join leaves the others as they are.
            let _ = socket.join(*local, server);
        }
        Ok(socket)
    }
    /// As [`MultipathHost::connect`] from that local address; the others do not join. Returns once further subflows
    /// [can join](MultipathSocket::join).
    ///
    /// # Errors
    ///
    /// A configuration is invalid, the address is not bound, or the server does not answer or refuses.
    pub async fn connect_from(
        &self,
        local: SocketAddr,
        server: SocketAddr,
        port: u16,
        setup: impl Into<Setup>,
        settings: MultipathConfig,
    ) -> Result<MultipathSocket, NetError> {
        let shared = self.shared.get();
        if !shared.locals().contains(&local) {
            return Err(NetError::Config(format!("local = {local}: expected a bound address")));
        }
        let path = Path { local, remote: server };
        let opened = shared.with(|state, now| state.connect(now, path, port, setup.into(), settings));
        let (handle, mailbox) = opened.map_err(|error| NetError::Config(error.to_string()))?;
        let socket = MultipathSocket::new((shared.counted(), handle, mailbox));
        socket.established().await?;
        socket.ready_to_join().await?;
        Ok(socket)
    }
}

impl Listener {
    /// Accepts multipath connections at the listener's UDP port as well: Requests with multipath options and their connections
    /// belong to the returned host, all others remain with the listener. The host's [`MultipathHost::listen`] opens DCCP
    /// ports for them.
    ///
    /// # Errors
    ///
    /// The listener has such a host already, or the system has no entropy.
    pub fn multipath(&self, options: MultipathOptions) -> Result<MultipathHost, NetError> {
        let shared = Shared::start(options, self.shared.clock).map_err(NetError::io("start a host"))?;
        self.shared.attach(shared.get())?;
        Ok(MultipathHost { shared })
    }
}

impl Drop for MultipathHost {
    fn drop(&mut self) {
        self.shared.get().with(|state, now| state.stop_serving(now));
    }
}
