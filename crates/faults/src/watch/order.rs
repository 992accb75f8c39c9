//! Where an application wants its datagrams in order, it gets them in order, and none waits longer than it bears.

use whimbrel_proto::config::LatePolicy;
use whimbrel_proto::{Config, Connection, State};
use whimbrel_units::Instant;
use whimbrel_wire::SeqNo;

use crate::tally::Tally;

/// What one end's application has got.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Order {
    newest: Option<SeqNo>,
}

impl Order {
    /// The application gets the datagram of that packet.
    pub(crate) fn on_datagram(&mut self, config: &Config, sequence: SeqNo) {
        let Some(newest) = self.newest.replace(sequence) else { return };
        assert!(
            config.receive.reorder_delay.is_none()
                || config.receive.late == LatePolicy::Deliver
                || newest.is_before(sequence),
            "{sequence:?} follows {newest:?}, though the application wants order"
        );
    }
}

/// Checks a connection that has nothing more to do for now.
pub(crate) fn check(now: Instant, config: &Config, connection: &Connection, tally: &mut Tally) {
    let Some(reordering) = connection.reordering() else {
        let has_begun = matches!(connection.state(), State::PartOpen | State::Open);
        assert!(!(config.orders_arrivals() && has_begun), "nobody waits, though the application wants order");
        return;
    };
    if let Some(delay) = config.receive.reorder_delay
        && reordering.held > 0
    {
        let wakes = connection.poll_timeout();
        assert!(
            wakes.is_some_and(|wakes| wakes <= now + delay),
            "{reordering:?} wait until {wakes:?}, at {now}"
        );
    }
    assert!(reordering.held <= config.receive.max_datagrams, "{reordering:?}");
    tally.observe("packets that waited for others", reordering.held as u64);
}
