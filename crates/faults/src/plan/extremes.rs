//! Rare conditions, at random: numbers and clocks that wrap, coalesced receives, crowds, saturated fields.

use whimbrel_units::Duration;

use super::script::sometime;
use super::{Action, Dice, Plan, Side, config};

/// A tick of the clock that moves initial sequence numbers (RFC 6528), in nanoseconds.
const TICK: u64 = 4_000;
/// Timestamps count units of 10 microseconds in 32 bits (RFC 4340, Section 13.1): they wrap after this many
/// nanoseconds.
const TIMESTAMPS: u64 = 10_000 << 32;
/// The end and the middle of the number spaces of long and of short sequence numbers.
const TURNS: [u64; 4] = [1 << 48, 1 << 47, 1 << 24, 1 << 23];

/// Adds some of it to a plan.
pub(super) fn draw(dice: &mut Dice, plan: &mut Plan) {
    if dice.chance(0.4) {
        // The clock of the options wraps some time after the start.
        let length = plan.horizon - plan.start;
        let before = dice.time(Duration::ZERO, length).as_nanos();
        let turn = Duration::from_nanos(TIMESTAMPS - before);
        let shift = turn - Duration::from_nanos(plan.start.as_nanos());
        shift_by(plan, shift);
    }
    for side in Side::BOTH {
        let ticks = plan.start.as_nanos() / TICK;
        let host = &mut plan.hosts[side as usize];
        if dice.chance(0.6) {
            let first = dice.pick(&TURNS) - dice.below(200);
            host.numbers = Some(first.wrapping_sub(ticks));
        }
        if dice.chance(0.4) {
            host.coalesces = Some(dice.time(Duration::from_micros(50), Duration::from_millis(50)));
        }
    }
    for path in &mut plan.paths {
        if path.forge > 0.0 && dice.chance(0.5) {
            path.saturate = dice.between(0.0, 0.5);
        }
    }
    if dice.chance(0.2) {
        crowd(dice, plan);
    }
}

/// Many clients of the one server, all busy.
fn crowd(dice: &mut Dice, plan: &mut Plan) {
    let length = plan.horizon - plan.start;
    let extra = 2 + dice.below(20);
    for _ in 0..extra {
        let mut config = config::draw_like(dice, &plan.server);
        plan.patience = plan.patience.max(super::patience(config.timers.msl));
        config.max_datagram = config.max_datagram.max(*plan.sizes.end());
        let at = plan.start + sometime(dice, length);
        plan.script.push((at, Action::Connect { config: Box::new(config), from: None }));
    }
    for _ in 0..dice.below(20 * extra) {
        let side = *dice.pick(&Side::BOTH);
        let (which, count) = (dice.below(1 + extra), 1 + dice.below(20));
        let at = plan.start + sometime(dice, length);
        plan.script.push((at, Action::Send { side, which, count, lifetime: None }));
    }
    plan.script.sort_by_key(|(at, _)| *at);
}

/// The same, later.
fn shift_by(plan: &mut Plan, shift: Duration) {
    plan.start += shift;
    plan.horizon += shift;
    for (at, _) in &mut plan.script {
        *at += shift;
    }
}
