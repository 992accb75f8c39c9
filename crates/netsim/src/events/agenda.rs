//! Commands that are scheduled for a time.

use std::collections::BTreeMap;

use whimbrel_units::Instant;

use super::{Event, EventSource, Timeline};

/// Commands by time and insertion number. The first of them is an event.
pub(crate) struct Agenda<C> {
    commands: BTreeMap<(Instant, u64), C>,
    source: EventSource,
}

impl<C> Agenda<C> {
    pub(crate) fn new(timeline: &mut Timeline) -> Self {
        Self { commands: BTreeMap::new(), source: timeline.queue.add_source(Event::Command) }
    }

    /// Adds a command. One for a time that is past is due now.
    pub(crate) fn schedule(&mut self, timeline: &mut Timeline, at: Instant, command: C) {
        let insertion = timeline.queue.insertion();
        self.commands.insert((at.max(timeline.now), insertion), command);
        self.expect(timeline);
    }

    /// Takes the first command.
    pub(crate) fn take_first(&mut self, timeline: &mut Timeline) -> Option<C> {
        let (_, command) = self.commands.pop_first()?;
        self.expect(timeline);
        Some(command)
    }

    fn expect(&self, timeline: &mut Timeline) {
        timeline.expect(self.source, self.commands.first_key_value().map(|(&key, _)| key));
    }
}
