//! Reports of losses.

use whimbrel_units::{Duration, Instant};

use super::{End, Message, Output, nack};

/// Reports of the lost share of the datagrams sent for the first time.
#[derive(Debug, Default)]
pub struct LossReports {
    newest: Option<u64>,
    arrived: u64,
    reported: (u64, u64),
    next: Option<Instant>,
}

impl LossReports {
    /// A datagram arrived for the first time.
    pub fn count(&mut self, number: u64) {
        self.newest = self.newest.max(Some(number));
        self.arrived += 1;
    }

    /// The report that is due at `now`, one each `interval`.
    pub fn poll(&mut self, now: Instant, interval: Duration) -> Option<Message> {
        let next = *self.next.get_or_insert(now + interval);
        if now < next {
            return None;
        }
        self.next = Some(now + interval);
        let sent = self.newest.map_or(0, |newest| newest + 1);
        let (sent_since, arrived) = (sent - self.reported.0, self.arrived - self.reported.1);
        self.reported = (sent, self.arrived);
        let lost = sent_since.saturating_sub(arrived);
        Some(Message::Loss(lost as f64 / (sent_since.max(1)) as f64))
    }
}

/// A receiving end that requests datagrams, and reports losses.
#[derive(Debug)]
pub struct ReportingReceiver {
    requests: nack::Receiver,
    reports: LossReports,
    interval: Duration,
}

impl ReportingReceiver {
    /// `requests` and a report each `interval`.
    pub fn new(requests: nack::Receiver, interval: Duration) -> Self {
        Self { requests, reports: LossReports::default(), interval }
    }
}

impl End for ReportingReceiver {
    fn handle(&mut self, now: Instant, message: Message, out: &mut Output) {
        if let Message::Data { datagram, is_repeat: false } = message {
            self.reports.count(datagram.number);
        }
        self.requests.handle(now, message, out);
        out.messages.extend(self.reports.poll(now, self.interval));
    }

    fn handle_timeout(&mut self, now: Instant, out: &mut Output) {
        self.requests.handle_timeout(now, out);
    }

    fn next(&self) -> Option<Instant> {
        self.requests.next()
    }
}
