//! Samples at fixed times: counters at the ends of intervals, queues and estimates in between.

use whimbrel_netsim::medium::ChannelUsage;
use whimbrel_netsim::{AgentId, Egress, HostStats, LinkStats, Simulator};
use whimbrel_units::{Duration, Instant};

use super::collect::{StationCounters, channel_usage, host_counters};
use super::{Parts, SAMPLE_INTERVAL};
use crate::metrics::Counters;
use crate::scenario::{FlowPlan, Plan};
use crate::transport::{FlowAgent, SenderEstimate};

/// A mean of the numbers among its samples.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Mean {
    sum: f64,
    count: u64,
}

impl Mean {
    fn add(&mut self, value: f64) {
        if !value.is_nan() {
            self.sum += value;
            self.count += 1;
        }
    }

    /// NaN without any number.
    pub(super) fn value(self) -> f64 {
        self.sum / self.count as f64
    }
}

/// A flow in an interval.
#[derive(Clone, Copy, Debug)]
pub(super) struct IntervalRow {
    pub(super) flow: usize,
    pub(super) end: Instant,
    pub(super) length: Duration,
    pub(super) counts: Counters,
    pub(super) estimate: SenderEstimate,
    /// Packets at the bottleneck.
    pub(super) queue: u64,
    /// Delay of the last packet delivered in the interval.
    pub(super) delay: Option<Duration>,
    /// Interarrival jitter in seconds at its end.
    pub(super) jitter: Option<f64>,
}

/// Means of a flow's estimates over the measured time.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct BeliefMeans {
    pub(super) cwnd: Mean,
    pub(super) allowed_rate: Mean,
    pub(super) rtt: Mean,
    pub(super) loss_event_rate: Mean,
}

pub(super) struct Samples {
    now: Instant,
    end: Instant,
    measured_from: Instant,
    interval: Option<Duration>,
    interval_start: Instant,
    at_interval_start: Vec<Counters>,
    pub(super) intervals: Vec<IntervalRow>,
    /// The counters when the measured time began.
    pub(super) flows_before: Vec<Counters>,
    pub(super) links_before: Vec<LinkStats>,
    pub(super) hosts_before: Vec<HostStats>,
    /// Packets sent before the measured time began and not delivered, lost or discarded by then.
    pub(super) carried_over: Vec<u64>,
    /// End of each link's loss mask or trace, once reached.
    pub(super) losses_exceeded: Vec<Option<Instant>>,
    pub(super) beliefs: Vec<BeliefMeans>,
    pub(super) queues: Vec<Mean>,
    /// The queue that each flow's intervals show.
    bottlenecks: Vec<Option<Egress>>,
    /// The counters of all stations when the measured time began.
    pub(super) stations_before: Vec<StationCounters>,
    /// The use of the channels of each medium then.
    pub(super) channels_before: Vec<Vec<(u8, ChannelUsage)>>,
    pub(super) station_queues: Vec<Mean>,
    pub(super) longest_queues: Vec<u64>,
}

/// The counters of a flow's two ends together.
pub(super) fn counters(simulator: &Simulator<FlowAgent>, flow: usize, ends: [AgentId; 2]) -> Counters {
    let [sender, receiver] = ends.map(|end| *simulator.agent(end).end().meter_of(flow).counters());
    let delivered = simulator.delivered(ends[1]);
    Counters { network_packets: delivered.packets, network_hops: delivered.hops, ..sender + receiver }
}

/// The counters of all flows.
pub(super) fn all_counters(simulator: &Simulator<FlowAgent>, flows: &[[AgentId; 2]]) -> Vec<Counters> {
    flows.iter().enumerate().map(|(flow, ends)| counters(simulator, flow, *ends)).collect()
}

/// The bottleneck of a flow; without one, the station of its sender, if it has any.
fn bottleneck(plan: &Plan, flow: &FlowPlan, parts: &Parts) -> Option<Egress> {
    if let Some(position) = flow.bottleneck {
        return Some(Egress::Link(parts.links[flow.path[position]]));
    }
    let stations =
        plan.wifi.iter().zip(&parts.stations).flat_map(|(wifi, ids)| wifi.stations.iter().zip(ids));
    let mut of_sender = stations.filter(|(station, _)| station.node == flow.from);
    of_sender.next().map(|(_, &id)| Egress::Station(id))
}

impl Samples {
    pub(super) fn new(plan: &Plan, parts: &Parts) -> Self {
        let stations = parts.all_stations().count();
        Self {
            now: Instant::ZERO,
            end: plan.end,
            measured_from: plan.measured_from,
            interval: plan.record.interval.map(|interval| interval.0),
            interval_start: Instant::ZERO,
            at_interval_start: vec![Counters::default(); plan.flows.len()],
            intervals: Vec::new(),
            flows_before: vec![Counters::default(); plan.flows.len()],
            links_before: vec![LinkStats::default(); plan.links.len()],
            hosts_before: vec![HostStats::default(); plan.hosts.len()],
            carried_over: vec![0; plan.flows.len()],
            losses_exceeded: vec![None; plan.links.len()],
            beliefs: vec![BeliefMeans::default(); plan.flows.len()],
            bottlenecks: plan.flows.iter().map(|flow| bottleneck(plan, flow, parts)).collect(),
            stations_before: vec![StationCounters::default(); stations],
            channels_before: Vec::new(),
            station_queues: vec![Mean::default(); stations],
            queues: vec![Mean::default(); plan.links.len()],
            longest_queues: vec![0; plan.links.len()],
        }
    }

    /// The same without an end: [`close`](Self::close) ends it.
    pub(super) fn endless(self) -> Self {
        Self { end: Instant::FAR_FUTURE, ..self }
    }

    /// Takes the last samples, at `end`, of samples without an end.
    pub(super) fn close(&mut self, simulator: &Simulator<FlowAgent>, parts: &Parts, end: Instant) {
        (self.now, self.end) = (end, end);
        if self.interval.is_some() && end > self.interval_start {
            self.close_interval(simulator, &parts.flows);
        }
    }

    /// Time of the next sample.
    pub(super) fn next(&self) -> Instant {
        let after = |grain: Duration| {
            Instant::from_nanos((self.now.as_nanos() / grain.as_nanos() + 1).saturating_mul(grain.as_nanos()))
        };
        let mut next = after(SAMPLE_INTERVAL).min(self.end);
        if let Some(interval) = self.interval {
            next = next.min(after(interval));
        }
        if self.now < self.measured_from {
            next = next.min(self.measured_from);
        }
        next
    }

    /// Takes the sample due at `next()`, which is now.
    pub(super) fn take(&mut self, simulator: &Simulator<FlowAgent>, parts: &Parts) {
        let Parts { links, flows, .. } = parts;
        self.now = self.next();
        if self.now == self.measured_from {
            self.flows_before = all_counters(simulator, flows);
            self.stations_before = StationCounters::all(simulator, parts);
            self.channels_before = channel_usage(simulator, parts);
            self.hosts_before = host_counters(simulator, parts);
            self.links_before = links.iter().map(|link| simulator.link_stats(*link)).collect();
            self.carried_over = flows
                .iter()
                .zip(&self.flows_before)
                .map(|(ends, before)| before.pending() + simulator.agent(ends[1]).end().undelivered()[0])
                .collect();
        }
        // Each time, as another loss model may replace the one that has ended.
        for (ended, link) in self.losses_exceeded.iter_mut().zip(links) {
            *ended = ended.or_else(|| simulator.losses_exceeded(*link));
        }
        if self.now > self.measured_from && self.now.as_nanos().is_multiple_of(SAMPLE_INTERVAL.as_nanos()) {
            self.sample(simulator, parts);
        }
        let Some(interval) = self.interval else { return };
        if self.now.as_nanos().is_multiple_of(interval.as_nanos()) || self.now == self.end {
            self.close_interval(simulator, flows);
        }
    }

    fn sample(&mut self, simulator: &Simulator<FlowAgent>, parts: &Parts) {
        for (mean, station) in self.station_queues.iter_mut().zip(parts.all_stations()) {
            mean.add(simulator.station_backlog(station).packets as f64);
        }
        for (index, link) in parts.links.iter().enumerate() {
            let queued = simulator.queue_snapshot(*link).queued.packets;
            self.queues[index].add(queued as f64);
            self.longest_queues[index] = self.longest_queues[index].max(queued);
        }
        for (means, ends) in self.beliefs.iter_mut().zip(&parts.flows) {
            let estimate = simulator.agent(ends[0]).end().estimate();
            means.cwnd.add(estimate.cwnd);
            means.allowed_rate.add(estimate.allowed_rate);
            means.rtt.add(estimate.rtt);
            means.loss_event_rate.add(estimate.loss_event_rate);
        }
    }

    fn close_interval(&mut self, simulator: &Simulator<FlowAgent>, flows: &[[AgentId; 2]]) {
        for (flow, ends) in flows.iter().enumerate() {
            let total = counters(simulator, flow, *ends);
            let queue = match self.bottlenecks[flow] {
                Some(Egress::Link(link)) => simulator.queue_snapshot(link).queued.packets,
                Some(Egress::Station(station)) => simulator.station_backlog(station).packets,
                None => 0,
            };
            let counts = total - core::mem::replace(&mut self.at_interval_start[flow], total);
            let jitter = simulator.agent(ends[1]).end().meter_of(flow).jitter();
            self.intervals.push(IntervalRow {
                flow,
                end: self.now,
                length: self.now - self.interval_start,
                counts,
                estimate: simulator.agent(ends[0]).end().estimate(),
                queue,
                delay: jitter.last_delay().filter(|_| counts.delivered_bytes > 0),
                jitter: jitter.seconds(),
            });
        }
        self.interval_start = self.now;
    }
}
