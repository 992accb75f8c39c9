//! Options: typed, in the order of the packet (RFC 4340, Section 5.8).
//!
//! The option area never makes a packet invalid, so decoding does not fail on it: an option that cannot be
//! decoded is a value too ([`DccpOption::Unknown`], [`DccpOption::Malformed`]), which the connection
//! processes. Without a preceding [`DccpOption::Mandatory`], it is ignored; with one, the answer is a Reset
//! made by [`Reset::mandatory_error`](crate::Reset::mandatory_error), and if a Mandatory is the last option
//! or precedes another, [`Reset::option_error`](crate::Reset::option_error).

use smallvec::SmallVec;

pub mod ack_vector;
mod codec;
pub mod data_dropped;
mod feature;
pub mod mobility;
pub mod multipath;
mod ndp_count;
mod placement;
pub mod tfrc;
pub mod timing;

pub(crate) use codec::{decode_options, encode_option, is_encodable};
pub use feature::{FeatureAction, FeatureNumber, FeatureOption, Reconciliation};
pub use ndp_count::NdpCount;
pub use timing::Elapsed;

#[cfg(test)]
mod tests;

/// The variable part of an option: up to 253 bytes, stored inline if short.
pub type OptionBytes = SmallVec<[u8; 16]>;

/// A packet's options, in order.
///
/// Padding is listed if it precedes another option. At the end of the option area the codec writes and reads
/// the up to three bytes that fill the last 32-bit word without listing them. There are two exceptions: whole
/// words of Padding, so that a packet keeps its length, and one Padding after a final Mandatory, which makes
/// it harmless (Section 5.8.2).
pub type Options = SmallVec<[DccpOption; 3]>;

/// Maximum length of option data: the length byte also counts the type and itself.
pub const MAX_DATA_LEN: usize = 253;

pub(crate) const PADDING: u8 = 0;
pub(crate) const MANDATORY: u8 = 1;
pub(crate) const SLOW_RECEIVER: u8 = 2;
/// Types up to this one consist of a single byte.
pub(crate) const LAST_SINGLE_BYTE: u8 = 31;
pub(crate) const INIT_COOKIE: u8 = 36;
pub(crate) const NDP_COUNT: u8 = 37;
pub(crate) const ACK_VECTOR_NONCE_0: u8 = 38;
pub(crate) const ACK_VECTOR_NONCE_1: u8 = 39;
pub(crate) const DATA_DROPPED: u8 = 40;
pub(crate) const TIMESTAMP: u8 = 41;
pub(crate) const TIMESTAMP_ECHO: u8 = 42;
pub(crate) const ELAPSED_TIME: u8 = 43;
pub(crate) const DATA_CHECKSUM: u8 = 44;
/// The Multipath option (RFC 9897, Section 3.2).
pub(crate) const MULTIPATH: u8 = 46;
pub(crate) const FREEZE: u8 = 120;
pub(crate) const UNFREEZE: u8 = 121;
/// Types from this one on belong to the CCIDs.
pub(crate) const FIRST_CCID_SPECIFIC: u8 = 128;

/// One option.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum DccpOption {
    /// 0: fills space between options.
    Padding,
    /// 1: the next option must be understood (Section 5.8.2).
    Mandatory,
    /// 2: the receiver cannot keep up (Section 11.6).
    SlowReceiver,
    /// 32 to 35: a step of feature negotiation (Section 6.1).
    Feature(FeatureOption),
    /// 36 (Section 8.1.4).
    InitCookie(OptionBytes),
    /// 37: non-data packets since the last data packet, 48 bits at most (Section 7.7).
    NdpCount(NdpCount),
    /// 38 and 39 (Section 11.4): run-length cells, the newest packet first, read by [`ack_vector`].
    AckVector {
        /// The ECN nonce echo, given by the option type. Only a wire field since RFC 8311.
        nonce: bool,
        /// The cells: two bits of state, six of run length.
        cells: OptionBytes,
    },
    /// 40: blocks of packets with dropped data, and the drop codes (Section 11.7), read by [`data_dropped`].
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
    /// 44: CRC-32c of the application data (Section 9.3), computed by
    /// [`data_checksum`](crate::data_checksum).
    DataChecksum(u32),
    /// 46: the Multipath option, read by [`multipath`] (RFC 9897, Section 3.2): MP_OPT, and what depends on
    /// it, in a valid form.
    Multipath(OptionBytes),
    /// 120: requests the receiver of this packet to send no data until it is unfrozen. Experimental, with a
    /// number reserved for experiments (RFC 4340, Section 19.3: 120 to 126); OPT_FREEZE of `papers/freeze`,
    /// Section 4.3.
    Freeze,
    /// 121: allows sending again; OPT_UNFREEZE.
    Unfreeze,
    /// 122 to 125: an option for changing a client's address, read by [`mobility`]. Experimental.
    Mobility {
        /// Option type.
        kind: u8,
        /// Option data, of a valid length for the type.
        data: OptionBytes,
    },
    /// 128 to 255: an option of the half-connection's CCID (Section 10.3), read by [`tfrc`].
    CcidSpecific {
        /// Option type.
        kind: u8,
        /// Option data.
        data: OptionBytes,
    },
    /// Any other type, or one of the types above with data of an invalid length. Must be ignored unless
    /// preceded by [`DccpOption::Mandatory`] (Section 5.8).
    Unknown {
        /// Option type.
        kind: u8,
        /// Option data; empty for the one-byte options 3 to 31.
        data: OptionBytes,
    },
    /// An option with an invalid length byte (absent, less than two, or beyond the option area) and all bytes
    /// that follow it, verbatim, from its type on. Always the last; must be ignored unless preceded by
    /// [`DccpOption::Mandatory`] (Section 5.8).
    Malformed(OptionBytes),
}

impl DccpOption {
    /// Type of [`DccpOption::Multipath`].
    pub const MULTIPATH_KIND: u8 = MULTIPATH;

    /// Option type: the first byte.
    pub fn kind(&self) -> u8 {
        match self {
            Self::Padding => PADDING,
            Self::Mandatory => MANDATORY,
            Self::SlowReceiver => SLOW_RECEIVER,
            Self::Feature(feature) => feature.action as u8,
            Self::InitCookie(_) => INIT_COOKIE,
            Self::NdpCount(_) => NDP_COUNT,
            Self::AckVector { nonce: false, .. } => ACK_VECTOR_NONCE_0,
            Self::AckVector { nonce: true, .. } => ACK_VECTOR_NONCE_1,
            Self::DataDropped(_) => DATA_DROPPED,
            Self::Timestamp(_) => TIMESTAMP,
            Self::TimestampEcho { .. } => TIMESTAMP_ECHO,
            Self::ElapsedTime(_) => ELAPSED_TIME,
            Self::DataChecksum(_) => DATA_CHECKSUM,
            Self::Multipath(_) => MULTIPATH,
            Self::Freeze => FREEZE,
            Self::Unfreeze => UNFREEZE,
            Self::Mobility { kind, .. } | Self::CcidSpecific { kind, .. } | Self::Unknown { kind, .. } => {
                *kind
            }
            Self::Malformed(bytes) => bytes.first().copied().unwrap_or(PADDING),
        }
    }

    /// Length of the option in the option area, in bytes.
    pub fn encoded_len(&self) -> usize {
        match self {
            Self::Padding | Self::Mandatory | Self::SlowReceiver => 1,
            Self::Feature(feature) => 3 + feature.values.len(),
            Self::InitCookie(data)
            | Self::AckVector { cells: data, .. }
            | Self::DataDropped(data)
            | Self::Multipath(data) => 2 + data.len(),
            Self::Freeze | Self::Unfreeze => 2,
            Self::NdpCount(count) => 2 + count.width(),
            Self::Timestamp(_) | Self::DataChecksum(_) => 6,
            Self::TimestampEcho { elapsed, .. } => 6 + elapsed.width(),
            Self::ElapsedTime(elapsed) => 2 + elapsed.width(),
            Self::Unknown { kind: 0..=LAST_SINGLE_BYTE, .. } => 1,
            Self::Mobility { data, .. } | Self::CcidSpecific { data, .. } | Self::Unknown { data, .. } => {
                2 + data.len()
            }
            Self::Malformed(bytes) => bytes.len(),
        }
    }
}

/// Splits `data` into parts of `most` bytes and a shorter last one, without a copy if one suffices.
fn split(data: OptionBytes, most: usize) -> impl Iterator<Item = OptionBytes> {
    let mut rest = Some(data).filter(|data| !data.is_empty());
    core::iter::from_fn(move || {
        let mut piece = rest.take()?;
        if piece.len() > most {
            rest = Some(OptionBytes::from_slice(&piece[most..]));
            piece.truncate(most);
        }
        Some(piece)
    })
}
