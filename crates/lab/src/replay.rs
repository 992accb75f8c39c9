//! A run's movements, routes and samples over time, for a page that replays it.

mod cells;

use serde_json::{Value, json};
use whimbrel_netsim::medium::{AirFrame, QosMedium, StationRole, WifiMedium};
use whimbrel_netsim::{FlowId, NextHop, NodeId, Simulator, StationIndex};
use whimbrel_units::{Duration, Instant};
use whimbrel_wifi::FrameKind;
use whimbrel_wifi::mobility::{Path, Presence};
use whimbrel_wifi::propagation::LinkBudget;

use crate::metrics::seconds;
use crate::runner::{Parts, associating};
use crate::scenario::{EventPlan, Plan, WifiPlan};
use crate::transport::FlowAgent;
use crate::watch::{Sample, Watch};

/// The longest path of a flow that is recorded, in nodes.
const LONGEST_PATH: usize = 64;

/// The samples of a run, taken while it proceeds.
#[derive(Debug)]
pub(crate) struct Replay {
    interval: Duration,
    /// The last path of each flow, and all changes of paths.
    paths: Vec<Vec<usize>>,
    changes: Vec<(Instant, usize, Vec<usize>)>,
    watch: Watch,
    samples: Vec<Sample>,
}

impl Replay {
    /// A record of samples at this interval.
    pub(crate) fn new(plan: &Plan, interval: Duration) -> Self {
        let flows = plan.flows.len();
        Self {
            interval,
            paths: vec![vec![]; flows],
            changes: Vec::new(),
            watch: Watch::new(plan),
            samples: Vec::new(),
        }
    }

    /// Takes the sample of `now`.
    pub(crate) fn take(
        &mut self,
        now: Instant,
        plan: &Plan,
        events: &[EventPlan],
        seed: u64,
        simulator: &mut Simulator<FlowAgent>,
        parts: &Parts,
    ) {
        if now.as_nanos().is_multiple_of(self.interval.as_nanos()) || now == plan.end {
            self.samples.extend(self.watch.take(plan, events, seed, simulator, parts));
        }
        for (number, flow) in plan.flows.iter().enumerate() {
            let path = path(plan, simulator, &parts.nodes, flow.from, flow.to);
            if self.paths[number] != path {
                self.changes.push((now, number, path.clone()));
                self.paths[number] = path;
            }
        }
    }

    /// The samples so far.
    pub(crate) fn samples(&self) -> &[Sample] {
        &self.samples
    }

    /// The record as JSON: times in seconds, positions in metres, nodes by their position in `nodes`.
    pub(crate) fn json(&self, plan: &Plan, simulator: &Simulator<FlowAgent>, parts: &Parts) -> Value {
        let mut nodes: Vec<Value> = plan.nodes.iter().map(|name| wired(name)).collect();
        for (medium, (wifi, ids)) in plan.wifi.iter().zip(&parts.stations).enumerate() {
            let Some(id) = ids.first().map(|id| id.medium()) else { continue };
            let qos = simulator.medium::<QosMedium>(id).map(QosMedium::site);
            let Some(site) = simulator.medium::<WifiMedium>(id).map(WifiMedium::site).or(qos) else {
                continue;
            };
            for (number, station) in wifi.stations.iter().enumerate() {
                let index = StationIndex::new(number);
                let track = (site.path(index), site.presence(index));
                let name = &plan.nodes[station.node];
                nodes[station.node] = wireless(name, medium, role(wifi, number), track, plan.end);
            }
        }
        let cells = cells::add(&mut nodes, plan, simulator, parts);
        let time = |at: Instant| seconds(at - Instant::ZERO);
        let flow = |flow: &crate::scenario::FlowPlan| {
            json!({
                "name": flow.name, "from": flow.from, "to": flow.to, "scheme": flow.transport.scheme(),
                "start": time(flow.start.0), "stop": time(flow.stop),
            })
        };
        let link =
            |link: &crate::scenario::LinkPlan| json!({ "name": link.name, "from": link.from, "to": link.to });
        let route = |(at, flow, path): &(Instant, usize, Vec<usize>)| json!({ "flow": flow, "t": time(*at), "path": path });
        json!({
            "duration": time(plan.end),
            "measured_from": time(plan.measured_from),
            "media": plan.wifi.iter().map(medium).collect::<Vec<_>>(),
            "nodes": nodes,
            "links": plan.links.iter().map(link).collect::<Vec<_>>(),
            "flows": plan.flows.iter().map(flow).collect::<Vec<_>>(),
            "routes": self.changes.iter().map(route).collect::<Vec<_>>(),
            "associations": associations(plan, simulator, parts),
            "serving": cells,
            "kinds": kinds(plan, simulator, parts),
            "frames": frames(plan, simulator, parts),
            "frames_until": frames_until(plan, simulator, parts),
        })
    }
}

/// The kinds of frames in a replay. Requests for block acknowledgements and ends of transmission
/// opportunities are `control`, which media up to 802.11g do not have.
const KINDS: [&str; 8] = ["data", "ack", "rts", "cts", "beacon", "routing", "management", "control"];
const CONTROL: usize = 7;

/// Subtype of a beacon (IEEE Std 802.11-2012, table 8-1).
const BEACON: u8 = 8;

/// Position of a frame's kind in [`KINDS`].
fn kind(frame: &AirFrame) -> usize {
    match frame.kind {
        FrameKind::Data if frame.packet.is_some_and(|(_, flow)| flow.flow == FlowId::ROUTING) => 5,
        FrameKind::Data | FrameKind::Probe | FrameKind::Aggregate => 0,
        FrameKind::Ack | FrameKind::BlockAck => 1,
        FrameKind::Rts => 2,
        FrameKind::Cts => 3,
        FrameKind::Management if frame.subtype == BEACON => 4,
        FrameKind::Management => 6,
        FrameKind::BlockAckRequest | FrameKind::CfEnd => CONTROL,
    }
}

/// The kinds of the run's media.
fn kinds(plan: &Plan, simulator: &Simulator<FlowAgent>, parts: &Parts) -> &'static [&'static str] {
    let has_control = notes(plan, simulator, parts).any(|notes| notes.has_aggregates);
    if has_control { &KINDS } else { &KINDS[..CONTROL] }
}

/// Notes on a medium.
struct Notes<'a> {
    frames: &'a [AirFrame],
    /// Beginning of the first frame that was not noted.
    end: Option<Instant>,
    /// The nodes of its stations.
    nodes: Vec<usize>,
    /// `true` if stations send A-MPDUs.
    has_aggregates: bool,
}

/// The notes of all media.
fn notes<'a>(
    plan: &'a Plan,
    simulator: &'a Simulator<FlowAgent>,
    parts: &'a Parts,
) -> impl Iterator<Item = Notes<'a>> {
    plan.wifi.iter().zip(&parts.stations).filter_map(|(wifi, ids)| {
        let id = ids.first()?.medium();
        let old = simulator.medium::<WifiMedium>(id);
        let old = old.map(|medium| (medium.frames(), medium.frames_end(), false));
        let new = simulator.medium::<QosMedium>(id);
        let new = new.map(|medium| (medium.frames(), medium.frames_end(), true));
        let (frames, end, has_aggregates) = old.or(new)?;
        let nodes = wifi.stations.iter().map(|station| station.node).collect();
        Some(Notes { frames, end, nodes, has_aggregates })
    })
}

/// A frame with the nodes of its sender and receiver.
type FrameRow = (AirFrame, usize, Option<usize>);

/// The frames of all media as columns, in the order of their beginnings.
fn frames(plan: &Plan, simulator: &Simulator<FlowAgent>, parts: &Parts) -> Value {
    let mut rows: Vec<FrameRow> = Vec::new();
    let mut has_aggregates = false;
    for Notes { frames, nodes, has_aggregates: these, .. } in notes(plan, simulator, parts) {
        let row = |frame: &AirFrame| {
            (*frame, nodes[frame.sender.index()], frame.receiver.map(|station| nodes[station.index()]))
        };
        rows.extend(frames.iter().map(row));
        has_aggregates |= these;
    }
    rows.sort_by_key(|(frame, ..)| frame.at);
    // To the nanosecond: nine digits.
    let time = |duration: Duration| duration.as_nanos() as f64 / 1e9;
    let flow = |frame: &AirFrame| {
        let of_plan =
            frame.packet.map(|(_, flow)| flow.flow.0 as usize).filter(|&flow| flow < plan.flows.len());
        of_plan.map_or(-1, |flow| flow as i64)
    };
    let column = |value: &dyn Fn(&FrameRow) -> Value| -> Vec<Value> { rows.iter().map(value).collect() };
    let mut columns = json!({
        "t": column(&|(frame, ..)| json!(time(frame.at - Instant::ZERO))),
        "d": column(&|(frame, ..)| json!(time(frame.air_time))),
        "from": column(&|(_, from, _)| json!(from)),
        "to": column(&|(_, _, to)| json!(to.map_or(-1, |to| to as i64))),
        "kind": column(&|(frame, ..)| json!(kind(frame))),
        "ok": column(&|(frame, ..)| json!(u8::from(frame.is_received))),
        "bytes": column(&|(frame, ..)| json!(frame.size)),
        "flow": column(&|(frame, ..)| json!(flow(frame))),
    });
    if has_aggregates {
        columns["mpdus"] = json!(column(&|(frame, ..)| json!(frame.mpdus[0])));
        columns["arrived"] = json!(column(&|(frame, ..)| json!(frame.mpdus[1])));
    }
    columns
}

/// The time up to which all frames were noted, in seconds.
fn frames_until(plan: &Plan, simulator: &Simulator<FlowAgent>, parts: &Parts) -> f64 {
    let ends = notes(plan, simulator, parts).filter_map(|notes| notes.end);
    seconds(ends.min().unwrap_or(plan.end) - Instant::ZERO)
}

/// The associations of clients in the order of time.
fn associations(plan: &Plan, simulator: &Simulator<FlowAgent>, parts: &Parts) -> Value {
    let mut rows: Vec<(Instant, usize, Option<usize>)> = Vec::new();
    for (wifi, ids) in plan.wifi.iter().zip(&parts.stations) {
        let Some(medium) = ids.first().and_then(|id| associating(simulator, id.medium())) else { continue };
        let nodes: Vec<usize> = wifi.stations.iter().map(|station| station.node).collect();
        for (client, report) in medium.handovers() {
            let access_point = medium.station(report.to);
            rows.push((report.detected, nodes[client.index()], None));
            rows.push((
                report.associated,
                nodes[client.index()],
                access_point.map(|station| nodes[station.index()]),
            ));
        }
    }
    rows.sort_by_key(|&(at, ..)| at);
    rows.iter()
        .map(|&(at, node, access_point)| {
            let state = if access_point.is_some() { "associated" } else { "scanning" };
            json!({ "t": seconds(at - Instant::ZERO), "node": node, "access_point": access_point, "state": state })
        })
        .collect()
}

/// The nodes of the way of packets from one node to another, as the routes are now; empty without a route.
fn path(
    plan: &Plan,
    simulator: &mut Simulator<FlowAgent>,
    nodes: &[NodeId],
    from: usize,
    to: usize,
) -> Vec<usize> {
    let mut path = vec![from];
    let mut here = from;
    while here != to {
        here = match simulator.route(nodes[here], nodes[to]) {
            Some(NextHop::Link(link)) => plan.links[link.index()].to,
            Some(NextHop::Station { to, .. }) => to.index(),
            None => return Vec::new(),
        };
        if path.len() == LONGEST_PATH {
            return Vec::new();
        }
        path.push(here);
    }
    path
}

fn medium(wifi: &WifiPlan) -> Value {
    let radio = &wifi.channel.radio;
    let ranges = LinkBudget::new(&wifi.channel.path_loss, radio, radio).ranges();
    json!({ "name": wifi.name, "receive": ranges.receive, "sense": ranges.carrier_sense })
}

fn role(wifi: &WifiPlan, station: usize) -> &'static str {
    match wifi.infrastructure.as_ref().map(|infrastructure| &infrastructure.roles[station]) {
        None | Some(StationRole::AdHoc { .. }) => "ad hoc",
        Some(StationRole::AccessPoint(_)) => "access point",
        Some(StationRole::Client { .. }) => "client",
    }
}

fn wired(name: &str) -> Value {
    json!({ "name": name, "medium": null, "role": "wired", "points": [], "off": [] })
}

fn wireless(
    name: &str,
    medium: usize,
    role: &str,
    (path, presence): (&Path, &Presence),
    end: Instant,
) -> Value {
    let time = |at: Instant| seconds(at - Instant::ZERO);
    let mut off = Vec::new();
    let mut at = Instant::ZERO;
    let mut since = (!presence.is_on(at)).then_some(at);
    while let Some(change) = presence.next_change(at).filter(|&change| change < end) {
        match since.take() {
            Some(from) => off.push([time(from), time(change)]),
            None => since = Some(change),
        }
        at = change;
    }
    off.extend(since.map(|from| [time(from), time(end)]));
    json!({ "name": name, "medium": medium, "role": role, "points": points(path, end), "off": off })
}

/// The corners of a path: time, x and y.
fn points(path: &Path, end: Instant) -> Vec<[f64; 3]> {
    let starts = path.legs().iter().map(|leg| leg.start).take_while(|&start| start < end);
    let mut points: Vec<[f64; 3]> = starts
        .chain([end])
        .map(|at| {
            let position = path.position(at);
            [seconds(at - Instant::ZERO), position.x, position.y]
        })
        .collect();
    if path.max_speed() == 0.0 {
        points.truncate(1);
    }
    points
}
