//! A path that carries data again: the rate recovers.

use whimbrel_proto::State;

use super::World;
use crate::plan::Steady;

/// The share of a steady application's datagrams that leave once its rate has recovered.
const LEAST_SHARE: f64 = 0.8;

impl World {
    /// Checks, before the connections close, that a steady application got its rate in the end.
    pub(super) fn check_rate(&mut self) {
        let Some(Steady { from, due, .. }) = self.plan.steady else { return };
        let host = &self.hosts[from as usize];
        let mut open = host.watched.iter().filter_map(|(handle, watched)| {
            let connection = host.endpoint.connection(*handle)?;
            (connection.state() == State::Open && watched.may_go_on()).then_some((connection, watched))
        });
        let Some((connection, watched)) = open.next() else {
            self.course.tally.count("rate: no connection to send on");
            return;
        };
        let (offered, sent) = watched.rate.since(due);
        let seen = connection.snapshot();
        assert!(
            sent as f64 >= LEAST_SHARE * offered as f64,
            "of {offered} datagrams since {due}, on a path that carries everything for long, {sent} left: {:?}",
            seen.sender
        );
        self.course.tally.count("rate: came back");
    }
}
