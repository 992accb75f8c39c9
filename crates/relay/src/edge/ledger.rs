//! Fate of each datagram: delivered, or lost for a reason.
//!
//! Both directions of a relay have an [`Account`] each. A program's datagrams are at any time the sum of
//! what was delivered, what was lost, by [`Reason`], and what is still on its way. This end knows the fate of
//! its own datagrams until they leave, and the fate of the peer's datagrams from their arrival on; the rest
//! is what the other end reports ([`Report`]). If the other end sends no reports (an earlier version), what
//! congestion control has noticed is used.

use std::fmt;
use std::ops::{AddAssign, Index, IndexMut};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};

use super::report::Report;

pub(crate) mod streams;

use streams::{StreamId, Streams};

/// Makes the enumeration of reasons with all that a reason needs, so that no output can lack one.
macro_rules! reasons {
    ($($(#[doc = $doc:literal])+ $variant:ident = $name:literal,)+) => {
        /// The reason why a datagram did not reach the program for which it was meant.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
        #[repr(u8)]
        pub enum Reason {
            $($(#[doc = $doc])+ $variant,)+
        }

        impl Reason {
            /// All reasons, in the order of the way of a datagram.
            pub const ALL: &[Self] = &[$(Self::$variant,)+];

            /// The name in all outputs for programs.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)+
                }
            }

            /// The name in lines.
            pub fn text(self) -> String {
                self.name().replace('_', " ")
            }
        }

        /// The number of reasons.
        const REASONS: usize = [$(Reason::$variant,)+].len();
    };
}

reasons! {
    /// The datagram arrived while there was no connection.
    Unconnected = "unconnected",
    /// The receive buffer of the socket was full: the system dropped it.
    Kernel = "kernel",
    /// The datagram came faster than the relay took it.
    Overrun = "overrun",
    /// The datagram waited for too long, or a part of its frame did.
    Stale = "stale",
    /// A newer datagram with a value of the same key came before it left.
    Superseded = "superseded",
    /// No other frame refers to its frame, and the rate was short.
    Disposable = "disposable",
    /// A frame to which its frame refers was dropped.
    Undecodable = "undecodable",
    /// The queue was full.
    Overflow = "overflow",
    /// The datagram did not fit a packet on the path.
    TooLarge = "too_large",
    /// The connection ended before it left, or before its fate was known.
    Ended = "ended",
    /// The datagram was lost on the path between the two ends.
    Path = "path",
    /// The datagram came faster than the receiving end took it.
    Unread = "unread",
    /// There is no such port or flow at the receiving end.
    UnknownFlow = "unknown_flow",
    /// Nothing listens at the program's address: the system there has said so.
    Refused = "refused",
    /// The system did not send it to the program, or there was no way to it.
    Undeliverable = "undeliverable",
}

/// Numbers of lost datagrams, by reason.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Losses([u64; REASONS]);

impl Losses {
    /// All of them.
    pub fn sum(&self) -> u64 {
        self.0.iter().sum()
    }

    /// The reasons that occurred, with their numbers.
    pub fn occurred(&self) -> impl Iterator<Item = (Reason, u64)> {
        self.all().filter(|(_, count)| *count > 0)
    }

    /// All reasons, with their numbers.
    pub fn all(&self) -> impl Iterator<Item = (Reason, u64)> {
        Reason::ALL.iter().map(|reason| (*reason, self[*reason]))
    }
}

impl Index<Reason> for Losses {
    type Output = u64;
    fn index(&self, reason: Reason) -> &u64 {
        &self.0[reason as usize]
    }
}

impl IndexMut<Reason> for Losses {
    fn index_mut(&mut self, reason: Reason) -> &mut u64 {
        &mut self.0[reason as usize]
    }
}

impl AddAssign for Losses {
    fn add_assign(&mut self, other: Self) {
        self.0.iter_mut().zip(other.0).for_each(|(sum, count)| *sum = sum.saturating_add(count));
    }
}

impl Serialize for Losses {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(REASONS))?;
        for (reason, count) in self.all() {
            map.serialize_entry(reason.name(), &count)?;
        }
        map.end()
    }
}

/// The datagrams of one direction.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize)]
pub struct Account {
    /// Datagrams that programs have sent.
    pub sent: u64,
    /// Datagrams that were passed to the other end's programs.
    pub delivered: u64,
    /// Datagrams that did not reach a program.
    pub lost: Losses,
}

impl Account {
    /// Datagrams whose fate is not known yet.
    pub fn under_way(&self) -> u64 {
        self.sent.saturating_sub(self.delivered + self.lost.sum())
    }
}

impl fmt::Display for Account {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} datagrams, {} delivered, {} lost", self.sent, self.delivered, self.lost.sum())?;
        for (n, (reason, count)) in self.lost.occurred().enumerate() {
            write!(f, "{}{} {count}", if n == 0 { " (" } else { ", " }, reason.text())?;
        }
        f.write_str(if self.lost.sum() > 0 { ")" } else { "" })?;
        match self.under_way() {
            0 => Ok(()),
            count => write!(f, ", {count} under way"),
        }
    }
}

impl AddAssign for Account {
    fn add_assign(&mut self, other: Self) {
        self.sent = self.sent.saturating_add(other.sent);
        self.delivered = self.delivered.saturating_add(other.delivered);
        self.lost += other.lost;
    }
}

/// Both directions, and bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize)]
pub struct Sums {
    /// Datagrams of local programs that have left.
    pub datagrams_sent: u64,
    /// Their bytes.
    pub bytes_sent: u64,
    /// Datagrams of the peer's programs that have arrived.
    pub datagrams_received: u64,
    /// Their bytes.
    pub bytes_received: u64,
    /// Frames of which a datagram was dropped here.
    pub dropped_frames: u64,
    /// Datagrams of the peer that were not authentic, or came twice.
    pub forged: u64,
    /// From local programs to the peer's programs.
    pub to_peer: Account,
    /// From programs of the peer to local ones.
    pub from_peer: Account,
}

impl AddAssign for Sums {
    fn add_assign(&mut self, other: Self) {
        self.datagrams_sent += other.datagrams_sent;
        self.bytes_sent += other.bytes_sent;
        self.datagrams_received += other.datagrams_received;
        self.bytes_received += other.bytes_received;
        self.dropped_frames += other.dropped_frames;
        self.forged += other.forged;
        self.to_peer += other.to_peer;
        self.from_peer += other.from_peer;
    }
}

/// Transport counters of a connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Observed {
    /// Datagrams that it dropped before they left: only programs' datagrams have a deadline.
    pub(crate) withdrawn: u64,
    /// Drops as the path had become too narrow: datagrams, or their parts, of which one that is missing loses
    /// the datagram.
    pub(crate) narrowed: u64,
    /// Datagrams that arrived and were not taken in time.
    pub(crate) unread: u64,
    /// Lost packets with data: this end's, as its congestion control has noticed, and the peer's, as this end
    /// notices them.
    pub(crate) lost_of_own: u64,
    pub(crate) lost_of_peer: u64,
    /// Bytes of data sent and arrived.
    pub(crate) bytes_sent: u64,
    pub(crate) bytes_received: u64,
    pub(crate) forged: u64,
}

/// The datagrams of one connection between the two ends.
#[derive(Clone, Copy, Debug, Default)]
struct Crossing {
    /// Datagrams that the transport has accepted.
    handed: u64,
    /// Datagrams that have arrived.
    arrived: u64,
    /// Bytes of reports that were handed to the transport, and that have arrived.
    report_bytes: [u64; 2],
    observed: Observed,
    /// The other end's last report.
    told: Option<Report>,
    /// Fate of the other end's datagrams at its last report, by the counts of this end: `of_sent` and the
    /// fields after it.
    answer: Option<Report>,
    /// Of the peer's datagrams, those that this end did not deliver.
    lost_here: Losses,
}

impl Crossing {
    /// Datagrams that have left, or wait in the transport.
    fn passed(&self) -> u64 {
        self.handed.saturating_sub(self.observed.withdrawn)
    }

    /// Missing datagrams for which the path had become too narrow: `narrowed` are their parts.
    fn split(missing: u64, narrowed: u64, lost: &mut Losses) {
        lost[Reason::TooLarge] += missing.min(narrowed);
        lost[Reason::Path] += missing.saturating_sub(narrowed);
    }

    /// Adds what is known of the datagrams that were passed: delivered or lost.
    fn settle(&self, account: &mut Account) {
        account.lost[Reason::Stale] += self.observed.withdrawn;
        match &self.told {
            Some(told) => {
                let lost = told.lost.sum();
                account.lost += told.lost;
                let missing = told.lost_on_path(self.observed.withdrawn);
                Self::split(missing, self.observed.narrowed, &mut account.lost);
                account.delivered += told.reached().saturating_sub(lost);
            }
            None => {
                let Observed { lost_of_own, narrowed, .. } = self.observed;
                let missing = (lost_of_own + narrowed).min(self.passed());
                Self::split(missing, narrowed, &mut account.lost);
                account.delivered += self.passed() - missing;
            }
        }
    }

    fn of_peer(&self) -> Account {
        let unread = self.observed.unread;
        let (missing, narrowed) = match &self.answer {
            Some(answer) => (answer.lost_on_path(answer.withdrawn), answer.narrowed),
            None => (self.observed.lost_of_peer.saturating_sub(unread), 0),
        };
        let mut lost = self.lost_here;
        lost[Reason::Unread] += unread;
        let delivered = self.arrived.saturating_sub(self.lost_here.sum());
        Self::split(missing, narrowed, &mut lost);
        Account { sent: self.arrived + unread + missing, delivered, lost }
    }
}

/// The books of one end: of a near end's connections, one after the other; of one connection of a far end.
#[derive(Debug, Default)]
struct Books {
    /// Datagrams that local programs have sent, and those that were lost before the transport had them.
    sent: u64,
    lost_here: Losses,
    dropped_frames: u64,
    crossing: Crossing,
    streams: Streams,
    /// Sums of the connections that have ended, without what is in the other fields.
    past: Sums,
}

impl Books {
    fn sums(&self) -> Sums {
        let crossing = &self.crossing;
        let mut sums = self.past;
        sums.datagrams_sent += crossing.passed();
        sums.bytes_sent += crossing.observed.bytes_sent.saturating_sub(crossing.report_bytes[0]);
        sums.datagrams_received += crossing.arrived;
        sums.bytes_received += crossing.observed.bytes_received.saturating_sub(crossing.report_bytes[1]);
        sums.dropped_frames += self.dropped_frames;
        sums.forged += crossing.observed.forged;
        sums.to_peer.sent += self.sent;
        sums.to_peer.lost += self.lost_here;
        crossing.settle(&mut sums.to_peer);
        sums.from_peer += crossing.of_peer();
        sums
    }
}

/// The books, shared by writers and readers.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ledger(Arc<Mutex<Books>>);

impl Ledger {
    fn lock(&self) -> MutexGuard<'_, Books> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Everything so far.
    pub(crate) fn sums(&self) -> Sums {
        self.lock().sums()
    }

    /// A local program has sent a datagram.
    pub(crate) fn on_sent(&self) {
        self.lock().sent += 1;
    }

    /// The system has dropped datagrams of local programs before they could be read.
    pub(crate) fn on_kernel_drops(&self, count: u64) {
        let mut books = self.lock();
        books.sent += count;
        books.lost_here[Reason::Kernel] += count;
    }

    /// Datagrams of local programs were lost before the transport had them.
    pub(crate) fn lose(&self, reason: Reason, count: u64) {
        self.lock().lost_here[reason] += count;
    }

    /// The same of datagrams of a stream.
    pub(crate) fn lose_of(&self, id: StreamId, reason: Reason, count: u64) {
        let mut books = self.lock();
        books.lost_here[reason] += count;
        books.streams.lose(id, reason, count);
    }

    /// Frames were dropped.
    pub(crate) fn on_dropped_frames(&self, count: u64) {
        self.lock().dropped_frames += count;
    }

    /// The transport has accepted a datagram.
    pub(crate) fn on_handed(&self) {
        self.lock().crossing.handed += 1;
    }

    /// A datagram of the peer's program has arrived.
    pub(crate) fn on_arrived(&self) {
        self.lock().crossing.arrived += 1;
    }

    /// Datagrams of the peer that had arrived for a port were not delivered. More than have arrived in this
    /// connection are of earlier ones.
    pub(crate) fn lose_arrived(&self, port: u8, reason: Reason, count: u64) {
        let mut books = self.lock();
        books.streams.lose_arrived(port, reason, count);
        let crossing = &mut books.crossing;
        let own = count.min(crossing.arrived.saturating_sub(crossing.lost_here.sum()));
        crossing.lost_here[reason] += own;
        let past = &mut books.past.from_peer;
        let earlier = (count - own).min(past.delivered);
        past.delivered -= earlier;
        past.lost[reason] += earlier;
    }

    /// New transport counters.
    pub(crate) fn observe(&self, observed: Observed) {
        self.lock().crossing.observed = observed;
    }

    /// Like [`Ledger::observe`], of a transport whose datagrams have no deadline: those that it dropped
    /// waited when the connection ended.
    pub(crate) fn observe_without_deadlines(&self, observed: Observed) {
        let mut books = self.lock();
        let new = observed.withdrawn.saturating_sub(books.lost_here[Reason::Ended]);
        books.lost_here[Reason::Ended] += new;
        books.crossing.handed = books.crossing.handed.saturating_sub(new);
        books.crossing.observed = Observed { withdrawn: 0, ..observed };
    }

    /// The report for the other end.
    pub(crate) fn report(&self) -> Report {
        let books = self.lock();
        let crossing = &books.crossing;
        let Observed { withdrawn, narrowed, .. } = crossing.observed;
        Report { sent: crossing.handed, withdrawn, narrowed, ..crossing.answer.unwrap_or_default() }
    }

    /// The other end's report, with its number of bytes. One that another has overtaken changes nothing, nor
    /// does one of more datagrams than there are.
    pub(crate) fn on_report(&self, report: Report, bytes: usize) {
        let mut books = self.lock();
        let crossing = &mut books.crossing;
        crossing.report_bytes[1] += bytes as u64;
        if crossing.answer.is_none_or(|answer| report.sent >= answer.of_sent) {
            let mut lost = crossing.lost_here;
            lost[Reason::Unread] += crossing.observed.unread;
            crossing.answer = Some(Report {
                sent: 0,
                withdrawn: report.withdrawn,
                narrowed: report.narrowed,
                of_sent: report.sent,
                arrived: crossing.arrived,
                lost,
                commands: None,
                knows_bundles: false,
            });
        }
        let is_newer = crossing.told.is_none_or(|told| report.of_sent >= told.of_sent);
        if is_newer && report.of_sent <= crossing.handed && report.lost.sum() <= report.reached() {
            crossing.told = Some(report);
        }
    }

    /// The transport has accepted a report of that size.
    pub(crate) fn on_report_handed(&self, bytes: usize) {
        self.lock().crossing.report_bytes[0] += bytes as u64;
    }

    /// `true` if the other end reports.
    pub(crate) fn has_reports(&self) -> bool {
        self.lock().crossing.told.is_some()
    }

    /// Numbers by which it is seen whether there is something new to report: datagrams handed over, those
    /// that arrived, and those that were lost here of these, and what the other end has announced.
    pub(crate) fn marks(&self) -> [u64; 4] {
        let books = self.lock();
        let crossing = &books.crossing;
        [
            crossing.handed,
            crossing.arrived,
            crossing.lost_here.sum()
                + crossing.observed.unread
                + crossing.observed.withdrawn
                + crossing.observed.narrowed,
            // Announced datagrams are answered, also if none of them has arrived.
            crossing.answer.map_or(0, |answer| answer.of_sent + answer.withdrawn + answer.narrowed),
        ]
    }

    /// Ends the connection; `waiting` datagrams still waited for the transport. The fate of datagrams on the
    /// way stays unknown.
    pub(crate) fn end_connection(&self, waiting: usize) {
        let mut books = self.lock();
        let crossing = std::mem::take(&mut books.crossing);
        let mut known = Account::default();
        crossing.settle(&mut known);
        books.crossing = crossing;
        books.past = books.sums();
        let unknown = crossing.handed.saturating_sub(known.delivered + known.lost.sum());
        books.past.to_peer.lost[Reason::Ended] += unknown + waiting as u64;
        (books.sent, books.lost_here, books.dropped_frames) = (0, Losses::default(), 0);
        books.crossing = Crossing::default();
        books.streams.end_connection();
    }
}

#[cfg(test)]
mod tests;
