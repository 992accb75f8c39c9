//! Phase effects among constant rates.
//!
//! Packets of equal intervals that meet at a full drop-tail queue arrive in the same order again and again,
//! and so the same flow finds the place that a departure has left (S. Floyd, V. Jacobson, "On traffic phase
//! effects in packet-switched gateways", 1992).

use std::collections::BTreeMap;

use whimbrel_netsim::{LinkConfig, LinkRate, QueueLimit, queue};
use whimbrel_units::{DataRate, Duration};

use super::{FlowPlan, HostPlan, LinkPlan, Note, TrafficPlan};

/// A note for each entry of flows of equal intervals that overload a drop-tail queue. `entries` has the
/// position of each flow's entry.
pub(super) fn notes<P>(
    flows: &[FlowPlan<P>],
    entries: &[usize],
    links: &[LinkPlan],
    hosts: &[HostPlan],
) -> Vec<Note> {
    let mut by_link: BTreeMap<usize, Vec<(usize, &FlowPlan<P>)>> = BTreeMap::new();
    for (&entry, flow) in entries.iter().zip(flows) {
        for &link in &flow.path {
            by_link.entry(link).or_default().push((entry, flow));
        }
    }
    let mut notes = Vec::new();
    let mut noted = Vec::new();
    for (link, flows) in by_link {
        let Some(capacity) = capacity(&links[link]) else { continue };
        let mut starts: Vec<_> = flows.iter().map(|(_, flow)| flow.start.0).collect();
        starts.sort_unstable();
        starts.dedup();
        for start in starts {
            let active = || flows.iter().filter(move |(_, flow)| flow.start.0 <= start && start < flow.stop);
            let offered: f64 = active().map(|(_, flow)| bits_per_second(flow)).sum();
            if offered <= capacity.as_bits_per_second() {
                continue;
            }
            // The number of flows of each interval, and the entry of one of them.
            let mut equal: BTreeMap<Duration, (usize, usize)> = BTreeMap::new();
            for (entry, flow) in active() {
                if let Some(interval) = regular_interval(flow, &links[link], links, hosts) {
                    equal.entry(interval).or_insert((0, *entry)).0 += 1;
                }
            }
            for (count, entry) in equal.into_values().filter(|&(count, _)| count > 1) {
                if !noted.contains(&entry) {
                    noted.push(entry);
                    notes.push(note(entry, count, &links[link].name));
                }
            }
        }
    }
    notes
}

fn note(entry: usize, count: usize, link: &str) -> Note {
    let text = format!(
        "{count} constant rates of equal intervals overload \"{link}\": their phases decide which flow finds room in the queue and do \
         not change during a run; the shares may be as unequal as can be; \"jitter\" or the kind \"poisson\" gives equal chances"
    );
    Note::of_plan(&format!("flow[{entry}].traffic"), text)
}

/// The rate at which packets leave a link's queue in equal intervals, and which drops those that find it
/// full; `None` for another queue.
fn capacity(link: &LinkPlan) -> Option<DataRate> {
    let LinkConfig { rate: LinkRate::Constant(rate), limit, discipline, .. } = &link.config else {
        return None;
    };
    let is_drop_tail = matches!(discipline, queue::Discipline::DropTail);
    (is_drop_tail && *limit != QueueLimit::Unlimited && link.controller.is_none()).then_some(*rate)
}

/// The rate that a flow offers, if the rate does not depend on the network.
fn bits_per_second<P>(flow: &FlowPlan<P>) -> f64 {
    match flow.traffic {
        TrafficPlan::Cbr { interval, .. } | TrafficPlan::Poisson { interval } => {
            f64::from(flow.packet_size) * 8.0 / interval.as_secs_f64()
        }
        _ => 0.0,
    }
}

/// The interval of a flow whose packets arrive at a link as regularly as they are sent.
fn regular_interval<P>(
    flow: &FlowPlan<P>,
    at: &LinkPlan,
    links: &[LinkPlan],
    hosts: &[HostPlan],
) -> Option<Duration> {
    let TrafficPlan::Cbr { interval, jitter } = flow.traffic else { return None };
    let is_steady = |config: &LinkConfig| {
        config.delay_variation.is_none() && config.netem.as_ref().is_none_or(|netem| netem.jitter.is_zero())
    };
    let before = flow.path.iter().map(|&link| &links[link]).take_while(|link| link.name != at.name);
    let is_regular = jitter.is_zero()
        && flow.is_wired
        && hosts.iter().all(|host| host.node != flow.from)
        && before.map(|link| &link.config).all(is_steady);
    is_regular.then_some(interval)
}
