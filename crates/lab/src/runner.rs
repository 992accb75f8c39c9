//! From a plan and a seed to a record.
//!
//! A run is single-threaded and depends on nothing but its plan and its seed. Runs of different seeds may
//! proceed in parallel ([`run_many`]): the bytes of each do not depend on its thread, and the records come
//! back in the order of the seeds.

mod build;
mod captures;
mod collect;
mod controllers;
mod emulated;
mod flow_log;
mod parallel;
mod sample;

use std::ops::ControlFlow;

use whimbrel_control::media::External;
pub use whimbrel_netsim::RunOutcome;
use whimbrel_netsim::medium::{QosMedium, WifiMedium};
use whimbrel_netsim::{AgentId, LinkId, Simulator, StationId};
use whimbrel_proto::repair::RepairLayer;
use whimbrel_units::{Duration, Instant};

pub use emulated::{Emulation, Refusal, emulated_plan};
pub use flow_log::FlowEvent;
pub use parallel::{Control, Interrupted, run_many};

use crate::record::Record;
use crate::replay::Replay;
use crate::scenario::{EventPlan, Gap, Plan};
use crate::transport::{FlowAgent, FlowEnd, SenderEstimate};
use crate::watch::{CellGap, Sample, Watch};
pub(crate) use build::Parts;
pub(crate) use collect::{associating, mac_counters};
use sample::Samples;

/// The interval at which queues and the senders' estimates are sampled for their means.
pub const SAMPLE_INTERVAL: Duration = Duration::from_millis(100);

/// The interval of the samples in a replay of a short run, and of others.
const REPLAY_INTERVALS: [Duration; 2] = [Duration::from_millis(100), Duration::from_millis(500)];
/// The longest of the short runs.
const SHORT_RUN: Duration = Duration::from_secs(30);
/// The most samples of a replay: a run of more than 25 minutes has a longer interval.
const REPLAY_SAMPLES: u64 = 3_000;

/// Events between two calls of a run's observer: about a hundred calls per second of real time.
const OBSERVE_EVERY: u64 = 1 << 16;

/// A simulation in progress.
pub struct Run<'a> {
    plan: &'a Plan,
    seed: u64,
    /// Times of the handovers of this run.
    gaps: Vec<Gap>,
    events: Vec<EventPlan>,
    simulator: Simulator<FlowAgent>,
    parts: Parts,
    samples: Samples,
    replay: Option<Replay>,
    /// Flow, time and estimates, since they were last taken.
    estimates: Vec<(usize, Instant, SenderEstimate)>,
}

impl<'a> Run<'a> {
    /// Builds the network of `plan` with the randomness of `seed`.
    pub fn new(plan: &'a Plan, seed: u64) -> Self {
        let gaps = plan.gaps(seed);
        let events = plan.events_with(&gaps);
        let (simulator, parts) = build::network(plan, &events, &plan.flow_events_with(&gaps), seed);
        let samples = Samples::new(plan, &parts);
        Self { plan, seed, gaps, events, simulator, parts, samples, replay: None, estimates: Vec::new() }
    }

    /// Plan of the run.
    pub fn plan(&self) -> &'a Plan {
        self.plan
    }

    /// The simulator, for closer inspection.
    pub fn simulator(&self) -> &Simulator<FlowAgent> {
        &self.simulator
    }

    /// The simulator, for changes before the run.
    pub fn simulator_mut(&mut self) -> &mut Simulator<FlowAgent> {
        &mut self.simulator
    }

    /// The links of the plan, as the simulator names them.
    pub fn links(&self) -> &[LinkId] {
        &self.parts.links
    }

    /// The stations of each 802.11 medium of the plan, as the simulator names them.
    pub fn stations(&self) -> &[Vec<StationId>] {
        &self.parts.stations
    }

    /// The sending and the receiving end of each flow of the plan.
    pub fn flows(&self) -> &[[AgentId; 2]] {
        &self.parts.flows
    }

    /// Runs to the end. `observe` receives the simulated time now and then, and may interrupt the run;
    /// a run that was interrupted can be resumed.
    pub fn execute(&mut self, observe: impl FnMut(Instant) -> ControlFlow<()>) -> RunOutcome {
        self.advance(self.plan.end, observe)
    }

    /// Runs until `end`, or to the end of the plan if that is earlier, as [`execute`](Self::execute) does.
    pub fn advance(
        &mut self,
        end: Instant,
        mut observe: impl FnMut(Instant) -> ControlFlow<()>,
    ) -> RunOutcome {
        loop {
            let next = self.samples.next();
            let until = next.min(end);
            let outcome = self.simulator.run_with(until, OBSERVE_EVERY, |progress| observe(progress.now));
            if outcome == RunOutcome::Interrupted || until < next {
                return outcome;
            }
            self.samples.take(&self.simulator, &self.parts);
            self.log_estimates(next);
            if let Some(replay) = &mut self.replay {
                replay.take(next, self.plan, &self.events, self.seed, &mut self.simulator, &self.parts);
            }
            if next == self.plan.end || next == end {
                return RunOutcome::Finished;
            }
            if observe(next).is_break() {
                return RunOutcome::Interrupted;
            }
        }
    }

    /// Records movements, routes and rates from now on, and up to `frames` frames on the air of each medium,
    /// for [`replay`](Self::replay).
    pub fn record_replay(&mut self, frames: usize) {
        for medium in self.parts.stations.iter().filter_map(|stations| Some(stations.first()?.medium())) {
            self.simulator.with_medium(medium, |wifi: &mut WifiMedium, _| wifi.monitor(frames));
            self.simulator.with_medium(medium, |wifi: &mut QosMedium, _| wifi.monitor(frames));
        }
        let time = self.plan.end - Instant::ZERO;
        let interval = REPLAY_INTERVALS[usize::from(time > SHORT_RUN)];
        let interval =
            interval * time.as_nanos().div_ceil(interval.as_nanos()).div_ceil(REPLAY_SAMPLES).max(1);
        let mut replay = Replay::new(self.plan, interval);
        replay.take(Instant::ZERO, self.plan, &self.events, self.seed, &mut self.simulator, &self.parts);
        self.replay = Some(replay);
    }

    /// The movements and routes of the run and the frames on the air as JSON; `None` if not recorded.
    pub fn replay(&self) -> Option<serde_json::Value> {
        let replay = self.replay.as_ref()?;
        Some(replay.json(self.plan, &self.simulator, &self.parts))
    }

    /// The samples that were recorded with the replay.
    pub fn samples(&self) -> &[Sample] {
        self.replay.as_ref().map_or(&[], Replay::samples)
    }

    /// Changes since the last sample of `watch`; `None` if no time has passed.
    pub fn watch(&self, watch: &mut Watch) -> Option<Sample> {
        watch.take(self.plan, &self.events, self.seed, &self.simulator, &self.parts)
    }

    /// The changes of links in this run: the plan's, and its handovers.
    pub fn link_events(&self) -> &[EventPlan] {
        &self.events
    }

    /// The times so far in which a terminal had no cell, in the order of their beginnings.
    pub fn cell_gaps(&self) -> Vec<CellGap> {
        collect::cell_gaps(self)
    }

    /// `true` if the freeze states of senders are recorded: flows can be frozen.
    fn records_freezing(&self) -> bool {
        self.plan.has_commands() || self.plan.flows.iter().any(|flow| flow.transport.records_freezing())
    }

    /// `true` if the frames of any flow are watched.
    fn records_frames(&self) -> bool {
        self.plan.flows.iter().any(|flow| flow.transport.records_frames())
    }

    /// `true` if any receiver waits for missing packets.
    fn records_reordering(&self) -> bool {
        self.plan.flows.iter().any(|flow| flow.transport.records_reordering())
    }

    /// The rate of a flow that a program sets; `None` for other flows.
    pub fn external(&mut self, flow: usize) -> Option<&mut External> {
        match self.simulator.agent_mut(self.parts.flows.get(flow)?[0]) {
            FlowAgent::MediaSender(sender) => sender.external(),
            _ => None,
        }
    }

    /// The repair of a flow whose policy a program sets, with the estimates of its congestion control;
    /// `None` for other flows.
    pub fn external_repair(&mut self, flow: usize) -> Option<(&mut RepairLayer, SenderEstimate)> {
        let FlowAgent::Dccp(agent) = self.simulator.agent_mut(self.parts.flows.get(flow)?[0]) else {
            return None;
        };
        let estimate = agent.estimate();
        Some((agent.external_repair()?, estimate))
    }

    /// The results of the run.
    pub fn into_record(self) -> Record {
        collect::record(self)
    }
}

/// Runs `plan` with `seed` to its end.
pub fn run(plan: &Plan, seed: u64) -> Record {
    let mut run = Run::new(plan, seed);
    run.execute(|_| ControlFlow::Continue(()));
    run.into_record()
}
