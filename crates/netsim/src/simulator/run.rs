//! The run loop.

use core::ops::ControlFlow;

use whimbrel_units::Instant;

use super::Simulator;
use super::forward::STALL_LIMIT;
use crate::events::{Due, Event};
use crate::{Agent, AgentId};

/// Progress of a run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Progress {
    /// Simulated time.
    pub now: Instant,
    /// End of the run.
    pub until: Instant,
    /// Events handled since the simulator was made.
    pub events: u64,
}

/// Reason for the return of a run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RunOutcome {
    /// Everything up to the wanted time has happened, and it is now.
    Finished,
    /// The observer broke it off; it can be resumed.
    Interrupted,
}

impl<A: Agent> Simulator<A> {
    /// Handles every event up to and including this time, and makes it now.
    ///
    /// # Panics
    /// If an agent never stops: it sends without end or wants to be woken for ever at one time.
    pub fn run_until(&mut self, until: Instant) {
        while let Some(due) = self.next_due(until) {
            self.handle(due, until);
        }
        self.timeline.now = self.timeline.now.max(until);
    }

    /// The time of the next event, for a driver that runs the network against another clock; `None` if
    /// nothing is left to happen. Agents that were changed from outside are drained first, at the present
    /// time.
    pub fn next_event_at(&mut self) -> Option<Instant> {
        if self.agents.is_any_touched() || !self.network.routes_current {
            self.catch_up();
        }
        self.timeline.queue.next_at()
    }

    /// The same, reporting progress to `observe` every `interval` events.
    ///
    /// # Panics
    /// Same as [`run_until`](Self::run_until).
    pub fn run_with(
        &mut self,
        until: Instant,
        interval: u64,
        mut observe: impl FnMut(&Progress) -> ControlFlow<()>,
    ) -> RunOutcome {
        loop {
            for _ in 0..interval.max(1) {
                let Some(due) = self.next_due(until) else {
                    self.timeline.now = self.timeline.now.max(until);
                    return RunOutcome::Finished;
                };
                self.handle(due, until);
            }
            let progress = Progress { now: self.timeline.now, until, events: self.timeline.handled };
            if observe(&progress).is_break() {
                return RunOutcome::Interrupted;
            }
        }
    }

    fn next_due(&mut self, until: Instant) -> Option<Due> {
        if self.agents.is_any_touched() || !self.network.routes_current {
            self.catch_up();
        }
        self.timeline.queue.pop(until)
    }

    /// Drains the agents that were touched by something other than an event of their own.
    #[cold]
    fn catch_up(&mut self) {
        if !self.network.routes_current {
            self.network.compute_routes(self.timeline.now);
        }
        while let Some(agent) = self.agents.take_touched() {
            self.drain(agent);
        }
    }

    fn handle(&mut self, due: Due, until: Instant) {
        self.timeline.now = due.at;
        self.timeline.handled += 1;
        match due.event {
            Event::Arrival(link) => self.handle_arrival(link),
            Event::Release(link) => self.handle_release(link),
            Event::Service(link) => self.serve(link),
            Event::Medium(medium) => {
                self.handle_medium(medium, until);
                self.apply_effects(medium);
            }
            Event::Controller(controller) => self.handle_control(controller),
            Event::Host(host) => {
                let next = self.handle_host(host);
                self.dispatch(next);
            }
            Event::Timer(agent) => self.handle_timer(agent),
            Event::Local => self.handle_local(),
            Event::Command => self.handle_command(),
        }
    }

    fn handle_timer(&mut self, agent: AgentId) {
        let slot = &mut self.agents.slots[agent.index()];
        slot.wake_up = Instant::FAR_FUTURE;
        match slot.deadline {
            Some(deadline) if deadline > self.timeline.now => self.wake_at(agent, deadline),
            Some(_) => {
                slot.timeouts_then =
                    if slot.last_timeout == self.timeline.now { slot.timeouts_then + 1 } else { 0 };
                slot.last_timeout = self.timeline.now;
                assert!(
                    slot.timeouts_then < STALL_LIMIT,
                    "agent {} times out at {} for ever",
                    agent.index(),
                    self.timeline.now
                );
                slot.agent.handle_timeout(self.timeline.now);
                self.drain(agent);
                if self.agents.slots[agent.index()].wake_up == Instant::FAR_FUTURE {
                    self.timeline.queue.clear(self.agents.slots[agent.index()].source);
                }
            }
            None => self.timeline.queue.clear(slot.source),
        }
    }
}
