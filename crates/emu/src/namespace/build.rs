//! The child process that makes a namespace.
//!
//! This process may have threads, so its child may use system calls only, no allocator and no lock, until it
//! ends: everything that it writes is prepared before.

use std::ffi::{CStr, CString};
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, IntoRawFd, OwnedFd, RawFd};
use std::ptr;

use nix::errno::Errno;
use nix::libc;
use nix::sched::{CloneFlags, setns, unshare};
use nix::sys::wait::waitpid;
use nix::unistd::{ForkResult, fork};

use super::passing::{self, BYTES, MOST};
use super::{Namespace, Request};
use crate::tun;

/// The user namespace of a new network namespace.
pub(super) enum User<'a> {
    /// This process's user namespace, in which it is privileged.
    Present,
    /// A new one, with these maps.
    New {
        /// For user numbers.
        uid_map: Vec<u8>,
        /// For group numbers.
        gid_map: Vec<u8>,
    },
    /// One that was made before.
    Existing(&'a OwnedFd),
}

/// Everything that the child needs.
pub(super) struct Recipe<'a> {
    pub(super) user: User<'a>,
    /// The namespaces that get the device; new ones if there are none.
    pub(super) host: Option<&'a Namespace>,
    pub(super) device: CString,
    pub(super) index: u32,
    pub(super) requests: Vec<Request>,
    pub(super) hosts: Vec<u8>,
}

/// The result of the child process.
pub(super) struct Built {
    pub(super) network: OwnedFd,
    pub(super) mount: OwnedFd,
    pub(super) device: OwnedFd,
    pub(super) counters: OwnedFd,
    pub(super) requests: OwnedFd,
    pub(super) user: Option<OwnedFd>,
    pub(super) has_all_requests: bool,
    pub(super) hosts_error: Option<io::Error>,
}

/// The steps of the child.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(i32)]
pub(super) enum Step {
    /// The child cannot be started, or ended unexpectedly.
    Start = 1,
    User,
    UserMap,
    JoinUser,
    JoinHost,
    Network,
    Mount,
    OpenDevice,
    CreateDevice,
    Configure,
    PassOn,
}

impl Step {
    const ALL: [Self; 11] = [
        Self::Start,
        Self::User,
        Self::UserMap,
        Self::JoinUser,
        Self::JoinHost,
        Self::Network,
        Self::Mount,
        Self::OpenDevice,
        Self::CreateDevice,
        Self::Configure,
        Self::PassOn,
    ];
}

/// Settings of the new network namespace, as far as the system lets them be written: the device is to send
/// nothing by itself, and programs may ping and route.
const SETTINGS: [(&CStr, &[u8]); 7] = [
    (c"/proc/sys/net/ipv6/conf/default/addr_gen_mode", b"1"),
    (c"/proc/sys/net/ipv6/conf/default/router_solicitations", b"0"),
    (c"/proc/sys/net/ipv6/conf/default/accept_dad", b"0"),
    (c"/proc/sys/net/ipv4/ip_forward", b"1"),
    (c"/proc/sys/net/ipv6/conf/all/forwarding", b"1"),
    (c"/proc/sys/net/ipv4/ping_group_range", b"0 0"),
    (c"/proc/sys/net/ipv4/ping_group_range", b"0 2147483647"),
];

/// Runs a child that makes a namespace.
pub(super) fn run(recipe: &Recipe<'_>) -> Result<Built, (Step, io::Error)> {
    let (ours, theirs) = std::os::unix::net::UnixStream::pair().map_err(|error| (Step::Start, error))?;
    // SAFETY: the child calls only functions that are async-signal-safe, and ends with `_exit`.
    let child = match unsafe { fork() }.map_err(|error| (Step::Start, error.into()))? {
        ForkResult::Child => {
            let code = i32::from(child(recipe, theirs.as_raw_fd()).is_err());
            // SAFETY: it does not return, and runs nothing of this process's.
            unsafe { libc::_exit(code) }
        }
        ForkResult::Parent { child } => child,
    };
    drop(theirs);
    let answer = passing::receive(ours.as_raw_fd());
    // The child ends by itself.
    let _ = waitpid(child, None);
    let died = || (Step::Start, io::Error::other("the process ended unexpectedly"));
    let (bytes, descriptors) = answer.map_err(|error| (Step::Start, error))?.ok_or_else(died)?;
    let word = |at: usize| i32::from_ne_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
    if let Some(step) = Step::ALL.into_iter().find(|step| *step as i32 == word(0)) {
        return Err((step, io::Error::from_raw_os_error(word(4))));
    }
    let mut descriptors = descriptors.into_iter();
    let [Some(network), Some(mount), Some(device), Some(counters), Some(requests)] =
        [(); 5].map(|()| descriptors.next())
    else {
        return Err(died());
    };
    let hosts_error = (word(8) != 0).then(|| io::Error::from_raw_os_error(word(8)));
    Ok(Built {
        network,
        mount,
        device,
        counters,
        requests,
        user: descriptors.next(),
        has_all_requests: word(4) == 0,
        hosts_error,
    })
}

/// The child. It reports through `socket` and then ends.
fn child(recipe: &Recipe<'_>, socket: RawFd) -> io::Result<()> {
    match make(recipe) {
        Ok((descriptors, refused, hosts)) => {
            let open = descriptors.iter().position(|one| *one < 0).unwrap_or(descriptors.len());
            passing::send(socket, message(0, refused, hosts), &descriptors[..open])
        }
        Err((step, error)) => passing::send(socket, message(step as i32, error as i32, 0), &[]),
    }
}

fn message(step: i32, first: i32, second: i32) -> [u8; BYTES] {
    let mut bytes = [0; BYTES];
    for (place, word) in bytes.chunks_exact_mut(4).zip([step, first, second]) {
        place.copy_from_slice(&word.to_ne_bytes());
    }
    bytes
}

type Failed = (Step, Errno);

/// Makes the namespaces. Returns the descriptors of network, mount, device, counters, the socket for requests
/// and, if it is new, user namespace, and the errors of the optional requests and of the hosts file.
fn make(recipe: &Recipe<'_>) -> Result<([RawFd; MOST], i32, i32), Failed> {
    let mut user = -1;
    match &recipe.user {
        User::Present => {}
        User::New { uid_map, gid_map } => {
            unshare(CloneFlags::CLONE_NEWUSER).map_err(|error| (Step::User, error))?;
            let failed = |error| (Step::UserMap, error);
            // Without this, a group map is refused: user_namespaces(7).
            write(c"/proc/self/setgroups", b"deny").map_err(failed)?;
            write(c"/proc/self/uid_map", uid_map).map_err(failed)?;
            write(c"/proc/self/gid_map", gid_map).map_err(failed)?;
            user = open(c"/proc/self/ns/user", libc::O_RDONLY).map_err(|error| (Step::PassOn, error))?;
        }
        User::Existing(existing) => {
            setns(existing, CloneFlags::CLONE_NEWUSER).map_err(|error| (Step::JoinUser, error))?;
        }
    }
    match recipe.host {
        Some(host) => {
            let failed = |error| (Step::JoinHost, error);
            setns(&host.network, CloneFlags::CLONE_NEWNET).map_err(failed)?;
            setns(&host.mount, CloneFlags::CLONE_NEWNS).map_err(failed)?;
        }
        None => make_namespaces()?,
    }
    let device =
        open(c"/dev/net/tun", libc::O_RDWR | libc::O_NONBLOCK).map_err(|error| (Step::OpenDevice, error))?;
    // SAFETY: the descriptor was just opened, and stays open until the child ends.
    let device_fd = unsafe { BorrowedFd::borrow_raw(device) };
    tun::create(device_fd, &recipe.device, Some(recipe.index))
        .map_err(|error| (Step::CreateDevice, error))?;
    let configured = |error| (Step::Configure, error);
    let requests = request_socket().map_err(configured)?;
    let refused = configure(requests.as_fd(), &recipe.requests).map_err(configured)?;
    let hosts = match recipe.host {
        Some(_) => 0,
        None => bind_hosts(&recipe.hosts).err().map_or(0, |error| error as i32),
    };
    let pass = |error| (Step::PassOn, error);
    let network = open(c"/proc/self/ns/net", libc::O_RDONLY).map_err(pass)?;
    let mount = open(c"/proc/self/ns/mnt", libc::O_RDONLY).map_err(pass)?;
    let counters = open(c"/proc/self/net/dev", libc::O_RDONLY).map_err(pass)?;
    Ok(([network, mount, device, counters, requests.into_raw_fd(), user], refused, hosts))
}

/// Moves this process into new network and mount namespaces.
fn make_namespaces() -> Result<(), Failed> {
    unshare(CloneFlags::CLONE_NEWNET).map_err(|error| (Step::Network, error))?;
    unshare(CloneFlags::CLONE_NEWNS).map_err(|error| (Step::Mount, error))?;
    mount(c"none", c"/", None, libc::MS_REC | libc::MS_PRIVATE, None)
        .map_err(|error| (Step::Mount, error))?;
    show_own_devices().map_err(|error| (Step::Mount, error))?;
    for (setting, value) in SETTINGS {
        let _ = write(setting, value);
    }
    Ok(())
}

/// Mounts a `/sys` of the new network namespace, as `ip netns exec` does: the host's would show the host's
/// devices to programs, and let them change these. Where the system allows no such mount, `/sys` is empty.
fn show_own_devices() -> Result<(), Errno> {
    const PLACE: &CStr = c"/sys";
    let flags = libc::MS_NOSUID | libc::MS_NODEV | libc::MS_NOEXEC;
    // SAFETY: a system call with a constant path. In a user namespace it fails: the new mount then covers the
    // old one.
    unsafe { libc::umount2(PLACE.as_ptr(), libc::MNT_DETACH) };
    mount(c"sysfs", PLACE, Some(c"sysfs"), flags, None)
        // The kernel does not let a user namespace cover a read-only one with a writable one.
        .or_else(|_| mount(c"sysfs", PLACE, Some(c"sysfs"), flags | libc::MS_RDONLY, None))
        .or_else(|_| mount(c"none", PLACE, Some(c"tmpfs"), flags | libc::MS_RDONLY, Some(c"size=4k")))
        // There is no such directory.
        .or_else(|error| if error == Errno::ENOENT { Ok(()) } else { Err(error) })
}

/// A socket for requests to the kernel, on the devices of the present network namespace for good.
pub(super) fn request_socket() -> Result<OwnedFd, Errno> {
    // SAFETY: a plain system call; the descriptor belongs to nothing else.
    unsafe {
        let socket = libc::socket(libc::AF_NETLINK, libc::SOCK_RAW | libc::SOCK_CLOEXEC, libc::NETLINK_ROUTE);
        Ok(OwnedFd::from_raw_fd(Errno::result(socket)?))
    }
}

/// Sends requests to the kernel. Returns the error of optional ones, or 0.
pub(super) fn configure(socket: BorrowedFd<'_>, requests: &[Request]) -> Result<i32, Errno> {
    let mut refused = 0;
    for request in requests {
        match exchange(socket, &request.bytes) {
            // An address that a device kept while it was down.
            Err(Errno::EEXIST) => {}
            Err(error) if request.is_optional => refused = error as i32,
            outcome => outcome?,
        }
    }
    Ok(refused)
}

/// Sends a request and reads its acknowledgement.
fn exchange(socket: BorrowedFd<'_>, request: &[u8]) -> Result<(), Errno> {
    /// `struct nlmsghdr`, before the error code of an acknowledgement.
    const HEADER: usize = 16;
    let mut answer = [0u8; 1 << 10];
    // SAFETY: the kernel reads and writes within the two buffers.
    let received = unsafe {
        let sent = libc::send(socket.as_raw_fd(), request.as_ptr().cast(), request.len(), 0);
        Errno::result(sent)?;
        Errno::result(libc::recv(socket.as_raw_fd(), answer.as_mut_ptr().cast(), answer.len(), 0))?
    };
    if (received as usize) < HEADER + 4 {
        return Err(Errno::EPROTO);
    }
    let code =
        i32::from_ne_bytes([answer[HEADER], answer[HEADER + 1], answer[HEADER + 2], answer[HEADER + 3]]);
    if code == 0 { Ok(()) } else { Err(Errno::from_raw(-code)) }
}

/// Shows these bytes as `/etc/hosts` in the present mount namespace. The file is in a file system of memory
/// that stays mounted nowhere else.
fn bind_hosts(hosts: &[u8]) -> Result<(), Errno> {
    const PLACE: &CStr = c"/tmp";
    mount(c"whimbrel", PLACE, Some(c"tmpfs"), libc::MS_NOSUID | libc::MS_NODEV, Some(c"size=1m,mode=755"))?;
    let bound = write_new(c"/tmp/hosts", hosts)
        .and_then(|()| mount(c"/tmp/hosts", c"/etc/hosts", None, libc::MS_BIND, None));
    // SAFETY: a system call with a constant path.
    let removed = Errno::result(unsafe { libc::umount2(PLACE.as_ptr(), libc::MNT_DETACH) });
    bound.and(removed.map(drop))
}

fn mount(
    source: &CStr,
    target: &CStr,
    kind: Option<&CStr>,
    flags: libc::c_ulong,
    data: Option<&CStr>,
) -> Result<(), Errno> {
    let pointer = |text: Option<&CStr>| text.map_or(ptr::null(), CStr::as_ptr);
    // SAFETY: all pointers are null or lead to strings that outlive the call.
    let mounted =
        unsafe { libc::mount(source.as_ptr(), target.as_ptr(), pointer(kind), flags, pointer(data).cast()) };
    Errno::result(mounted).map(drop)
}

fn open(path: &CStr, flags: libc::c_int) -> Result<RawFd, Errno> {
    // SAFETY: a system call with a path that ends in a zero.
    Errno::result(unsafe { libc::open(path.as_ptr(), flags | libc::O_CLOEXEC) })
}

fn write(path: &CStr, bytes: &[u8]) -> Result<(), Errno> {
    write_to(open(path, libc::O_WRONLY)?, bytes)
}

fn write_new(path: &CStr, bytes: &[u8]) -> Result<(), Errno> {
    // SAFETY: as in `open`.
    let file = Errno::result(unsafe {
        libc::open(path.as_ptr(), libc::O_WRONLY | libc::O_CREAT | libc::O_CLOEXEC, 0o644)
    })?;
    write_to(file, bytes)
}

/// Writes to a descriptor and closes it.
fn write_to(file: RawFd, mut bytes: &[u8]) -> Result<(), Errno> {
    // SAFETY: the callers have opened it and use it no more.
    let file = unsafe { OwnedFd::from_raw_fd(file) };
    while !bytes.is_empty() {
        // SAFETY: the kernel reads within `bytes`.
        let written = unsafe { libc::write(file.as_raw_fd(), bytes.as_ptr().cast(), bytes.len()) };
        bytes = &bytes[Errno::result(written)? as usize..];
    }
    Ok(())
}
