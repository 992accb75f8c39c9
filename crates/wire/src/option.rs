//! Options: typed, in the order of the packet (RFC 4340, Section 5.8).

use smallvec::SmallVec;

mod ndp_count;

pub use ndp_count::NdpCount;

/// The variable part of an option: up to 253 bytes, held in place while short.
pub type OptionBytes = SmallVec<[u8; 16]>;

/// A packet's options, in order. Padding is kept where it stands before another option; trailing
/// padding to the 32-bit boundary is written and read by the codec and not listed.
pub type Options = SmallVec<[DccpOption; 3]>;

/// One option.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum DccpOption {
    /// 0: fills space between options.
    Padding,
    /// 1: the next option must be understood (Section 5.8.2).
    Mandatory,
    /// 2: the receiver is slow (Section 11.6).
    SlowReceiver,
    /// 32 to 35: a step of feature negotiation (Section 6.1).
    Feature(FeatureOption),
    /// 36 (Section 8.1.4).
    InitCookie(OptionBytes),
    /// 37: non-data packets since the last data packet, 48 bits at most (Section 7.7).
    NdpCount(NdpCount),
    /// 38 and 39 (Section 11.4): run-length cells, the newest packet first.
    AckVector {
        /// The ECN nonce echo: which of the two option types. A wire field only since RFC 8311.
        nonce: bool,
        /// The cells: two bits of state, six of run length.
        cells: OptionBytes,
    },
    /// 40: blocks that say which packets' data were dropped, and why (Section 11.7).
    DataDropped(OptionBytes),
    /// 41: the sender's clock in units of 10 us (Section 13.1).
    Timestamp(u32),
    /// 42 (Section 13.3).
    TimestampEcho {
        /// The Timestamp Value echoed.
        timestamp: u32,
        /// Time since it was received, in units of 10 us.
        elapsed: Elapsed,
    },
    /// 43: time since the acknowledged packet was received, in units of 10 us (Section 13.2).
    ElapsedTime(Elapsed),
    /// 44: CRC-32c of the application data (Section 9.3).
    DataChecksum(u32),
    /// 128 to 255: an option of the half-connection's CCID (Section 10.3), TFRC's are read by `tfrc`.
    CcidSpecific {
        /// The option's type.
        kind: u8,
        /// Its data.
        data: OptionBytes,
    },
    /// Any other type, or one of the types above with data of a length that it cannot have. To be
    /// ignored, unless [`DccpOption::Mandatory`] stands before it (Section 5.8).
    Unknown {
        /// The option's type.
        kind: u8,
        /// Its data; empty for the one-byte options 3 to 31.
        data: OptionBytes,
    },
    /// An option whose length byte makes no sense (absent, less than two, or beyond the option
    /// area) and all that follows it, verbatim, from its type on. Always the last; to be ignored,
    /// unless [`DccpOption::Mandatory`] stands before it (Section 5.8).
    Malformed(OptionBytes),
}

/// An elapsed time in units of 10 us together with the width it has on the wire.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Elapsed {
    /// Absent: nothing follows (Timestamp Echo only), which means zero.
    Absent,
    /// Two bytes.
    Short(u16),
    /// Four bytes.
    Long(u32),
}

impl Elapsed {
    /// The narrowest form that holds `units` (of 10 us), never absent.
    pub const fn from_units(units: u32) -> Self {
        if units <= u16::MAX as u32 { Self::Short(units as u16) } else { Self::Long(units) }
    }
    /// The time in units of 10 us.
    pub const fn units(self) -> u32 {
        match self {
            Self::Absent => 0,
            Self::Short(units) => units as u32,
            Self::Long(units) => units,
        }
    }
}

/// Change L, Confirm L, Change R or Confirm R of one feature.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FeatureOption {
    /// Which of the four.
    pub action: FeatureAction,
    /// The feature's number (Section 6.4).
    pub feature: u8,
    /// The value, or the preference list.
    pub values: OptionBytes,
}

/// The four options of feature negotiation.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
#[repr(u8)]
#[allow(missing_docs, reason = "the names are the RFC's")]
pub enum FeatureAction {
    ChangeL = 32,
    ConfirmL = 33,
    ChangeR = 34,
    ConfirmR = 35,
}
