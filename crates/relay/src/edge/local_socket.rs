//! The sockets of this host by which other programs' datagrams come and go.
//!
//! A thread of its own reads them: a frame arrives in one burst, and must not wait in the kernel while the
//! previous one is encrypted.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV6};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use anyhow::Context;
use socket2::{Domain, InterfaceIndexOrAddress, SockRef, Socket, Type};
use tokio::runtime::Handle;
use tokio::task::AbortHandle;
use whimbrel_net::{SOCKET_BUFFER, WatchedSocket, enlarge_buffers, is_refusal, kernel_drops};

use super::address::{Interface, Program, ProgramAddress};

mod refusals;

/// The SSRC of this end in messages to encoders. No stream has it: it is one in 2^32.
pub(crate) const OWN_SSRC: u32 = 0x5748_494d;
/// RTCP's type of such messages.
#[cfg(target_os = "linux")]
const PAYLOAD_FEEDBACK: u8 = 206;
/// Messages of the system about earlier datagrams after which a call that has returned them is made again.
const ATTEMPTS: usize = 4;

/// The thread that reads local sockets, for the whole process: it ends with it.
#[derive(Clone, Debug)]
pub(crate) struct Reader(Handle);

impl Reader {
    /// The thread, which is started by the first call.
    ///
    /// # Errors
    /// The system refuses a thread or the descriptors of its event loop.
    pub(crate) fn get() -> io::Result<Self> {
        static READER: Mutex<Option<Reader>> = Mutex::new(None);
        let mut started = READER.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(reader) = &*started {
            return Ok(reader.clone());
        }
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let reader = Self(runtime.handle().clone());
        let run = move || runtime.block_on(std::future::pending::<()>());
        std::thread::Builder::new().name("local sockets".into()).spawn(run)?;
        Ok(started.insert(reader).clone())
    }

    /// Runs a task in the thread.
    pub(crate) fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) -> AbortHandle {
        self.0.spawn(task).abort_handle()
    }

    fn watch(&self, socket: Socket) -> io::Result<WatchedSocket> {
        socket.set_nonblocking(true)?;
        let _context = self.0.enter();
        WatchedSocket::new(socket.into())
    }
}

/// A socket by which a program's datagrams come and go.
#[derive(Debug)]
pub(crate) struct LocalSocket {
    socket: WatchedSocket,
    /// The addresses of the program to which it is connected, and the one in use; none if it takes datagrams
    /// of any program.
    targets: Vec<SocketAddr>,
    target: AtomicUsize,
    /// The system's messages that nothing listens where datagrams were sent to, and that there is no way to
    /// it.
    refusals: AtomicU64,
    unreachable: AtomicU64,
    /// Address of the last refusal: no listener.
    refused: Mutex<Option<SocketAddr>>,
}

impl LocalSocket {
    fn new(socket: WatchedSocket, targets: Vec<SocketAddr>) -> Self {
        Self {
            socket,
            targets,
            target: AtomicUsize::new(0),
            refusals: AtomicU64::new(0),
            unreachable: AtomicU64::new(0),
            refused: Mutex::new(None),
        }
    }

    /// Opens the sockets of a place at which datagrams arrive: one for each address of its name that this
    /// host has.
    ///
    /// # Errors
    /// None of the addresses can be bound, another program uses one of them, or a group cannot be joined.
    pub(crate) async fn open_from(place: &ProgramAddress, reader: &Reader) -> anyhow::Result<Vec<Self>> {
        let mut sockets = Vec::new();
        let mut missing = None;
        for mut address in place.resolve_from().await? {
            if let Some(port) = first_port(&sockets) {
                address.set_port(port);
            }
            let opened = bind(place, address).and_then(|socket| Ok(reader.watch(socket)?));
            match opened.with_context(|| format!("UDP {address}")) {
                Ok(socket) => sockets.push(Self::new(socket, Vec::new())),
                // A name such as localhost has addresses of families that the host need not have.
                Err(error) if is_missing(&error) => missing = missing.or(Some(error)),
                Err(error) => return Err(error),
            }
            if address.ip().is_unspecified() && !sockets.is_empty() {
                // One socket serves both families.
                break;
            }
        }
        match missing.filter(|_| sockets.is_empty()) {
            Some(error) => Err(error),
            None => Ok(sockets),
        }
    }

    /// Opens a socket to a program.
    ///
    /// # Errors
    /// The system refuses it.
    pub(crate) fn open_to(program: &Program, reader: &Reader) -> io::Result<Self> {
        let (socket, targets) = socket_towards(&program.addresses)?;
        let is_ipv6 = targets.iter().all(SocketAddr::is_ipv6);
        enlarge_buffers(&socket)?;
        if let Some(interface) = program.interface {
            send_by(&socket, interface, program.ttl.unwrap_or(1), is_ipv6)?;
        }
        if !is_ipv6 {
            // For the broadcast address of a network, which looks like a host's.
            socket.set_broadcast(true)?;
        }
        refusals::keep(&socket, is_ipv6)?;
        let any = if is_ipv6 { IpAddr::from(Ipv6Addr::UNSPECIFIED) } else { Ipv4Addr::UNSPECIFIED.into() };
        socket.bind(&SocketAddr::new(any, 0).into())?;
        // Only the program's answers are let in.
        let first = connect_to_first(&socket, &targets, 0)?;
        let opened = Self::new(reader.watch(socket)?, targets);
        opened.target.store(first, Ordering::Relaxed);
        Ok(opened)
    }

    /// The address at which it listens.
    pub(crate) fn local_addr(&self) -> io::Result<SocketAddr> {
        self.socket.local_addr()
    }

    /// Waits until there is something to read, on the [`Reader`].
    pub(crate) async fn readable(&self) -> io::Result<()> {
        self.socket.readable().await
    }

    /// Reads a datagram.
    ///
    /// # Errors
    /// There is none now.
    pub(crate) fn try_recv(&self, room: &mut [u8]) -> io::Result<(usize, SocketAddr)> {
        self.noting(|| self.socket.try_recv_from(room))
    }

    /// Sends a datagram to the program to which the socket is connected. It does not wait.
    ///
    /// # Errors
    /// The system refuses it.
    pub(crate) fn send(&self, payload: &[u8]) -> io::Result<()> {
        self.noting(|| SockRef::from(&self.socket).send(payload)).map(drop)
    }

    /// Sends a datagram to a program. It does not wait.
    ///
    /// # Errors
    /// The system refuses it.
    pub(crate) fn send_to(&self, payload: &[u8], program: SocketAddr) -> io::Result<()> {
        self.noting(|| SockRef::from(&self.socket).send_to(payload, &program.into())).map(drop)
    }

    /// Datagrams that the kernel dropped here, for lack of room.
    pub(crate) fn kernel_drops(&self) -> u64 {
        kernel_drops(&self.socket).unwrap_or_default()
    }

    /// Numbers of the system's messages that nothing listens where datagrams were sent to, and that there is
    /// no way to it. There may be fewer of them than datagrams.
    pub(crate) fn refusals(&self) -> [u64; 2] {
        [&self.refusals, &self.unreachable].map(|count| count.load(Ordering::Relaxed))
    }

    /// Address of the last refusal: no listener.
    pub(crate) fn refused(&self) -> Option<SocketAddr> {
        *self.refused.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Makes a call. The system reports errors of earlier datagrams in the next call on the socket, which
    /// then has no effect: count the errors and repeat the call.
    fn noting<T>(&self, mut call: impl FnMut() -> io::Result<T>) -> io::Result<T> {
        let mut result = call();
        for _ in 1..ATTEMPTS {
            match &result {
                Err(error) if error.kind() != io::ErrorKind::WouldBlock => self.note(error),
                _ => break,
            }
            result = call();
        }
        result
    }

    /// Counts messages that no call has returned yet.
    pub(crate) fn note_pending(&self) {
        if cfg!(target_os = "linux") {
            self.note_kept();
        } else if let Ok(Some(error)) = SockRef::from(&self.socket).take_error() {
            self.note(&error);
        }
    }

    fn note(&self, error: &io::Error) {
        if cfg!(target_os = "linux") {
            self.note_kept();
        } else if is_refusal(error) {
            self.count(None);
        }
    }

    /// Counts the messages that the system has kept.
    fn note_kept(&self) {
        #[cfg(target_os = "linux")]
        while let Some(refusal) = refusals::next(&self.socket) {
            match refusal {
                // The peer has not sent it.
                refusal if is_own(&refusal.begin) => {}
                refusal if refusal.nothing_listens => self.count(refusal.program),
                _ => _ = self.unreachable.fetch_add(1, Ordering::Relaxed),
            }
        }
    }

    /// Counts a refusal, and turns to the program's next address, unless it is about another one.
    fn count(&self, program: Option<SocketAddr>) {
        self.refusals.fetch_add(1, Ordering::Relaxed);
        let current = self.targets.get(self.target.load(Ordering::Relaxed));
        let current = current.map(|at| SocketAddr::new(at.ip().to_canonical(), at.port()));
        *self.refused.lock().unwrap_or_else(PoisonError::into_inner) = program.or(current);
        if program.is_none() || program == current {
            self.try_next_target();
        }
    }

    fn try_next_target(&self) {
        if self.targets.len() > 1 {
            let next = self.target.load(Ordering::Relaxed) + 1;
            // The kernel keeps the source address of the first connection otherwise, and lets no answer in
            // from another family.
            #[cfg(unix)]
            let _ = rustix::net::connect_unspec(&self.socket);
            if let Ok(next) = connect_to_first(&SockRef::from(&self.socket), &self.targets, next) {
                self.target.store(next, Ordering::Relaxed);
            }
        }
    }
}

/// `true` if a datagram with this beginning is a message of this end to an encoder.
#[cfg(target_os = "linux")]
fn is_own(begin: &[u8]) -> bool {
    begin.get(1) == Some(&PAYLOAD_FEEDBACK) && begin.get(4..8) == Some(&OWN_SSRC.to_be_bytes())
}

/// Opens a socket that can send to the addresses, and returns these in the form that it takes: both families
/// if the host has both, otherwise IPv4.
fn socket_towards(addresses: &[SocketAddr]) -> io::Result<(Socket, Vec<SocketAddr>)> {
    if addresses.iter().any(SocketAddr::is_ipv6)
        && let Ok(socket) = Socket::new(Domain::IPV6, Type::DGRAM, None)
    {
        socket.set_only_v6(false)?;
        return Ok((socket, addresses.iter().copied().map(mapped).collect()));
    }
    let socket = Socket::new(Domain::IPV4, Type::DGRAM, None)?;
    Ok((socket, addresses.iter().copied().filter(SocketAddr::is_ipv4).collect()))
}

/// Connects to the first of the addresses from `start` on to which there is a route, and returns its index.
fn connect_to_first(socket: &Socket, targets: &[SocketAddr], start: usize) -> io::Result<usize> {
    let mut refused = io::Error::from(io::ErrorKind::AddrNotAvailable);
    for index in (start..start + targets.len()).map(|index| index % targets.len()) {
        match socket.connect(&targets[index].into()) {
            Ok(()) => return Ok(index),
            Err(error) => refused = error,
        }
    }
    Err(refused)
}

fn first_port(sockets: &[LocalSocket]) -> Option<u16> {
    sockets.first()?.local_addr().ok().map(|address| address.port())
}

/// `true` if this host does not have the address.
fn is_missing(error: &anyhow::Error) -> bool {
    let system = error.chain().find_map(|cause| cause.downcast_ref::<io::Error>());
    system.is_some_and(|error| {
        matches!(error.kind(), io::ErrorKind::AddrNotAvailable | io::ErrorKind::Unsupported)
            || error.raw_os_error() == Some(rustix::io::Errno::AFNOSUPPORT.raw_os_error())
    })
}

/// Binds an address at which datagrams arrive, and joins it if it is a group.
fn bind(place: &ProgramAddress, address: SocketAddr) -> anyhow::Result<Socket> {
    let socket = Socket::new(Domain::for_address(address), Type::DGRAM, None)?;
    if address.is_ipv6() {
        // The unspecified address stands for the addresses of both families.
        socket.set_only_v6(!address.ip().is_unspecified())?;
    }
    enlarge_buffers(&socket)?;
    refusals::keep(&socket, address.is_ipv6())?;
    if !address.ip().is_multicast() {
        socket.bind(&address.into())?;
        return Ok(socket);
    }
    // Each program of this host that has joined the group gets its datagrams.
    socket.set_reuse_address(true)?;
    let interface = place.interface(address)?;
    socket.bind(&group_address(address, interface.index).into()).context("binding a multicast group")?;
    let joined = match (address.ip(), place.source()) {
        (IpAddr::V4(group), Some(source)) => {
            socket.join_ssm_v4(&source, &group, &interface.v4.unwrap_or(Ipv4Addr::UNSPECIFIED))
        }
        (IpAddr::V4(group), None) => {
            let by = match interface.index {
                0 => InterfaceIndexOrAddress::Address(Ipv4Addr::UNSPECIFIED),
                index => InterfaceIndexOrAddress::Index(index),
            };
            socket.join_multicast_v4_n(&group, &by)
        }
        (IpAddr::V6(group), _) => socket.join_multicast_v6(&group, interface.index),
    };
    joined.with_context(|| {
        let hint = if interface.index == 0 { ": name the interface with ,interface=" } else { "" };
        format!("joining the multicast group{hint}")
    })?;
    Ok(socket)
}

/// The address to bind for a group, with its interface. Only Unix binds groups themselves.
fn group_address(group: SocketAddr, interface: u32) -> SocketAddr {
    match group {
        SocketAddr::V6(v6) if cfg!(unix) => SocketAddrV6::new(*v6.ip(), v6.port(), 0, interface).into(),
        _ if cfg!(unix) => group,
        SocketAddr::V4(v4) => SocketAddr::new(Ipv4Addr::UNSPECIFIED.into(), v4.port()),
        SocketAddr::V6(v6) => SocketAddr::new(Ipv6Addr::UNSPECIFIED.into(), v6.port()),
    }
}

/// Sends to groups by that interface, over as many networks.
fn send_by(socket: &Socket, interface: Interface, ttl: u8, is_ipv6: bool) -> io::Result<()> {
    if is_ipv6 {
        socket.set_multicast_hops_v6(ttl.into())?;
        return socket.set_multicast_if_v6(interface.index);
    }
    socket.set_multicast_ttl_v4(ttl.into())?;
    match interface.v4 {
        Some(address) => socket.set_multicast_if_v4(&address),
        None => Ok(()),
    }
}

/// A socket of both families takes IPv4 addresses as mapped ones.
fn mapped(address: SocketAddr) -> SocketAddr {
    match address {
        SocketAddr::V4(v4) => SocketAddr::new(v4.ip().to_ipv6_mapped().into(), v4.port()),
        SocketAddr::V6(_) => address,
    }
}

/// A warning if the kernel gives sockets less room than a burst may need.
pub(crate) fn small_buffers() -> Option<String> {
    let granted =
        Socket::new(Domain::IPV4, Type::DGRAM, None).and_then(|socket| enlarge_buffers(&socket)).ok()?;
    (granted < SOCKET_BUFFER).then(|| {
        format!(
            "the kernel gives sockets {granted} bytes of the {SOCKET_BUFFER} requested for what arrives: bursts may be dropped, and \
             are counted; sysctl net.core.rmem_max={SOCKET_BUFFER} permits them"
        )
    })
}

#[cfg(test)]
mod tests;
