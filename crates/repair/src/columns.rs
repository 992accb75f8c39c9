//! The code by columns: where packets arrive damaged, each column of a symbol is solved for alone.
//!
//! A symbol is known once all of its columns are. Without damage there is one column, of the whole symbol.

use alloc::collections::VecDeque;
use alloc::vec::Vec;

use crate::decoder::Decoder;
use crate::encoder::CodeConfig;
use crate::fecframe::{ADUI_HEADER, Esi, RepairId};
use crate::wire::parts::{COLUMN, Parts, columns};
use crate::wire::{ADU_HEADER, AduHeader};

/// The decoders of all columns, whose windows are the same.
#[derive(Debug)]
pub(crate) struct Columns {
    columns: Vec<Decoder>,
    /// Symbols whose last column was solved for.
    solved: VecDeque<Esi>,
    /// Prefix of the application's datagram in a symbol.
    before: Vec<u8>,
}

impl Columns {
    /// Decoders for symbols in parts or as a whole.
    pub(crate) fn new(code: CodeConfig, first: Esi, rows: usize, in_parts: bool) -> Self {
        let size = usize::from(code.symbol_size);
        let count = if in_parts { columns(size) } else { 1 };
        let code_of = |column: usize| {
            let left = size.saturating_sub(column * COLUMN);
            let symbol_size = if in_parts { left.min(COLUMN) as u16 } else { code.symbol_size };
            CodeConfig { symbol_size, ..code }
        };
        let columns = (0..count).map(|column| Decoder::new(code_of(column), first, rows)).collect();
        Self { columns, solved: VecDeque::new(), before: Vec::new() }
    }

    fn any(&self) -> &Decoder {
        &self.columns[0]
    }

    /// The first symbol that is remembered.
    pub(crate) fn first(&self) -> Esi {
        self.any().first()
    }

    /// The first symbol that is not known to exist.
    pub(crate) fn next(&self) -> Esi {
        self.any().next()
    }

    /// `true` if a repair symbol waits for others.
    pub(crate) fn has_rows(&self) -> bool {
        self.columns.iter().any(|column| column.rank() > 0)
    }

    pub(crate) fn is_known(&self, esi: Esi) -> bool {
        self.columns.iter().all(|column| column.is_known(esi))
    }

    /// The unknown symbols with which all would be known, oldest first.
    pub(crate) fn wanted(&self) -> impl Iterator<Item = Esi> + '_ {
        let count = self.next().since(self.first()) as u32;
        let symbols = (0..count).map(|i| self.first().plus(i));
        let is_wanted = |column: &Decoder, esi| !column.is_known(esi) && !column.is_pivot(esi);
        symbols.filter(move |&esi| self.columns.iter().any(|column| is_wanted(column, esi)))
    }

    /// The header of a symbol that is known.
    pub(crate) fn header(&self, esi: Esi) -> Option<AduHeader> {
        if !self.is_known(esi) {
            return None;
        }
        let symbol = self.any().symbol(esi)?;
        let (&[_, high, low], adu) = symbol.split_first_chunk::<ADUI_HEADER>()?;
        let bytes: usize = self.columns.iter().filter_map(|column| column.symbol(esi)).map(<[u8]>::len).sum();
        // A length that does not fit is one that no encoder makes.
        let fits = usize::from(u16::from_be_bytes([high, low])) + ADUI_HEADER <= bytes;
        AduHeader::decode(adu).filter(|_| fits).map(|(header, _)| header)
    }

    /// Appends the datagram of the application in a symbol that is known.
    pub(crate) fn payload(&self, esi: Esi, out: &mut Vec<u8>) -> Option<()> {
        let symbol = self.any().symbol(esi)?;
        let (&[_, high, low], adu) = symbol.split_first_chunk::<ADUI_HEADER>()?;
        let mut left = usize::from(u16::from_be_bytes([high, low])).checked_sub(ADU_HEADER)?;
        let first = adu.get(ADU_HEADER..)?;
        let others = self.columns[1..].iter().filter_map(|column| column.symbol(esi));
        for part in core::iter::once(first).chain(others) {
            let taken = part.len().min(left);
            out.extend_from_slice(&part[..taken]);
            left -= taken;
        }
        Some(())
    }

    /// A source packet as a whole. Returns `true` if its symbol was unknown.
    pub(crate) fn on_source(&mut self, esi: Esi, adu: &[u8]) -> bool {
        let is_new = self.columns[0].on_source(esi, 0, adu);
        self.settle();
        is_new
    }

    /// A repair packet as a whole.
    pub(crate) fn on_repair(&mut self, id: RepairId, symbol: &[u8]) {
        self.columns[0].on_repair(id, symbol);
        self.settle();
    }

    /// A source packet in parts. Returns `true` if its symbol was unknown and is known now.
    pub(crate) fn on_source_parts(&mut self, esi: Esi, header: AduHeader, parts: &Parts<'_>) -> bool {
        let Ok(length) = u16::try_from(ADU_HEADER + parts.length()) else { return false };
        if columns(ADUI_HEADER + usize::from(length)) > self.columns.len() {
            return false;
        }
        let was_known = self.is_known(esi);
        let [high, low] = length.to_be_bytes();
        self.before.clear();
        self.before.extend_from_slice(&[0, high, low]);
        header.encode(&mut self.before);
        let mut parts = parts.iter();
        for (at, column) in self.columns.iter_mut().enumerate() {
            // Bytes beyond the datagram are zero.
            match parts.next().unwrap_or(Some(&[])) {
                Some(part) => {
                    column.on_symbol(esi, if at == 0 { &self.before } else { &[] }, part);
                }
                None => column.extend(esi.plus(1)),
            }
        }
        self.settle();
        !was_known && self.is_known(esi)
    }

    /// A repair packet in parts.
    pub(crate) fn on_repair_parts(&mut self, id: RepairId, parts: &Parts<'_>) {
        let mut parts = parts.iter();
        for column in &mut self.columns {
            match parts.next().unwrap_or(Some(&[0])) {
                Some(part) => column.on_repair(id, if part.is_empty() { &[0] } else { part }),
                None => {
                    column.admits(id);
                }
            }
        }
        self.settle();
    }

    fn settle(&mut self) {
        for at in 0..self.columns.len() {
            while let Some(esi) = self.columns[at].poll_solved() {
                if self.is_known(esi) && !self.solved.contains(&esi) {
                    self.solved.push_back(esi);
                }
            }
        }
    }

    /// The next symbol that was solved for.
    pub(crate) fn poll_solved(&mut self) -> Option<Esi> {
        self.solved.pop_front()
    }

    /// Like [`Decoder::forget_before`].
    pub(crate) fn forget_before(&mut self, esi: Esi) {
        self.columns.iter_mut().for_each(|column| column.forget_before(esi));
        self.settle();
    }

    /// Like [`Decoder::abandon_before`].
    pub(crate) fn abandon_before(&mut self, esi: Esi) {
        self.columns.iter_mut().for_each(|column| column.abandon_before(esi));
    }
}

#[cfg(test)]
mod tests;
