//! Application data.

use bytes::Bytes;

/// Application data: real bytes, or a datagram of which only the length and a tag are known.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Payload {
    /// Real bytes.
    Bytes(Bytes),
    /// Data whose content does not matter, as in a simulation. Encoded, it is `length` bytes of
    /// which the first eight (as many as fit) hold `tag` in network order and the others are zero.
    Opaque {
        /// How long it is, in bytes.
        length: u32,
        /// What the sender calls it.
        tag: u64,
    },
}

impl Payload {
    /// No data.
    pub const EMPTY: Self = Self::Opaque { length: 0, tag: 0 };

    /// How long it is, in bytes.
    pub fn len(&self) -> usize {
        match self {
            Self::Bytes(bytes) => bytes.len(),
            Self::Opaque { length, .. } => *length as usize,
        }
    }
    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl Default for Payload {
    fn default() -> Self {
        Self::EMPTY
    }
}

impl From<Bytes> for Payload {
    fn from(bytes: Bytes) -> Self {
        Self::Bytes(bytes)
    }
}
