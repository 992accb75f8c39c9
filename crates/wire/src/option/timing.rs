//! Timing options in units of 10 microseconds (RFC 4340, Section 13).
//!
//! Times are converted from and to plain nanoseconds, the unit of all clocks in this project.

#[cfg(test)]
mod tests;

/// One unit of the timing options, in nanoseconds.
pub const NANOS_PER_UNIT: u64 = 10_000;

/// The Timestamp Value of a clock at `nanos` nanoseconds: whole units, modulo 2^32, which wraps every 11.9
/// hours (Section 13.1).
pub const fn timestamp_from_nanos(nanos: u64) -> u32 {
    (nanos / NANOS_PER_UNIT) as u32
}

/// The nanoseconds between two Timestamp Values of one sender less than 11.9 hours apart.
pub const fn nanos_between(earlier: u32, later: u32) -> u64 {
    later.wrapping_sub(earlier) as u64 * NANOS_PER_UNIT
}

/// Unwraps the Timestamp Values of one sender (RFC 4340, Section 13.1).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct TimestampClock {
    last: Option<(u32, u64)>,
}

impl TimestampClock {
    /// The nanoseconds represented by `value`: those nearest to the previous result. The first value is used
    /// as it is.
    pub const fn read(&mut self, value: u32) -> u64 {
        let nanos = match self.last {
            None => value as u64 * NANOS_PER_UNIT,
            Some((last, nanos)) => {
                let step = value.wrapping_sub(last).cast_signed() as i64;
                nanos.saturating_add_signed(step * NANOS_PER_UNIT as i64)
            }
        };
        self.last = Some((value, nanos));
        nanos
    }
}

/// An elapsed time in units of 10 us together with its width on the wire.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Elapsed {
    /// Absent (Timestamp Echo only), which means zero.
    Absent,
    /// Two bytes.
    Short(u16),
    /// Four bytes.
    Long(u32),
}

impl Elapsed {
    /// The value that represents any time beyond 42949.67294 seconds (Section 13.2).
    pub const OVERFLOW: u32 = u32::MAX;

    /// The shortest form for `units` (of 10 us), never absent.
    pub const fn from_units(units: u32) -> Self {
        if units <= u16::MAX as u32 { Self::Short(units as u16) } else { Self::Long(units) }
    }

    /// The shortest form for `nanos` nanoseconds in an Elapsed Time option. Rounds down, as the reported time
    /// must not exceed the true one.
    pub const fn from_nanos(nanos: u64) -> Self {
        let units = nanos / NANOS_PER_UNIT;
        Self::from_units(if units < Self::OVERFLOW as u64 { units as u32 } else { Self::OVERFLOW })
    }

    /// The shortest form for `nanos` nanoseconds in a Timestamp Echo option: absent if zero (Section 13.3).
    pub const fn echo_from_nanos(nanos: u64) -> Self {
        if nanos < NANOS_PER_UNIT { Self::Absent } else { Self::from_nanos(nanos) }
    }

    /// `true` if the value is exact, `false` if it represents all longer times (Section 13.2).
    pub const fn is_exact(self) -> bool {
        self.units() != Self::OVERFLOW
    }

    /// The time in units of 10 us.
    pub const fn units(self) -> u32 {
        match self {
            Self::Absent => 0,
            Self::Short(units) => units as u32,
            Self::Long(units) => units,
        }
    }

    /// The time in nanoseconds.
    pub const fn nanos(self) -> u64 {
        self.units() as u64 * NANOS_PER_UNIT
    }

    /// Width in bytes: zero, two or four.
    pub const fn width(self) -> usize {
        match self {
            Self::Absent => 0,
            Self::Short(_) => 2,
            Self::Long(_) => 4,
        }
    }

    /// The time in `data` of zero, two or four bytes.
    pub(crate) fn from_data(data: &[u8]) -> Option<Self> {
        Some(match *data {
            [] => Self::Absent,
            [a, b] => Self::Short(u16::from_be_bytes([a, b])),
            [a, b, c, d] => Self::Long(u32::from_be_bytes([a, b, c, d])),
            _ => return None,
        })
    }
}
