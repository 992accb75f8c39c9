//! Times of full aggregates of 802.11ax, from the tables of the standard (IEEE Std 802.11ax-2021, 27.3) and
//! apart from the simulator's, so that a wrong duration there is a deviation.

/// SIFS, a slot and AIFS of best effort at 5 GHz, in microseconds.
const SIFS: f64 = 16.0;
const SLOT: f64 = 9.0;
const AIFS: f64 = SIFS + 3.0 * SLOT;
const LONGEST_PPDU: f64 = 5_484.0;

/// Data subcarriers by width in megahertz.
const SUBCARRIERS: [(u16, u32); 4] = [(20, 234), (40, 468), (80, 980), (160, 1_960)];
/// Bits of a subcarrier and code rate by scheme.
const CODING: [(u32, u32, u32); 12] = [
    (1, 1, 2),
    (2, 1, 2),
    (2, 3, 4),
    (4, 1, 2),
    (4, 3, 4),
    (6, 2, 3),
    (6, 3, 4),
    (6, 5, 6),
    (8, 3, 4),
    (8, 5, 6),
    (10, 3, 4),
    (10, 5, 6),
];
/// Acknowledgement, and block acknowledgement of 64 MPDUs, at 6, 12 and 24 Mbit/s.
const ACK: [f64; 3] = [44.0, 32.0, 28.0];
const BLOCK_ACK: [f64; 3] = [68.0, 44.0, 32.0];

/// An HE single-user transmission with a guard interval of 0.8 us.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct HeSingleUser {
    /// The modulation and coding scheme, 0 to 11.
    pub scheme: u8,
    /// Spatial streams, 1 to 4.
    pub streams: u8,
    /// The width of the channel.
    pub megahertz: u16,
}

/// Times of a saturated cell in microseconds.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct AggregateTimes {
    /// MPDUs of a full aggregate.
    pub mpdus: u32,
    /// A slot.
    pub slot: f64,
    /// The aggregate, its block acknowledgement, and AIFS.
    pub success: f64,
}

impl HeSingleUser {
    /// Data bits of a symbol.
    fn bits(self) -> u32 {
        let width = SUBCARRIERS.iter().find(|(megahertz, _)| *megahertz == self.megahertz);
        let (_, subcarriers) = width.expect("a width of 802.11ax");
        let (bits, numerator, denominator) = CODING[usize::from(self.scheme)];
        subcarriers * bits * numerator * u32::from(self.streams) / denominator
    }

    /// Time on the air of so many bytes, in microseconds.
    pub fn duration(self, bytes: u32) -> f64 {
        // L-STF, L-LTF, L-SIG; RL-SIG, HE-SIG-A, HE-STF; HE-LTF of twice the shortest length.
        let training = [1.0, 2.0, 4.0, 4.0][usize::from(self.streams) - 1];
        let preamble = 20.0 + 16.0 + 7.2 * training;
        // SERVICE field and tail bits.
        let symbols = (16 + 8 * bytes + 6).div_ceil(self.bits());
        preamble + 13.6 * f64::from(symbols)
    }

    /// The times of aggregates of as many MPDUs as a window of 64 and the longest transmission have room for.
    pub fn full_aggregates(self, mpdu_bytes: u32) -> AggregateTimes {
        // Delimiters of four bytes, and padding to multiples of four before all but the first.
        let length = |count: u32| (count - 1) * (mpdu_bytes + 4).next_multiple_of(4) + mpdu_bytes + 4;
        let fits = |count: &u32| self.duration(length(*count)) <= LONGEST_PPDU;
        let mpdus = (1..=64).rev().find(fits).unwrap_or(1);
        let rate = match self.scheme {
            0 => 0,
            1 | 2 => 1,
            _ => 2,
        };
        let answer = if mpdus == 1 { ACK[rate] } else { BLOCK_ACK[rate] };
        let success = self.duration(length(mpdus)) + SIFS + answer + AIFS;
        AggregateTimes { mpdus, slot: SLOT, success }
    }
}
