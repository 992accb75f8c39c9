//! The encoder: keeps the source symbols that can still be of use and combines them into repair symbols.
//!
//! The code is systematic: source packets are sent as they are. A repair symbol may be *opened* before the
//! last source symbol of its window is known; each symbol is then added when it is pushed, so that the repair
//! packet is ready at once when it is closed ([`Encoder::open`], [`Encoder::close`]). Any other window is
//! combined on demand ([`Encoder::combine`]).
//!
//! Symbols are stored without the zeros that pad them, and a repair symbol ends at its last byte that can
//! differ from zero: a receiver pads it to E.

use alloc::collections::VecDeque;
use alloc::vec::Vec;
use core::fmt;

use crate::fecframe::{self, Esi, MAX_WINDOW, RepairId};
use crate::kernel::Kernel;
use crate::rlc::{Code, Coefficients, Density};

/// The code and its sizes: what both ends agree on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CodeConfig {
    /// Coefficients over GF(2) or GF(2^8).
    pub code: Code,
    /// The density of the coefficients.
    pub density: Density,
    /// E: bytes of a symbol.
    pub symbol_size: u16,
    /// Symbols that the encoder keeps, and that the decoder knows or solves for: at most [`MAX_WINDOW`].
    pub window: u16,
}

impl CodeConfig {
    /// RLC over GF(2^8) without zeros, for datagrams that with identifiers have `packet_size` bytes, and
    /// windows of 512 symbols.
    #[must_use]
    pub fn new(packet_size: u16) -> Self {
        let symbol_size = packet_size.saturating_sub(RepairId::LEN as u16);
        Self { code: Code::Gf256, density: Density::FULL, symbol_size, window: 512 }
    }
}

/// Refusal of an ADU.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum PushError {
    /// The ADU is longer than 65,535 bytes, or needs more symbols than a window has.
    TooLong {
        /// Its bytes.
        bytes: usize,
    },
}

impl fmt::Display for PushError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooLong { bytes } => {
                write!(f, "a datagram of {bytes} bytes is too long for the code's window")
            }
        }
    }
}

impl core::error::Error for PushError {}

/// A repair symbol that further source symbols are added to.
#[derive(Debug)]
struct Open {
    id: RepairId,
    coefficients: Coefficients,
    sum: Vec<u8>,
}

impl Open {
    fn add(&mut self, kernel: Kernel, symbol: &[u8]) {
        if self.sum.len() < symbol.len() {
            self.sum.resize(symbol.len(), 0);
        }
        kernel.multiply_add(&mut self.sum, symbol, self.coefficients.next_coefficient());
        self.id.count += 1;
    }
}

/// The encoder of one repair flow.
#[derive(Debug)]
pub struct Encoder {
    config: CodeConfig,
    kernel: Kernel,
    /// The identifier of the first symbol that is kept.
    first: Esi,
    symbols: VecDeque<Vec<u8>>,
    open: VecDeque<Open>,
    /// Buffers for further symbols.
    spare: Vec<Vec<u8>>,
    key: u16,
    scratch: Vec<u8>,
}

impl Encoder {
    /// An encoder whose first symbol has the identifier `first`.
    #[must_use]
    pub fn new(config: CodeConfig, first: Esi) -> Self {
        Self {
            config: CodeConfig { window: config.window.clamp(1, MAX_WINDOW), ..config },
            kernel: Kernel::new(),
            first,
            symbols: VecDeque::new(),
            open: VecDeque::new(),
            spare: Vec::new(),
            key: 0,
            scratch: Vec::new(),
        }
    }

    /// The code and its sizes.
    #[must_use]
    pub fn config(&self) -> CodeConfig {
        self.config
    }

    /// The identifier of the oldest symbol that is kept.
    #[must_use]
    pub fn first(&self) -> Esi {
        self.first
    }

    /// The identifier of the next symbol.
    #[must_use]
    pub fn next(&self) -> Esi {
        self.first.plus(self.symbols.len() as u32)
    }

    /// A symbol that is kept, without the zeros that pad it.
    #[must_use]
    pub fn symbol(&self, esi: Esi) -> Option<&[u8]> {
        let index = usize::try_from(esi.since(self.first)).ok()?;
        self.symbols.get(index).map(Vec::as_slice)
    }

    /// Adds an ADU: to the kept symbols, of which the oldest are dropped where the window is full, and to the
    /// open repair symbols. Returns the identifier of its first symbol, which is the source packet's.
    ///
    /// # Errors
    /// If the ADU is too long.
    pub fn push(&mut self, flow: u8, adu: &[u8]) -> Result<Esi, PushError> {
        let size = usize::from(self.config.symbol_size);
        let error = PushError::TooLong { bytes: adu.len() };
        let count = (adu.len() + fecframe::ADUI_HEADER).div_ceil(size.max(1));
        if count > usize::from(self.config.window) {
            return Err(error);
        }
        self.scratch.clear();
        fecframe::source_symbols(flow, adu, size, &mut self.scratch).ok_or(error)?;
        // The padding is not stored.
        self.scratch.truncate(fecframe::ADUI_HEADER + adu.len());
        let id = self.next();
        let (scratch, window) = (core::mem::take(&mut self.scratch), usize::from(self.config.window));
        for symbol in scratch.chunks(size) {
            while self.symbols.len() >= window {
                self.drop_first();
            }
            for open in &mut self.open {
                open.add(self.kernel, symbol);
            }
            let mut buffer = self.spare.pop().unwrap_or_default();
            buffer.clear();
            buffer.extend_from_slice(symbol);
            self.symbols.push_back(buffer);
        }
        self.scratch = scratch;
        Ok(id)
    }

    fn drop_first(&mut self) {
        if let Some(buffer) = self.symbols.pop_front() {
            self.spare.push(buffer);
            self.first = self.first.plus(1);
        }
    }

    /// Drops the symbols before `esi`, which no repair can bring in time any more.
    pub fn forget_before(&mut self, esi: Esi) {
        while self.first != esi && esi.since(self.first) > 0 && !self.symbols.is_empty() {
            self.drop_first();
        }
    }

    fn begin(&mut self, first: Esi) -> Open {
        let first = if first.since(self.first) < 0 { self.first } else { first };
        let key = self.key;
        self.key = key.wrapping_add(1);
        let mut sum = self.spare.pop().unwrap_or_default();
        sum.clear();
        let (code, density) = (self.config.code, self.config.density);
        let id = RepairId { key, density, count: 0, first };
        Open { id, coefficients: Coefficients::new(code, key, density), sum }
    }

    /// Opens a repair symbol over the kept symbols from `first` on, and those that follow.
    pub fn open(&mut self, first: Esi) {
        let mut open = self.begin(first);
        let skip = open.id.first.since(self.first).max(0) as usize;
        for symbol in self.symbols.iter().skip(skip) {
            open.add(self.kernel, symbol);
        }
        self.open.push_back(open);
    }

    /// Closes the repair symbol that was opened first, and appends it to `out`. `None` if none is open, or if
    /// its window is empty or longer than [`MAX_WINDOW`].
    pub fn close(&mut self, out: &mut Vec<u8>) -> Option<RepairId> {
        let open = self.open.pop_front()?;
        out.extend_from_slice(&open.sum);
        self.spare.push(open.sum);
        (1..=MAX_WINDOW).contains(&open.id.count).then_some(open.id)
    }

    /// Appends a repair symbol over the kept symbols from `first` to before `end`. `None` if there are none.
    pub fn combine(&mut self, first: Esi, end: Esi, out: &mut Vec<u8>) -> Option<RepairId> {
        let mut open = self.begin(first);
        let skip = open.id.first.since(self.first).max(0) as usize;
        let count = usize::try_from(end.since(open.id.first)).unwrap_or(0);
        for symbol in self.symbols.iter().skip(skip).take(count) {
            open.add(self.kernel, symbol);
        }
        out.extend_from_slice(&open.sum);
        self.spare.push(open.sum);
        (open.id.count > 0).then_some(open.id)
    }
}

#[cfg(test)]
mod tests;
