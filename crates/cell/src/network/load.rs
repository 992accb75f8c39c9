//! The load of a cell: the share of its resource blocks in use.

use whimbrel_units::{Duration, Instant};

use crate::amc::lte::Direction;
use crate::cell::Cell;

/// Time over which a load is a mean.
const WINDOW: Duration = Duration::from_millis(100);

/// The measurement of a cell's load.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct Load {
    window: u64,
    used: [u64; 2],
}

impl Load {
    pub(super) const fn window(now: Instant) -> u64 {
        now.as_nanos() / WINDOW.as_nanos()
    }

    /// The shares in downlink and uplink since the last measurement, in whole windows.
    pub(super) fn measure(&mut self, now: Instant, cell: &Cell) -> [f64; 2] {
        let config = cell.config();
        let used = [cell.used(Direction::Down), cell.used(Direction::Up)];
        let windows = (Self::window(now) - self.window).max(1);
        let slots = (WINDOW * windows) / config.numerology.slot() * f64::from(config.groups.count());
        let shares = config.duplex.slot_shares();
        let load = core::array::from_fn(|direction| {
            let own = (used[direction] - self.used[direction]) as f64 / (slots * shares[direction]);
            (own + config.load).min(1.0)
        });
        *self = Self { window: Self::window(now), used };
        load
    }
}
