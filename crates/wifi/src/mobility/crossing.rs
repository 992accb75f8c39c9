//! The times at which two nodes come within a distance of each other or leave it.

use whimbrel_units::{Duration, Instant};

use super::{Leg, Path};

/// A change of the relation between the distance of two nodes and a threshold.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Crossing {
    /// The first instant at which the new relation holds.
    pub at: Instant,
    /// `true` if the distance is at most the threshold from then on, `false` if it is greater.
    pub within: bool,
}

/// The first time after `now` at which the distance of two nodes becomes at most `distance` metres, or greater than it.
/// `None` if that never happens.
///
/// Solved for each pair of legs as a quadratic equation, so that the cost depends on the number of legs and not on the
/// time that passes. Nanoseconds are the resolution: a contact that begins and ends within the same nanosecond is not
/// reported.
pub fn next_crossing(first: &Path, second: &Path, distance: f64, now: Instant) -> Option<Crossing> {
    let squared = distance * distance;
    let is_within = |at: Instant| first.position(at).distance_squared(second.position(at)) <= squared;
    let before = is_within(now);
    let mut from = now;
    loop {
        let (a, a_end) = first.current(from);
        let (b, b_end) = second.current(from);
        let end = a_end.min(b_end);
        for root in roots(&a, &b, squared, from).into_iter().flatten() {
            // `next` is the first whole nanosecond not before the root, give or take the rounding of the root.
            let nanos = libm::ceil(root * 1e9);
            let next = from + Duration::from_nanos(if nanos > 0.0 { nanos as u64 } else { 0 });
            if let Some(at) = settle(next, now, end, before, &is_within) {
                return Some(Crossing { at, within: !before });
            }
        }
        if end == Instant::FAR_FUTURE {
            return None;
        }
        // A crossing at the very end of the legs may be lost to the rounding of its root.
        if end > now && is_within(end) != before {
            return settle(end, now, Instant::FAR_FUTURE, before, &is_within)
                .map(|at| Crossing { at, within: !before });
        }
        from = end;
    }
}

/// The first instant near `estimate` at which the relation differs from `before`, later than `now` and not after `end`.
fn settle(
    estimate: Instant,
    now: Instant,
    end: Instant,
    before: bool,
    is_within: &impl Fn(Instant) -> bool,
) -> Option<Instant> {
    /// The greatest error of a root in steps of a nanosecond. Roots are relative to the beginning of a leg, and an error
    /// of 1e-12 of 1000 s is one step; a grazing pass loses half of the digits and is searched for as well as this goes.
    const STEPS: u64 = 64;
    let step = Duration::from_nanos(1);
    let mut at = estimate.max(now + step);
    let mut tries = 0;
    while is_within(at) == before {
        at += step;
        tries += 1;
        if tries > STEPS || at > end {
            return None;
        }
    }
    for _ in 0..STEPS {
        let earlier = at.saturating_sub(step);
        if earlier <= now || is_within(earlier) == before {
            break;
        }
        at = earlier;
    }
    (at <= end).then_some(at)
}

/// The times in seconds after `from` at which the squared distance of two nodes on these legs equals `squared`, in
/// ascending order; those before `from` are left out.
fn roots(a: &Leg, b: &Leg, squared: f64, from: Instant) -> [Option<f64>; 2] {
    let (p, q) = (a.position(from), b.position(from));
    let (dx, dy) = (p.x - q.x, p.y - q.y);
    let (vx, vy) = (a.velocity.x - b.velocity.x, a.velocity.y - b.velocity.y);
    // |d + v t|^2 = squared: A t^2 + 2 B t + C = 0.
    let (qa, qb, qc) = (vx * vx + vy * vy, dx * vx + dy * vy, dx * dx + dy * dy - squared);
    if qa == 0.0 {
        return [None, None];
    }
    let discriminant = qb * qb - qa * qc;
    if discriminant < 0.0 {
        return [None, None];
    }
    // The sum that does not cancel gives one root, Vieta's formula the other.
    let root = libm::sqrt(discriminant);
    let sum = if qb >= 0.0 { -(qb + root) } else { root - qb };
    let (mut low, mut high) = if sum == 0.0 { (0.0, 0.0) } else { (sum / qa, qc / sum) };
    if low > high {
        (low, high) = (high, low);
    }
    [Some(low).filter(|&t| t >= 0.0), Some(high).filter(|&t| t >= 0.0)]
}

#[cfg(test)]
mod tests;
