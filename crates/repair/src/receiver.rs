//! The receiving end: takes datagrams, delivers the application's, and returns reports.
//!
//! Datagrams are delivered in order, each at most once: at a constant latency after the sender's timestamps
//! ([`Playout`]), or as early as the order allows and no later than that. Symbols unknown when the next
//! known datagram is due are given up.

use alloc::vec::Vec;

use whimbrel_units::{Duration, Instant};

use crate::channel::Cause;
use crate::columns::Columns;
use crate::fecframe::{Esi, RepairId};
use crate::playout::Playout;
use crate::sender::{SenderConfig, WINDOW};
use crate::wire::parts::{self, Head};
use crate::wire::{self, AduHeader, Answer, Datagram, Report, Role, WireError};

mod feedback;

use feedback::{Feedback, Original};

/// Symbols that the decoder remembers at least after their delivery.
const MORE_SYMBOLS: u32 = 40;
/// Symbols of which the oldest are delivered at once. The rest of the window is room for a gap.
const MOST_WAITING: i32 = 3 * WINDOW as i32 / 4;

/// When datagrams are delivered.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Delivery {
    /// At a constant time after their capture, so that nothing stutters.
    #[default]
    Constant,
    /// As soon as all before are delivered or given up.
    Early,
}

/// Parameters of a receiver.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct ReceiverConfig {
    /// The most bytes of a datagram of the transport: the sender's.
    pub packet_size: u16,
    /// The time from the arrival of the fastest datagrams to their delivery: the sender's.
    pub latency: Duration,
    /// When datagrams are delivered.
    pub delivery: Delivery,
    /// The round-trip time until one is measured.
    pub round_trip: Duration,
    /// Equations that the decoder keeps.
    pub rows: usize,
    /// Datagrams go in [parts of 256 bytes](crate::wire::parts), in both directions: the transport may
    /// deliver damaged ones.
    pub in_parts: bool,
}

impl ReceiverConfig {
    /// Delivery `latency` after the arrival of the fastest datagrams.
    #[must_use]
    pub fn new(packet_size: u16, latency: Duration) -> Self {
        let round_trip = Duration::from_millis(100);
        Self { packet_size, latency, delivery: Delivery::default(), round_trip, rows: 128, in_parts: false }
    }
}

/// A datagram that [`Receiver::poll_delivery`] wrote.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Delivered {
    /// Its symbol.
    pub esi: Esi,
    /// Its frame.
    pub frame: u16,
    /// The role of the frame.
    pub role: Role,
    /// The last of its frame.
    pub ends_frame: bool,
    /// The path had lost it: a repeat brought it, or the code restored it.
    pub is_repaired: bool,
}

/// Counters of a receiver.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ReceiverCounts {
    /// Datagrams delivered.
    pub delivered: u64,
    /// Symbols given up.
    pub lost: u64,
    /// Symbols that repeats brought in time.
    pub repeated: u64,
    /// Symbols that the code restored in time.
    pub restored: u64,
    /// Symbols that arrived, or were restored, after they were given up, and packets so late that it is not
    /// known any more whether their symbols were.
    pub late: u64,
    /// Reports sent.
    pub reports: u64,
    /// Bytes of the reports.
    pub report_bytes: u64,
    /// Datagrams delivered before they were due, because the window was full.
    pub hurried: u64,
    /// Datagrams in parts of which a part was damaged.
    pub damaged: u64,
    /// Datagrams that were none of this layer.
    pub invalid: u64,
}

/// The receiving end.
///
/// After [`Receiver::handle_packet`] or [`Receiver::handle_timeout`], call [`Receiver::poll_delivery`] and
/// [`Receiver::poll_transmit`] until they return nothing, and wait until [`Receiver::poll_timeout`].
#[derive(Debug)]
pub struct Receiver {
    config: ReceiverConfig,
    decoder: Columns,
    playout: Playout,
    feedback: Feedback,
    /// The next symbol to be delivered or given up.
    next: Esi,
    /// The first symbol that is not due yet, or the next: coded packets still combine it, delivered or not.
    first_of_use: Esi,
    /// Symbols that were repaired, and wait.
    repaired: Vec<Esi>,
    /// The newest frame that was given up or late, and the number of frames right before it given up with it.
    newest_lost: Option<(u16, u8)>,
    /// The frame of the newest datagram that was delivered, and whether that was the last of it.
    newest_delivered: Option<(u16, bool)>,
    counts: ReceiverCounts,
}

impl Receiver {
    /// A receiver of a sender's first datagram, which has the identifier 0.
    #[must_use]
    pub fn new(config: ReceiverConfig) -> Self {
        Self::starting_at(config, Esi(0))
    }

    fn starting_at(config: ReceiverConfig, first: Esi) -> Self {
        let in_parts = config.in_parts;
        let code = SenderConfig { in_parts, ..SenderConfig::new(config.packet_size, config.latency) }.code();
        Self {
            config,
            decoder: Columns::new(code, first, config.rows, config.in_parts),
            playout: Playout::new(config.latency),
            feedback: Feedback::new(config.round_trip, config.latency, first),
            next: first,
            first_of_use: first,
            repaired: Vec::new(),
            newest_lost: None,
            newest_delivered: None,
            counts: ReceiverCounts::default(),
        }
    }

    /// Counters of the receiver.
    #[must_use]
    pub fn counts(&self) -> ReceiverCounts {
        self.counts
    }

    /// The round-trip time as the transport measures it.
    pub fn set_round_trip(&mut self, round_trip: Duration) {
        self.feedback.set_round_trip(round_trip);
    }

    /// The verdict of the loss classifier on the newest losses, which reports pass on. Until there is one, no
    /// loss raises parity.
    pub fn set_verdict(&mut self, verdict: Cause) {
        self.feedback.set_verdict(verdict);
    }

    /// Takes a datagram from the sender.
    ///
    /// # Errors
    /// If it is none of this layer, or a report; it is counted.
    pub fn handle_packet(&mut self, now: Instant, bytes: &[u8]) -> Result<(), WireError> {
        let result = self.take(now, bytes);
        if result.is_err() {
            self.counts.invalid += 1;
        }
        result
    }

    fn take(&mut self, now: Instant, bytes: &[u8]) -> Result<(), WireError> {
        let datagram = wire::decode(bytes, self.config.in_parts)?;
        self.feedback.on_bytes(bytes.len());
        match datagram {
            Datagram::Report(_) => return Err(WireError::Invalid("direction")),
            Datagram::Source { answer, adu, esi } => {
                let (header, _) = AduHeader::decode(adu).ok_or(WireError::TooShort { bytes: bytes.len() })?;
                self.take_source(now, esi, &header, answer, true, |decoder| decoder.on_source(esi, adu));
            }
            Datagram::Repair { answer, ends_parity, id, symbol } => {
                self.decoder.on_repair(id, symbol);
                self.note_repair(now, id, answer, ends_parity);
            }
            Datagram::Parts(parts) => {
                let is_whole = parts.is_whole();
                if !is_whole {
                    self.counts.damaged += 1;
                    // Congestion damages nothing.
                    self.feedback.set_verdict(Cause::Radio);
                }
                match parts.head {
                    Head::Source { header, esi } => {
                        let take = |decoder: &mut Columns| decoder.on_source_parts(esi, header, &parts);
                        self.take_source(now, esi, &header, parts.answer, is_whole, take);
                    }
                    Head::Repair { ends_parity, id } => {
                        self.decoder.on_repair_parts(id, &parts);
                        self.note_repair(now, id, parts.answer, ends_parity);
                    }
                }
            }
        }
        while let Some(solved) = self.decoder.poll_solved() {
            let is_late = solved.since(self.next) < 0;
            if is_late {
                self.counts.late += 1;
            } else {
                self.counts.restored += 1;
                self.on_repaired(now, solved);
            }
        }
        Ok(())
    }

    fn take_source(
        &mut self,
        now: Instant,
        esi: Esi,
        header: &AduHeader,
        answer: Option<Answer>,
        is_whole: bool,
        take: impl FnOnce(&mut Columns) -> bool,
    ) {
        let before = self.decoder.next();
        let is_forgotten = esi.since(self.decoder.first()) < 0;
        let is_new = take(&mut self.decoder);
        let is_late = esi.since(self.next) < 0;
        self.counts.late += u64::from((is_new && is_late) || is_forgotten);
        match answer {
            None => {
                // A coded packet may have been faster than the first original of all.
                if is_new || !is_whole || self.playout.due(header.time).is_none() {
                    self.playout.on_arrival(now, header.time, header.has_waited);
                }
                let first = esi.plus(u32::from(header.index).wrapping_neg());
                let misses = |from: Esi, to: Esi| self.misses(from, to);
                let in_frame = if is_whole { esi } else { esi.plus(1) };
                let (oldest, newest) = (misses(self.next, first), misses(first, in_frame));
                let original = Original { esi, is_whole, header, before };
                self.feedback.on_original(now, original, oldest, newest);
            }
            Some(answer) => {
                if is_new && !is_late {
                    self.counts.repeated += 1;
                    self.on_repaired(now, esi);
                }
                self.feedback.on_answer(now, answer);
            }
        }
    }

    /// Notes that a lost symbol is known now. A frame that comes later than half of the time between frames
    /// counts as lost, because a viewer may discard it and need a new start.
    fn on_repaired(&mut self, now: Instant, esi: Esi) {
        self.repaired.push(esi);
        let Some(header) = self.decoder.header(esi) else { return };
        let half = self.feedback.interval / 2;
        let is_late = self.playout.due(header.time).is_some_and(|due| due + half < now);
        let is_newest =
            self.newest_lost.is_none_or(|(newest, _)| header.frame.wrapping_sub(newest).cast_signed() > 0);
        if is_late && is_newest {
            self.newest_lost = Some((header.frame, 0));
            self.feedback.on_lost();
        }
    }

    fn note_repair(&mut self, now: Instant, id: RepairId, answer: Option<Answer>, ends_parity: bool) {
        if let Some(answer) = answer {
            self.feedback.on_answer(now, answer);
        } else if self.decoder.has_rows() || self.misses(id.first, id.end()) {
            self.feedback.on_parity(now, id.end(), ends_parity);
        } else {
            self.feedback.on_whole(id.end());
        }
    }

    /// `true` if a symbol from `from` to before `to` is unknown.
    fn misses(&self, from: Esi, to: Esi) -> bool {
        let from = later(self.decoder.first(), from);
        let count = to.since(from).max(0) as u32;
        (0..count).any(|i| !self.decoder.is_known(from.plus(i)))
    }

    /// The first known symbol from the next on, and when it is due.
    fn next_known(&self) -> Option<(Esi, AduHeader, Instant)> {
        let first = later(self.decoder.first(), self.next);
        let count = self.decoder.next().since(first).max(0) as u32;
        let mut known = (0..count).map(|i| first.plus(i));
        known.find_map(|esi| {
            let header = self.decoder.header(esi)?;
            Some((esi, header, self.playout.due(header.time)?))
        })
    }

    /// Writes the next datagram that is due into `out`, which is cleared.
    pub fn poll_delivery(&mut self, now: Instant, out: &mut Vec<u8>) -> Option<Delivered> {
        out.clear();
        let (esi, header, due) = self.next_known()?;
        let is_next = esi == self.next;
        let waits = (!is_next || self.config.delivery == Delivery::Constant) && due > now;
        // Symbols are delivered before the decoder forgets them.
        let is_full = self.decoder.next().since(self.next) >= MOST_WAITING;
        if waits && !is_full {
            return None;
        }
        self.counts.hurried += u64::from(waits);
        if !is_next {
            self.give_up_before(esi, &header);
        }
        self.decoder.payload(esi, out)?;
        self.next = esi.plus(1);
        self.newest_delivered = Some((header.frame, header.is_last));
        // Twice the symbols that are still of use remain, so that late ones help to solve the next (RFC 8681,
        // Appendix D).
        self.move_first_of_use(now);
        let window = self.decoder.next().since(self.first_of_use).max(0) as u32 + MORE_SYMBOLS;
        self.decoder.forget_before(self.first_of_use.plus(window.wrapping_neg()));
        self.counts.delivered += 1;
        let is_repaired = self.repaired.contains(&esi);
        let next = self.next;
        self.repaired.retain(|symbol| symbol.since(next) >= 0);
        let AduHeader { frame, role, is_last, .. } = header;
        Some(Delivered { esi, frame, role, ends_frame: is_last, is_repaired })
    }

    /// Early delivery ends the use of no symbol: the sender combines what is not due yet.
    fn move_first_of_use(&mut self, now: Instant) {
        self.first_of_use = later(self.decoder.first(), self.first_of_use);
        while self.next.since(self.first_of_use) > 0 {
            let header = self.decoder.header(self.first_of_use);
            if header.and_then(|header| self.playout.due(header.time)).is_some_and(|due| due > now) {
                return;
            }
            self.first_of_use = self.first_of_use.plus(1);
        }
    }

    /// Unknown symbols before a due datagram are lost.
    fn give_up_before(&mut self, esi: Esi, header: &AduHeader) {
        let count = esi.since(self.next).max(0) as u32;
        self.counts.lost += u64::from(count);
        let is_of_frame = self.misses(esi.plus(u32::from(header.index).wrapping_neg()), esi);
        let newest = if is_of_frame { header.frame } else { header.frame.wrapping_sub(1) };
        let first =
            self.newest_delivered.map_or(newest, |(frame, is_whole)| frame.wrapping_add(is_whole.into()));
        let before = newest.wrapping_sub(first).cast_signed().clamp(0, Report::MOST_LOST_BEFORE.into());
        self.newest_lost = Some((newest, before as u8));
        self.decoder.abandon_before(esi);
        self.feedback.on_lost();
        self.next = esi;
    }

    /// Time has passed.
    pub fn handle_timeout(&mut self, now: Instant) {
        self.on_time(now);
    }

    fn on_time(&mut self, now: Instant) {
        // A timer that has passed waits until a report may follow the last.
        if self.feedback.due().is_none_or(|due| due > now) {
            return;
        }
        let (decoder, next) = (&self.decoder, later(self.decoder.first(), self.next));
        self.feedback.on_time(now, |first, last| {
            // A peer may announce any symbol. Forgotten ones are not requested, so that the window bounds
            // the search.
            let from = later(first, next);
            let count = last.plus(1).since(from).max(0) as u32;
            (0..count).any(|i| !decoder.is_known(from.plus(i)))
        });
    }

    /// When [`Receiver::handle_timeout`] is due.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<Instant> {
        [self.next_delivery(), self.feedback.due()].into_iter().flatten().min()
    }

    /// When the next datagram is due: the time of [`Receiver::poll_timeout`] without the reports, for a
    /// transport that cannot take one now.
    #[must_use]
    pub fn next_delivery(&self) -> Option<Instant> {
        self.next_known().map(|(_, _, due)| due)
    }

    /// Writes a report into `out`, which is cleared, if one is due.
    pub fn poll_transmit(&mut self, now: Instant, out: &mut Vec<u8>) -> Option<()> {
        out.clear();
        self.on_time(now);
        if !self.feedback.is_ready(now) {
            return None;
        }
        let asked_from = self.first_in_time(now);
        let next = self.decoder.next();
        let mut report = self.feedback.begin(now, next, |time| self.playout.due(time));
        report.lost = self.newest_lost.map(|(frame, _)| frame);
        report.lost_before = self.newest_lost.map_or(0, |(_, before)| before);
        let is_asked = |esi: &Esi| esi.since(asked_from) >= 0 && !self.feedback.may_be_overtaken(now, *esi);
        for esi in self.decoder.wanted().filter(is_asked) {
            if report.wanted_count() == 0 {
                report.first = esi;
            }
            // Symbols without room in the report are for later.
            if !report.want(esi) {
                break;
            }
        }
        report.encode(out);
        if self.config.in_parts {
            parts::seal_report(out);
        }
        self.feedback.on_report(now, out.len());
        self.counts.reports += 1;
        self.counts.report_bytes += out.len() as u64;
        Some(())
    }

    /// Nothing is asked for that cannot arrive in time: what is older than a known datagram that is due
    /// before the answer. It may be under way, so that the decoder still counts on it until it is given up.
    fn first_in_time(&self, now: Instant) -> Esi {
        let answered = now + self.feedback.round_trip();
        let first = later(self.decoder.first(), self.next);
        let count = self.decoder.next().since(first).max(0) as u32;
        let known =
            (0..count).map(|i| first.plus(i)).filter_map(|esi| Some((esi, self.decoder.header(esi)?)));
        let is_late = |header: &AduHeader| self.playout.due(header.time).is_some_and(|due| due < answered);
        known.take_while(|(_, header)| is_late(header)).last().map_or(first, |(esi, _)| esi)
    }
}

/// The later of two symbols.
fn later(one: Esi, other: Esi) -> Esi {
    if one.since(other) > 0 { one } else { other }
}

#[cfg(test)]
mod tests;
