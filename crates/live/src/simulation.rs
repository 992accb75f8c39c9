//! The page of a simulated run: samples of its flows, links and stations, and the replay of its stations.

use std::collections::VecDeque;

use whimbrel_inspect::explain::{Cause, Explainer, Halt, Interval};
use whimbrel_lab::scenario::EventPlan;
use whimbrel_lab::watch::{CellGap, FlowSample, Sample};
use whimbrel_lab::{Plan, Run};
use whimbrel_units::Instant;

use crate::recording::{Panel, Recording, SeriesId, TrackId};

/// Flows, and queues of links and stations, that are shown at most.
const MAX_FLOWS: usize = 48;
const MAX_QUEUES: usize = 16;

/// Time in seconds over which frames are counted: there are few in a sample.
const FRAMES_OVER: f64 = 1.0;

/// Time in seconds after a gap of a cell during which the sentence mentions it.
const GAP_TOLD: f64 = 5.0;

/// Time in seconds after which a gap of a cell that goes on has its mark.
const GAP_MARKED: f64 = 2.0;

/// The page of a run that has recorded its replay.
pub fn recording(run: &Run<'_>, seed: u64) -> Recording {
    let plan = run.plan();
    let mut recording = titled(plan, seed);
    let mut network = Network::new(&mut recording, plan, run.samples());
    network.mark_links(&mut recording, plan, run.link_events());
    let gaps = run.cell_gaps();
    for sample in run.samples() {
        network.push(&mut recording, sample, &gaps);
    }
    if let Some(scene) = run.replay() {
        recording.scene(scene);
    }
    recording
}

/// An empty recording with the title of a scenario, its length and the seed.
pub fn titled(plan: &Plan, seed: u64) -> Recording {
    let title = if plan.title.is_empty() { "a run" } else { &plan.title };
    let mut recording = Recording::new(title);
    recording.fact(format!("{} s", (plan.end.as_secs_f64() * 1e3).round() / 1e3));
    recording.fact(format!("seed {seed}"));
    recording
}

/// The tracks of a network.
pub struct Network {
    flows: Vec<Flow>,
    network: TrackId,
    /// Positions of the links and stations that are shown.
    links: Vec<usize>,
    stations: Vec<usize>,
    names: [Vec<String>; 2],
    /// Names of the nodes.
    nodes: Vec<String>,
    /// Gaps of cells that have a mark.
    marked: usize,
}

struct Flow {
    /// Its position in the plan.
    number: usize,
    /// The nodes of its ends.
    ends: [usize; 2],
    track: TrackId,
    explainer: Explainer,
    /// The frames counted at the times of the last samples.
    frames: VecDeque<(f64, [u64; 3])>,
    freeze: &'static str,
    least_delay: f64,
}

type Row = Vec<(SeriesId, f64)>;

impl Network {
    /// Adds the tracks to a recording. Of many links and stations those are shown that did most in the
    /// samples, if there are any yet.
    pub fn new(recording: &mut Recording, plan: &Plan, samples: &[Sample]) -> Self {
        let mut order: Vec<usize> = (0..plan.flows.len()).collect();
        order.sort_by_key(|&flow| plan.flows[flow].background);
        order.truncate(MAX_FLOWS);
        let flow = |&number: &usize| Flow {
            number,
            ends: [plan.flows[number].from, plan.flows[number].to],
            track: recording.track("flow", plan.flows[number].name.clone()),
            explainer: Explainer::default(),
            frames: VecDeque::from([(0.0, [0; 3])]),
            freeze: "",
            least_delay: f64::INFINITY,
        };
        let flows = order.iter().map(flow).collect();
        let network = recording.track("network", "network");
        let stations: Vec<String> = plan
            .wifi
            .iter()
            .flat_map(|wifi| wifi.stations.iter().map(|station| plan.nodes[station.node].clone()))
            .collect();
        let links: Vec<String> = plan.links.iter().map(|link| link.name.clone()).collect();
        let work = |link: usize| samples.iter().map(|sample| sample.links[link].queue as f64).sum::<f64>();
        let busy = |station: usize| samples.iter().map(|sample| sample.stations[station].air).sum::<f64>();
        Self {
            flows,
            network,
            links: busiest(links.len(), work),
            stations: busiest(stations.len(), busy),
            names: [links, stations],
            nodes: plan.nodes.clone(),
            marked: 0,
        }
    }

    /// Adds a sample. `gaps` are the times without a cell, also later ones.
    pub fn push(&mut self, recording: &mut Recording, sample: &Sample, gaps: &[CellGap]) {
        let at = sample.at.as_secs_f64();
        let length = sample.length.as_secs_f64();
        let mut row = Row::new();
        for flow in &mut self.flows {
            flow.take(recording, &mut row, at, length, &sample.flows[flow.number], gaps);
        }
        self.mark_gaps(recording, at, gaps);
        let [link_names, station_names] = &self.names;
        let shown = self.links.iter().map(|&link| (&link_names[link], &sample.links[link]));
        let shown = shown.chain(self.stations.iter().map(|&it| (&station_names[it], &sample.stations[it])));
        for (name, queue) in shown {
            row.push((recording.series(self.network, Panel::Queue, name), queue.queue as f64));
        }
        let dropped = sample.links.iter().chain(&sample.stations).map(|queue| queue.dropped).sum::<u64>();
        row.push((recording.series(self.network, Panel::Loss, "all queues"), dropped as f64 / length));
        for &station in &self.stations {
            let series = recording.series(self.network, Panel::Air, &station_names[station]);
            row.push((series, sample.stations[station].air));
        }
        recording.push(at, &row);
    }

    /// Marks the gaps of cells up to a time.
    fn mark_gaps(&mut self, recording: &mut Recording, at: f64, gaps: &[CellGap]) {
        while let Some(gap) = gaps.get(self.marked) {
            let [start, end] = span(gap);
            if end > at && at - start < GAP_MARKED {
                return;
            }
            let text = format!("{}: {}", self.nodes[gap.node], gap.cause);
            match gap.end {
                Some(_) => recording.mark_span(start, end, self.network, text),
                None => recording.mark(start, self.network, text),
            }
            self.marked += 1;
        }
    }

    /// Marks the changes of links.
    pub fn mark_links(&self, recording: &mut Recording, plan: &Plan, events: &[EventPlan]) {
        for event in events.iter().filter(|event| event.at < plan.end) {
            let name = &plan.links[event.link].name;
            let change = match (event.up, event.rate) {
                (Some(true), _) => format!("{name} up"),
                (Some(false), _) => format!("{name} down"),
                (None, Some(rate)) => format!("{name} {rate}"),
                _ => format!("{name} changes"),
            };
            recording.mark(event.at.as_secs_f64(), self.network, change);
        }
    }
}

/// Beginning and end of a gap in seconds.
fn span(gap: &CellGap) -> [f64; 2] {
    [gap.start.as_secs_f64(), gap.end.map_or(f64::INFINITY, Instant::as_secs_f64)]
}

/// The part of the sentence about the last gap of a cell that has ended.
fn told(gaps: &[&CellGap], at: f64) -> Option<String> {
    let last = gaps.iter().rev().find(|gap| span(gap)[1] <= at)?;
    let [start, end] = span(last);
    let length = ((end - start) * 1e3).round();
    (at - end < GAP_TOLD).then(|| format!("; {}: {length} ms without a cell", last.cause))
}

/// The positions with the greatest values, in order.
fn busiest(count: usize, value: impl Fn(usize) -> f64) -> Vec<usize> {
    let mut ranked: Vec<(usize, f64)> = (0..count).map(|position| (position, value(position))).collect();
    ranked.sort_by(|one, other| other.1.total_cmp(&one.1));
    ranked.truncate(MAX_QUEUES);
    let mut positions: Vec<usize> = ranked.into_iter().map(|(position, _)| position).collect();
    positions.sort_unstable();
    positions
}

impl Flow {
    fn take(
        &mut self,
        recording: &mut Recording,
        row: &mut Row,
        at: f64,
        length: f64,
        sample: &FlowSample,
        gaps: &[CellGap],
    ) {
        let gaps: Vec<&CellGap> = gaps.iter().filter(|gap| self.ends.contains(&gap.node)).collect();
        let track = self.track;
        let counts = &sample.counts;
        let bits = |bytes: u64| bytes as f64 * 8.0 / length;
        let mut add = |recording: &mut Recording, panel, name: &str, value: f64| {
            row.push((recording.series(track, panel, name), value));
        };
        add(recording, Panel::Rate, "sent", bits(counts.sent_bytes));
        add(recording, Panel::Rate, "delivered", bits(counts.delivered_bytes));
        if sample.estimate.allowed_rate.is_finite() {
            add(recording, Panel::Rate, "allowed", sample.estimate.allowed_rate);
        }
        if let Some(capacity) = sample.capacity_bps.filter(|rate| rate.is_finite()) {
            add(recording, Panel::Rate, "capacity", capacity);
        }
        let mut lost = [0.0; Cause::ALL.len()];
        lost[Cause::Queue as usize] = (counts.lost_queue + counts.lost_host) as f64;
        lost[Cause::Radio as usize] = counts.lost_wireless as f64;
        lost[Cause::Down as usize] = counts.lost_down as f64;
        lost[Cause::Late as usize] = counts.late_packets as f64;
        lost[Cause::Choice as usize] = (counts.expired_datagrams + counts.overflowed_datagrams) as f64;
        lost[Cause::Other as usize] = counts.lost_other as f64;
        for cause in Cause::ALL.into_iter().filter(|&cause| cause != Cause::Path) {
            add(recording, Panel::Loss, cause.name(), lost[cause as usize] / length);
        }
        let mut repaired = 0.0;
        if let Some(frames) = sample.frames {
            let newest = self.frames.back().map_or(0, |(_, newest)| newest[2]);
            repaired = frames[2].saturating_sub(newest) as f64;
            add(recording, Panel::Loss, "repaired", repaired / length);
            self.frames.push_back((at, frames));
            while self.frames.get(1).is_some_and(|(first, _)| at - first >= FRAMES_OVER - 1e-6) {
                self.frames.pop_front();
            }
            let (first, old) = self.frames[0];
            for (kind, name) in ["frames sent", "whole in time"].into_iter().enumerate() {
                let rate = frames[kind].saturating_sub(old[kind]) as f64 / (at - first).max(1e-9);
                add(recording, Panel::Frames, name, rate);
            }
        }
        if let Some(delay) = sample.delay_s {
            self.least_delay = self.least_delay.min(delay);
            add(recording, Panel::Delay, "delay", delay);
            add(recording, Panel::Delay, "least so far", self.least_delay);
        }
        if sample.estimate.rtt.is_finite() {
            add(recording, Panel::Delay, "round trip", sample.estimate.rtt);
        }
        let freeze = sample.estimate.freeze;
        if freeze != std::mem::replace(&mut self.freeze, freeze) && !(freeze.is_empty() || freeze == "normal")
        {
            recording.mark(at, track, format!("sender: {freeze}"));
        }
        let is_frozen = freeze == "frozen";
        let has_gap = gaps.iter().map(|gap| span(gap)).any(|[start, end]| start < at && end > at - length);
        let halts = [(is_frozen, Halt::Frozen), (sample.is_down, Halt::Down), (has_gap, Halt::NoCell)];
        let halt = halts.into_iter().find_map(|(holds, halt)| holds.then_some(halt));
        let offered = counts.sent_packets + counts.expired_datagrams + counts.overflowed_datagrams;
        let mut sentence = self.explainer.push(&Interval {
            at_s: at,
            length_s: length,
            offered: Some(offered as f64),
            delivered: counts.delivered_packets as f64,
            lost,
            repaired,
            overhead: sample.overhead,
            delivered_bps: Some(bits(counts.delivered_bytes)),
            allowed_bps: Some(sample.estimate.allowed_rate).filter(|rate| rate.is_finite()),
            capacity_bps: sample.capacity_bps,
            halt,
        });
        sentence += &told(&gaps, at).unwrap_or_default();
        recording.say(at, track, &sentence);
    }
}
