//! The decoder: solves for lost source symbols as repair symbols arrive (RFC 8681, Section 6.2).
//!
//! The repair symbols that were of use are the rows of a linear system in the unknown symbols. It is kept in
//! reduced form: each row has a *pivot*, an unknown symbol that no other row contains. A new repair symbol is
//! reduced by the rows and then reduces them, so that each packet costs at most one operation per row. A row
//! with no other unknown symbol than its pivot is solved.
//!
//! The pivot of a row is its newest symbol, so that no symbol depends on a newer one. The unknown symbols
//! that are no pivots are the *wanted* ones: with them, all would be solved. They are what a receiver asks
//! for. A symbol that is not asked for any more ([`Decoder::abandon_before`]) becomes the pivot of a row that
//! contains it, so that others do not wait for it.
//!
//! Symbols that are too late for the application remain in the system until the window moves on: they help to
//! solve the next. The window, the rows and the work per packet are bounded; nothing a peer sends makes the
//! decoder panic.

use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::vec;
use alloc::vec::Vec;

use crate::encoder::CodeConfig;
use crate::fecframe::{self, Esi, MAX_WINDOW, RepairId};
use crate::field;
use crate::kernel::Kernel;
use crate::rlc::Coefficients;

/// Counters of a decoder.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct DecoderCounts {
    /// Source symbols that arrived for the first time.
    pub source: u64,
    /// Source symbols that were known.
    pub duplicate: u64,
    /// Symbols that were solved for.
    pub solved: u64,
    /// Repair symbols that raised the rank of the system.
    pub useful: u64,
    /// Repair symbols over known symbols, or that follow from others.
    pub redundant: u64,
    /// Packets for symbols before the window.
    pub stale: u64,
    /// Packets of a wrong size, or with a window longer than the decoder's.
    pub invalid: u64,
    /// Rows that were dropped because the limit was reached or a symbol left the window.
    pub dropped_rows: u64,
}

/// An equation: the sum of its coefficients times the unknown symbols is `sum`.
#[derive(Clone, Debug)]
struct Row {
    pivot: Esi,
    /// By place in the window.
    coefficients: Box<[u8]>,
    sum: Vec<u8>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum State {
    Unknown,
    Known,
}

/// The decoder of one repair flow.
#[derive(Clone, Debug)]
pub struct Decoder {
    config: CodeConfig,
    kernel: Kernel,
    /// The window: from the first symbol that is remembered to before the first that is not known to exist.
    first: Esi,
    next: Esi,
    /// Symbols before it are not asked for.
    abandoned: Esi,
    states: Box<[State]>,
    symbols: Box<[Vec<u8>]>,
    rows: Vec<Row>,
    spare: Vec<Row>,
    max_rows: usize,
    solved: VecDeque<Esi>,
    counts: DecoderCounts,
}

impl Decoder {
    /// A decoder whose first symbol has the identifier `first`. It keeps at most `max_rows` equations.
    #[must_use]
    pub fn new(config: CodeConfig, first: Esi, max_rows: usize) -> Self {
        let places = usize::from(config.window.clamp(1, MAX_WINDOW)).next_power_of_two();
        Self {
            config,
            kernel: Kernel::new(),
            first,
            next: first,
            abandoned: first,
            states: vec![State::Unknown; places].into(),
            symbols: vec![Vec::new(); places].into(),
            rows: Vec::new(),
            spare: Vec::new(),
            max_rows,
            solved: VecDeque::new(),
            counts: DecoderCounts::default(),
        }
    }

    /// Decoder's counters.
    #[must_use]
    pub fn counts(&self) -> DecoderCounts {
        self.counts
    }

    /// The first symbol that is remembered.
    #[must_use]
    pub fn first(&self) -> Esi {
        self.first
    }

    /// The first symbol that is not known to exist.
    #[must_use]
    pub fn next(&self) -> Esi {
        self.next
    }

    /// Equations that are not yet solved.
    #[must_use]
    pub fn rank(&self) -> usize {
        self.rows.len()
    }

    fn place(&self, esi: Esi) -> usize {
        esi.0 as usize & (self.states.len() - 1)
    }

    fn contains(&self, esi: Esi) -> bool {
        let at = esi.since(self.first);
        at >= 0 && at < self.next.since(self.first)
    }

    /// `true` if the symbol is known, whether it arrived or was solved for.
    #[must_use]
    pub fn is_known(&self, esi: Esi) -> bool {
        self.contains(esi) && self.states[self.place(esi)] == State::Known
    }

    /// A symbol that is known, with or without the zeros that pad it.
    #[must_use]
    pub fn symbol(&self, esi: Esi) -> Option<&[u8]> {
        self.is_known(esi).then(|| self.symbols[self.place(esi)].as_slice())
    }

    /// `true` if the symbol is unknown and follows from others that are unknown.
    #[must_use]
    pub fn is_pivot(&self, esi: Esi) -> bool {
        self.rows.iter().any(|row| row.pivot == esi)
    }

    /// The unknown symbols with which all would be known, oldest first.
    pub fn wanted(&self) -> impl Iterator<Item = Esi> + '_ {
        let count = self.next.since(self.first) as u32;
        let unknown = (0..count).map(|i| self.first.plus(i)).filter(|&esi| !self.is_known(esi));
        unknown.filter(|&esi| !self.is_pivot(esi))
    }

    /// The next symbol that was solved for.
    pub fn poll_solved(&mut self) -> Option<Esi> {
        self.solved.pop_front()
    }

    /// A source packet: an ADU and the identifier of its first symbol. Returns `true` if a symbol of it was
    /// unknown.
    pub fn on_source(&mut self, esi: Esi, flow: u8, adu: &[u8]) -> bool {
        let size = usize::from(self.config.symbol_size);
        let Ok(length) = u16::try_from(adu.len()) else {
            self.counts.invalid += 1;
            return false;
        };
        let count = (adu.len() + fecframe::ADUI_HEADER).div_ceil(size.max(1));
        if size <= fecframe::ADUI_HEADER || count > self.states.len() {
            self.counts.invalid += 1;
            return false;
        }
        let [high, low] = length.to_be_bytes();
        let (mut rest, mut is_new) = (adu, false);
        for i in 0..count as u32 {
            let header: &[u8] = if i == 0 { &[flow, high, low] } else { &[] };
            let (part, others) = rest.split_at(rest.len().min(size - header.len()));
            rest = others;
            is_new |= self.on_symbol(esi.plus(i), header, part);
        }
        is_new
    }

    /// A source symbol in two parts.
    pub(crate) fn on_symbol(&mut self, esi: Esi, header: &[u8], part: &[u8]) -> bool {
        if esi.since(self.first) < 0 {
            self.counts.stale += 1;
            return false;
        }
        self.extend(esi.plus(1));
        if self.is_known(esi) {
            self.counts.duplicate += 1;
            return false;
        }
        self.counts.source += 1;
        let place = self.place(esi);
        let mut symbol = core::mem::take(&mut self.symbols[place]);
        symbol.clear();
        symbol.extend_from_slice(header);
        symbol.extend_from_slice(part);
        self.learn(esi, symbol);
        true
    }

    /// Moves the end of the window to `end`, if it is later, and the beginning where the window is too long.
    pub(crate) fn extend(&mut self, end: Esi) {
        if end.since(self.next) <= 0 {
            return;
        }
        let places = self.states.len() as i32;
        // A gap of a whole window or more: nothing of the old one is left.
        if end.since(self.first) < 0 || end.since(self.first) >= 2 * places {
            self.counts.dropped_rows += self.rows.len() as u64;
            self.spare.append(&mut self.rows);
            self.first = end.plus((-places) as u32);
            self.next = self.first;
        } else if end.since(self.first) > places {
            self.forget_before(end.plus((-places) as u32));
        }
        while self.next != end {
            let place = self.place(self.next);
            self.states[place] = State::Unknown;
            self.next = self.next.plus(1);
        }
    }

    /// Moves the beginning of the window. An unknown symbol that leaves it takes one equation along.
    pub fn forget_before(&mut self, esi: Esi) {
        while esi.since(self.first) > 0 {
            let leaving = self.first;
            if leaving == self.next {
                self.first = esi;
                self.next = esi;
                return;
            }
            if !self.is_known(leaving) {
                let place = self.place(leaving);
                if let Some(index) = self.rows.iter().position(|row| row.coefficients[place] != 0) {
                    let row = self.rows.swap_remove(index);
                    self.eliminate(&row, place);
                    self.spare.push(row);
                    self.counts.dropped_rows += 1;
                }
            }
            self.first = leaving.plus(1);
        }
        self.find_solved();
    }

    /// Gives up asking for the symbols before `esi`. What is known of them still serves, and they may still
    /// be solved for.
    pub fn abandon_before(&mut self, esi: Esi) {
        let from = if self.abandoned.since(self.first) < 0 { self.first } else { self.abandoned };
        let count = esi.since(from).min(self.next.since(from)).max(0) as u32;
        for unknown in (0..count).map(|i| from.plus(i)) {
            if self.is_known(unknown) || self.is_pivot(unknown) {
                continue;
            }
            let place = self.place(unknown);
            let contains = |row: &Row| row.coefficients[place] != 0;
            if let Some(index) = self.rows.iter().position(contains) {
                let row = self.rows.swap_remove(index);
                self.add_row(row, unknown);
            }
        }
        self.abandoned = from.plus(count);
    }

    /// Adds a row that contains no other's pivot, with one of its symbols for a pivot.
    fn add_row(&mut self, mut row: Row, pivot: Esi) {
        let place = self.place(pivot);
        let inverse = field::inverse(row.coefficients[place]);
        self.kernel.multiply(&mut row.coefficients, inverse);
        self.kernel.multiply(&mut row.sum, inverse);
        row.pivot = pivot;
        self.eliminate(&row, place);
        self.rows.push(row);
    }

    /// Subtracts multiples of `row` from all others so that none contains the symbol at `place`.
    fn eliminate(&mut self, row: &Row, place: usize) {
        let inverse = field::inverse(row.coefficients[place]);
        for other in &mut self.rows {
            let factor = field::multiply(other.coefficients[place], inverse);
            subtract(self.kernel, other, row, factor);
        }
    }

    /// A symbol becomes known: it is no unknown of any row any more.
    fn learn(&mut self, esi: Esi, symbol: Vec<u8>) {
        let place = self.place(esi);
        for row in &mut self.rows {
            let factor = row.coefficients[place];
            if factor != 0 {
                row.coefficients[place] = 0;
                add_symbol(self.kernel, &mut row.sum, &symbol, factor);
            }
        }
        self.symbols[place] = symbol;
        self.states[place] = State::Known;
        if let Some(index) = self.rows.iter().position(|row| row.pivot == esi) {
            let row = self.rows.swap_remove(index);
            self.insert(row);
        }
        self.find_solved();
    }

    /// A repair packet: its identifier and its repair symbols, which have consecutive keys.
    pub fn on_repair(&mut self, id: RepairId, symbols: &[u8]) {
        let size = usize::from(self.config.symbol_size);
        if size == 0 || symbols.is_empty() {
            self.counts.invalid += 1;
            return;
        }
        if !self.admits(id) {
            return;
        }
        for (i, symbol) in (0..).zip(symbols.chunks(size)) {
            self.on_repair_symbol(RepairId { key: id.key.wrapping_add(i), ..id }, symbol);
        }
    }

    /// Takes note of the symbols in the window of a repair packet. Returns `false` if invalid or too late.
    pub(crate) fn admits(&mut self, id: RepairId) -> bool {
        if id.count == 0 || usize::from(id.count) > self.states.len() {
            self.counts.invalid += 1;
            return false;
        }
        if id.first.since(self.first) >= 0 {
            self.extend(id.end());
        }
        // The window may have moved beyond the beginning of the repair symbol's.
        let is_stale = id.first.since(self.first) < 0;
        self.counts.stale += u64::from(is_stale);
        !is_stale
    }

    fn on_repair_symbol(&mut self, id: RepairId, symbol: &[u8]) {
        let window = (0..u32::from(id.count)).map(|i| id.first.plus(i));
        if window.clone().all(|esi| self.is_known(esi)) {
            self.counts.redundant += 1;
            return;
        }
        let mut row = self.spare.pop().unwrap_or_else(|| Row {
            pivot: id.first,
            coefficients: vec![0; self.states.len()].into(),
            sum: Vec::new(),
        });
        row.coefficients.fill(0);
        row.sum.clear();
        row.sum.reserve_exact(usize::from(self.config.symbol_size));
        row.sum.extend_from_slice(symbol);
        let mut coefficients = Coefficients::new(self.config.code, id.key, id.density);
        for esi in window {
            let (factor, place) = (coefficients.next_coefficient(), self.place(esi));
            match self.states[place] {
                State::Known => add_symbol(self.kernel, &mut row.sum, &self.symbols[place], factor),
                State::Unknown => row.coefficients[place] = factor,
            }
        }
        if self.insert(row) {
            self.counts.useful += 1;
        } else {
            self.counts.redundant += 1;
        }
        self.find_solved();
    }

    /// Reduces a row by the others and them by it. Returns `false` if it follows from them.
    fn insert(&mut self, mut row: Row) -> bool {
        for other in &self.rows {
            let factor = row.coefficients[self.place(other.pivot)];
            subtract(self.kernel, &mut row, other, factor);
        }
        let count = self.next.since(self.first) as u32;
        let symbols = (0..count).map(|i| self.first.plus(i));
        let mut contained = symbols.filter(|&esi| row.coefficients[self.place(esi)] != 0);
        let oldest = contained.next();
        let Some(oldest) = oldest else {
            self.spare.push(row);
            return false;
        };
        let pivot =
            if oldest.since(self.abandoned) < 0 { oldest } else { contained.next_back().unwrap_or(oldest) };
        if self.rows.len() >= self.max_rows {
            self.counts.dropped_rows += 1;
            self.spare.push(row);
            return false;
        }
        self.add_row(row, pivot);
        true
    }

    /// Takes the rows that have only their pivot left.
    fn find_solved(&mut self) {
        let mut index = 0;
        while let Some(row) = self.rows.get(index) {
            if row.coefficients.iter().filter(|&&c| c != 0).nth(1).is_some() {
                index += 1;
                continue;
            }
            let mut row = self.rows.swap_remove(index);
            let place = self.place(row.pivot);
            // No other row contains a pivot, so that nothing else changes.
            self.kernel.multiply(&mut row.sum, field::inverse(row.coefficients[place]));
            // The zeros at its end may not have been sent.
            row.sum.resize(usize::from(self.config.symbol_size), 0);
            core::mem::swap(&mut self.symbols[place], &mut row.sum);
            self.states[place] = State::Known;
            self.counts.solved += 1;
            self.solved.push_back(row.pivot);
            self.spare.push(row);
        }
    }
}

fn add_symbol(kernel: Kernel, sum: &mut Vec<u8>, symbol: &[u8], factor: u8) {
    if factor != 0 && sum.len() < symbol.len() {
        sum.resize(symbol.len(), 0);
    }
    kernel.multiply_add(sum, symbol, factor);
}

fn subtract(kernel: Kernel, row: &mut Row, other: &Row, factor: u8) {
    if factor != 0 {
        kernel.multiply_add(&mut row.coefficients, &other.coefficients, factor);
        add_symbol(kernel, &mut row.sum, &other.sum, factor);
    }
}

#[cfg(test)]
mod tests;
