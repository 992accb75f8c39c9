//! Hybrid ARQ: blocks that failed are sent again, and the receiver combines what it has heard.
//!
//! A [`Harq`] has the processes of one terminal and direction. The driver asks for repetitions that are due
//! ([`Harq::due`]) before it sends new blocks, because a repetition keeps its scheme and its resource blocks.
//! The outcome of a transmission is decided as it is sent; what the sender may do next waits for the
//! feedback.

use alloc::collections::VecDeque;
use alloc::vec::Vec;

use crate::amc::lte::Direction;
use crate::duplex::{Duplex, Slot};
use crate::level::Decibels;
use crate::radio::error_curve::block_error_rate;

/// Slots of a round.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct HarqTiming {
    /// The fewest slots from a transmission to its feedback, k1.
    pub feedback: u64,
    /// Slots from the feedback to the repetition, at least.
    pub processing: u64,
}

impl HarqTiming {
    /// LTE's rounds of 8 ms.
    pub const LTE: Self = Self { feedback: 4, processing: 4 };

    /// The first slot in which a transmission can be repeated: the feedback needs a slot of the other
    /// direction.
    pub fn repetition(&self, duplex: &Duplex, direction: Direction, sent: Slot) -> Slot {
        let feedback = sent.after(self.feedback);
        match direction {
            Direction::Down => duplex.next_down(duplex.next_up(feedback).after(self.processing)),
            Direction::Up => duplex.next_up(duplex.next_down(feedback).after(self.processing)),
        }
    }
}

/// The share of transmissions that fail.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Combining {
    /// The ratios of all transmissions of a block add up.
    Chase,
    /// Fixed shares for the first, second, third and further transmissions, on any channel.
    Fixed([f64; 4]),
}

/// A transmission over the air.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Attempt {
    /// The ratio at which 10 % of the blocks of its scheme fail.
    pub needed: Decibels,
    /// The ratio that it met.
    pub sinr: Decibels,
    /// A uniform value from 0 to 1 that decides its fate.
    pub draw: f64,
}

/// One of the processes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct ProcessId(u8);

/// Outcome of a block.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Outcome<B> {
    /// The receiver has it.
    Received {
        /// The block.
        block: B,
        /// Transmissions that it took.
        transmissions: u8,
    },
    /// All transmissions failed.
    GivenUp {
        /// The block.
        block: B,
    },
}

#[derive(Clone, PartialEq, Debug)]
enum Process<B> {
    /// A new block can be sent from this slot on.
    Free(Slot),
    /// The block failed, and is to be repeated.
    Failed { block: B, transmissions: u8, ratio: f64, due: Slot },
}

/// The processes of a terminal in one direction.
#[derive(Clone, PartialEq, Debug)]
pub struct Harq<B> {
    direction: Direction,
    timing: HarqTiming,
    combining: Combining,
    /// The most transmissions of a block.
    transmissions: u8,
    processes: Vec<Process<B>>,
    outcomes: VecDeque<(Slot, Outcome<B>)>,
}

impl<B> Harq<B> {
    /// Free processes, 8 in LTE and 16 in NR, that send a block at most `transmissions` times.
    pub fn new(
        direction: Direction,
        timing: HarqTiming,
        combining: Combining,
        transmissions: u8,
        processes: u8,
    ) -> Self {
        let processes = (0..processes).map(|_| Process::Free(Slot(0))).collect();
        Self { direction, timing, combining, transmissions, processes, outcomes: VecDeque::new() }
    }

    /// `true` if [`send`](Self::send) takes a block.
    pub fn is_ready(&self, now: Slot) -> bool {
        self.free(now).is_some()
    }

    fn free(&self, now: Slot) -> Option<usize> {
        self.processes.iter().position(|process| matches!(process, Process::Free(from) if *from <= now))
    }

    /// Sends a new block. Returns `true` if its first transmission arrives.
    ///
    /// # Errors
    /// Gives the block back if no process is free.
    pub fn send(&mut self, now: Slot, duplex: &Duplex, block: B, attempt: Attempt) -> Result<bool, B> {
        let Some(process) = self.free(now) else { return Err(block) };
        Ok(self.transmit(now, duplex, process, (block, 0, 0.0), attempt))
    }

    /// The repetition that is due, the earliest first.
    pub fn due(&self, now: Slot) -> Option<(ProcessId, &B)> {
        let waiting = self.processes.iter().enumerate().filter_map(|(number, process)| match process {
            Process::Failed { block, due, .. } if *due <= now => Some((*due, number, block)),
            _ => None,
        });
        let (_, number, block) = waiting.min_by_key(|(due, number, _)| (*due, *number))?;
        Some((ProcessId(number as u8), block))
    }

    /// Sends the block of a process again; without effect if none waits for it.
    pub fn repeat(&mut self, now: Slot, duplex: &Duplex, process: ProcessId, attempt: Attempt) {
        let place = usize::from(process.0);
        if !matches!(self.processes.get(place), Some(Process::Failed { .. })) {
            return;
        }
        if let Process::Failed { block, transmissions, ratio, .. } =
            core::mem::replace(&mut self.processes[place], Process::Free(now))
        {
            self.transmit(now, duplex, place, (block, transmissions, ratio), attempt);
        }
    }

    fn transmit(
        &mut self,
        now: Slot,
        duplex: &Duplex,
        process: usize,
        (block, before, heard): (B, u8, f64),
        attempt: Attempt,
    ) -> bool {
        let ratio = heard + attempt.sinr.ratio();
        let failure = match self.combining {
            Combining::Chase => block_error_rate(Decibels::from_ratio(ratio) - attempt.needed),
            Combining::Fixed(shares) => shares[usize::from(before).min(shares.len() - 1)],
        };
        let transmissions = before + 1;
        let due = self.timing.repetition(duplex, self.direction, now);
        let arrives = attempt.draw >= failure;
        self.processes[process] = if arrives {
            self.outcomes.push_back((now, Outcome::Received { block, transmissions }));
            Process::Free(due)
        } else if transmissions >= self.transmissions {
            self.outcomes.push_back((now, Outcome::GivenUp { block }));
            Process::Free(due)
        } else {
            Process::Failed { block, transmissions, ratio, due }
        };
        arrives
    }

    /// Outcome of a block, with the slot at whose end it is known.
    pub fn poll_outcome(&mut self) -> Option<(Slot, Outcome<B>)> {
        self.outcomes.pop_front()
    }

    /// The slot of the first repetition; `None` without one.
    pub fn poll_timeout(&self) -> Option<Slot> {
        let due = |process: &Process<B>| match process {
            Process::Failed { due, .. } => Some(*due),
            Process::Free(_) => None,
        };
        self.processes.iter().filter_map(due).min()
    }

    /// The first slot from `now` on at which a process is free; `None` while all wait for repetitions.
    pub fn next_free(&self, now: Slot) -> Option<Slot> {
        let free = |process: &Process<B>| match process {
            Process::Free(from) => Some((*from).max(now)),
            Process::Failed { .. } => None,
        };
        self.processes.iter().filter_map(free).min()
    }

    /// Empties all processes, as a terminal that leaves the cell does, and gives the blocks that were to be
    /// repeated.
    pub fn reset(&mut self) -> impl Iterator<Item = B> {
        self.processes.iter_mut().filter_map(|process| {
            match core::mem::replace(process, Process::Free(Slot(0))) {
                Process::Failed { block, .. } => Some(block),
                Process::Free(_) => None,
            }
        })
    }
}

#[cfg(test)]
mod tests;
