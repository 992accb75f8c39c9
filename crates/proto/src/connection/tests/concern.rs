//! The parts that a concern is handed, without a connection.

use whimbrel_units::{Duration, Instant};
use whimbrel_wire::SeqNo;

use super::super::context::{Context, Effects, Ports};
use super::super::timer::Timer;
use super::super::{Profile, Role, State};
use crate::{Config, Event};

/// The time at which these tests start.
pub(in crate::connection) const START: Instant = Instant::from_secs(100);

/// A context in that state, whose round-trip time is 50 ms, and no effects yet.
pub(in crate::connection) fn parts(role: Role, state: State, config: Config) -> (Context, Effects) {
    let ports = Ports { role, source: 1, destination: 2 };
    let config = Profile::new(config).unwrap();
    let fx = Effects::new(&config);
    let mut cx = Context::new(START, config, ports, state, SeqNo::new(1000));
    cx.rtt.recall(START, Duration::from_millis(50));
    cx.sequence.start_receiving(SeqNo::new(5000));
    (cx, fx)
}

/// Time from the start to the next expiration of that timer, which must be running.
pub(in crate::connection) fn runs_for(fx: &Effects, timer: Timer) -> Duration {
    assert!(fx.timers.is_running(timer), "{timer:?}");
    fx.timers.deadline(timer) - START
}

/// Removes the events so far.
pub(in crate::connection) fn events(fx: &mut Effects) -> Vec<Event> {
    fx.events.drain(..).collect()
}
