//! Two endpoints, a hostile path between them, and the laws that must hold.
//!
//! A *trial* is drawn from one number: configurations of both hosts, two paths that lose, duplicate,
//! reorder, delay by minutes, mark, truncate and damage packets, routes that carry smaller or larger packets
//! than before, with or without ICMP, partitions, a NAT that loses its mapping, clients that move from
//! network to network and back, and applications that send in bursts, read slowly, discard received data,
//! predict handovers rightly or wrongly, close and abort at any time. The same number gives the same packets,
//! byte for byte. After every event the laws are checked:
//!
//! | law | where |
//! |---|---|
//! | a drained endpoint sleeps, and sends a bounded number of packets per instant | `trial` |
//! | memory is bounded by the configuration, in entries and in bytes of heap | `watch::bounds`, `watch::memory` |
//! | a dropped endpoint leaves nothing on the heap | `hosts` |
//! | the states of both ends are compatible, and they agree on negotiated values | `watch::pair` |
//! | a datagram arrives once at most, as it was sent, and its outcome is reported to its sender | `watch::ledger` |
//! | only data that did not reach the application are reported as dropped | `watch::ledger` |
//! | on a path with no other impairment, path MTU discovery completes in time | `watch::sizes` |
//! | a server follows only clients that may move; no such client loses its connection by moving | `hosts`, `world` |
//! | on a path that carries data again, a steady application's rate recovers in time | `world::liveness` |
//! | data is sent no faster than the CCID allows | `watch::pace` (CCID 3, 4), `watch::window` (CCID 2) |
//! | once the applications have closed, all connections end | [`world`] |
//!
//! [`multipath`] has trials of connections over several paths, and [`repair`] of connections that repair
//! losses, with laws of their own.
//!
//! This crate uses only the public interface of `proto`. The laws are written from the RFCs, not from the
//! code under test: a broken law panics, and the campaign prints the command that reproduces it.
//!
//! # Design
//!
//! - The fault campaign is a crate, `faults`, on top of `proto` and netsim's capture writer: a trial that
//!   breaks a law is replayed by its number.

pub mod campaign;
mod capture;
mod course;
mod damage;
mod heap;
mod hosts;
pub mod multipath;
mod path;
pub mod plan;
pub mod repair;
mod tally;
mod trial;
mod watch;
pub mod world;

pub use campaign::{Campaign, Kind, Trial, run_plan, run_trial};
pub use multipath::{MultipathPlan, run_multipath_trial};
pub use plan::Plan;
pub use repair::{RepairPlan, run_repair_trial};
pub use tally::Tally;
pub use watch::pair::{disagreement, fit};
