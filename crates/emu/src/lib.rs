//! Scenarios around real programs: the network simulator against the wall clock.
//!
//! An emulation is a run of the laboratory ([`whimbrel_lab::runner::Emulation`]) whose flows end in programs.
//! Each end is a network namespace with a TUN device: [`namespace`] makes them, [`command`] starts the
//! programs there, and [`driver`] passes packets between the devices and the simulated network while
//! [`clock`] advances; [`offload`] splits what the kernel hands over as one. The [`lateness`] of each event,
//! the time by which it is handled after it was due, is measured.
//!
//! The namespaces have no names: only this process and the programs in them hold them, so the kernel removes
//! them, with their devices, addresses and routes, no matter how these processes end. Nothing of the host's
//! configuration changes.
//!
//! # Design
//!
//! - An emulation (`lab::runner::Emulation`) is a run whose flows end in a driver, so that everything else is
//!   the same as in a run: network, routing agents, router laws, flows in the background, samples, record,
//!   captures. `emu` therefore depends on `lab`, and `lab` on no system call: a test compares an emulation
//!   with a run of the same packets at the same virtual times, column by column.
//! - A node has one agent for all its emulated flows (`lab::emulation::EmulatedEnd`), with a meter for each
//!   direction. The flow of a packet is the hash of its addresses and ports, by which queue disciplines
//!   distinguish flows; the content is the packet itself in a box that is used again. A box moves as one
//!   word, so simulated packets are not larger for it.
//! - Namespaces have no names (`emu::namespace`): a child process makes them and passes their descriptors, so
//!   the kernel removes them however the process ends, and there is nothing to clean up. The child uses
//!   system calls only, as this process may have threads (the Python package); all that it writes is prepared
//!   before, which is why the device's number is chosen in advance.
//! - A program runs in a process namespace of its own, whose init dies with its supervisor, and that with
//!   this process: its descendants cannot outlive the emulation.
//! - Aggregates of the kernel (`emu::offload`) are split and joined without any system call, so that the fuzz
//!   target `emulated_packet` reaches them; one that claims more segments than a kernel makes is refused.
//! - `make netem` compares simulator and emulator with Linux's tbf and netem on the same paths. The kernel is
//!   the guest's, whose clock counts instructions there: a guest that follows the host's clock delays packets
//!   by the host's other work.
//! - The driver is one thread. It waits with `ppoll`, in nanoseconds, for one epoll of all devices. It
//!   measures the lateness of each event when it is handled, and the lateness of each packet when it is
//!   written.
//! - `whimbrel emulate --interfaces` makes several ends of a scenario the interfaces of one namespace
//!   (`emu::interfaces`). A device of such a host is disabled and enabled by netlink, over a socket opened in
//!   its namespace, as the links of its node go down and up; it is not left without a carrier, because the
//!   kernel reports carriers up to a second late. `whimbrel testbed` is Python outside the emulator: it
//!   writes a scenario, and runs programs at its ends.

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
mod readiness;
#[cfg(target_os = "linux")]
pub mod session;
#[cfg(target_os = "linux")]
mod tun;

pub use error::EmulateError;
