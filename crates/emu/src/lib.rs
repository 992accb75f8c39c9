//! Scenarios around real programs: the network simulator against the wall clock.
//!
//! An emulation is a run of the laboratory ([`whimbrel_lab::runner::Emulation`]) whose flows end in programs. Each end is a network
//! namespace with a TUN device: [`namespace`] makes them, [`command`] starts the programs there, and [`driver`] passes packets between the
//! devices and the simulated network while [`clock`] advances; [`offload`] splits what the kernel hands over as one. The [`lateness`] of each event, the time by which it is handled after it was due, is measured.
//!
//! The namespaces have no names: only this process and the programs in them hold them, so the kernel removes them, with their
//! devices, addresses and routes, when these end, in whatever way. Nothing of the host's configuration changes.

#[cfg(target_os = "linux")]
pub mod clock;
#[cfg(target_os = "linux")]
pub mod command;
#[cfg(target_os = "linux")]
pub mod driver;
mod error;
#[cfg(target_os = "linux")]
mod hosts;
#[cfg(target_os = "linux")]
pub mod interfaces;
pub mod lateness;
#[cfg(target_os = "linux")]
pub mod namespace;
pub mod offload;
#[cfg(target_os = "linux")]
pub mod session;
#[cfg(target_os = "linux")]
mod tun;

pub use error::EmulateError;
