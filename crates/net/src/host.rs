//! One host on a network: its sockets and its listener share its carriers.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use crate::carrier::{Carrier, UdpCarrier};
use crate::driver::Shared;
use crate::socket::add_locals;
use crate::{HostOptions, Listener, NetError, Setup, Socket};

/// One host on a network: its sockets and its listener share one carrier, or have one for each local address.
///
/// [`Socket::connect`] and [`Listener::bind`] make one for themselves, with UDP. A host made here may be
/// reached without UDP, as in RFC 4340: addresses then have no port other than DCCP's own, so that the port
/// of the [`SocketAddr`]s given and returned is 0.
#[derive(Debug)]
pub struct Host {
    shared: Arc<Shared>,
}

impl Host {
    /// DCCP inside UDP (RFC 6773), on one UDP address for all its connections. ICMP errors are not received.
    ///
    /// # Errors
    /// The system refuses the address.
    pub async fn udp(local: SocketAddr) -> Result<Self, NetError> {
        Self::udp_with(local, HostOptions::default()).await
    }

    /// Like [`Host::udp`], with options.
    ///
    /// # Errors
    /// Same as [`Host::udp`].
    pub async fn udp_with(local: SocketAddr, options: HostOptions) -> Result<Self, NetError> {
        let carrier = UdpCarrier::bind(local, options.peer).map_err(NetError::io("binding the UDP port"))?;
        Self::start(carrier, &options)
    }

    /// A host without an address yet: see [`Host::add_local`].
    ///
    /// # Errors
    /// The system has no entropy.
    pub fn without_address(options: HostOptions) -> Result<Self, NetError> {
        Self::with(None, &options)
    }

    /// Like [`Host::udp_with`], on a UDP socket that the application has opened and bound.
    ///
    /// # Errors
    /// The system refuses the socket.
    pub async fn from_std(socket: std::net::UdpSocket, options: HostOptions) -> Result<Self, NetError> {
        let carrier =
            UdpCarrier::with_socket(socket, None).map_err(NetError::io("taking over a UDP socket"))?;
        Self::start(carrier, &options)
    }

    /// DCCP as IP protocol 33, by a raw socket bound to `local`, or to all addresses of its family where
    /// that is unspecified. Only on Linux.
    ///
    /// Every raw socket of a host gets every packet, so a host with more than one of them, or with DCCP in
    /// its kernel, should give each its own address: this end does not answer packets of unknown connections,
    /// but a kernel with DCCP does not.
    ///
    /// # Errors
    /// The privilege is missing (`CAP_NET_RAW`), or the system refuses the address.
    pub async fn raw(local: IpAddr) -> Result<Self, NetError> {
        Self::raw_with(local, HostOptions::default()).await
    }

    /// Like [`Host::raw`], with options.
    ///
    /// # Errors
    /// Same as [`Host::raw`].
    pub async fn raw_with(local: IpAddr, options: HostOptions) -> Result<Self, NetError> {
        let action = "opening a raw socket for IP protocol 33 (needs root or CAP_NET_RAW)";
        #[cfg(target_os = "linux")]
        return Self::start(crate::carrier::RawCarrier::bind(local).map_err(NetError::io(action))?, &options);
        #[cfg(not(target_os = "linux"))]
        return Err(NetError::io(action)(unsupported((local, options))));
    }

    /// DCCP as IP protocol 33, with addresses of this process's own behind the TUN device `name`: at most one
    /// IPv4 and one IPv6 address. The device is created if it does not exist; the system needs a route to
    /// the addresses through it, as by `ip route add ADDRESS dev NAME`. Only on Linux, with the feature
    /// `tun`.
    ///
    /// # Errors
    /// The privilege is missing (`CAP_NET_ADMIN`, unless the device was made for this user), the device is
    /// in use, or there is not at most one address of each family.
    pub async fn tun(name: &str, addresses: &[IpAddr]) -> Result<Self, NetError> {
        Self::tun_with(name, addresses, HostOptions::default()).await
    }

    /// Like [`Host::tun`], with options.
    ///
    /// # Errors
    /// Same as [`Host::tun`].
    pub async fn tun_with(name: &str, addresses: &[IpAddr], options: HostOptions) -> Result<Self, NetError> {
        let of = |v4: bool| addresses.iter().filter(|address| address.is_ipv4() == v4).count();
        let usable = |address: &IpAddr| !address.is_unspecified() && !address.is_multicast();
        if addresses.is_empty() || of(true) > 1 || of(false) > 1 || !addresses.iter().all(usable) {
            return Err(NetError::Config(
                "a TUN device needs one IPv4 or IPv6 address, or one of each".into(),
            ));
        }
        let action = "opening the TUN device (needs root or CAP_NET_ADMIN, or a device made for this user)";
        #[cfg(all(target_os = "linux", feature = "tun"))]
        return Self::start(
            crate::carrier::TunCarrier::open(name, addresses.to_vec()).map_err(NetError::io(action))?,
            &options,
        );
        #[cfg(not(all(target_os = "linux", feature = "tun")))]
        return Err(NetError::io(action)(unsupported((name, options))));
    }

    fn start(carrier: impl Into<Carrier>, options: &HostOptions) -> Result<Self, NetError> {
        Self::with(Some(carrier.into()), options)
    }

    fn with(carrier: Option<Carrier>, options: &HostOptions) -> Result<Self, NetError> {
        let driver = Shared::start(carrier, options).map_err(NetError::io("starting a host"))?;
        let shared = driver.shared().clone();
        shared.lock().handles += 1;
        Ok(Self { shared })
    }

    /// Binds a UDP socket to a further local address, as of an interface that has appeared, for connections
    /// over several paths ([`Setup::over_paths`]). Returns the address with its port.
    ///
    /// # Errors
    /// The system refuses the address.
    pub fn add_local(&self, local: SocketAddr) -> Result<SocketAddr, NetError> {
        self.shared.add_local(local, None).map_err(NetError::io("binding a local address"))
    }

    /// Like [`Host::add_local`], for an address of a network interface by which the packets leave regardless
    /// of the system's routes: two radios often have one default route (Linux).
    ///
    /// # Errors
    /// The system refuses the address or the interface.
    pub fn add_local_on(&self, local: SocketAddr, interface: &str) -> Result<SocketAddr, NetError> {
        let bound = self.shared.add_local(local, Some(interface));
        bound.map_err(NetError::io("binding an address of a network interface"))
    }

    /// Removes a local address that has disappeared, with its port. Its paths end in all connections, and the
    /// peers are notified by the others. Returns `false` if it is unknown.
    pub fn remove_local(&self, local: SocketAddr) -> bool {
        let mut state = self.shared.lock();
        let is_known = state.remove_local(self.shared.clock.now(), local);
        self.shared.wake_driver(state);
        is_known
    }

    /// The local addresses, in the order in which they were bound.
    pub fn local_addrs(&self) -> Vec<SocketAddr> {
        self.shared.lock().locals().collect()
    }

    /// This host's address; the first, if it has several.
    pub fn local(&self) -> SocketAddr {
        self.shared.local()
    }

    /// Opens a connection to the DCCP `port` of `remote`, and waits for the handshake. Without UDP, the port
    /// of `remote` does not matter. With [`Setup::over_paths`], it is opened from the first local address of
    /// the family of `remote`, and the others join.
    ///
    /// # Errors
    /// Same as [`Socket::connect`]; there is no local address of that family.
    pub async fn connect(
        &self,
        remote: SocketAddr,
        port: u16,
        setup: impl Into<Setup>,
    ) -> Result<Socket, NetError> {
        let setup = setup.into();
        if setup.paths.is_none() {
            let mut remote = remote;
            if self.shared.local().port() == 0 {
                remote.set_port(0);
            }
            return Socket::open(&self.shared, self.local(), remote, port, setup).await;
        }
        add_locals(&self.shared, &setup, 0)?;
        let first = self.shared.lock().locals().find(|local| local.is_ipv4() == remote.is_ipv4());
        let Some(first) = first else {
            return Err(NetError::Config(format!("{remote}: expected an address of a bound family")));
        };
        let socket = Socket::open(&self.shared, first, remote, port, setup).await?;
        socket.all_established().await?;
        Ok(socket)
    }

    /// Like [`Host::connect`] with [`Setup::over_paths`], from that local address; the others do not join.
    /// Returns once further paths [can join](Socket::join).
    ///
    /// # Errors
    /// Same as [`Host::connect`]; the address is not bound.
    pub async fn connect_from(
        &self,
        local: SocketAddr,
        remote: SocketAddr,
        port: u16,
        setup: impl Into<Setup>,
    ) -> Result<Socket, NetError> {
        if !self.shared.lock().locals().any(|bound| bound == local) {
            return Err(NetError::Config(format!("local = {local}: expected a bound address")));
        }
        Socket::open(&self.shared, local, remote, port, setup.into()).await
    }

    /// Accepts connections to the DCCP `port`. A host has one listener, which may serve more ports
    /// ([`Listener::listen`]).
    ///
    /// # Errors
    /// There is a listener already, or the configuration is invalid.
    pub fn listen(&self, port: u16, setup: impl Into<Setup>) -> Result<Listener, NetError> {
        Listener::on(self.shared.clone(), port, setup.into())
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        let mut state = self.shared.lock();
        state.handles -= 1;
        self.shared.wake_driver(state);
    }
}

#[cfg(not(all(target_os = "linux", feature = "tun")))]
fn unsupported<T>(_: T) -> std::io::Error {
    std::io::ErrorKind::Unsupported.into()
}
