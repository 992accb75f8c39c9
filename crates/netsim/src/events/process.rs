//! Event sources beside links, media, controllers and agents.

use whimbrel_units::Instant;

use super::EventSource;
use crate::{Agent, Simulator};

/// Something that acts on a whole simulation at times of its own: movement, sampling, a control loop.
pub trait Process<A: Agent>: Send {
    /// The time at which [`handle_timeout`](Self::handle_timeout) is due; `None` for never again. It is asked for when
    /// the process is added and after each timeout.
    fn poll_timeout(&self) -> Option<Instant>;

    /// The time last returned by [`poll_timeout`](Self::poll_timeout) was reached.
    fn handle_timeout(&mut self, now: Instant, simulator: &mut Simulator<A>);
}

/// A process of a simulation. It is absent while it runs.
pub(crate) struct ProcessSlot<A: Agent> {
    pub(crate) process: Option<Box<dyn Process<A>>>,
    pub(crate) source: EventSource,
}
