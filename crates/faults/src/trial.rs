//! The loop of a trial of any kind: what happens next, the packets on their way, and the law *drained*.

use whimbrel_units::{Duration, Instant};

use crate::course::Course;
use crate::path::{InFlightPacket, Leaving, Treatment};
use crate::plan::Side;

/// Events after which a trial that has not ended has a livelock.
const MAX_STEPS: u64 = 2_000_000;

/// The two ends of a trial's paths, with their applications and laws.
pub(crate) trait Pair {
    /// Packets that an end may send at one instant. More are a livelock.
    const MAX_BURST: u64;

    /// Runs the trial to its end, by [`run_until`] or [`run_out`]. It panics if a law is broken.
    fn run(&mut self);
    /// Its course so far.
    fn course(&mut self) -> &mut Course;
    /// Time of the next action of an application or of the network.
    fn next_action(&self) -> Option<Instant> {
        None
    }

    /// Performs the actions that are due.
    fn act(&mut self) {}
    /// Time at which an end requests to be woken.
    fn due(&self, side: Side) -> Option<Instant>;
    /// The delay of its wake-ups.
    fn latency(&self, side: Side) -> Duration {
        let _ = side;
        Duration::ZERO
    }

    /// Runs the timers of an end.
    fn handle_timeout(&mut self, side: Side);
    /// The next packet of an end.
    fn poll_transmit(&mut self, side: Side) -> Option<Leaving>;
    /// A packet has left.
    fn on_treated(&mut self, side: Side, leaving: &Leaving, treatment: Treatment) {
        let _ = (side, leaving, treatment);
    }

    /// `true` if a packet that arrives has the address of that end.
    fn accepts(&mut self, to: Side, arriving: &InFlightPacket) -> bool {
        let _ = (to, arriving);
        true
    }

    /// A packet arrived at an end.
    fn arrive(&mut self, to: Side, arrived: InFlightPacket);
    /// Decides whether that end acts before the next packet of those that arrive at the same time.
    fn acts_between(&mut self, to: Side) -> bool;
    /// Passes the events of an end to its application. `false` if there were none.
    fn deliver_events(&mut self, side: Side) -> bool;
    /// Checks the laws of one end.
    fn look(&mut self, side: Side) {
        let _ = side;
    }

    /// Checks the laws of both ends, once they are drained.
    fn check(&mut self) {}
}

/// Runs a trial until `end`.
pub(crate) fn run_until(pair: &mut impl Pair, end: Instant) {
    advance(pair, end);
    pair.course().now = end;
}

/// Runs a trial until nothing is left to happen.
pub(crate) fn run_out(pair: &mut impl Pair) {
    advance(pair, Instant::FAR_FUTURE);
}

fn advance(pair: &mut impl Pair, end: Instant) {
    loop {
        settle(pair);
        let Some(next) = next_event(pair).filter(|next| *next <= end) else { return };
        let course = pair.course();
        course.steps += 1;
        assert!(course.steps < MAX_STEPS, "no end after {MAX_STEPS} events, at {}", course.now);
        course.now = next.max(course.now);
        pair.act();
        wake(pair);
        deliver(pair);
    }
}

fn next_event(pair: &mut impl Pair) -> Option<Instant> {
    let arrival = pair.course().next_arrival();
    let wakes = Side::BOTH.into_iter().filter_map(|side| wakes(pair, side));
    wakes.chain(arrival).chain(pair.next_action()).min()
}

fn wakes(pair: &impl Pair, side: Side) -> Option<Instant> {
    pair.due(side).map(|due| due + pair.latency(side))
}

/// Wakes the ends with expired deadlines.
fn wake(pair: &mut impl Pair) {
    let now = pair.course().now;
    for side in Side::BOTH {
        if wakes(pair, side).is_some_and(|at| at <= now) {
            pair.handle_timeout(side);
            pair.course().wake(side);
        }
    }
}

/// Delivers arrived packets. Drivers may or may not drain in between.
fn deliver(pair: &mut impl Pair) {
    for from in Side::BOTH {
        let to = from.other();
        for path in 0..pair.course().paths.len() {
            while let Some(arrived) = pair.course().take_arrived(path, from) {
                if pair.accepts(to, &arrived) {
                    pair.course().on_arrival(to, path, &arrived);
                    pair.course().wake(to);
                    pair.arrive(to, arrived);
                    pair.look(to);
                }
                if pair.acts_between(to) {
                    settle(pair);
                }
            }
        }
    }
}

/// Drains the ends to which something has happened, and checks the laws.
fn settle(pair: &mut impl Pair) {
    for side in Side::BOTH {
        if core::mem::take(&mut pair.course().awake[side as usize]) {
            pair.look(side);
            drain(pair, side);
            pair.look(side);
        }
    }
    pair.check();
}

fn drain<P: Pair>(pair: &mut P, side: Side) {
    // A connection is announced before its first packet leaves.
    pair.deliver_events(side);
    loop {
        let sent = transmit(pair, side);
        let reported = pair.deliver_events(side);
        if !sent && !reported {
            break;
        }
    }
    let now = pair.course().now;
    let due = pair.due(side);
    assert!(due.is_none_or(|due| due > now), "drained at {now}, the {side:?} requests a wake-up at {due:?}");
    pair.handle_timeout(side);
    assert_eq!(pair.due(side), due, "waking the {side:?} early changes something");
}

fn transmit<P: Pair>(pair: &mut P, side: Side) -> bool {
    let mut any = false;
    while let Some(leaving) = pair.poll_transmit(side) {
        any = true;
        let course = pair.course();
        assert!(
            course.count_burst(side) <= P::MAX_BURST,
            "the {side:?} does not stop sending at {}: {:?}",
            course.now,
            leaving.transmit
        );
        let treatment = course.offer(side, &leaving);
        pair.on_treated(side, &leaving, treatment);
    }
    any
}
