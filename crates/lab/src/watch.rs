//! Samples of a run for an observer: what each flow, link and station did in an interval.

use whimbrel_netsim::{LinkStats, Simulator};
use whimbrel_units::{Duration, Instant};

use crate::metrics::{Counters, FrameSummary, seconds};
use crate::runner::{Parts, mac_counters};
use crate::scenario::{EventPlan, Plan};
use crate::transport::{FlowAgent, SenderEstimate};

/// A flow in an interval.
#[derive(Clone, Debug)]
pub struct FlowSample {
    /// Counters, at both ends.
    pub counts: Counters,
    /// The sender's estimate.
    pub estimate: SenderEstimate,
    /// Delay of the last packet that was delivered in it, in seconds.
    pub delay_s: Option<f64>,
    /// Rate of its bottleneck in bit/s, while it is up; `None` without one.
    pub capacity_bps: Option<f64>,
    /// A link of its path is down.
    pub is_down: bool,
    /// Frames: sent, in time and repaired datagrams since the start, if they are watched.
    pub frames: Option<[u64; 3]>,
    /// Bytes sent for repair as a share of the data's, since the start.
    pub overhead: Option<f64>,
}

/// A link or a station in an interval.
#[derive(Clone, Copy, Debug, Default)]
pub struct QueueSample {
    /// Packets that wait at its end.
    pub queue: u64,
    /// Packets that were dropped because the queue was full.
    pub dropped: u64,
    /// Share of the interval for which a station transmitted; 0 for a link.
    pub air: f64,
}

/// A time in which a terminal had no cell.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CellGap {
    /// The node of the terminal.
    pub node: usize,
    /// When the old cell ceased to serve.
    pub start: Instant,
    /// When a cell served again; `None` if none has.
    pub end: Option<Instant>,
    /// The reason, such as `handover from west to east`.
    pub cause: String,
}

/// An interval of a run.
#[derive(Clone, Debug)]
pub struct Sample {
    /// Its end.
    pub at: Instant,
    /// Its length.
    pub length: Duration,
    /// The flows, as in the plan.
    pub flows: Vec<FlowSample>,
    /// The links, as in the plan.
    pub links: Vec<QueueSample>,
    /// The stations of all media, as in the plan.
    pub stations: Vec<QueueSample>,
}

/// The readings of the last sample.
#[derive(Clone, Debug)]
pub struct Watch {
    at: Instant,
    flows: Vec<Counters>,
    links: Vec<LinkStats>,
    dropped: Vec<u64>,
    air: Vec<Duration>,
}

impl Watch {
    /// Nothing was read yet.
    pub fn new(plan: &Plan) -> Self {
        let stations = plan.wifi.iter().map(|wifi| wifi.stations.len()).sum();
        Self {
            at: Instant::ZERO,
            flows: vec![Counters::default(); plan.flows.len()],
            links: vec![LinkStats::default(); plan.links.len()],
            dropped: vec![0; stations],
            air: vec![Duration::ZERO; stations],
        }
    }

    /// The sample since the last one; `None` if no time has passed.
    pub(crate) fn take(
        &mut self,
        plan: &Plan,
        events: &[EventPlan],
        seed: u64,
        simulator: &Simulator<FlowAgent>,
        parts: &Parts,
    ) -> Option<Sample> {
        let at = simulator.now();
        let length = at.saturating_since(self.at);
        if length.is_zero() {
            return None;
        }
        let from = core::mem::replace(&mut self.at, at);
        let flows = (0..plan.flows.len()).map(|flow| {
            let capacity = |link| plan.capacity_between(link, events, seed, from, at).as_bits_per_second();
            let path = &plan.flows[flow].path;
            let is_down = path.iter().any(|&link| !simulator.link_is_up(parts.links[link]));
            let bottleneck = plan.flows[flow].bottleneck.map(|position| path[position]);
            let [sender, receiver] = parts.flows[flow].map(|end| simulator.agent(end).end());
            let (sent, received) = (sender.meter_of(flow), receiver.meter_of(flow));
            let total = *sent.counters() + *received.counters();
            let counts = total - core::mem::replace(&mut self.flows[flow], total);
            let summaries = sender.frames().zip(receiver.frames());
            let overhead = |frames: &FrameSummary| {
                (frames.source_bytes > 0).then(|| frames.repair_bytes as f64 / frames.source_bytes as f64)
            };
            FlowSample {
                counts,
                estimate: sender.estimate(),
                delay_s: received.jitter().last_delay().filter(|_| counts.delivered_bytes > 0).map(seconds),
                capacity_bps: bottleneck.map(capacity),
                is_down,
                frames: summaries
                    .as_ref()
                    .map(|(sent, received)| [sent.sent, received.in_time, received.repaired]),
                overhead: summaries.as_ref().and_then(|(sent, _)| overhead(sent)),
            }
        });
        let flows = flows.collect();
        let links = parts.links.iter().zip(&mut self.links).map(|(&link, before)| {
            let now = simulator.link_stats(link);
            let dropped = now.dropped.packets - core::mem::replace(before, now).dropped.packets;
            QueueSample { queue: simulator.queue_snapshot(link).queued.packets, dropped, air: 0.0 }
        });
        let links = links.collect();
        let mut stations = Vec::with_capacity(self.air.len());
        for (number, station) in parts.all_stations().enumerate() {
            let dropped = simulator.station_stats(station).dropped.packets;
            let air = mac_counters(simulator, station).air_time;
            let before = core::mem::replace(&mut self.air[number], air);
            stations.push(QueueSample {
                queue: simulator.station_backlog(station).packets,
                dropped: dropped - core::mem::replace(&mut self.dropped[number], dropped),
                air: seconds(air - before) / seconds(length),
            });
        }
        Some(Sample { at, length, flows, links, stations })
    }
}
