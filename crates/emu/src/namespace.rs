//! Network namespaces with a TUN device each, or several, held by file descriptors only.
//!
//! A namespace is made by a child process (`build`), which moves into a new network and a new mount
//! namespace, configures them, and passes their file descriptors and the device's to this process. Root needs
//! no more; other users get a user namespace of their own first, in which they have the capabilities, where
//! the system allows that. As no name, mount or file refers to the namespaces, they exist as long as this
//! process or a program in them.

mod build;
mod denied;
mod messages;
mod passing;

use std::ffi::CString;
use std::io;
use std::net::{IpAddr, Ipv4Addr};
use std::os::fd::{AsFd, OwnedFd};
use std::slice;

use nix::fcntl::{OFlag, open};
use nix::sys::stat::Mode;
use nix::unistd::{getegid, geteuid};

use crate::EmulateError;
use build::{Recipe, Step, User};
pub(crate) use messages::Request;

/// The name of the only device in a namespace.
pub const DEVICE: &str = "emu0";

/// The pattern of the name of a device in the present namespace.
const OWN_DEVICE: &str = "emu-host%d";

/// A device in the present namespace.
#[derive(Debug)]
pub struct Attached {
    /// The TUN device. It disappears when it is closed.
    pub device: OwnedFd,
    /// Its name.
    pub name: String,
}

/// Makes a device in the present network namespace, with addresses and the routes to their networks.
///
/// # Errors
/// The system does not allow it, or uses the addresses.
pub fn attach(addresses: &[(IpAddr, u8)], mtu: u32) -> Result<Attached, EmulateError> {
    if let Some(route) =
        busy_route(addresses, &std::fs::read_to_string("/proc/net/route").unwrap_or_default())
    {
        return Err(EmulateError::Ends(format!(
            "the addresses of the emulated network are in use: this host has a route to {route}; choose others with --level"
        )));
    }
    let failed = |step| move |error: nix::errno::Errno| denied::explain(step, error.into());
    let flags = OFlag::O_RDWR | OFlag::O_NONBLOCK | OFlag::O_CLOEXEC;
    let device = open("/dev/net/tun", flags, Mode::empty()).map_err(failed(Step::OpenDevice))?;
    let pattern = CString::new(OWN_DEVICE).unwrap_or_default();
    let name = crate::tun::create(device.as_fd(), &pattern, None).map_err(failed(Step::CreateDevice))?;
    let name: Vec<u8> = name.into_iter().take_while(|byte| *byte != 0).collect();
    let name = String::from_utf8_lossy(&name).into_owned();
    let index = nix::net::if_::if_nametoindex(name.as_str()).map_err(failed(Step::Configure))?;
    let requests = build::request_socket().map_err(failed(Step::Configure))?;
    build::configure(requests.as_fd(), &messages::device(index, mtu, addresses))
        .map_err(failed(Step::Configure))?;
    Ok(Attached { device, name })
}

/// A route of this host that overlaps one of the IPv4 networks, in the format of `/proc/net/route`.
fn busy_route(addresses: &[(IpAddr, u8)], routes: &str) -> Option<String> {
    let word = |text: &str| u32::from_str_radix(text, 16).ok().map(u32::swap_bytes);
    routes.lines().skip(1).find_map(|line| {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let (network, mask) = (word(fields.get(1)?)?, word(fields.get(7)?)?);
        // The default route leads everywhere.
        let overlaps = addresses.iter().any(|&(address, prefix)| match address {
            IpAddr::V4(address) if mask != 0 => {
                let common = mask & u32::MAX << (32 - u32::from(prefix));
                address.to_bits() & common == network & common
            }
            _ => false,
        });
        overlaps.then(|| format!("{}/{} at {}", Ipv4Addr::from_bits(network), mask.count_ones(), fields[0]))
    })
}

/// The configuration of a namespace.
#[derive(Clone, Debug)]
pub struct EndConfig {
    /// The name of the device.
    pub device: String,
    /// The number of devices that are in its namespace before it.
    pub position: u32,
    /// The addresses of the device with the bits of their networks.
    pub addresses: Vec<(IpAddr, u8)>,
    /// The content of `/etc/hosts`.
    pub hosts: String,
    /// The longest packet.
    pub mtu: u32,
}

/// The namespaces of an end.
#[derive(Debug)]
pub struct Namespace {
    pub(crate) network: OwnedFd,
    pub(crate) mount: OwnedFd,
}

/// The switch of a device: takes it down and brings it up again, with its addresses and routes. Programs in
/// the namespace are notified by the kernel, as of any interface.
#[derive(Debug)]
pub struct Switch {
    socket: OwnedFd,
    up: Vec<Request>,
    down: Request,
}

impl Switch {
    /// Brings the device up, or takes it down.
    ///
    /// # Errors
    /// The kernel refuses.
    pub fn set(&self, is_up: bool) -> io::Result<()> {
        let requests = if is_up { &self.up[..] } else { slice::from_ref(&self.down) };
        build::configure(self.socket.as_fd(), requests)?;
        Ok(())
    }
}

/// A namespace that was made, and its device.
#[derive(Debug)]
pub struct Made {
    /// The namespace.
    pub namespace: Namespace,
    /// The TUN device.
    pub device: OwnedFd,
    /// The switch of the device.
    pub switch: Switch,
    /// The counters of the namespace's devices, `/proc/net/dev` in it.
    pub counters: OwnedFd,
    /// `false` if the system has no IPv6.
    pub has_v6: bool,
    /// The error for which names of nodes do not resolve.
    pub hosts_error: Option<io::Error>,
}

/// Makes namespaces.
#[derive(Debug)]
pub struct Maker {
    /// The user namespace around them; `None` with the privileges of the host's root.
    user: Option<OwnedFd>,
    is_privileged: bool,
}

impl Maker {
    /// Makes nothing yet.
    pub fn new() -> Self {
        Self { user: None, is_privileged: geteuid().is_root() }
    }

    /// The user namespace, if there is one.
    pub(crate) fn user(&self) -> Option<&OwnedFd> {
        self.user.as_ref()
    }

    /// Makes a namespace with a device; with `host`, a further device in that namespace.
    ///
    /// # Errors
    /// The system does not allow it: the error has the remedy.
    pub fn make(&mut self, config: &EndConfig, host: Option<&Namespace>) -> Result<Made, EmulateError> {
        match self.attempt(config, host) {
            // A superuser without CAP_SYS_ADMIN, as in containers.
            Err((Step::Network, error))
                if self.is_privileged && error.raw_os_error() == Some(nix::libc::EPERM) =>
            {
                self.is_privileged = false;
                self.attempt(config, host).map_err(|(step, error)| denied::explain(step, error))
            }
            made => made.map_err(|(step, error)| denied::explain(step, error)),
        }
    }

    fn attempt(&mut self, config: &EndConfig, host: Option<&Namespace>) -> Result<Made, (Step, io::Error)> {
        let user = match &self.user {
            Some(user) => User::Existing(user),
            None if self.is_privileged => User::Present,
            None => User::New {
                uid_map: format!("0 {} 1", geteuid()).into_bytes(),
                gid_map: format!("0 {} 1", getegid()).into_bytes(),
            },
        };
        let index = messages::DEVICE_INDEX + config.position;
        let recipe = Recipe {
            user,
            host,
            device: CString::new(config.device.as_str()).map_err(|error| (Step::Start, error.into()))?,
            index,
            requests: messages::configuration(index, config.mtu, &config.addresses),
            hosts: config.hosts.clone().into_bytes(),
        };
        let built = build::run(&recipe)?;
        let switch = Switch { socket: built.requests, up: recipe.requests, down: messages::down(index) };
        if let Some(user) = built.user {
            self.user = Some(user);
        }
        Ok(Made {
            namespace: Namespace { network: built.network, mount: built.mount },
            device: built.device,
            switch,
            counters: built.counters,
            has_v6: built.has_all_requests,
            hosts_error: built.hosts_error,
        })
    }
}

impl Default for Maker {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn routes_that_overlap_are_named() {
        let routes = "Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\n\
                      eth0\t00000000\t010011AC\t0003\t0\t0\t0\t00000000\t0\t0\t0\n\
                      eth1\t0000020A\t00000000\t0001\t0\t0\t0\t0000FFFF\t0\t0\t0\n\
                      eth2\t0503030A\t00000000\t0001\t0\t0\t0\tFFFFFFFF\t0\t0\t0\n";
        let of = |level: u8| busy_route(&[(IpAddr::from([10, level, 0, 1]), 16)], routes);
        assert_eq!((of(1), of(2)), (None, Some("10.2.0.0/16 at eth1".to_owned())));
        assert_eq!(of(3), Some("10.3.3.5/32 at eth2".to_owned()));
        let wide = routes.replace(
            "0000020A\t00000000\t0001\t0\t0\t0\t0000FFFF",
            "0000000A\t00000000\t0001\t0\t0\t0\t000000FF",
        );
        assert_eq!(
            busy_route(&[(IpAddr::from([10, 9, 0, 1]), 16)], &wide),
            Some("10.0.0.0/8 at eth1".to_owned())
        );
    }
}
