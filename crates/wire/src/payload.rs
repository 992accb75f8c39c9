//! Application data.

use bytes::{BufMut, Bytes, BytesMut};

#[cfg(test)]
mod tests;

/// Application data: real bytes, or a datagram of which only the length and a tag are stored.
///
/// Two payloads are equal if they are the same bytes when encoded.
#[derive(Clone, Debug)]
pub enum Payload {
    /// Real bytes.
    Bytes(Bytes),
    /// Data with irrelevant contents, as in a simulation. Encoded, it is `length` bytes of which the first
    /// eight (as many as fit) hold `tag` in network order and the others are zero.
    Opaque {
        /// Length in bytes.
        length: u32,
        /// Tag chosen by the sender.
        tag: u64,
    },
}

impl Payload {
    /// No data.
    pub const EMPTY: Self = Self::Opaque { length: 0, tag: 0 };

    /// Length in bytes.
    pub fn len(&self) -> usize {
        match self {
            Self::Bytes(bytes) => bytes.len(),
            Self::Opaque { length, .. } => *length as usize,
        }
    }

    /// `true` if there is no data.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The data as real bytes; opaque data is encoded.
    pub fn to_bytes(&self) -> Bytes {
        match self {
            Self::Bytes(bytes) => bytes.clone(),
            Self::Opaque { length, .. } => {
                let mut bytes = BytesMut::with_capacity(*length as usize);
                self.encode(&mut bytes);
                bytes.freeze()
            }
        }
    }

    /// Appends the data to `out`, which must have room for it.
    #[inline]
    pub(crate) fn encode(&self, out: &mut impl BufMut) {
        match self {
            Self::Bytes(bytes) => out.put_slice(bytes),
            Self::Opaque { length, tag } => {
                let tag = tag.to_be_bytes();
                let (head, zeros) = Self::opaque_parts(*length, &tag);
                out.put_slice(head);
                out.put_bytes(0, zeros);
            }
        }
    }

    /// Opaque data in two parts: the bytes of its tag, and the number of zeros that follow.
    pub(crate) fn opaque_parts(length: u32, tag: &[u8; 8]) -> (&[u8], usize) {
        let shown = tag.len().min(length as usize);
        (&tag[..shown], length as usize - shown)
    }
}

impl PartialEq for Payload {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Bytes(one), Self::Bytes(other)) => one == other,
            (Self::Opaque { length, tag }, Self::Bytes(bytes))
            | (Self::Bytes(bytes), Self::Opaque { length, tag }) => {
                let tag = tag.to_be_bytes();
                let (head, zeros) = Self::opaque_parts(*length, &tag);
                bytes
                    .strip_prefix(head)
                    .is_some_and(|rest| rest.len() == zeros && rest.iter().all(|byte| *byte == 0))
            }
            (Self::Opaque { length, tag }, Self::Opaque { length: other_length, tag: other_tag }) => {
                length == other_length
                    && Self::opaque_parts(*length, &tag.to_be_bytes())
                        == Self::opaque_parts(*length, &other_tag.to_be_bytes())
            }
        }
    }
}

impl Eq for Payload {}

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
