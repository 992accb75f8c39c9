//! Opening connections.

use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;

use whimbrel_proto::multipath::Path;
use whimbrel_proto::{ConnectionError, State};
use whimbrel_units::Duration;
use whimbrel_wire::ResetCode;

use super::Socket;
use crate::carrier::UdpCarrier;
use crate::driver::Shared;
use crate::host_port::most_telling;
use crate::setup::OverPaths;
use crate::waiters::wait;
use crate::{DCCP_UDP_PORT, HostOptions, HostPort, NetError, Setup, SocketOptions, connect_any};

/// Time without a Response after which a client sends its Requests from another UDP port: the path of the old
/// one may lead into a link that is down, of several among which routers choose by addresses and ports, or
/// through a mapping of a NAT that leads nowhere. In its time a port has sent eight Requests. An attempt that
/// was answered is not given up.
const PORT_PATIENCE: Duration = Duration::from_secs(5);
/// RFC 6773, Section 3.8: if the server has another connection at the UDP port, as of another client behind
/// the same NAT, another port may succeed. This many others are tried.
const OTHER_PORTS: usize = 2;

impl Socket {
    /// Opens a connection to the DCCP `port` behind the UDP address `remote`, and waits for the handshake.
    /// While there is no answer, it changes its own UDP port every 5 s. Over several paths, the others join
    /// from then on, each as soon as it can.
    ///
    /// # Errors
    /// The system refuses a UDP socket; the other end answers with a Reset or ICMP, or not at all.
    pub async fn connect(remote: SocketAddr, port: u16, setup: impl Into<Setup>) -> Result<Self, NetError> {
        Self::connect_with(remote, port, setup, SocketOptions::default()).await
    }

    /// Like [`Socket::connect`], with options.
    ///
    /// # Errors
    /// Same as [`Socket::connect`].
    pub async fn connect_with(
        remote: SocketAddr,
        port: u16,
        setup: impl Into<Setup>,
        options: SocketOptions,
    ) -> Result<Self, NetError> {
        let mut setup = setup.into().limited_to_family(remote)?;
        let has_choice = options.local.is_none() && setup.locals().is_empty();
        let mut reused = 0;
        loop {
            let left = setup.config.timers.connect;
            let patience = Some(PORT_PATIENCE).filter(|patience| has_choice && *patience < left);
            match Self::connect_once(remote, port, setup.clone(), options, patience).await {
                Err(NetError::Connection(ConnectionError::Reset(reset)))
                    if has_choice
                        && reset.code == ResetCode::EncapsulatedPortReuse
                        && reused < OTHER_PORTS =>
                {
                    reused += 1;
                }
                Ok(Some(socket)) => return Ok(socket),
                Ok(None) => setup.config.timers.connect = left - PORT_PATIENCE,
                Err(error) => return Err(error),
            }
        }
    }

    /// Like [`Socket::connect_with`], to a host whose name is resolved first. All its addresses are tried,
    /// and the connection is the one that is established first ([`connect_any`](crate::connect_any)). Without
    /// a port, it is 6511.
    ///
    /// # Errors
    /// The name cannot be resolved; otherwise as [`Socket::connect`], for the address that has said most.
    pub async fn connect_host(
        remote: &HostPort,
        port: u16,
        setup: impl Into<Setup>,
        options: SocketOptions,
    ) -> Result<Self, NetError> {
        let setup = setup.into();
        let addresses = remote.resolve(DCCP_UDP_PORT).await?;
        let attempt = |at| Self::connect_with(at, port, setup.clone(), options);
        connect_any(&addresses, attempt).await.map(|(_, socket)| socket).map_err(most_telling)
    }

    /// An attempt from one UDP port; `None` if there was no answer for as long as `patience`.
    async fn connect_once(
        remote: SocketAddr,
        port: u16,
        setup: Setup,
        options: SocketOptions,
        patience: Option<Duration>,
    ) -> Result<Option<Self>, NetError> {
        let any = if remote.is_ipv4() { Ipv4Addr::UNSPECIFIED.into() } else { Ipv6Addr::UNSPECIFIED.into() };
        let local = options.local.or(setup.locals().first().copied()).unwrap_or(SocketAddr::new(any, 0));
        let carrier = UdpCarrier::bind(local, Some(remote)).map_err(NetError::io("opening a UDP socket"))?;
        Self::connect_through(carrier, remote, port, setup, options, true, patience).await
    }

    /// Like [`Socket::connect_with`], through a UDP socket that the application has opened and bound. It is
    /// connected to `remote`, and belongs to the DCCP socket; `options.local` has no effect.
    ///
    /// # Errors
    /// Same as [`Socket::connect`].
    pub async fn from_std(
        socket: std::net::UdpSocket,
        remote: SocketAddr,
        port: u16,
        setup: impl Into<Setup>,
        options: SocketOptions,
    ) -> Result<Self, NetError> {
        let carrier = UdpCarrier::with_socket(socket, Some(remote))
            .map_err(NetError::io("taking over a UDP socket"))?;
        let connected =
            Self::connect_through(carrier, remote, port, setup.into(), options, false, None).await?;
        Ok(connected.expect("without a limit to its patience it waits for the connection"))
    }

    async fn connect_through(
        carrier: UdpCarrier,
        remote: SocketAddr,
        port: u16,
        setup: Setup,
        options: SocketOptions,
        is_bound_by_us: bool,
        patience: Option<Duration>,
    ) -> Result<Option<Self>, NetError> {
        let (receive_queue, dscp) = (options.receive_queue, options.dscp);
        let host = HostOptions { receive_queue, dscp, peer: Some(remote), ..HostOptions::default() };
        let driver =
            Shared::start_for_one(carrier.into(), &host).map_err(NetError::io("opening a UDP socket"))?;
        let shared = driver.shared();
        // An address given as an option is one more.
        add_locals(shared, &setup, usize::from(options.local.is_none() && is_bound_by_us))?;
        let follows = options.local.is_none() && is_bound_by_us && setup.paths.is_none();
        let socket = Self::request(shared, shared.local(), remote, options.source_port, port, setup)?;
        tokio::select! {
            result = socket.all_established() => result.map(|()| Some(socket)),
            () = socket.follow_address(remote), if follows => unreachable!("it follows until the handshake is over"),
            () = socket.silent_for(patience) => {
                // RFC 4340, Section 8.1.1: a Reset cleans up state if a Request arrived.
                socket.abort();
                Ok(None)
            }
        }
    }

    /// Waits until no Response has come for as long as `patience`; for ever if one comes.
    async fn silent_for(&self, patience: Option<Duration>) {
        if let Some(patience) = patience {
            tokio::time::sleep(patience.into()).await;
            if self.snapshot().is_some_and(|snapshot| snapshot.state == State::Request) {
                return;
            }
        }
        std::future::pending().await
    }

    /// Opens a connection through that driver, and waits for the handshake. Over several paths, all addresses
    /// of the driver join.
    pub(crate) async fn open(
        shared: &Arc<Shared>,
        local: SocketAddr,
        remote: SocketAddr,
        port: u16,
        setup: Setup,
    ) -> Result<Self, NetError> {
        let socket = Self::request(shared, local, remote, None, port, setup)?;
        socket.established().await.map(|()| socket)
    }

    /// Opens a connection through that driver, over several paths from `local` on.
    fn request(
        shared: &Arc<Shared>,
        local: SocketAddr,
        remote: SocketAddr,
        source_port: Option<u16>,
        port: u16,
        mut setup: Setup,
    ) -> Result<Self, NetError> {
        setup.check()?;
        let mut state = shared.lock();
        let now = shared.clock.now();
        let opened = match setup.paths.take() {
            Some(_) if source_port.is_some() => {
                let text = "source_port: a connection over several paths has a free one";
                return Err(NetError::Config(text.into()));
            }
            Some(OverPaths { settings, .. }) => {
                state.connect_over_several(now, Path { local, remote }, port, setup, settings)?
            }
            None => state.connect(now, remote, source_port, port, setup).map_err(NetError::config)?,
        };
        state.handles += 1;
        shared.wake_driver(state);
        Ok(Self::new(shared.clone(), opened))
    }

    /// Waits until the handshake has ended, and until other paths may join.
    pub(crate) async fn established(&self) -> Result<(), NetError> {
        // The fourth packet of the handshake is no event: it follows within a round-trip time.
        const STEP: std::time::Duration = std::time::Duration::from_millis(1);
        let mailbox = &self.mailbox;
        wait(&mailbox.waiters.happened, || {
            let inbox = mailbox.inbox();
            inbox.unread.end().map(Err).or(inbox.is_open.then_some(Ok(())))
        })
        .await?;
        while self.command_paths(|it, _| it.is_multipath() && !it.may_join()).unwrap_or(false) {
            tokio::time::sleep(STEP).await;
            if let Some(error) = mailbox.inbox().unread.end() {
                return Err(error);
            }
        }
        Ok(())
    }

    /// Like [`Socket::established`]; the other addresses of the server's family join then.
    pub(crate) async fn all_established(&self) -> Result<(), NetError> {
        self.established().await?;
        let used = self.command_paths(|it, _| it.subflows().map(|(_, path)| path.local).collect::<Vec<_>>());
        let Some(used) = used else { return Ok(()) };
        let (remote, locals) = (self.remote(), self.shared.lock().locals().collect::<Vec<_>>());
        for local in locals.into_iter().filter(|local| local.is_ipv4() == remote.is_ipv4()) {
            if !used.contains(&local) {
                // One that cannot join leaves the others as they are.
                let _ = self.join(local, remote);
            }
        }
        Ok(())
    }
}

/// Binds the local addresses of a setup, all but the first few.
pub(crate) fn add_locals(shared: &Arc<Shared>, setup: &Setup, bound: usize) -> Result<(), NetError> {
    for local in setup.locals().iter().skip(bound) {
        shared.add_local(*local, None).map_err(NetError::io("binding a local address"))?;
    }
    Ok(())
}
