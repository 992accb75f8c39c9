//! Repair in plaintext: which datagrams of one end were lost, and what repaired them.
//!
//! The receiver's reports state which source packets have arrived and which symbols it still wants. A symbol
//! that did not arrive and is not wanted any more was repaired: by a repeat if one was captured, and by coded
//! packets otherwise. It was given up if a report gives up its frame, and asked for it until then.

use std::collections::VecDeque;

use serde::Serialize;
use whimbrel_repair::fecframe::Esi;
use whimbrel_repair::wire::parts::Head;
use whimbrel_repair::wire::{AduHeader, Datagram, Report};
use whimbrel_wire::Payload;
use whimbrel_wire::option::FeatureNumber;

use super::connection::Connection;
use super::side::Side;
use crate::segment::Segment;

/// Symbols that are followed: more than a sender keeps.
const WINDOW: usize = 4096;

/// A symbol: a datagram of the application.
#[derive(Clone, Copy, Debug, Default)]
struct Symbol {
    /// Its frame, once a packet with it was captured.
    frame: Option<u16>,
    /// The last report on it says that its source packet has arrived, or not.
    arrived: Option<bool>,
    /// The last report on it wants it.
    is_wanted: bool,
    repeats: u32,
    /// Its frame was given up while it was wanted.
    is_given_up: bool,
}

/// Repair of the data of one end, by the packets of both.
#[derive(Clone, Debug, Default)]
pub(crate) struct Repair {
    /// The symbols from `first` on.
    symbols: VecDeque<Symbol>,
    first: Option<Esi>,
    /// The newest frame that was given up.
    lost: Option<u16>,
    totals: RepairReport,
}

/// Repair of the data of one end.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize)]
pub struct RepairReport {
    /// Source packets, which carry a datagram of the application each.
    pub sources: u64,
    /// Repeats of them.
    pub repeats: u64,
    /// Coded packets that were sent with frames.
    pub parity: u64,
    /// Coded packets that were sent in answers.
    pub surplus: u64,
    /// Bytes of repeats and coded packets.
    pub repair_bytes: u64,
    /// Reports of the receiver.
    pub reports: u64,
    /// Reports that ask for something.
    pub requests: u64,
    /// Datagrams whose source packet did not arrive, by the reports.
    pub lost: u64,
    /// Lost datagrams that a repeat brought.
    pub by_repeats: u64,
    /// Lost datagrams that coded packets restored.
    pub by_code: u64,
    /// Lost datagrams that were given up with their frame.
    pub given_up: u64,
    /// Lost datagrams that the receiver still wanted at the end of the capture.
    pub pending: u64,
    /// Frames that the receiver gave up.
    pub frames_given_up: u64,
    /// Repeats that were sent after their frame was given up.
    pub too_late: u64,
    /// Datagrams that could not be read: they are encrypted, or were not captured completely.
    pub unread: u64,
}

impl Repair {
    /// The report, unless nothing was seen.
    pub(crate) fn report(&self) -> Option<RepairReport> {
        let mut report = self.totals;
        self.symbols.iter().for_each(|symbol| account(&mut report, symbol));
        (report != RepairReport::default()).then_some(report)
    }

    /// A datagram of the sender could not be read.
    pub(crate) fn on_unread(&mut self) {
        self.totals.unread += 1;
    }

    /// A datagram of the sender. `bytes`: its length.
    pub(crate) fn on_data(&mut self, datagram: &Datagram<'_>, bytes: usize) {
        match datagram {
            Datagram::Source { answer, adu, esi } => {
                let frame = AduHeader::decode(adu).map(|(header, _)| header.frame);
                self.on_source(*esi, frame, answer.is_some(), bytes);
            }
            Datagram::Repair { answer, .. } => self.on_coded(answer.is_some(), bytes),
            Datagram::Parts(parts) => match parts.head {
                Head::Source { header, esi } => {
                    self.on_source(esi, Some(header.frame), parts.answer.is_some(), bytes);
                }
                Head::Repair { .. } => self.on_coded(parts.answer.is_some(), bytes),
            },
            // A report of this end is about the data of the other.
            Datagram::Report(_) => {}
        }
    }

    fn on_source(&mut self, esi: Esi, frame: Option<u16>, is_repeat: bool, bytes: usize) {
        let is_lost = frame.is_some() && frame == self.lost;
        let Some(symbol) = self.symbol(esi) else { return };
        symbol.frame = symbol.frame.or(frame);
        if !is_repeat {
            self.totals.sources += 1;
            return;
        }
        symbol.repeats += 1;
        let is_late = symbol.is_given_up || is_lost;
        self.totals.too_late += u64::from(is_late);
        self.totals.repeats += 1;
        self.totals.repair_bytes += bytes as u64;
    }

    fn on_coded(&mut self, is_surplus: bool, bytes: usize) {
        let count = if is_surplus { &mut self.totals.surplus } else { &mut self.totals.parity };
        *count += 1;
        self.totals.repair_bytes += bytes as u64;
    }

    /// A report of the receiver.
    pub(crate) fn on_report(&mut self, report: &Report) {
        self.totals.reports += 1;
        self.totals.requests += u64::from(report.wanted_count() > 0);
        let lost = report.lost.filter(|frame| self.lost != Some(*frame));
        if let Some(frame) = lost {
            self.lost = Some(frame);
            self.totals.frames_given_up += 1;
        }
        // Before the report takes the requests back.
        lost.into_iter().for_each(|frame| self.give_up(frame));
        let Some(first) = self.first else { return };
        for (esi, symbol) in (0..).map(|at| first.plus(at)).zip(&mut self.symbols) {
            if esi.since(report.next) >= 0 {
                break;
            }
            // An older report may come later: what has arrived stays so.
            if let Some(arrived) = report.arrived(esi).filter(|_| symbol.arrived != Some(true)) {
                symbol.arrived = Some(arrived);
            }
            symbol.is_wanted = report.wants(esi);
        }
    }

    /// Notes that a frame was given up, with the symbols of it that are wanted. A symbol of which no packet
    /// was captured belongs to it if those around it do, or are of frames before and after it.
    fn give_up(&mut self, lost: u16) {
        let is_before = |frame: u16| lost.wrapping_sub(frame).cast_signed() >= 0;
        let is_after = |frame: u16| frame.wrapping_sub(lost).cast_signed() >= 0;
        let mut before = None;
        for at in 0..self.symbols.len() {
            let symbol = self.symbols[at];
            before = symbol.frame.or(before);
            if !symbol.is_wanted || symbol.is_given_up {
                continue;
            }
            let after = || self.symbols.range(at..).find_map(|later| later.frame);
            let belongs = match symbol.frame {
                Some(frame) => frame == lost,
                None => before.is_none_or(is_before) && after().is_none_or(is_after),
            };
            self.symbols[at].is_given_up = belongs;
        }
    }

    /// The state of a symbol; `None` if it is older than those that are followed.
    fn symbol(&mut self, esi: Esi) -> Option<&mut Symbol> {
        let first = *self.first.get_or_insert(esi);
        let at = usize::try_from(esi.since(first)).ok()?;
        if at >= self.symbols.len() + WINDOW {
            // Another stream: what came before has ended.
            self.symbols.drain(..).for_each(|symbol| account(&mut self.totals, &symbol));
            self.first = Some(esi);
            self.symbols.push_back(Symbol::default());
            return self.symbols.back_mut();
        }
        while self.symbols.len() <= at {
            self.symbols.push_back(Symbol::default());
        }
        let over = self.symbols.len().saturating_sub(WINDOW);
        self.symbols.drain(..over).for_each(|symbol| account(&mut self.totals, &symbol));
        self.first = Some(first.plus(over as u32));
        self.symbols.get_mut(at - over)
    }
}

impl Connection {
    /// Reads a datagram of the repair layer, if both ends have agreed on it.
    pub(super) fn on_repair(&mut self, by: Side, segment: &Segment) {
        let repairs = |side| matches!(self.features.value(side, FeatureNumber::Repair), Some(1 | 2));
        let packet = &segment.packet;
        let is_data = packet.packet_type().carries_data() && !packet.payload.is_empty();
        if !is_data || !repairs(by) || !repairs(by.other()) {
            return;
        }
        let bytes = match &packet.payload {
            Payload::Bytes(bytes) if segment.is_whole => Datagram::decode(bytes).ok().zip(Some(bytes.len())),
            _ => None,
        };
        match bytes {
            Some((Datagram::Report(report), _)) => self.half_mut(by.other()).repair.on_report(&report),
            Some((datagram, bytes)) => self.half_mut(by).repair.on_data(&datagram, bytes),
            None => self.half_mut(by).repair.on_unread(),
        }
    }
}

/// Enters in the report what became of a symbol.
fn account(report: &mut RepairReport, symbol: &Symbol) {
    if symbol.arrived != Some(false) {
        return;
    }
    report.lost += 1;
    let count = if symbol.is_given_up {
        &mut report.given_up
    } else if symbol.is_wanted {
        &mut report.pending
    } else if symbol.repeats > 0 {
        &mut report.by_repeats
    } else {
        &mut report.by_code
    };
    *count += 1;
}

#[cfg(test)]
mod tests;
