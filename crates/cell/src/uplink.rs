//! When a terminal may send: scheduling requests, buffer reports, grants.
//!
//! A terminal with data and without a grant waits for its next occasion to request one, for the station to
//! answer and for the slot of the answer. The block that follows states how much is left, and from the answer
//! to that on the terminal sends in each slot that the scheduler gives it. All of it are times that are
//! computed, so that a terminal without data costs nothing.

use alloc::collections::VecDeque;

use whimbrel_units::ByteCount;

use crate::duplex::{Duplex, Slot};

/// Occasions that repeat.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Occasions {
    /// Slots between them.
    pub period: u64,
    /// The first, less than a period.
    pub offset: u64,
}

impl Occasions {
    /// The first from `from` on. One that is not in an uplink slot moves to the next.
    fn next(&self, duplex: &Duplex, from: Slot) -> Slot {
        let period = self.period.max(1);
        let passed = (from.0 % period + period - self.offset % period) % period;
        // Without an occasion before the first period, the one after it counts.
        let last = from.0.checked_sub(passed).map(|slot| duplex.next_up(Slot(slot)));
        let next = from.after(if passed == 0 { 0 } else { period - passed });
        last.filter(|slot| *slot >= from).unwrap_or_else(|| duplex.next_up(next))
    }
}

/// Grants that need no request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ConfiguredGrant {
    /// When.
    pub occasions: Occasions,
    /// Bytes of a block.
    pub size: ByteCount,
}

/// Parameters of an uplink.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct UplinkConfig {
    /// Occasions of scheduling requests.
    pub requests: Occasions,
    /// Slots from a request or report to the grant, at least: the station's work.
    pub station: u64,
    /// Slots from a grant to its block, at least, k2.
    pub terminal: u64,
    /// Bytes of the grant that answers a request, which does not know how much there is.
    pub first_grant: ByteCount,
    /// Grants that need no request; `None` for none.
    pub configured: Option<ConfiguredGrant>,
}

impl UplinkConfig {
    /// The slot of the block that a request or report in `slot` leads to.
    fn answered(&self, duplex: &Duplex, slot: Slot) -> Slot {
        let grant = duplex.next_down(slot.after(self.station));
        duplex.next_up(grant.after(self.terminal))
    }
}

/// Permission of a terminal to send in a slot.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Grant {
    /// A block of this size, without competition: a request's answer or a configured grant.
    Fixed(ByteCount),
    /// The scheduler's share, for this backlog as the station knows it.
    Scheduled(ByteCount),
}

/// The uplink of a terminal.
#[derive(Clone, PartialEq, Debug)]
pub struct Uplink {
    config: UplinkConfig,
    backlog: ByteCount,
    /// The slot of the block that answers a request.
    first: Option<Slot>,
    /// Backlogs as the station knows them, each from a slot on.
    reports: VecDeque<(Slot, ByteCount)>,
    /// The backlog that the station knows, less what was sent since.
    known: ByteCount,
    requests: u64,
}

impl Uplink {
    /// An uplink without data.
    pub const fn new(config: UplinkConfig) -> Self {
        Self {
            config,
            backlog: ByteCount::new(0),
            first: None,
            reports: VecDeque::new(),
            known: ByteCount::new(0),
            requests: 0,
        }
    }

    /// Requests that were sent.
    pub const fn requests(&self) -> u64 {
        self.requests
    }

    /// The terminal has this much to send, from the beginning of this slot on.
    pub fn handle_backlog(&mut self, now: Slot, duplex: &Duplex, backlog: ByteCount) {
        if self.backlog == ByteCount::new(0) {
            // A grant that found nothing to send is gone.
            self.first = self.first.filter(|slot| *slot >= now);
        }
        self.backlog = backlog;
        // The newest report counts: a report of nothing stops the grants.
        let newest = self.reports.back().map_or(self.known, |(_, report)| *report);
        let is_known = newest > ByteCount::new(0);
        let is_served = is_known || self.first.is_some() || self.config.configured.is_some();
        if backlog > ByteCount::new(0) && !is_served {
            let request = self.config.requests.next(duplex, now);
            self.first = Some(self.config.answered(duplex, request));
            self.requests += 1;
        }
    }

    /// The next slot from `now` on in which the terminal may send; `None` without data.
    pub fn poll_timeout(&self, now: Slot, duplex: &Duplex) -> Option<Slot> {
        if self.backlog == ByteCount::new(0) {
            return None;
        }
        let configured = self.config.configured.map(|grant| grant.occasions.next(duplex, now));
        let scheduled = if self.known > ByteCount::new(0) {
            Some(duplex.next_up(now))
        } else {
            let useful = self.reports.iter().find(|(_, report)| *report > ByteCount::new(0));
            useful.map(|(from, _)| duplex.next_up((*from).max(now)))
        };
        let first = self.first.map(|slot| slot.max(now));
        [configured, scheduled, first].into_iter().flatten().min()
    }

    /// The terminal's grant in this slot.
    pub fn grant(&mut self, now: Slot, duplex: &Duplex) -> Option<Grant> {
        while let Some((_, report)) = self.reports.front().copied().filter(|(from, _)| *from <= now) {
            self.known = report;
            self.reports.pop_front();
        }
        if self.backlog == ByteCount::new(0) || !duplex.has_up(now) {
            return None;
        }
        if self.first.is_some_and(|slot| slot <= now) {
            return Some(Grant::Fixed(self.config.first_grant));
        }
        if let Some(configured) = self.config.configured
            && configured.occasions.next(duplex, now) == now
        {
            return Some(Grant::Fixed(configured.size));
        }
        (self.known > ByteCount::new(0)).then_some(Grant::Scheduled(self.known))
    }

    /// The terminal has sent a block in this slot: so many bytes, with a report of what is left.
    pub fn handle_sent(&mut self, now: Slot, duplex: &Duplex, sent: ByteCount) {
        self.first = self.first.filter(|slot| *slot > now);
        self.backlog = self.backlog - sent;
        self.known = self.known - sent;
        // Reported data has been sent in part.
        for (_, report) in &mut self.reports {
            *report = *report - sent;
        }
        let from = self.config.answered(duplex, now);
        self.reports.push_back((from, reported(self.backlog)));
    }
}

/// The backlog in a report: the upper bound of one of 63 levels in equal ratios from 10 to 150 000 B
/// (TS 36.321, Table 6.1.3.1-1).
pub fn reported(backlog: ByteCount) -> ByteCount {
    let bytes = backlog.as_f64();
    if bytes == 0.0 {
        return backlog;
    }
    let level = |number: f64| libm::ceil(10.0 * libm::pow(15_000.0, number / 61.0));
    let number = libm::ceil(61.0 * libm::log(bytes.max(10.0) / 10.0) / libm::log(15_000.0)).min(61.0);
    // The logarithm rounds: the level below may suffice.
    let below = level(number - 1.0);
    ByteCount::new(if bytes <= below && number > 0.0 { below } else { level(number) } as u64)
}

#[cfg(test)]
mod tests;
