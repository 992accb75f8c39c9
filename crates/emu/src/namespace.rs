//! Network namespaces with a TUN device each, or several, held by file descriptors only.
//!
//! A namespace is made by a child process (`build`), which moves into a new network and a new mount namespace, configures them, and
//! passes their file descriptors and that of the device to this process. Root needs no more; other users get a user namespace of
//! their own first, in which they have the capabilities, where the system allows that. As no name, mount or file refers to the
//! namespaces, they exist as long as this process or a program in them.

mod build;
mod denied;
mod messages;
mod passing;

use std::ffi::CString;
use std::io;
use std::net::IpAddr;
use std::os::fd::OwnedFd;

use nix::unistd::{getegid, geteuid};

use crate::EmulateError;
use build::{Recipe, Step, User};
pub(crate) use messages::Request;

/// The name of the only device in a namespace.
pub const DEVICE: &str = "emu0";

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

/// A namespace that was made, and its device.
#[derive(Debug)]
pub struct Made {
    /// The namespace.
    pub namespace: Namespace,
    /// The TUN device.
    pub device: OwnedFd,
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
        if let Some(user) = built.user {
            self.user = Some(user);
        }
        Ok(Made {
            namespace: Namespace { network: built.network, mount: built.mount },
            device: built.device,
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
