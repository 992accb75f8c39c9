//! Measurements of real paths between two programs: [`perf`] is a test like iperf's, [`record`] a recording
//! that scenarios replay.
//!
//! `whimbrel perf` and `whimbrel record` are these functions with options and output; modules have examples.
//!
//! # Design
//!
//! - `perf` keeps a TCP connection next to the measured one, as iperf does, to agree on the test and to fetch
//!   the other end's figures, so that the control traffic does not disturb the measurement.
//! - `record` has a server of its own, separate from `perf`'s: its probes are logged one by one at both ends,
//!   and it needs no transport. The address that it probes has proved itself by a token from the TCP
//!   connection.

pub mod perf;
pub mod record;
mod same_port;
