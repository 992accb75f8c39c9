//! A flow of a plan, as the ends of its transport are made from it.

use std::ops::Range;
use std::sync::Arc;

use whimbrel_control::capacity::AdHocProbe;
use whimbrel_netsim::random::{RandomStream, RandomStreams};
use whimbrel_netsim::{FlowId, LinkId, NodeId, SpreadBy, StationId};
use whimbrel_scenario::TrafficPlan;
use whimbrel_units::{ByteCount, Duration, Instant};

use crate::metrics::{FramePart, Meter, Recording};
use crate::scenario::{FlowPlan, Plan, RoutePlan, WifiPlan};
use crate::traffic::{
    Bulk, Cbr, Downloads, OnOff, Pairs, Pattern, Playback, Renewal, TrafficSource, Transfer,
};
use crate::transport::explicit::CrossLayer;

/// Frames captured within this time of the end do not count.
const LAST_FRAMES: Duration = Duration::from_secs(1);

/// The places in their frames of the datagrams of a schedule, in order; empty for other traffic, of which
/// each datagram is a frame.
#[derive(Clone, Debug, Default)]
pub struct FrameParts(Arc<[FramePart]>);

impl FrameParts {
    /// The place of the datagram with that number in the schedule repeated for ever.
    pub fn part(&self, tag: u64) -> FramePart {
        let Some(last) = self.0.last() else {
            return FramePart { frame: tag, index: 0, count: 1, is_key: true };
        };
        let length = self.0.len() as u64;
        let part = self.0[(tag % length) as usize];
        FramePart { frame: tag / length * (last.frame + 1) + part.frame, ..part }
    }
}

/// The parameters of a flow's ends.
#[derive(Clone, Copy, Debug)]
pub struct FlowSetup<'a> {
    plan: &'a Plan,
    flow: &'a FlowPlan,
    streams: RandomStreams,
    links: &'a [LinkId],
    stores: &'a [CrossLayer],
    /// The gateway and the terminals of each network of cells.
    cellular: &'a [Vec<StationId>],
    /// The flow's number.
    pub id: FlowId,
    /// The node that sends the data.
    pub from: NodeId,
    /// The node that receives them.
    pub to: NodeId,
    /// Bytes of all headers of a data packet.
    pub headers: u32,
    /// Start time.
    pub start: Instant,
}

impl<'a> FlowSetup<'a> {
    pub(crate) fn new(
        plan: &'a Plan,
        flow: &'a FlowPlan,
        id: FlowId,
        nodes: &[NodeId],
        links: &'a [LinkId],
        stores: &'a [CrossLayer],
        streams: RandomStreams,
    ) -> Self {
        let jitter = streams.stream(&flow.name, "start").uniform();
        let start = flow.start.0 + flow.start.1.mul_f64(jitter);
        let (from, to) = (nodes[flow.from], nodes[flow.to]);
        Self { plan, flow, streams, links, stores, cellular: &[], id, from, to, headers: flow.headers, start }
    }

    /// The same with the stations of the networks of cells.
    #[must_use]
    pub(crate) fn with_cells(self, cellular: &'a [Vec<StationId>]) -> Self {
        Self { cellular, ..self }
    }

    /// The terminals of the sender's and of the receiver's paths, with the paths' numbers. Path 0 leads over
    /// the end's own terminal. Where the sender of a packet chooses its link, each path leads over the
    /// terminal at the other end of its link.
    pub fn terminals(&self) -> [Vec<(StationId, usize)>; 2] {
        let FlowPlan { from, to, .. } = *self.flow;
        [(from, to), (to, from)].map(|(own, other)| {
            let is_own = |route: &&RoutePlan| {
                (route.node, route.destination, route.by) == (own, other, SpreadBy::Sender)
            };
            let links = self.plan.routes.iter().find(is_own).into_iter().flat_map(|route| &route.links);
            let far = links.enumerate().map(|(path, (link, _))| (self.plan.links[*link].to, path));
            let nodes = [(own, 0)].into_iter().chain(far);
            nodes.filter_map(|(node, path)| Some((self.terminal(node)?, path))).collect()
        })
    }

    /// The terminal of a node.
    fn terminal(&self, node: usize) -> Option<StationId> {
        self.plan.cellular.iter().zip(self.cellular).find_map(|(plan, ids)| {
            let number = plan.terminals.iter().position(|terminal| terminal.node == node)?;
            // The gateway is the first station.
            ids.get(number + 1).copied()
        })
    }

    /// The flow's random stream of that name.
    pub fn random(&self, name: &str) -> RandomStream {
        self.streams.stream(&self.flow.name, name)
    }

    /// The estimates of a node's MAC.
    pub fn estimate(&self, node: NodeId) -> CrossLayer {
        self.stores.get(node.index()).cloned().unwrap_or_default()
    }

    /// Share of application data in a full packet.
    pub fn data_share(&self) -> f64 {
        f64::from(self.flow.payload) / f64::from(self.flow.packet_size)
    }

    /// Time from an association of the sender's station with another access point until packets for it go
    /// there.
    pub fn distribution_delay(&self) -> Duration {
        let of_sender = |wifi: &&WifiPlan| wifi.stations.iter().any(|station| station.node == self.flow.from);
        let infrastructure =
            self.plan.wifi.iter().find(of_sender).and_then(|wifi| wifi.infrastructure.as_ref());
        infrastructure.map_or(Duration::ZERO, |infrastructure| infrastructure.distribution_delay)
    }

    /// The time that is measured.
    pub fn measured(&self) -> (Instant, Instant) {
        (self.plan.measured_from, self.plan.end)
    }

    /// The capture times of the frames that count: those so shortly before the end may be under way then.
    pub fn counted_frames(&self) -> Range<Instant> {
        let (from, until) = self.measured();
        from..until.saturating_sub(LAST_FRAMES)
    }

    /// The places in their frames of the flow's datagrams.
    pub fn frame_parts(&self) -> FrameParts {
        let TrafficPlan::Playback { schedule, .. } = &self.flow.traffic else { return FrameParts::default() };
        let entries = schedule.entries();
        // The lines of a trace are their own frames.
        let has_frames = entries.iter().any(|entry| entry.frame > 0);
        let name = |index: usize| if has_frames { entries[index].frame } else { index as u32 };
        let mut parts: Vec<FramePart> = Vec::with_capacity(entries.len());
        for (index, entry) in entries.iter().enumerate() {
            let begins = index == 0 || name(index) != name(index - 1);
            let before = parts.last().copied();
            let frame = before.map_or(0, |before| before.frame + u64::from(begins));
            let place = if begins { 0 } else { before.map_or(0, |before| before.index + 1) };
            parts.push(FramePart { frame, index: place, count: 0, is_key: entry.is_key });
        }
        let mut count = 0;
        for part in parts.iter_mut().rev() {
            count = count.max(part.index + 1);
            part.count = count;
            if part.index == 0 {
                count = 0;
            }
        }
        FrameParts(parts.into())
    }

    /// A meter for one of the ends.
    pub fn meter(&self) -> Meter {
        let behind = self.flow.bottleneck.map_or(&[][..], |bottleneck| &self.flow.path[bottleneck..]);
        let behind: Vec<LinkId> = behind.iter().map(|link| self.links[*link]).collect();
        let record = &self.plan.record;
        let recording = Recording {
            packets: record.packets && !self.flow.background,
            losses: record.losses && !self.flow.background,
        };
        let meter = Meter::new(self.plan.measured_from, &behind, recording);
        let is_logged = self.plan.log_packets && !self.flow.background;
        let meter = if is_logged { meter.with_events() } else { meter };
        match self.flow.traffic {
            TrafficPlan::Transfer { bytes } => meter.with_transfer(self.start, u64::from(bytes)),
            _ => meter,
        }
    }

    /// AdHoc Probe for the receiver of pairs, by their size on the link; `None` for other traffic.
    pub fn pair_probe(&self) -> Option<AdHocProbe> {
        let has_pairs = matches!(self.flow.traffic, TrafficPlan::ProbePairs { .. });
        has_pairs.then(|| AdHocProbe::new(ByteCount::new(u64::from(self.flow.packet_size))))
    }

    /// The application that sends.
    pub fn source(&self) -> TrafficSource {
        let (size, start) = (self.flow.payload, self.start);
        let pattern = match &self.flow.traffic {
            TrafficPlan::Bulk => Pattern::Bulk(Bulk::new(start, size)),
            TrafficPlan::Transfer { bytes } => Pattern::Transfer(Transfer::new(start, *bytes)),
            TrafficPlan::Downloads { least, most, idle, begins_idle } => {
                let random = self.random("traffic");
                Pattern::Downloads(Downloads::new(start, *least, *most, *idle, *begins_idle, random))
            }
            TrafficPlan::ProbePairs { interval } => Pattern::Pairs(Pairs::new(start, *interval, size)),
            // Nothing before the stop, which is the start.
            TrafficPlan::Silence => {
                let pattern = Pattern::Cbr(Cbr::new(start, Duration::from_secs(1), size));
                return TrafficSource::new(pattern, start);
            }
            TrafficPlan::Cbr { interval, jitter } if jitter.is_zero() => {
                Pattern::Cbr(Cbr::new(start, *interval, size))
            }
            TrafficPlan::Cbr { interval, jitter } => {
                let random = self.random("traffic");
                Pattern::Renewal(Renewal::jittered(start, *interval, *jitter, size, random))
            }
            TrafficPlan::Poisson { interval } => {
                Pattern::Renewal(Renewal::poisson(start, *interval, size, self.random("traffic")))
            }
            TrafficPlan::OnOff { interval, burst, idle } => {
                let random = self.random("traffic");
                Pattern::OnOff(OnOff::new(start, *interval, size, *burst, *idle, random))
            }
            TrafficPlan::Playback { schedule, playout, repeat } => {
                Pattern::Playback(Playback::new(schedule.clone(), start, *playout, *repeat))
            }
        };
        if self.flow.stop < self.plan.end {
            TrafficSource::new(pattern, self.flow.stop)
        } else {
            TrafficSource::endless(pattern, self.plan.end)
        }
    }
}
