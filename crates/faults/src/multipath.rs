//! Trials of multipath connections (RFC 9897): two hosts with two or three paths, of which one or all lose,
//! repeat, reorder and damage packets, or have an attacker; a path dies at a chosen packet of the handshake
//! by which it joins.
//!
//! | law | |
//! |---|---|
//! | drained | a drained host sleeps, and sends a bounded number of packets per instant |
//! | once | a datagram arrives once at most, as it was sent; with a reorder buffer in order |
//! | outcome | each datagram that was accepted has left or was dropped, and the application learns which |
//! | joined | a subflow has data only after its handshake |
//! | bounded | subflows, addresses, confirmations and routes are bounded by the configuration; each subflow and the endpoint as with one path |
//! | alive | while the first path is clean, nothing that happens on another one ends the connection or delays a stream for long |
//! | healed | a path that works again joins again |
//! | closed | the end is reported to both ends once, no datagram after it, and nothing is left of the connection |
//! | complete | what has left on clean paths arrives, although one end closes; without a reorder buffer |
//!
//! With an attacker on a path, which DCCP does not exclude, *once* is about repetitions alone, and *alive*
//! and *healed* do not apply.

mod plan;
mod world;

pub use plan::{Death, JoinPhase, MultipathPlan};

use crate::campaign::{Trial, run_world};

/// Runs the multipath trial with that number. `record` keeps a capture, with an interface for each host, path
/// and direction, and a log. A broken law, or any other panic, is part of the result.
pub fn run_multipath_trial(seed: u64, record: bool) -> Trial {
    run_world(seed, world::World::new(MultipathPlan::draw(seed), record))
}
