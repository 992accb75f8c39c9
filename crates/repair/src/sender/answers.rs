//! Answers to reports: how many packets for which frame, and when they wait.

use whimbrel_units::Instant;

use super::flight::Missing;
use super::{Repair, Sender, What};
use crate::wire::{Answer, Report};

/// The probability of a loss now above which answers wait for a sign of life. After the first of two or three
/// packets lost in a row it is 0.19 by the model.
const RISK: f64 = 0.1;

impl Sender {
    /// Answers a report.
    pub(super) fn answer(&mut self, now: Instant, report: &Report) {
        if !self.repeats() {
            return;
        }
        let channel = self.estimator.model();
        let silent_for = self.flight.silent_for(report);
        let risk = silent_for.map_or(0.0, |after| channel.again(after + 1));
        let waits = risk > RISK.max(3.0 * channel.mean());
        let start = self.repairs.len();
        let mut number = None;
        let frames = self.flight.frames().count();
        for index in 0..frames {
            let Some(frame) = self.flight.frames().nth(index) else { break };
            let rounds = self.flight.rounds_left(frame, now);
            let missing = self.flight.missing(frame, report);
            let plan = frame.plan();
            if missing.needed == 0 || rounds == 0 || !self.is_time(now, frame, &missing, rounds) {
                if missing.span.is_none() {
                    self.hold(index, false);
                }
                continue;
            }
            let sent = plan.map_or(missing.needed, |plan| plan.answer(rounds, missing.needed));
            self.hold(index, waits);
            if waits {
                continue;
            }
            let answer = *number.get_or_insert_with(|| self.flight.begin_answer());
            let answer = Answer { number: answer, report: report.number, is_last: false };
            self.queue_answer(now, index, missing, sent, answer, report);
        }
        self.mark_last(start);
    }

    /// A part of a frame is answered only if there is no time for an answer for all of it.
    fn is_time(&self, now: Instant, frame: &super::Frame, missing: &Missing, rounds: usize) -> bool {
        if missing.is_observed {
            return true;
        }
        let Some(end) = self.flight.end_report(frame) else {
            // The frame is still being sent.
            return rounds <= 1;
        };
        self.flight.rounds_left(frame, end.max(now)) == 0
    }

    fn hold(&mut self, index: usize, is_held: bool) {
        if let Some(frame) = self.flight.frame_mut(index) {
            frame.is_held = is_held;
        }
    }

    /// Queues repeats of what is missing, and coded packets for the rest.
    fn queue_answer(
        &mut self,
        now: Instant,
        index: usize,
        missing: Missing,
        sent: usize,
        answer: Answer,
        report: &Report,
    ) {
        let (Some((first, last)), Some(frame)) = (missing.span, self.flight.frame_mut(index)) else { return };
        let (deadline, number, answer) = (frame.deadline, answer.number, Some(answer));
        let count = last.since(first).max(0) as u32 + 1;
        let mut left = missing.needed;
        for esi in (0..count).map(|i| first.plus(i)) {
            let is_wanted = self.flight.is_wanted(esi, report);
            if left > 0 && is_wanted {
                self.repairs.push_back(Repair { what: What::Repeat(esi), answer, deadline });
                self.flight.on_repeat(now, esi, number, true);
                left -= 1;
            }
        }
        let surplus = sent.saturating_sub(missing.needed - left).min(self.room_until(now, deadline));
        let what = What::Coded { first, end: last.plus(1), ends_parity: false };
        self.repairs.extend((0..surplus).map(|_| Repair { what, answer, deadline }));
        if surplus > 0 {
            self.flight.on_surplus(index, surplus, now);
        }
    }

    /// Coded packets that arrive by a deadline behind those that wait. More would make the frames after this
    /// one late.
    fn room_until(&self, now: Instant, deadline: Instant) -> usize {
        let bytes = self.grant.carried_within(deadline.saturating_since(now));
        let packets = bytes / u64::from(self.config.packet_size.max(1));
        usize::try_from(packets).unwrap_or(usize::MAX).saturating_sub(self.repairs.len())
    }

    fn mark_last(&mut self, start: usize) {
        if self.repairs.len() > start
            && let Some(Repair { answer: Some(answer), .. }) = self.repairs.back_mut()
        {
            answer.is_last = true;
        }
    }

    /// Held answers are sent at the last instant, however likely the channel is to swallow them: what is
    /// missing is sent once more at most, and the frame is lost otherwise.
    pub(super) fn answer_held(&mut self, now: Instant) {
        if self.flight.held_until().is_none_or(|until| until > now) {
            return;
        }
        let Some(report) = self.flight.newest_report() else { return };
        let start = self.repairs.len();
        let mut number = None;
        let frames = self.flight.frames().count();
        for index in 0..frames {
            let Some(frame) = self.flight.frames().nth(index) else { break };
            let is_due = frame.is_held && frame.last_instant() <= now;
            if !is_due {
                continue;
            }
            let missing = self.flight.missing(frame, &report);
            self.hold(index, false);
            if missing.needed > 0 && self.repeats() {
                let answer = *number.get_or_insert_with(|| self.flight.begin_answer());
                let answer = Answer { number: answer, report: 0, is_last: false };
                self.queue_answer(now, index, missing, missing.needed, answer, &report);
            }
        }
        self.mark_last(start);
    }
}
