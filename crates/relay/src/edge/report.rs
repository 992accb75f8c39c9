//! Report from one end of a relay to the other on their datagrams.
//!
//! A report is a datagram of the connection whose header names a port that no end has, so that an end of an
//! earlier version discards it as one for an unknown port. Each end announces itself by a few reports; only
//! to one that has answered are they sent regularly. The numbers count from the start of the connection, so
//! that a lost report costs nothing but time.

use bytes::{Buf, BufMut, Bytes, BytesMut};
use whimbrel_units::{Duration, Instant};

use super::commands::Received;
use super::flow::{Flow, MAX_PORTS};
use super::ledger::{Losses, Reason};

/// The header of a report: a port beyond the last one, and the version of what follows.
pub(crate) const HEADER: Flow = Flow { port: u8::MAX, number: 1 };
const _: () = assert!(HEADER.port as usize >= MAX_PORTS);

/// The bit of the last word by which an end says that it knows bundles.
const BUNDLES: u64 = 1;
/// Time between two reports.
const INTERVAL: Duration = Duration::from_secs(1);
/// Time between a command and the report of it.
const COMMAND_INTERVAL: Duration = Duration::from_millis(20);
/// Reports that follow the last change: what was overtaken or lost by then is seen with the next one.
const REPEATS: u32 = 3;
/// Reports to an end that has not answered; the time between them is doubled.
const ATTEMPTS: u32 = 5;

/// A report.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Report {
    /// Datagrams of programs that its sender's transport had accepted before it, and those that it dropped
    /// before they left.
    pub(crate) sent: u64,
    pub(crate) withdrawn: u64,
    /// `sent` of the last report that its sender has received, and the number of datagrams that had arrived
    /// with it.
    pub(crate) of_sent: u64,
    pub(crate) arrived: u64,
    /// Datagrams that have reached its sender, and were not delivered.
    pub(crate) lost: Losses,
    /// Drops of its sender's transport for a path too narrow.
    pub(crate) narrowed: u64,
    /// The other end's commands that have come; an earlier version does not say it.
    pub(crate) commands: Option<Received>,
    /// Its sender knows [bundles](super::bundle).
    pub(crate) knows_bundles: bool,
}

/// The reasons for which the receiving end loses datagrams, by their numbers in a report.
const RECEIVERS: [Reason; 4] = [Reason::Unread, Reason::UnknownFlow, Reason::Refused, Reason::Undeliverable];

impl Report {
    /// The datagrams of `of_sent` that have reached the sender of the report.
    pub(crate) fn reached(&self) -> u64 {
        self.arrived.saturating_add(self.lost[Reason::Unread]).min(self.of_sent)
    }

    /// Datagrams that were lost on the path; `withdrawn` of `of_sent` never left.
    pub(crate) fn lost_on_path(&self, withdrawn: u64) -> u64 {
        self.of_sent.saturating_sub(withdrawn).saturating_sub(self.reached())
    }

    /// The datagram of the connection.
    pub(crate) fn encode(&self) -> Bytes {
        let mut bytes = BytesMut::with_capacity(2 + 8 * (11 + RECEIVERS.len()));
        bytes.put_slice(&[HEADER.port, HEADER.number]);
        for number in [self.sent, self.withdrawn, self.of_sent, self.arrived] {
            bytes.put_u64(number);
        }
        for reason in RECEIVERS {
            bytes.put_u64(self.lost[reason]);
        }
        bytes.put_u64(self.narrowed);
        if let Some(commands) = self.commands {
            commands.encode(&mut bytes);
            bytes.put_u64(if self.knows_bundles { BUNDLES } else { 0 });
        }
        bytes.freeze()
    }

    /// Reads what follows the header. `None` if it is shorter. Earlier versions lack the last numbers, and
    /// what a later version adds is left out. No number is larger than what can be counted.
    pub(crate) fn decode(mut bytes: Bytes) -> Option<Self> {
        let mut word = || bytes.try_get_u64().ok();
        let mut next = || word().map(|number| number.min(u64::MAX >> 8));
        let [sent, withdrawn, of_sent, arrived] = [next()?, next()?, next()?, next()?];
        let mut report = Self { sent, withdrawn, of_sent, arrived, ..Self::default() };
        for reason in RECEIVERS {
            report.lost[reason] = next()?;
        }
        report.narrowed = next().unwrap_or(0);
        report.commands = Received::decode(&mut word);
        report.knows_bundles = word().is_some_and(|known| known & BUNDLES != 0);
        Some(report)
    }
}

/// The times of reports.
#[derive(Debug)]
pub(crate) struct Reporting {
    /// This end is the first to report.
    announces: bool,
    due: Instant,
    /// Reports that follow, though nothing changes.
    repeats: u32,
    /// Reports so far to an end that has not answered.
    attempts: u32,
    has_answer: bool,
    marks: [u64; 4],
    /// When the report of the streams follows. Two datagrams at a time, and none for a second, would look to
    /// repair as frames that follow each other at once, of which all but the first are lost.
    streams_due: Option<Instant>,
}

impl Reporting {
    /// The first report is due with the first datagram. An end that does not announce itself reports after
    /// the other end's report.
    pub(crate) fn new(announces: bool) -> Self {
        Self {
            announces,
            due: Instant::ZERO,
            repeats: 0,
            attempts: 0,
            has_answer: false,
            marks: [0; 4],
            streams_due: None,
        }
    }

    /// The other end has sent a report.
    pub(crate) fn on_answer(&mut self, now: Instant) {
        if !self.has_answer {
            // The other end learns at once that this end answers.
            (self.has_answer, self.due, self.repeats) = (true, now, REPEATS);
        }
    }

    /// A command has come, at one end or the other: a report follows.
    pub(crate) fn on_command(&mut self, now: Instant) {
        self.due = self.due.min(now + COMMAND_INTERVAL);
        self.repeats = self.repeats.max(1);
    }

    /// `true` if a report is due. `marks`: the marks of the ledger.
    pub(crate) fn is_due(&mut self, now: Instant, marks: [u64; 4]) -> bool {
        if self.marks != marks {
            (self.marks, self.repeats) = (marks, REPEATS);
        }
        let is_of_use = self.has_answer || (self.announces && self.attempts < ATTEMPTS);
        now >= self.due && self.repeats > 0 && is_of_use
    }

    /// A report was handed to the transport.
    pub(crate) fn on_sent(&mut self, now: Instant) {
        self.repeats = self.repeats.saturating_sub(1);
        let doublings = if self.has_answer { 0 } else { self.attempts };
        self.attempts = self.attempts.saturating_add(1);
        self.due = now + INTERVAL * (1u64 << doublings.min(ATTEMPTS));
        self.streams_due = Some(now + INTERVAL / 2);
    }

    /// `true` if the report of the streams is due.
    pub(crate) fn is_streams_due(&self, now: Instant) -> bool {
        self.streams_due.is_some_and(|due| due <= now)
    }

    /// The same; it is due once.
    pub(crate) fn take_streams_due(&mut self, now: Instant) -> bool {
        self.streams_due.take_if(|due| *due <= now).is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_survives_the_wire_and_its_header_is_that_of_no_flow() {
        let mut lost = Losses::default();
        for (n, reason) in (4..).zip(RECEIVERS) {
            lost[reason] = n;
        }
        let mut commands = Received::default();
        assert!(commands.add(8) && commands.add(10));
        let report = Report {
            sent: 1 << 40,
            withdrawn: 1,
            of_sent: 2,
            arrived: 3,
            lost,
            narrowed: 9,
            commands: Some(commands),
            knows_bundles: true,
        };
        let (flow, rest) = Flow::unwrap(report.encode()).expect("a header");
        assert_eq!((flow, Report::decode(rest.clone())), (HEADER, Some(report)));
        let longer: Bytes = [&rest[..], b"more"].concat().into();
        assert_eq!(Report::decode(longer), Some(report));
        let report = Report { knows_bundles: false, ..report };
        assert_eq!(Report::decode(rest.slice(..rest.len() - 8)), Some(report));
        let earlier = rest.slice(..rest.len() - 48);
        assert_eq!(Report::decode(earlier), Some(Report { commands: None, ..report }));
        let earlier = rest.slice(..rest.len() - 56);
        assert_eq!(Report::decode(earlier.clone()), Some(Report { narrowed: 0, commands: None, ..report }));
        for length in 0..earlier.len() {
            assert_eq!(Report::decode(rest.slice(..length)), None);
        }
    }

    #[test]
    fn an_end_without_answers_gets_few_reports_and_a_quiet_connection_none() {
        let mut reporting = Reporting::new(true);
        let times = |reporting: &mut Reporting, from: u64, marks: &dyn Fn(u64) -> [u64; 4]| -> Vec<u64> {
            let due = (from..from + 100).filter(|second| {
                let now = Instant::from_secs(*second);
                let is_due = reporting.is_due(now, marks(*second));
                if is_due {
                    reporting.on_sent(now);
                }
                is_due
            });
            due.collect()
        };
        assert_eq!(times(&mut reporting, 0, &|second| [second; 4]), [1, 2, 4, 8, 16]);
        reporting.on_answer(Instant::from_secs(100));
        // Datagrams for five seconds, then three reports.
        assert_eq!(
            times(&mut reporting, 100, &|second| [second.min(105); 4]),
            [100, 101, 102, 103, 104, 105, 106, 107]
        );
    }
}
