//! The outcome of a test, from the figures of both ends.

use serde::Serialize;

use super::handover::HandoverReport;
use super::meter::ReceiverFigures;
use super::plan::Plan;
use super::sender::SenderFigures;

/// Figures of one end as a receiver and as a sender.
pub(crate) type Figures = (ReceiverFigures, SenderFigures);

/// One direction of the path over one span: figures of its receiver and of its sender.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize)]
pub struct Span {
    /// Application data that arrived, in bit/s.
    pub goodput_bps: f64,
    /// Application data that left the sender, in bit/s.
    pub send_rate_bps: f64,
    /// Datagrams that left the sender and did not arrive.
    pub lost: u64,
    /// The same as a share of those that should have arrived.
    pub loss: f64,
    /// The receiver's counters.
    pub received: ReceiverFigures,
    /// The sender's counters.
    pub sent: SenderFigures,
}

impl Span {
    fn new(received: ReceiverFigures, sent: SenderFigures) -> Self {
        // The receiver sees a gap also where the sender dropped a datagram that had waited too long.
        let lost = u64::try_from(received.lost).unwrap_or(0).saturating_sub(sent.expired);
        let expected = (received.datagrams + lost) as f64;
        Self {
            goodput_bps: received.goodput(),
            send_rate_bps: sent.send_rate(),
            lost,
            loss: if expected > 0.0 { lost as f64 / expected } else { 0.0 },
            received,
            sent,
        }
    }
}

/// One interval of a test, or its whole.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize)]
pub struct Row {
    /// Begin, in seconds since the begin of the test.
    pub start_s: f64,
    /// End.
    pub end_s: f64,
    /// `true` if the summary leaves this interval out.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub omitted: bool,
    /// Client to server.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub up: Option<Span>,
    /// Server to client.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub down: Option<Span>,
}

impl Row {
    fn new(plan: &Plan, start_s: f64, here: Figures, there: Figures) -> Self {
        let up = plan.direction.client_sends().then(|| Span::new(there.0, here.1));
        let down = plan.direction.server_sends().then(|| Span::new(here.0, there.1));
        // This end's clock: the sender's, if it sends.
        let length = if up.is_some() { here.1.seconds } else { here.0.seconds };
        Self { start_s, end_s: start_s + length, omitted: false, up, down }
    }

    /// The directions that were used, with their names.
    pub fn spans(&self) -> impl Iterator<Item = (&'static str, Span)> {
        [("up", self.up), ("down", self.down)].into_iter().filter_map(|(name, span)| Some((name, span?)))
    }
}

/// The outcome of a test, at the client.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Outcome {
    /// The test was stopped.
    pub interrupted: bool,
    /// Its failure.
    pub error: Option<String>,
    /// Figures of each stream that this end received.
    pub received_here: Vec<ReceiverFigures>,
    /// Figures of each stream that this end sent.
    pub sent_here: Vec<SenderFigures>,
    /// The same of the server, if it has reported.
    pub received_there: Vec<ReceiverFigures>,
    /// The same of what it sent.
    pub sent_there: Vec<SenderFigures>,
    /// The intervals.
    pub intervals: Vec<Row>,
    /// Link events.
    pub handover: HandoverReport,
    /// The sum of the other end's figures in `intervals`, used if it vanishes.
    seen_there: Figures,
}

impl Outcome {
    /// Ends an interval.
    pub(crate) fn push_interval(
        &mut self,
        plan: &Plan,
        here: Figures,
        there: Figures,
        is_measured: bool,
    ) -> &Row {
        let start_s = self.intervals.last().map_or(0.0, |row| row.end_s);
        let (received, sent) = &mut self.seen_there;
        let seconds = (received.seconds + there.0.seconds, sent.seconds + there.1.seconds);
        received.add(&there.0);
        sent.add(&there.1);
        (received.seconds, sent.seconds) = seconds;
        self.intervals.push(Row { omitted: !is_measured, ..Row::new(plan, start_s, here, there) });
        &self.intervals[self.intervals.len() - 1]
    }

    /// The measured part of the test begins.
    pub(crate) fn begin_measuring(&mut self) {
        self.seen_there = Figures::default();
    }

    /// `true` if there are any figures.
    pub fn has_figures(&self) -> bool {
        !(self.sent_here.is_empty() && self.received_here.is_empty())
    }

    /// The whole test: each stream, and all together. Without the server's report, the streams have
    /// this end's figures only, and their sum has the server's figures of the intervals.
    pub fn totals(&self, plan: &Plan) -> (Vec<Row>, Row) {
        let mut sum = [Figures::default(); 2];
        let mut rows = Vec::new();
        for stream in 0..usize::from(plan.streams) {
            let here = (figure(&self.received_here, stream), figure(&self.sent_here, stream));
            let there = (figure(&self.received_there, stream), figure(&self.sent_there, stream));
            for (sum, figures) in sum.iter_mut().zip([here, there]) {
                sum.0.add(&figures.0);
                sum.1.add(&figures.1);
            }
            rows.push(Row::new(plan, plan.times.omit_s, here, there));
        }
        let [here, mut there] = sum;
        if self.received_there.is_empty() && self.sent_there.is_empty() {
            there = self.seen_there;
        }
        (rows, Row::new(plan, plan.times.omit_s, here, there))
    }
}

fn figure<T: Copy + Default>(list: &[T], stream: usize) -> T {
    list.get(stream).copied().unwrap_or_default()
}

#[cfg(test)]
mod tests;
