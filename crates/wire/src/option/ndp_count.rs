//! The count of non-data packets (RFC 4340, Section 7.7), with its width on the wire.

#[cfg(test)]
mod tests;

/// Number of packets directly before this one that carried no data: at most 48 bits.
///
/// The option holds it in one to six bytes. Senders should use the minimum, but Linux uses only one, two,
/// four and six, so the width is part of the value: encoding a decoded packet preserves its bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NdpCount {
    count: u64,
    width: u8,
}

impl NdpCount {
    /// Maximum count: 2^48 - 1.
    pub const MAX: u64 = (1 << 48) - 1;

    /// `count`, at most [`NdpCount::MAX`], with the minimum width.
    pub const fn new(count: u64) -> Self {
        let count = if count > Self::MAX { Self::MAX } else { count };
        let width = if count == 0 { 1 } else { count.ilog2() as u8 / 8 + 1 };
        Self { count, width }
    }

    /// The number in `data`; `None` unless that is one to six bytes.
    pub fn from_data(data: &[u8]) -> Option<Self> {
        if data.is_empty() || data.len() > 6 {
            return None;
        }
        let count = data.iter().fold(0, |count, byte| count << 8 | u64::from(*byte));
        Some(Self { count, width: data.len() as u8 })
    }

    /// The count.
    pub const fn count(self) -> u64 {
        self.count
    }

    /// Width in bytes, from one to six.
    pub const fn width(self) -> usize {
        self.width as usize
    }
}
