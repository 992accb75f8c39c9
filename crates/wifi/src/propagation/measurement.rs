//! Delays and powers of a transmission at its sender's neighbours, one quantity after the other.

use alloc::vec::Vec;

use super::{LinkBudget, SPEED_OF_LIGHT};
use crate::StationIndex;
use crate::medium::Link;

/// Signals at the neighbours of a transmission's sender. Each quantity is a list of its own, so that the
/// compiler computes several neighbours at once.
#[derive(Clone, Default, Debug)]
pub(super) struct Measurement {
    /// Squares of the distances in square metres.
    pub(super) squared: Vec<f64>,
    /// Distances in metres.
    distances: Vec<f64>,
    /// Propagation delays in nanoseconds.
    delays: Vec<u32>,
    /// Received powers in watts.
    pub(super) powers: Vec<f64>,
    /// The neighbours by [order](Near::order), where they have to be sorted.
    near: Vec<Near>,
}

/// Neighbours that sense a transmission.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reach {
    /// Square of the greatest distance in square metres.
    pub(super) range_squared: f64,
    /// Least power in watts.
    pub(super) threshold: f64,
}

/// A neighbour of a sender.
#[derive(Clone, Copy, Debug)]
struct Near {
    /// Propagation delay in nanoseconds, in the upper half, and the station.
    order: u64,
    /// Received power in watts.
    power: f32,
    is_sensed: bool,
}

/// The order of the links of a transmission: by delay, then by station.
const fn order(delay: u32, station: StationIndex) -> u64 {
    (delay as u64) << 32 | station.0 as u64
}

impl Measurement {
    /// Computes delays and powers over the squared distances, without fading.
    pub(super) fn measure(&mut self, budget: &LinkBudget) {
        let Self { squared, distances, delays, powers, .. } = self;
        distances.clear();
        distances.extend(squared.iter().map(|&squared| libm::sqrt(squared)));
        delays.clear();
        delays.extend(distances.iter().map(|&distance| delay(distance)));
        powers.clear();
        budget.powers(squared, powers);
    }

    /// Writes the links to the `stations` in reach, in the order of their delays and then of their numbers,
    /// and brings the stations into that order.
    pub(super) fn links(&mut self, stations: &mut [StationIndex], reach: Reach, links: &mut Vec<Link>) {
        let Self { squared, delays, powers, near, .. } = self;
        let is_sensed = |squared: f64, power: f64| squared <= reach.range_squared && power >= reach.threshold;
        let quantities = delays.iter().zip(&*powers).zip(&*squared);
        let (mut before, mut is_sorted) = (0, true);
        for (&station, &delay) in stations.iter().zip(&*delays) {
            let order = order(delay, station);
            is_sorted &= before <= order;
            before = order;
        }
        links.clear();
        if is_sorted {
            let reached = powers.iter().zip(&*squared);
            // Most often all that are in reach are nearer than the others.
            let nearest = reached.clone().take_while(|&(&power, &squared)| is_sensed(squared, power)).count();
            let link = |(&station, (&delay, &power)): (&StationIndex, (&u32, &f64))| Link {
                station,
                delay,
                power: power as f32,
                is_corrupted: false,
            };
            let near_stations = stations.get(..nearest).unwrap_or_default();
            links.extend(near_stations.iter().zip(delays.iter().zip(&*powers)).map(link));
            let others = stations.iter().zip(quantities).skip(nearest);
            for (&station, ((&delay, &power), &squared)) in others {
                if is_sensed(squared, power) {
                    links.push(Link { station, delay, power: power as f32, is_corrupted: false });
                }
            }
        } else {
            near.clear();
            near.extend(stations.iter().zip(quantities).map(|(&station, ((&delay, &power), &squared))| {
                Near {
                    order: order(delay, station),
                    power: power as f32,
                    is_sensed: is_sensed(squared, power),
                }
            }));
            sort_nearly_sorted(near);
            for (place, &Near { order, power, is_sensed }) in stations.iter_mut().zip(&*near) {
                let station = StationIndex(order as u32);
                *place = station;
                if is_sensed {
                    let delay = (order >> 32) as u32;
                    links.push(Link { station, delay, power, is_corrupted: false });
                }
            }
        }
    }
}

/// Propagation delay in nanoseconds over a distance in metres, rounded up.
#[inline(always)]
fn delay(distance: f64) -> u32 {
    /// From here on, doubles are whole numbers, and the low half of their bits is the low half of the
    /// mantissa's.
    const WHOLE: f64 = (1u64 << 52) as f64;
    const LIMIT: f64 = u32::MAX as f64;
    let nanos = distance / SPEED_OF_LIGHT * 1e9;
    let nanos = if nanos < LIMIT { nanos } else { LIMIT };
    let shifted = nanos + WHOLE;
    let is_rounded_down = shifted - WHOLE < nanos;
    (shifted.to_bits() as u32).wrapping_add(u32::from(is_rounded_down))
}

/// Sorts by insertion what is nearly in order, and otherwise as the library does.
fn sort_nearly_sorted(near: &mut [Near]) {
    let mut moves = 8 * near.len();
    for end in 1..near.len() {
        let moved = near[end];
        let mut place = end;
        while place > 0 && near[place - 1].order > moved.order {
            near[place] = near[place - 1];
            place -= 1;
        }
        near[place] = moved;
        moves = moves.saturating_sub(end - place);
        if moves == 0 {
            near.sort_unstable_by_key(|near| near.order);
            return;
        }
    }
}

#[cfg(test)]
mod tests;
