//! Two endpoints, a hostile path between them, and what must hold all the same.
//!
//! A *trial* is drawn from one number: configurations of both hosts, two paths that lose, duplicate,
//! reorder, delay by minutes, mark, truncate and damage packets, routes that carry smaller or larger packets
//! than before, with or without anybody's saying so, partitions, a NAT that forgets its mapping, clients that go
//! from network to network and back, and applications that send in bursts, read slowly, discard what they got,
//! foresee handovers rightly or not, close and abort when they like. The same number gives the same packets, byte
//! for byte. After every event the laws are checked:
//!
//! | law | where |
//! |---|---|
//! | whoever was drained sleeps, and sends a bounded number of packets per instant | [`world`] |
//! | what is kept in memory is bounded by the configuration, counted and in bytes of heap | `watch::bounds`, `watch::memory` |
//! | an endpoint that is no more leaves nothing on the heap | `hosts` |
//! | both ends are in states that fit together, and agree on what they negotiated | `watch::pair` |
//! | a datagram arrives once at most, as it was sent, and its sender is told what became of it | `watch::ledger` |
//! | whose data did not reach the application, and only these, may be told dropped | `watch::ledger` |
//! | where nothing else is wrong with a path, a connection that discovers packet sizes finds them out in time | `watch::sizes` |
//! | a server follows a client that may move, and nobody else; no such client takes its connection for lost for it | `hosts`, `world` |
//! | on a path that carries data again, a steady application's rate comes back in time | `world::liveness` |
//! | data leave no faster than the CCID allows | `watch::pace` (CCID 3, 4), `watch::window` (CCID 2) |
//! | once the applications have closed, everything ends | [`world`] |
//!
//! This crate sees of `proto` what a program sees that uses it. The laws are written from the RFCs, not
//! from the code that they judge: a broken law panics, and the campaign prints how to see it again.

pub mod campaign;
mod capture;
mod damage;
mod heap;
mod hosts;
mod path;
pub mod plan;
mod tally;
mod watch;
pub mod world;

pub use campaign::{Campaign, Trial, run_plan, run_trial};
pub use plan::Plan;
pub use tally::Tally;
pub use watch::pair::{disagreement, fit};
