//! Processes: event sources of one's own.

use whimbrel_units::Instant;

use super::Simulator;
use crate::events::{Event, ProcessSlot};
use crate::{Agent, Process};

impl<A: Agent> Simulator<A> {
    /// Adds a process, whose timeouts become events of the simulation.
    pub fn add_process(&mut self, process: impl Process<A> + 'static) {
        let number = self.processes.len() as u32;
        let source = self.timeline.queue.add_source(Event::Process(number));
        let next = process.poll_timeout();
        self.processes.push(ProcessSlot { process: Some(Box::new(process)), source });
        self.expect_process(number, next);
    }

    pub(super) fn handle_process(&mut self, number: u32) {
        let Some(mut process) = self.processes[number as usize].process.take() else { return };
        process.handle_timeout(self.timeline.now, self);
        let next = process.poll_timeout();
        self.processes[number as usize].process = Some(process);
        self.expect_process(number, next);
    }

    fn expect_process(&mut self, number: u32, next: Option<Instant>) {
        let next = next.map(|at| (at.max(self.timeline.now), self.timeline.queue.insertion()));
        self.timeline.expect(self.processes[number as usize].source, next);
    }
}
