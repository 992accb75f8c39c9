//! What was decided, for those who want to know.

use alloc::boxed::Box;
use alloc::collections::VecDeque;

use super::docket::Docket;
use super::{ClassifiedLoss, Evidence, LossCause, LossDifferentiation, LossGap, Overruled, PacketArrival};

/// Verdicts that wait to be taken at most; of more, the oldest are forgotten.
const MOST: usize = 256;

/// An algorithm whose verdicts on lost packets are kept until they are [taken](Witness::take).
#[derive(Debug)]
pub struct Witness {
    inner: Box<dyn LossDifferentiation>,
    docket: Docket,
    verdicts: VecDeque<ClassifiedLoss>,
}

impl Witness {
    /// Watches `inner`.
    pub fn new(inner: Box<dyn LossDifferentiation>) -> Self {
        Self { inner, docket: Docket::default(), verdicts: VecDeque::new() }
    }
    /// The oldest verdict that was not taken. Those on packets lost in a row that have one cause are one.
    pub fn take(&mut self) -> Option<ClassifiedLoss> {
        self.verdicts.pop_front()
    }
    /// Whether there is one to take.
    pub fn has_verdicts(&self) -> bool {
        !self.verdicts.is_empty()
    }

    fn note(&mut self, sequence: u64, cause: LossCause) {
        // Packets are declared lost in order.
        self.docket.settle(sequence);
        let Some(open) = self.docket.find(sequence) else { return };
        let overruled = self.inner.overruled().or(open.overruled).filter(|_| cause == LossCause::Congestion);
        if let Some(last) = self.verdicts.back_mut()
            && last.gap == open.gap
            && last.first + last.count == sequence
            && (last.cause, last.overruled) == (cause, overruled)
        {
            last.count += 1;
            return;
        }
        if self.verdicts.len() == MOST {
            self.verdicts.pop_front();
        }
        let (gap, evidence) = (open.gap, open.evidence);
        self.verdicts.push_back(ClassifiedLoss {
            first: sequence,
            count: 1,
            gap,
            cause,
            evidence,
            overruled,
        });
    }
}

impl LossDifferentiation for Witness {
    fn on_arrival(&mut self, arrival: &PacketArrival) {
        self.inner.on_arrival(arrival);
    }
    fn judge(&mut self, gap: &LossGap) -> LossCause {
        let cause = self.inner.judge(gap);
        self.docket.enter(gap, &*self.inner);
        cause
    }
    fn evidence(&self) -> Evidence {
        self.inner.evidence()
    }
    fn overruled(&self) -> Option<Overruled> {
        self.inner.overruled()
    }
    fn cause_of(&mut self, sequence: u64, judged: LossCause) -> LossCause {
        let cause = self.inner.cause_of(sequence, judged);
        self.note(sequence, cause);
        cause
    }
    fn inform(&mut self, sequence: u64, cause: LossCause) {
        self.inner.inform(sequence, cause);
    }
    fn on_path_change(&mut self) {
        self.inner.on_path_change();
    }
}
