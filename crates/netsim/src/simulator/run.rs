//! The run loop.

use core::ops::ControlFlow;

use whimbrel_units::Instant;

use super::Simulator;
use crate::Agent;
use crate::event_queue::{Due, Event};

/// How far a run has come.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Progress {
    /// Simulated time.
    pub now: Instant,
    /// Where the run will stop.
    pub until: Instant,
    /// Events handled since the simulator was made.
    pub events: u64,
}

/// Why a run returned.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RunOutcome {
    /// Everything up to the wanted time has happened, and it is now.
    Finished,
    /// The observer broke it off; it can be resumed.
    Interrupted,
}

/// How often an agent may be woken at one time without moving its deadline, or send without a pause.
const PATIENCE: u32 = 1_000_000;

impl<A: Agent> Simulator<A> {
    /// Handles every event up to and including this time, and makes it now.
    ///
    /// # Panics
    /// If an agent never stops: it sends without end or wants to be woken for ever at one time.
    pub fn run_until(&mut self, until: Instant) {
        while let Some(due) = self.next_due(until) {
            self.handle(due);
        }
        self.now = self.now.max(until);
    }

    /// The same, telling `observe` how far it has come every `interval` events.
    ///
    /// # Panics
    /// As [`run_until`](Self::run_until).
    pub fn run_with(
        &mut self,
        until: Instant,
        interval: u64,
        mut observe: impl FnMut(&Progress) -> ControlFlow<()>,
    ) -> RunOutcome {
        loop {
            for _ in 0..interval.max(1) {
                let Some(due) = self.next_due(until) else {
                    self.now = self.now.max(until);
                    return RunOutcome::Finished;
                };
                self.handle(due);
            }
            let progress = Progress { now: self.now, until, events: self.events_handled };
            if observe(&progress).is_break() {
                return RunOutcome::Interrupted;
            }
        }
    }

    fn next_due(&mut self, until: Instant) -> Option<Due> {
        if !self.touched.is_empty() || !self.routes_current {
            self.catch_up();
        }
        self.events.pop(until)
    }

    /// Drains the agents that were touched by something other than an event of their own.
    #[cold]
    fn catch_up(&mut self) {
        if !self.routes_current {
            self.compute_routes();
        }
        while let Some(agent) = self.touched.pop_front() {
            self.agents[agent as usize].touched = false;
            self.drain(agent);
        }
    }

    fn handle(&mut self, due: Due) {
        self.now = due.at;
        self.events_handled += 1;
        match due.event {
            Event::Arrival(link) => self.handle_arrival(link, due.insertion),
            Event::Timer(agent) => self.handle_timer(agent, due.insertion),
            Event::Local => self.handle_local(),
            Event::Command(index) => self.handle_command(index),
        }
    }

    fn handle_timer(&mut self, agent: u32, insertion: u64) {
        let slot = &mut self.agents[agent as usize];
        if slot.timer_insertion != insertion {
            return;
        }
        slot.timer_at = Instant::FAR_FUTURE;
        match slot.agent.poll_timeout() {
            None => {}
            Some(deadline) if deadline > self.now => self.arm(agent, deadline),
            Some(_) => {
                if slot.last_wake_up == self.now {
                    slot.idle_wake_ups += 1;
                    assert!(
                        slot.idle_wake_ups < PATIENCE,
                        "agent {agent} wants to be woken at {} for ever",
                        self.now
                    );
                } else {
                    slot.last_wake_up = self.now;
                    slot.idle_wake_ups = 0;
                }
                slot.agent.handle_timeout(self.now);
                self.drain(agent);
            }
        }
    }

    /// Sends all that an agent has to send, and sees to it that it is woken in time.
    pub(super) fn drain(&mut self, agent: u32) {
        let mut sent = 0;
        while let Some(packet) = self.agents[agent as usize].agent.poll_transmit(self.now) {
            self.inject(agent, packet);
            sent += 1;
            assert!(sent < PATIENCE, "agent {agent} sends without end at {}", self.now);
        }
        let slot = &self.agents[agent as usize];
        if let Some(deadline) = slot.agent.poll_timeout()
            && deadline < slot.timer_at
        {
            self.arm(agent, deadline);
        }
    }

    /// A deadline that moves later is left in the queue: the agent is then woken early and armed again.
    fn arm(&mut self, agent: u32, deadline: Instant) {
        let deadline = deadline.max(self.now);
        let insertion = self.events.insertion();
        let slot = &mut self.agents[agent as usize];
        slot.timer_at = deadline;
        slot.timer_insertion = insertion;
        self.events.push(deadline, insertion, Event::Timer(agent));
    }
}
