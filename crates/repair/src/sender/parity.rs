//! Parity with a frame: by the planner's choice, or by a policy from outside.

use alloc::sync::Arc;

use whimbrel_units::Instant;

use super::{Repair, Sender, SenderEvent, What};
use crate::decision::{Choice, Mix, Plan, WindowPlan};
use crate::fecframe::Esi;
use crate::wire::Role;

/// Repair as a program sets it, in place of the planner.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Policy {
    /// Coded packets with each frame, as a share of its packets: from 0 to 1.
    pub parity: f64,
    /// Missing packets are repeated, as long as they can arrive in time.
    pub repeats: bool,
}

impl Policy {
    /// The parity over the frames that can still be in time, and answers without surplus.
    fn choice(self) -> Choice {
        let plan = Plan::default();
        let overhead = self.parity.clamp(0.0, 1.0);
        Choice {
            rounds: Mix { cheap: plan.clone(), safe: plan, share: 0.0 },
            window: Some(WindowPlan { missed: f64::NAN, overhead }),
            missed: f64::NAN,
            overhead,
            is_out_of_reach: false,
        }
    }
}

impl Sender {
    /// Repairs by a policy from now on. Answers that wait for a sign of life are dropped where it has none.
    pub fn set_policy(&mut self, policy: Policy) {
        self.config.policy = Some(policy);
    }

    /// `true` if missing packets are repeated.
    pub(super) fn repeats(&self) -> bool {
        self.config.policy.is_none_or(|policy| policy.repeats)
    }

    /// The last datagram of a frame is being sent: its plan is made, and parity follows. Returns `true` if
    /// there is any.
    pub(super) fn end_frame(&mut self, now: Instant, end: Esi, role: Role) -> bool {
        let Some(frame) = self.flight.newest() else { return false };
        let (deadline, (rounds, frames)) = (frame.deadline, self.flight.room(now, frame));
        self.counts.without_round += u64::from(rounds == 0);
        // Parity would make the queue longer that makes frames late, for losses that are only assumed.
        let is_assumed = self.flight.queue_took_rounds(now, frame) && self.estimator.is_without_losses();
        let rounds = if is_assumed { 1 } else { rounds };
        let choice = match self.config.policy {
            Some(policy) => Arc::new(policy.choice()),
            None => self.planner.choose(role, frame.packets as usize, rounds, frames),
        };
        self.counts.out_of_reach += u64::from(choice.is_out_of_reach);
        let was_out_of_reach = core::mem::replace(&mut self.out_of_reach, choice.is_out_of_reach);
        if choice.is_out_of_reach && !was_out_of_reach {
            self.events.push_back(SenderEvent::OutOfReach { missed: choice.missed });
        }
        let mut parity = self.flight.plan(choice);
        // Parity would take the rate from the frames that wait, and with it the rounds, so that they need
        // parity.
        if self.config.policy.is_none() && self.flight.is_behind() {
            self.counts.over_share += parity as u64;
            parity = 0;
        }
        let first = self.flight.oldest_in_time(now);
        self.repairs.extend((1..=parity).map(|n| {
            let what = What::Coded { first, end, ends_parity: n == parity };
            Repair { what, answer: None, deadline }
        }));
        parity > 0
    }
}

#[cfg(test)]
mod tests;
