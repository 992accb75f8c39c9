//! The earliest of many deadlines.

use alloc::vec::Vec;

use whimbrel_units::Instant;

#[cfg(test)]
mod tests;

/// Children of a node of the tree: a cache line of times.
const WIDTH: usize = 8;

/// One deadline for each of a number of machines, as a tree of minima: a change costs at most the logarithm
/// of their number, mostly less, and the earliest deadline nothing.
#[derive(Clone, Debug, Default)]
pub struct Deadlines {
    machines: usize,
    /// The levels, each padded to whole nodes: the machines' deadlines, the minima of groups of them, ...,
    /// the minimum.
    times: Vec<Instant>,
    /// Beginning of each level.
    levels: Vec<usize>,
}

impl Deadlines {
    /// Adds a machine, without a deadline, and returns its number.
    pub fn add(&mut self) -> usize {
        let number = self.machines;
        self.machines += 1;
        if self.levels.get(1).copied().unwrap_or(0) < self.machines {
            self.grow();
        }
        number
    }

    /// Doubles the number of machines that there is room for.
    fn grow(&mut self) {
        let known: Vec<Instant> = self.times.iter().copied().take(self.machines - 1).collect();
        let mut size = (self.machines * 2).next_multiple_of(WIDTH);
        let mut total = 0;
        self.levels.clear();
        loop {
            self.levels.push(total);
            total += size;
            if size == 1 {
                break;
            }
            size = match size / WIDTH {
                1 => 1,
                groups => groups.next_multiple_of(WIDTH),
            };
        }
        self.times = alloc::vec![Instant::FAR_FUTURE; total];
        for (machine, time) in known.into_iter().enumerate() {
            self.set(machine, Some(time));
        }
    }

    /// Sets the deadline of a machine; `None` for none.
    ///
    /// # Panics
    /// If there is no such machine.
    #[inline]
    pub fn set(&mut self, machine: usize, deadline: Option<Instant>) {
        self.set_time(machine, deadline.unwrap_or(Instant::FAR_FUTURE));
    }

    /// Sets the deadline of a machine; [`Instant::FAR_FUTURE`] for none.
    ///
    /// # Panics
    /// If there is no such machine.
    #[inline]
    pub fn set_time(&mut self, machine: usize, new: Instant) {
        assert!(machine < self.machines, "there is no machine {machine}");
        if self.times[machine] != new {
            self.change(machine, new);
        }
    }

    fn change(&mut self, machine: usize, mut new: Instant) {
        let mut old = core::mem::replace(&mut self.times[machine], new);
        let mut place = machine;
        for level in 1..self.levels.len() {
            if old == new {
                return;
            }
            let parent = self.levels[level] + place / WIDTH;
            let least = self.times[parent];
            if new > least {
                if old > least {
                    return;
                }
                // The minimum has grown.
                let group = self.levels[level - 1] + place / WIDTH * WIDTH;
                new = least_of(&self.times[group..group + WIDTH]);
            }
            (old, self.times[parent]) = (least, new);
            place /= WIDTH;
        }
    }

    /// The earliest deadline; [`Instant::FAR_FUTURE`] without one.
    #[inline]
    pub fn first_at(&self) -> Instant {
        self.times.last().copied().unwrap_or(Instant::FAR_FUTURE)
    }

    /// The machine with the earliest deadline, the lowest number first, and that deadline.
    #[inline]
    pub fn first(&self) -> Option<(usize, Instant)> {
        let first = self.first_at();
        if first == Instant::FAR_FUTURE {
            return None;
        }
        let mut place = 0;
        for &level in self.levels.iter().rev().skip(1) {
            let group = level + place * WIDTH;
            // Without a branch for each machine, as all are equally likely.
            let mut position = 0;
            for (number, &time) in self.times[group..group + WIDTH].iter().enumerate().rev() {
                position = if time == first { number } else { position };
            }
            place = place * WIDTH + position;
        }
        Some((place, first))
    }
}

/// The least of the times of a group.
#[inline]
fn least_of(group: &[Instant]) -> Instant {
    group.iter().fold(Instant::FAR_FUTURE, |least, &time| if time < least { time } else { least })
}
