//! The slotted rule, drawn.

use whimbrel_wifi::random::{Random, SplitMix64};

use super::ExchangeTimes;

/// A saturated cell in slots.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MonteCarlo {
    /// Saturated stations.
    pub stations: usize,
    /// The smallest contention window.
    pub cw_min: u16,
    /// The largest contention window.
    pub cw_max: u16,
    /// Attempts per payload; `None` for no limit.
    pub retry_limit: Option<u16>,
    /// Stations whose frames survive collisions with the frames of the others (capture), but not with each
    /// other's.
    pub near: usize,
}

/// Counts of events.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct MonteCarloResult {
    /// Idle slots.
    pub idle_slots: u64,
    /// Successful exchanges.
    pub successes: u64,
    /// Successful exchanges of near stations.
    pub near_successes: u64,
    /// Collisions of two or more stations.
    pub collisions: u64,
    /// Transmissions, of which a collision has several.
    pub attempts: u64,
    /// Transmissions that collided.
    pub collided_attempts: u64,
}

impl MonteCarloResult {
    /// Payloads per second.
    pub fn payload_rate(&self, times: ExchangeTimes) -> f64 {
        let total = self.idle_slots as f64 * times.slot
            + self.successes as f64 * times.success
            + self.collisions as f64 * times.collision;
        self.successes as f64 / total * 1e6
    }

    /// Probability that a transmission collides.
    pub fn collision_probability(&self) -> f64 {
        self.collided_attempts as f64 / self.attempts as f64
    }
}

/// Draws this many busy periods after a tenth of them, which are not counted.
///
/// Every station has a counter. The smallest counters expire together; the others are reduced by as many
/// slots and keep the rest. A success draws from the smallest window, a collision doubles the windows of its
/// stations.
pub fn monte_carlo(cell: MonteCarlo, busy_periods: u64, seed: u64) -> MonteCarloResult {
    let mut random = SplitMix64::new(seed);
    let mut draw = |window: u16| random.below(u64::from(window) + 1) as u32;
    let mut windows: Vec<u16> = vec![cell.cw_min; cell.stations];
    let mut failures: Vec<u16> = vec![0; cell.stations];
    let mut counters: Vec<u32> = windows.iter().map(|&window| draw(window)).collect();
    let mut result = MonteCarloResult::default();
    for period in 0..busy_periods + busy_periods / 10 {
        if period == busy_periods / 10 {
            result = MonteCarloResult::default();
        }
        let Some(&idle) = counters.iter().min() else { return result };
        let senders = counters.iter().filter(|&&counter| counter == idle).count() as u64;
        let near = counters[..cell.near].iter().filter(|&&counter| counter == idle).count() as u64;
        let is_success = senders == 1 || near == 1;
        result.idle_slots += u64::from(idle);
        result.attempts += senders;
        if is_success {
            result.successes += 1;
            result.near_successes += near;
            result.collided_attempts += senders - 1;
        } else {
            result.collisions += 1;
            result.collided_attempts += senders;
        }
        for station in 0..cell.stations {
            if counters[station] != idle {
                counters[station] -= idle;
                continue;
            }
            // Far stations lose to the near one.
            let is_mine = is_success && (senders == 1 || station < cell.near);
            failures[station] = if is_mine { 0 } else { failures[station].saturating_add(1) };
            if is_mine || cell.retry_limit.is_some_and(|limit| failures[station] >= limit) {
                failures[station] = 0;
                windows[station] = cell.cw_min;
            } else {
                windows[station] = (windows[station] * 2 + 1).min(cell.cw_max);
            }
            counters[station] = draw(windows[station]);
        }
    }
    result
}
