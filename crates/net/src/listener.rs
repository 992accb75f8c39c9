//! Accepts connections on one UDP port.

use std::net::SocketAddr;
use std::sync::Arc;

#[cfg(doc)]
use crate::SocketOptions;
use crate::carrier::UdpCarrier;
use crate::driver::Shared;
use crate::socket::add_locals;
use crate::waiters::wait;
use crate::{DCCP_UDP_PORT, HostOptions, HostPort, NetError, Setup, Socket};

/// Accepts DCCP connections on one UDP port, or on one [`Host`](crate::Host): thousands share it.
///
/// Dropping it closes the connections that were not accepted yet; the accepted ones continue.
#[derive(Debug)]
pub struct Listener {
    pub(crate) shared: Arc<Shared>,
}

impl Listener {
    /// Listens on the UDP address `local` for connections to the DCCP `port` with the configuration's Service
    /// Code.
    ///
    /// # Errors
    /// The system refuses the address; the configuration is invalid.
    pub async fn bind(local: SocketAddr, port: u16, setup: impl Into<Setup>) -> Result<Self, NetError> {
        Self::bind_with(local, port, setup, HostOptions::default()).await
    }

    /// Like [`Listener::bind`], with options.
    ///
    /// # Errors
    /// Same as [`Listener::bind`].
    pub async fn bind_with(
        local: SocketAddr,
        port: u16,
        setup: impl Into<Setup>,
        options: HostOptions,
    ) -> Result<Self, NetError> {
        let carrier = UdpCarrier::bind(local, options.peer).map_err(NetError::io("binding the UDP port"))?;
        Self::through(carrier, port, setup.into(), options)
    }

    /// Like [`Listener::bind_with`], on the first address of a name that this host has. Without a host, it
    /// listens on all addresses; without a port, on 6511.
    ///
    /// # Errors
    /// The name cannot be resolved; otherwise as [`Listener::bind`].
    pub async fn bind_host(
        local: &HostPort,
        port: u16,
        setup: impl Into<Setup>,
        options: HostOptions,
    ) -> Result<Self, NetError> {
        let setup = setup.into();
        let mut refused = None;
        for address in local.resolve_local(DCCP_UDP_PORT).await? {
            match Self::bind_with(address, port, setup.clone(), options).await {
                Ok(listener) => return Ok(listener),
                Err(error) => refused = refused.or(Some(error)),
            }
        }
        Err(refused.unwrap_or(NetError::Config(format!("{local} has no address"))))
    }

    /// Like [`Listener::bind_with`], on a UDP socket that the application has opened and bound, as one that
    /// systemd hands over or one with options of its own.
    ///
    /// # Errors
    /// The system refuses the socket; the configuration is invalid.
    pub async fn from_std(
        socket: std::net::UdpSocket,
        port: u16,
        setup: impl Into<Setup>,
        options: HostOptions,
    ) -> Result<Self, NetError> {
        let carrier =
            UdpCarrier::with_socket(socket, None).map_err(NetError::io("taking over a UDP socket"))?;
        Self::through(carrier, port, setup.into(), options)
    }

    fn through(carrier: UdpCarrier, port: u16, setup: Setup, options: HostOptions) -> Result<Self, NetError> {
        let driver =
            Shared::start(Some(carrier.into()), &options).map_err(NetError::io("binding the UDP port"))?;
        Self::on(driver.shared().clone(), port, setup)
    }

    /// Listens on a host that has no listener yet.
    pub(crate) fn on(shared: Arc<Shared>, port: u16, setup: Setup) -> Result<Self, NetError> {
        let listener = {
            let mut state = shared.lock();
            if state.one.is_serving() {
                return Err(NetError::Config("this host has a listener already".into()));
            }
            state.handles += 1;
            drop(state);
            Self { shared }
        };
        listener.listen(port, setup)?;
        Ok(listener)
    }

    /// Serves a further DCCP port or Service Code on the same UDP port. With [`Setup::over_paths`],
    /// connections over several paths have this setup, and those over one as well, unless the port has
    /// another for them.
    ///
    /// # Errors
    /// The pair is already served, the configuration is invalid, or the system refuses a local address.
    pub fn listen(&self, port: u16, setup: impl Into<Setup>) -> Result<(), NetError> {
        let setup = setup.into();
        setup.check()?;
        add_locals(&self.shared, &setup, 0)?;
        self.shared.lock().serve(port, setup)
    }

    /// Stops serving a DCCP port, with any Service Code. Its connections continue. Returns `true` if it was
    /// served.
    pub fn stop_listening(&self, port: u16) -> bool {
        self.shared.lock().stop_listening(port)
    }

    /// Waits for the one client at the DCCP port `client_port` behind the UDP address `remote`, known
    /// from signalling such as SDP, and sends it Listen packets, so that a NAT in front of this host
    /// lets its Request in (RFC 5596). The client has to connect from that port
    /// ([`SocketOptions::source_port`]) to `port`. [`Listener::accept`] gives the connection.
    ///
    /// # Errors
    /// There is such a connection already, or the configuration is invalid.
    pub fn invite(
        &self,
        remote: SocketAddr,
        client_port: u16,
        port: u16,
        setup: impl Into<Setup>,
    ) -> Result<(), NetError> {
        let setup = setup.into();
        setup.check()?;
        let mut state = self.shared.lock();
        state.invite(self.shared.clock.now(), remote, port, client_port, setup).map_err(NetError::config)?;
        self.shared.wake_driver(state);
        Ok(())
    }

    /// The UDP address it listens on; without UDP, its host's, with port 0.
    pub fn local(&self) -> SocketAddr {
        self.shared.local()
    }

    /// The next connection with a complete handshake.
    ///
    /// # Errors
    /// The driver has stopped with its runtime.
    pub async fn accept(&self) -> Result<Socket, NetError> {
        wait(&self.shared.accepted, || {
            let mut state = self.shared.lock();
            if let Some(opened) = state.claim() {
                state.handles += 1;
                return Some(Ok(Socket::new(self.shared.clone(), opened)));
            }
            state.stopped.then_some(Err(NetError::DriverStopped))
        })
        .await
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        let mut state = self.shared.lock();
        state.handles -= 1;
        state.stop_serving(self.shared.clock.now());
        self.shared.wake_driver(state);
    }
}
