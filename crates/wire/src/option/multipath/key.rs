//! Keys of MP_KEY (RFC 9897, Section 3.2.4).

use smallvec::SmallVec;

use crate::option::OptionBytes;

/// Contents of MP_KEY.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MultipathKey {
    /// The Connection Identifier that the sender chose.
    pub connection: u32,
    /// The sender's keys: several of different types on a Request, one on a Response.
    pub keys: SmallVec<[Key; 1]>,
    /// Bytes from the first key of another type on, whose length is unknown.
    pub unread: OptionBytes,
}

/// A key.
#[derive(Clone, PartialEq, Eq)]
pub struct Key {
    /// Its type.
    pub key_type: KeyType,
    /// Its data, of the length of the type.
    pub data: OptionBytes,
}

impl core::fmt::Debug for Key {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        // Key data stay out of logs.
        f.debug_struct("Key").field("key_type", &self.key_type).finish_non_exhaustive()
    }
}

/// Key types.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum KeyType {
    /// 0: eight bytes in plain text, which every implementation supports.
    PlainText = 0,
    /// 255: 64 bytes for private use.
    Experimental = 255,
}

impl KeyType {
    /// The key type with that number.
    pub const fn from_number(number: u8) -> Option<Self> {
        match number {
            0 => Some(Self::PlainText),
            255 => Some(Self::Experimental),
            _ => None,
        }
    }

    /// Length of a key, in bytes.
    #[allow(clippy::len_without_is_empty, reason = "the length of a type's keys, not of a collection")]
    pub const fn len(self) -> usize {
        match self {
            Self::PlainText => 8,
            Self::Experimental => 64,
        }
    }
}

impl MultipathKey {
    /// The key of that type, if the sender offers one.
    pub fn of_type(&self, key_type: KeyType) -> Option<&Key> {
        self.keys.iter().find(|key| key.key_type == key_type)
    }

    pub(super) fn from_body(body: &[u8]) -> Option<Self> {
        // The first byte is reserved.
        let (_, rest) = body.split_first()?;
        let (connection, mut rest) = rest.split_first_chunk()?;
        let mut keys = SmallVec::new();
        if rest.is_empty() {
            return None;
        }
        while let Some((&number, after)) = rest.split_first() {
            let Some(key_type) = KeyType::from_number(number) else { break };
            let (data, after) = after.split_at_checked(key_type.len())?;
            keys.push(Key { key_type, data: OptionBytes::from_slice(data) });
            rest = after;
        }
        let connection = u32::from_be_bytes(*connection);
        Some(Self { connection, keys, unread: OptionBytes::from_slice(rest) })
    }

    pub(super) fn write(&self, data: &mut OptionBytes) {
        data.push(0);
        data.extend_from_slice(&self.connection.to_be_bytes());
        for key in &self.keys {
            data.push(key.key_type as u8);
            data.extend_from_slice(&key.data);
        }
        data.extend_from_slice(&self.unread);
        data.truncate(crate::option::MAX_DATA_LEN);
    }
}
