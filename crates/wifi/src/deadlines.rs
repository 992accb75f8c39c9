//! The earliest of many deadlines.

use alloc::vec::Vec;

use whimbrel_units::Instant;

#[cfg(test)]
mod tests;

/// One deadline for each of a number of machines, as a tournament tree: a change costs the logarithm of their number,
/// the earliest deadline nothing.
#[derive(Clone, Debug, Default)]
pub struct Deadlines {
    times: Vec<Instant>,
    /// Winners of the matches: node 1 is the final, node n is played by the winners of 2n and 2n + 1.
    winners: Vec<u32>,
    /// Number of leaves, a power of two.
    leaves: usize,
}

impl Deadlines {
    /// Adds a machine, without a deadline, and returns its number.
    pub fn add(&mut self) -> usize {
        let number = self.times.len();
        self.times.push(Instant::FAR_FUTURE);
        if number == self.leaves {
            self.leaves = (self.leaves * 2).max(1);
            self.winners = alloc::vec![0; self.leaves];
            for match_number in (1..self.leaves).rev() {
                self.winners[match_number] = self.winner(match_number);
            }
        }
        number
    }

    /// Sets the deadline of a machine; `None` for none.
    #[inline]
    pub fn set(&mut self, machine: usize, deadline: Option<Instant>) {
        let deadline = deadline.unwrap_or(Instant::FAR_FUTURE);
        if self.times[machine] == deadline {
            return;
        }
        self.times[machine] = deadline;
        let mut match_number = (machine + self.leaves) / 2;
        while match_number >= 1 {
            let winner = self.winner(match_number);
            // The winner's time may have changed although the winner has not.
            if self.winners[match_number] == winner && winner as usize != machine {
                return;
            }
            self.winners[match_number] = winner;
            match_number /= 2;
        }
    }

    /// The machine with the earliest deadline, the lowest number first, and that deadline.
    #[inline]
    pub fn first(&self) -> Option<(usize, Instant)> {
        let machine = if self.leaves > 1 { self.winners[1] as usize } else { 0 };
        Some((machine, *self.times.get(machine)?)).filter(|&(_, at)| at != Instant::FAR_FUTURE)
    }

    fn winner(&self, match_number: usize) -> u32 {
        let player =
            |node: usize| if node < self.leaves { self.winners[node] } else { (node - self.leaves) as u32 };
        let time = |player: u32| self.times.get(player as usize).copied().unwrap_or(Instant::FAR_FUTURE);
        let (left, right) = (player(match_number * 2), player(match_number * 2 + 1));
        if time(right) < time(left) { right } else { left }
    }
}
