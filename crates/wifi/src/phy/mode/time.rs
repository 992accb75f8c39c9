//! Times of transmissions with a mode.

use whimbrel_units::Duration;

use super::{Format, GuardInterval, Mode};

/// The longest transmission (aPPDUMaxTime): 5484 us.
pub const LONGEST_PPDU: Duration = Duration::from_micros(5_484);

/// The data part of HT and VHT with the short guard interval ends on a multiple of 4 us (19.4.3, 21.4.3).
const SHORT_GUARD_GRID: u64 = 4_000;

/// SERVICE field, and tail bits of an encoder.
const SERVICE_BITS: u64 = 16;
const TAIL_BITS: u64 = 6;

impl Mode {
    /// Time of a symbol with its guard interval.
    pub const fn symbol(self) -> Duration {
        let without = if self.format().is_he() { 12_800 } else { 3_200 };
        Duration::from_nanos(without + self.guard().duration().as_nanos())
    }

    /// Number of long training fields: 1, 2, 4, 4 for 1 to 4 streams.
    pub(super) const fn training_fields(self) -> u64 {
        match self.streams() {
            1 => 1,
            2 => 2,
            _ => 4,
        }
    }

    /// Time of a long training field.
    pub(super) const fn training_field(self) -> u64 {
        match (self.format(), self.guard()) {
            (Format::Ht | Format::Vht, _) => 4_000,
            // The field of twice the shortest length, or for the longest guard interval of four times.
            (_, GuardInterval::Ns1600) => 8_000,
            (_, GuardInterval::Ns3200) => 16_000,
            (_, _) => 7_200,
        }
    }

    /// Time of the preamble and the header before the data.
    pub const fn preamble(self) -> Duration {
        // L-STF, L-LTF and L-SIG.
        const LEGACY: u64 = 20_000;
        let fields = match self.format() {
            // HT-SIG, HT-STF.
            Format::Ht => 8_000 + 4_000,
            // VHT-SIG-A, VHT-STF, VHT-SIG-B.
            Format::Vht => 8_000 + 4_000 + 4_000,
            // RL-SIG, HE-SIG-A, HE-STF.
            Format::He => 4_000 + 8_000 + 4_000,
            Format::HeExtendedRange => 4_000 + 16_000 + 4_000,
        };
        Duration::from_nanos(LEGACY + fields + self.training_fields() * self.training_field())
    }

    /// Symbols of a PSDU of this length.
    pub const fn symbols(self, bytes: u32) -> u64 {
        let bits = SERVICE_BITS + 8 * bytes as u64 + TAIL_BITS * self.encoders() as u64;
        bits.div_ceil(self.data_bits() as u64)
    }

    const fn has_grid(self) -> bool {
        matches!(self.guard(), GuardInterval::Ns400)
    }

    /// Time on the air of a PSDU of this length, without the signal extension of the 2.4 GHz band.
    pub const fn duration(self, bytes: u32) -> Duration {
        let data = self.symbols(bytes) * self.symbol().as_nanos();
        let data = if self.has_grid() { data.next_multiple_of(SHORT_GUARD_GRID) } else { data };
        Duration::from_nanos(self.preamble().as_nanos() + data)
    }

    /// The longest PSDU whose [`duration`](Self::duration) is not above the limit; 0 if there is none.
    pub fn largest_psdu(self, limit: Duration) -> u32 {
        let mut data = limit.saturating_sub(self.preamble()).as_nanos();
        if self.has_grid() {
            data -= data % SHORT_GUARD_GRID;
        }
        let bits = data / self.symbol().as_nanos() * u64::from(self.data_bits());
        let bytes = bits.saturating_sub(SERVICE_BITS + TAIL_BITS * u64::from(self.encoders())) / 8;
        u32::try_from(bytes).unwrap_or(u32::MAX)
    }
}
