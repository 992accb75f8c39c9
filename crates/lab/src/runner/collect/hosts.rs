//! The table of hosts with a limited processor.

use whimbrel_netsim::{HostStats, Simulator};

use super::Run;
use crate::metrics::seconds;
use crate::record::Table;
use crate::runner::Parts;
use crate::transport::FlowAgent;

/// The counters of the hosts now, in the order of the plan.
pub(in crate::runner) fn counters(simulator: &Simulator<FlowAgent>, parts: &Parts) -> Vec<HostStats> {
    parts.hosts.iter().map(|node| simulator.host_stats(*node).unwrap_or_default()).collect()
}

/// A row for each host: its packets, those that found the send queue full, and the share of time that its
/// processor was busy.
pub(super) fn hosts(run: &Run<'_>) -> Table {
    let time = run.plan.measured();
    let now = counters(&run.simulator, &run.parts);
    let pairs = || now.iter().zip(&run.samples.hosts_before);
    let mut table = Table::new("hosts");
    table.words("node", run.plan.hosts.iter().map(|host| run.plan.nodes[host.node].as_str()));
    table.floats("measured_s", now.iter().map(|_| seconds(time)));
    let packets = |field: fn(&HostStats) -> u64| pairs().map(move |(now, before)| field(now) - field(before));
    table.integers("accepted_packets", packets(|host| host.accepted.packets));
    table.integers("accepted_bytes", packets(|host| host.accepted.bytes));
    table.integers("dropped_packets", packets(|host| host.dropped.packets));
    table.integers("dropped_bytes", packets(|host| host.dropped.bytes));
    table.floats("busy", pairs().map(|(now, before)| seconds(now.busy - before.busy) / seconds(time)));
    table
}
