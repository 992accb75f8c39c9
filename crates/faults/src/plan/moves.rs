//! Clients that move, at random.

use whimbrel_proto::{Config, MobilityConfig, PathChange};
use whimbrel_units::{Duration, Instant};

use super::{Action, Dice, START};

/// Networks that the client's host can be in.
pub(crate) const PLACES: u64 = 5;

/// Most ends agree on moves. `keeps`: the path state is kept.
pub(super) fn allow(dice: &mut Dice, server: &mut Config, clients: &mut [Config], keeps: bool) {
    for config in core::iter::once(server).chain(clients) {
        let on_move = change(dice, keeps);
        config.mobility = dice.chance(0.9).then_some(MobilityConfig::default().on_move(on_move));
    }
}

/// Moves, up to `horizon`.
pub(super) fn draw(dice: &mut Dice, horizon: Instant, keeps: bool, script: &mut Vec<(Instant, Action)>) {
    for _ in 0..1 + dice.below(5) {
        let at = START + dice.time(Duration::ZERO, horizon - START);
        let known = dice.chance(0.5).then(|| change(dice, keeps));
        script.push((at, Action::Move { place: 1 + dice.below(PLACES) as u8, known }));
    }
    script.sort_by_key(|(at, _)| *at);
}

fn change(dice: &mut Dice, keeps: bool) -> PathChange {
    let any = *dice.pick(&[PathChange::Keep, PathChange::Reset, PathChange::Restore]);
    if keeps { PathChange::Keep } else { any }
}
