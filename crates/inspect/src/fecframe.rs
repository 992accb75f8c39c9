//! FECFRAME over UDP with the sliding-window code RLC (RFC 6363, 8680, 8681): which symbols of a source were
//! lost, and which of them the repair packets restore.
//!
//! A source packet ends with the number of its first symbol, and a repair packet begins with its window and
//! its key. The coefficients follow from these, so that a decoder finds what can be solved without the data:
//! it is given symbols of zeros.

use std::collections::VecDeque;
use std::net::IpAddr;

use serde::Serialize;
use whimbrel_repair::decoder::Decoder;
use whimbrel_repair::encoder::CodeConfig;
use whimbrel_repair::fecframe::{ADUI_HEADER, Esi, MAX_WINDOW, RepairId};
use whimbrel_repair::rlc::{Code, Density};

use crate::segment::{Datagram, Flow, Segment};
use sdp::Session;

pub mod sdp;

/// Symbols that are followed.
const WINDOW: u32 = MAX_WINDOW as u32;
/// Equations that the decoder keeps.
const ROWS: usize = 256;
/// Numbers that are further ahead belong to another stream.
const MOST_AHEAD: u32 = 1 << 14;
/// Repair symbols of a packet that are tried: each costs an operation per equation, and needs no byte of the
/// capture.
const MOST_TRIED: u32 = 16;
/// Runs of lost symbols that are listed.
const MOST_RUNS: usize = 100;
/// Bytes of the decoder's symbols of zeros: more than the header of an ADU.
const SYMBOL: usize = ADUI_HEADER + 1;
static ZEROS: [u8; SYMBOL * WINDOW as usize] = [0; SYMBOL * WINDOW as usize];

/// A source and its repair flow.
#[derive(Clone, Debug)]
pub(crate) struct Protected {
    session: Session,
    /// The sender that came first: another one has numbers of its own.
    sender: Option<IpAddr>,
    stream: Option<Stream>,
    report: FecReport,
}

/// The symbols from the first source packet on.
#[derive(Clone, Debug)]
struct Stream {
    decoder: Decoder,
    first: Esi,
    states: VecDeque<State>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum State {
    Missing,
    Arrived,
    Restored,
}

/// A source with its repair flow, as an SDP file describes them.
#[derive(Clone, PartialEq, Debug, Default, Serialize)]
pub struct FecReport {
    /// The source flows: address, if there is one, and port.
    pub sources: Vec<String>,
    /// The repair flow.
    pub repair: String,
    /// FEC Encoding ID: 10 for RLC over GF(2^8), 9 over GF(2).
    pub encoding_id: u8,
    /// E: bytes of a symbol.
    pub symbol_size: u16,
    /// Source packets and their bytes, with numbers.
    pub source_packets: u64,
    /// See `source_packets`.
    pub source_bytes: u64,
    /// Repair packets, the symbols in them and their bytes, with numbers.
    pub repair_packets: u64,
    /// See `repair_packets`.
    pub repair_symbols: u64,
    /// See `repair_packets`.
    pub repair_bytes: u64,
    /// Bytes of repair packets divided by the bytes of source packets; null without any.
    pub overhead: Option<f64>,
    /// Source symbols that exist by the numbers.
    pub symbols: u64,
    /// Source symbols that did not arrive, or only after they could be restored.
    pub lost: u64,
    /// Lost symbols that the repair packets restore.
    pub restored: u64,
    /// Restored symbols that arrived later nevertheless.
    pub overtaken: u64,
    /// Repair symbols that nothing was missing for, or that follow from others.
    pub redundant: u64,
    /// Repair symbols with a window that begins before the symbols that are followed.
    pub stale: u64,
    /// Packets of the wrong size, without a window, or with numbers far from the others.
    pub invalid: u64,
    /// Packets that were captured too short to read their numbers, and packets of further senders.
    pub unread: u64,
    /// The first runs of lost symbols.
    pub runs: Vec<LostRun>,
}

/// Symbols that were lost in a row.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
pub struct LostRun {
    /// Number of the first.
    pub first: u32,
    /// Count.
    pub symbols: u64,
    /// Lost symbols that the repair packets restore.
    pub restored: u64,
}

impl Protected {
    pub(crate) fn new(session: Session) -> Self {
        let report = FecReport {
            sources: session.sources.iter().map(ToString::to_string).collect(),
            repair: session.repair.to_string(),
            encoding_id: session.code.encoding_id(),
            symbol_size: session.symbol_size,
            ..FecReport::default()
        };
        Self { session, sender: None, stream: None, report }
    }

    /// A datagram that may belong to it.
    pub(crate) fn on_datagram(&mut self, segment: &Segment<Datagram>) {
        let to = Flow::of_udp(segment).destination;
        let is_repair = self.session.repair.is(to);
        if !is_repair && !self.session.sources.iter().any(|source| source.is(to)) {
            return;
        }
        if *self.sender.get_or_insert(segment.source) != segment.source {
            self.report.unread += 1;
        } else if is_repair {
            self.on_repair(&segment.packet);
        } else {
            self.on_source(&segment.packet);
        }
    }

    fn on_source(&mut self, packet: &Datagram) {
        let Some(esi) = packet.tail.map(|tail| Esi(u32::from_be_bytes(tail))) else {
            self.report.unread += 1;
            return;
        };
        let size = usize::from(self.session.symbol_size);
        let adu = packet.size as usize - Esi::LEN;
        let count = (adu + ADUI_HEADER).div_ceil(size);
        let code = self.session.code;
        let stream = self.stream.get_or_insert_with(|| Stream::new(code, esi));
        if count > WINDOW as usize || !stream.extend(esi.plus(count as u32), &mut self.report) {
            self.report.invalid += 1;
            return;
        }
        self.report.source_packets += 1;
        self.report.source_bytes += u64::from(packet.size);
        for esi in (0..count as u32).map(|at| esi.plus(at)) {
            if let Some(state) = stream.state(esi) {
                self.report.overtaken += u64::from(*state == State::Restored);
                if *state == State::Missing {
                    *state = State::Arrived;
                }
            }
        }
        stream.decoder.on_source(esi, 0, &ZEROS[..SYMBOL * count - ADUI_HEADER]);
        stream.solve();
    }

    fn on_repair(&mut self, packet: &Datagram) {
        let size = u32::from(self.session.symbol_size);
        // A last symbol may be sent without the zeros at its end.
        let count = packet.size.saturating_sub(RepairId::LEN as u32).div_ceil(size);
        let Some(head) = packet.head.filter(|_| count > 0) else {
            let counter = if count > 0 { &mut self.report.unread } else { &mut self.report.invalid };
            *counter += 1;
            return;
        };
        let Some((id, _)) = RepairId::decode(&head) else {
            self.report.invalid += 1;
            return;
        };
        self.report.repair_packets += 1;
        self.report.repair_symbols += u64::from(count);
        self.report.repair_bytes += u64::from(packet.size);
        let Some(stream) = &mut self.stream else {
            self.report.stale += u64::from(count);
            return;
        };
        if !stream.extend(id.end(), &mut self.report) {
            self.report.invalid += 1;
            return;
        }
        let before = stream.decoder.counts();
        for at in 0..count.min(MOST_TRIED) {
            let id = RepairId { key: id.key.wrapping_add(at as u16), ..id };
            stream.decoder.on_repair(id, &ZEROS[..SYMBOL]);
        }
        let after = stream.decoder.counts();
        self.report.redundant += after.redundant - before.redundant;
        self.report.stale += after.stale - before.stale;
        stream.solve();
    }

    pub(crate) fn report(&self) -> FecReport {
        let mut report = self.report.clone();
        if let Some(stream) = &self.stream {
            let mut esi = stream.first;
            for state in &stream.states {
                report.account(esi, *state);
                esi = esi.plus(1);
            }
        }
        let bytes = report.source_bytes;
        report.overhead = (bytes > 0).then(|| report.repair_bytes as f64 / bytes as f64);
        report
    }
}

impl Stream {
    fn new(code: Code, first: Esi) -> Self {
        let config =
            CodeConfig { code, density: Density::FULL, symbol_size: SYMBOL as u16, window: MAX_WINDOW };
        Self { decoder: Decoder::new(config, first, ROWS), first, states: VecDeque::new() }
    }

    fn state(&mut self, esi: Esi) -> Option<&mut State> {
        self.states.get_mut(usize::try_from(esi.since(self.first)).ok()?)
    }

    /// Symbols before `end` exist. `false` if that is too far from those that are followed.
    fn extend(&mut self, end: Esi, report: &mut FecReport) -> bool {
        let next = self.first.plus(self.states.len() as u32);
        let ahead = end.since(next);
        if ahead.unsigned_abs() > MOST_AHEAD {
            return false;
        }
        for _ in 0..ahead.max(0) {
            self.states.push_back(State::Missing);
            if self.states.len() > WINDOW as usize
                && let Some(state) = self.states.pop_front()
            {
                report.account(self.first, state);
                self.first = self.first.plus(1);
            }
        }
        true
    }

    fn solve(&mut self) {
        while let Some(esi) = self.decoder.poll_solved() {
            if let Some(state) = self.state(esi) {
                *state = State::Restored;
            }
        }
    }
}

impl FecReport {
    /// A symbol whose fate is known: each once, in order.
    fn account(&mut self, esi: Esi, state: State) {
        self.symbols += 1;
        if state == State::Arrived {
            return;
        }
        let (restored, has_room) = (u64::from(state == State::Restored), self.runs.len() < MOST_RUNS);
        self.lost += 1;
        self.restored += restored;
        match self.runs.last_mut() {
            Some(run) if run.first.wrapping_add(run.symbols as u32) == esi.0 => {
                run.symbols += 1;
                run.restored += restored;
            }
            _ if has_room => {
                self.runs.push(LostRun { first: esi.0, symbols: 1, restored });
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests;
