//! A convolutional code of rate 1/2 behind a block interleaver, and how often its decoder goes wrong.
//!
//! The interleaver writes a codeword by rows and sends it by columns, so that consecutive symbols of a
//! row meet the channel at times spread over the whole block. A Viterbi decoder goes wrong where another
//! path through the trellis leaves the sent one and comes back: an error event. The expected number of
//! these is at most the sum over all such paths of the probability that the path beats the sent one,
//! `Q(sqrt(sum of the signal-to-noise ratios of the symbols in which they differ))` (the union bound;
//! J. G. Proakis, "Digital Communications", Section 8.2). With `Q(sqrt(x))` as a sum of exponentials the
//! probability is a product over symbols, and the sum over all paths, for any channel in
//! between, is one recursion backwards along the row.

/// Generators of the codes with the largest free distance, from two to eight bits of memory
/// (Proakis, Table 8.2-1).
const GENERATORS: [[u32; 2]; 7] =
    [[0o5, 0o7], [0o15, 0o17], [0o23, 0o35], [0o53, 0o75], [0o133, 0o171], [0o247, 0o371], [0o561, 0o753]];

/// The memory that a code may have, in bits.
pub(super) const MEMORY: core::ops::RangeInclusive<u32> = 2..=8;

/// `Q(sqrt(x))` is about `exp(-x/2) / 12 + exp(-2x/3) / 4` (Chiani, Dardari and Simon, "New exponential
/// bounds and approximations for the computation of error probability in fading channels", 2003). With
/// `exp(-x/6)` to the third and fourth power these are the weights.
const WEIGHTS: Both = [1.0 / 12.0, 1.0 / 4.0];

/// A quantity for each of the two exponentials.
type Both = [f64; 2];

/// Expected error events of a code.
#[derive(Clone, Debug)]
pub(super) struct ErrorEvents {
    /// By half of a state `s`: in which of the two symbols (bits 0 and 1) the branch with input 0 from state
    /// `2s` differs from the all-zero path, which stands for the sent one, as the code is linear. From
    /// `2s + 1`, or with input 1, it is the other symbols, because every generator begins and ends in 1.
    symbols: Vec<u8>,
    /// By state: the weight of all paths from it back to the sent one.
    back: Vec<Both>,
    next: Vec<Both>,
    /// After that many branches nothing depends on where a path is (five constraint lengths, as decoders
    /// use).
    depth: usize,
}

impl ErrorEvents {
    /// `memory` must be in [`MEMORY`].
    pub(super) fn new(memory: u32) -> Self {
        let generators = GENERATORS[(memory - *MEMORY.start()) as usize];
        let states = 1usize << memory;
        let differs = |state: u32, generator: u32| ((state & generator).count_ones() & 1) as u8;
        let symbols = |half: u32| differs(2 * half, generators[0]) | differs(2 * half, generators[1]) << 1;
        Self {
            symbols: (0..1 << (memory - 1)).map(symbols).collect(),
            back: vec![[0.0; 2]; states],
            next: vec![[0.0; 2]; states],
            depth: 5 * (memory as usize + 1),
        }
    }

    /// Number of error events that are expected to begin in one row, of which the symbol in column `c` has
    /// the signal-to-noise ratio `x` with `exp(-x / 6) = sixth[c]`. The number of columns is even.
    pub(super) fn per_row(&mut self, sixth: &[f64]) -> f64 {
        self.back.fill([0.0; 2]);
        self.back[0] = [1.0; 2];
        // The next row begins where this one does: walk that far ahead first.
        let branches = sixth.len() / 2;
        self.walk_back(&sixth[..self.depth % branches * 2]);
        for _ in 0..self.depth / branches {
            self.walk_back(sixth);
        }
        let leaving = self.walk_back(sixth);
        WEIGHTS[0] * leaving[0] + WEIGHTS[1] * leaving[1]
    }

    /// Backwards along these columns; the weight of all paths that leave the sent one there.
    fn walk_back(&mut self, sixth: &[f64]) -> Both {
        let half = self.symbols.len();
        let mut leaving = [0.0; 2];
        for pair in sixth.rchunks_exact(2) {
            let (first, second) = (powers(pair[0]), powers(pair[1]));
            let weights = [[1.0; 2], first, second, product(first, second)];
            let (to_low, to_high) = self.back.split_at(half);
            leaving = sum(leaving, product(weights[3], to_high[0]));
            let from = self.next.chunks_exact_mut(2);
            for (((from, &symbols), &low), &high) in from.zip(&self.symbols).zip(to_low).zip(to_high) {
                let (same, other) = (weights[usize::from(symbols & 3)], weights[usize::from(!symbols & 3)]);
                // A decoder that is lost for certain is not lost more than once.
                from[0] = sum(product(same, low), product(other, high)).map(|paths| paths.min(1.0));
                from[1] = sum(product(other, low), product(same, high)).map(|paths| paths.min(1.0));
            }
            self.next[0] = [1.0; 2];
            core::mem::swap(&mut self.back, &mut self.next);
        }
        leaving
    }
}

/// The third and the fourth power.
fn powers(sixth: f64) -> Both {
    let square = sixth * sixth;
    [square * sixth, square * square]
}

fn product(a: Both, b: Both) -> Both {
    [a[0] * b[0], a[1] * b[1]]
}

fn sum(a: Both, b: Both) -> Both {
    [a[0] + b[0], a[1] + b[1]]
}

#[cfg(test)]
mod tests;
