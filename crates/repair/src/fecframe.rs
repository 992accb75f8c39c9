//! Formats of RFC 8681 (Sliding Window RLC for FECFRAME): payload identifiers and ADU information.
//!
//! A datagram of the application is an *ADU*. With its flow identifier and its length in front it is an ADU
//! information (ADUI), which is cut into *source symbols* of E bytes, the last one padded with zeros. Symbols
//! are numbered by 32-bit *encoding symbol IDs* (ESI), which wrap. A *repair symbol* is a combination of the
//! symbols of a window.

use alloc::vec::Vec;

use crate::rlc::Density;

/// Bytes of F and L in front of an ADU. They are protected but not sent in a source packet.
pub const ADUI_HEADER: usize = 3;
/// The longest window of a repair symbol (NSS has 12 bits).
pub const MAX_WINDOW: u16 = 4095;

/// An encoding symbol ID: the number of a source symbol, modulo 2^32.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Esi(pub u32);

impl Esi {
    /// The identifier `distance` symbols later.
    #[must_use]
    pub const fn plus(self, distance: u32) -> Self {
        Self(self.0.wrapping_add(distance))
    }

    /// Symbols from `earlier` to this one, negative if `earlier` is later: the nearer way around.
    #[must_use]
    pub const fn since(self, earlier: Self) -> i32 {
        self.0.wrapping_sub(earlier.0) as i32
    }
}

/// The Explicit Source FEC Payload ID at the end of a source packet (Section 4.1.2).
impl Esi {
    /// Bytes on the wire.
    pub const LEN: usize = 4;

    /// Appends the identifier to a source packet.
    pub fn encode(self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.0.to_be_bytes());
    }

    /// Splits a source packet into its ADU and the identifier.
    #[must_use]
    pub fn decode(packet: &[u8]) -> Option<(&[u8], Self)> {
        let (adu, id) = packet.split_last_chunk::<{ Self::LEN }>()?;
        Some((adu, Self(u32::from_be_bytes(*id))))
    }
}

/// The Repair FEC Payload ID in front of a repair packet (Section 4.1.3).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct RepairId {
    /// Repair_Key: the seed of the coefficients.
    pub key: u16,
    /// DT.
    pub density: Density,
    /// NSS: source symbols in the window, at most [`MAX_WINDOW`].
    pub count: u16,
    /// FSS_ESI: the first symbol of the window.
    pub first: Esi,
}

impl RepairId {
    /// Bytes on the wire.
    pub const LEN: usize = 8;

    /// Appends the identifier.
    pub fn encode(self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.key.to_be_bytes());
        out.extend_from_slice(
            &(u16::from(self.density.threshold()) << 12 | self.count & 0xfff).to_be_bytes(),
        );
        out.extend_from_slice(&self.first.0.to_be_bytes());
    }

    /// Splits a repair packet into the identifier and its repair symbols. `None` if it is shorter than an
    /// identifier, or if the window is empty.
    #[must_use]
    pub fn decode(packet: &[u8]) -> Option<(Self, &[u8])> {
        let (id, symbols) = packet.split_first_chunk::<{ Self::LEN }>()?;
        let [k0, k1, n0, n1, f0, f1, f2, f3] = *id;
        let count = u16::from_be_bytes([n0 & 15, n1]);
        let id = Self {
            key: u16::from_be_bytes([k0, k1]),
            density: Density::new(n0 >> 4)?,
            count,
            first: Esi(u32::from_be_bytes([f0, f1, f2, f3])),
        };
        (count > 0).then_some((id, symbols))
    }

    /// The identifier after the last symbol of the window.
    #[must_use]
    pub const fn end(self) -> Esi {
        self.first.plus(self.count as u32)
    }
}

/// Appends the source symbols of an ADU: its ADUI, padded to a multiple of `symbol_size`. Returns the number
/// of symbols; `None` if the ADU is longer than 65,535 bytes or a symbol has no bytes.
pub fn source_symbols(flow: u8, adu: &[u8], symbol_size: usize, out: &mut Vec<u8>) -> Option<usize> {
    let length = u16::try_from(adu.len()).ok().filter(|_| symbol_size > 0)?;
    let start = out.len();
    out.push(flow);
    out.extend_from_slice(&length.to_be_bytes());
    out.extend_from_slice(adu);
    let count = (out.len() - start).div_ceil(symbol_size);
    out.resize(start + count * symbol_size, 0);
    Some(count)
}

/// The flow and the ADU in a decoded ADUI. `None` if the length does not fit, which no encoder makes.
#[must_use]
pub fn adu(symbols: &[u8]) -> Option<(u8, &[u8])> {
    let (&[flow, high, low], rest) = symbols.split_first_chunk::<ADUI_HEADER>()?;
    rest.get(..usize::from(u16::from_be_bytes([high, low]))).map(|adu| (flow, adu))
}

#[cfg(test)]
mod tests;
