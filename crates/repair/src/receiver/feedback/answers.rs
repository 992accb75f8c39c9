//! Answers to reports, as the receiver sees them.

use whimbrel_units::Instant;

use super::{Feedback, MARGIN};
use crate::wire::Answer;

impl Feedback {
    /// A packet of an answer arrived.
    pub(in crate::receiver) fn on_answer(&mut self, now: Instant, answer: Answer) {
        let is_newer = |than: u8| answer.number.wrapping_sub(than) as i8 > 0 || than == 0;
        if is_newer(self.partial) {
            // A later answer: the one before is complete.
            self.answer = self.partial;
            self.partial = answer.number;
            self.measure(now, answer.report);
        }
        if answer.number != self.partial {
            return;
        }
        self.answer_due = Some(now + MARGIN * 2 + self.jitter);
        if answer.is_last {
            self.answer = answer.number;
            self.answer_due = None;
            // Symbols of this answer still missing can be asked for again.
            let (number, reported) = self.sent[usize::from(answer.report) % 16];
            if number == answer.report {
                let answered = self.awaited.iter_mut().filter(|awaited| awaited.reported <= reported);
                answered.for_each(|awaited| awaited.due = now);
            }
        }
    }

    fn measure(&mut self, now: Instant, report: u8) {
        let (number, at) = self.sent[usize::from(report) % 16];
        if report == 0 || number != report {
            return;
        }
        let sample = now - at;
        self.round_trip = if self.is_measured { (self.round_trip * 7 + sample) / 8 } else { sample };
        self.is_measured = true;
    }
}
