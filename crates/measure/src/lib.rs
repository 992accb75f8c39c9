//! Measurements of real paths between two programs: [`perf`] is a test like iperf's, [`record`] a recording that scenarios replay.
//!
//! `whimbrel perf` and `whimbrel record` are these functions with options and output; each module has an example.

pub mod perf;
pub mod record;
