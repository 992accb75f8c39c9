//! The inner loop of encoder and decoder: multiply a symbol by a coefficient and add it to another.
//!
//! A byte is two halves, so its product with a coefficient is the sum of two entries of tables of sixteen
//! bytes. Such a table fits a vector register, and a shuffle looks up 16 to 64 bytes at once. The instruction
//! set is chosen at run time. Processors without a byte shuffle use the same tables one byte at a time; the
//! results are equal.

use fearless_simd::{Level, Simd, dispatch, prelude::*, u8x16, u8x32};

use crate::field::HALVES;

/// The instruction set of the running processor, to be chosen once.
#[derive(Clone, Copy, Debug)]
pub struct Kernel {
    level: Level,
    has_shuffle: bool,
}

impl Default for Kernel {
    fn default() -> Self {
        Self::new()
    }
}

impl Kernel {
    /// The fastest kernel for this processor.
    #[must_use]
    pub fn new() -> Self {
        let level = Level::new();
        Self { level, has_shuffle: has_shuffle(level) }
    }

    /// The kernel without vector instructions.
    #[must_use]
    pub fn portable() -> Self {
        Self { level: Level::new(), has_shuffle: false }
    }

    /// Adds `factor` times `source` to `target`, over the length of the shorter.
    pub fn multiply_add(self, target: &mut [u8], source: &[u8], factor: u8) {
        match factor {
            0 => {}
            1 => add(target, source),
            _ if self.has_shuffle => {
                dispatch!(self.level, simd => shuffled(simd, target, source, factor));
            }
            _ => one_by_one(target, source, factor),
        }
    }

    /// Multiplies `target` by `factor`.
    pub fn multiply(self, target: &mut [u8], factor: u8) {
        let [low, high] = &HALVES[usize::from(factor)];
        for byte in target {
            *byte = low[usize::from(*byte & 15)] ^ high[usize::from(*byte >> 4)];
        }
    }
}

/// `true` if the processor looks up bytes of a register by a vector of indices.
fn has_shuffle(level: Level) -> bool {
    #[cfg(any(target_arch = "x86", target_arch = "x86_64"))]
    return level.as_sse4_2().is_some();
    #[cfg(target_arch = "aarch64")]
    return level.as_neon().is_some();
    #[cfg(not(any(target_arch = "x86", target_arch = "x86_64", target_arch = "aarch64")))]
    {
        let _ = level;
        cfg!(target_feature = "simd128")
    }
}

fn add(target: &mut [u8], source: &[u8]) {
    for (byte, other) in target.iter_mut().zip(source) {
        *byte ^= other;
    }
}

fn one_by_one(target: &mut [u8], source: &[u8], factor: u8) {
    let [low, high] = &HALVES[usize::from(factor)];
    for (byte, other) in target.iter_mut().zip(source) {
        let product = low[usize::from(other & 15)] ^ high[usize::from(other >> 4)];
        *byte ^= product;
    }
}

#[inline(always)]
fn shuffled<S: Simd>(simd: S, target: &mut [u8], source: &[u8], factor: u8) {
    let [low, high] = &HALVES[usize::from(factor)];
    let low = u8x32::block_splat(u8x16::from_slice(simd, low));
    let high = u8x32::block_splat(u8x16::from_slice(simd, high));
    let mask = u8x32::splat(simd, 15);
    let length = target.len().min(source.len());
    let (mut targets, mut sources) =
        (target[..length].chunks_exact_mut(32), source[..length].chunks_exact(32));
    for (bytes, others) in (&mut targets).zip(&mut sources) {
        let other = u8x32::from_slice(simd, others);
        let product =
            low.swizzle_dyn_within_blocks(other & mask) ^ high.swizzle_dyn_within_blocks(other >> 4);
        let sum = product ^ u8x32::from_slice(simd, bytes);
        sum.store_slice(bytes);
    }
    one_by_one(targets.into_remainder(), sources.remainder(), factor);
}

#[cfg(test)]
mod tests;
