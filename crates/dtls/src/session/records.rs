//! The records of a datagram.

/// Bytes before the length in a record of DTLS 1.2's form (RFC 9147, Section 4).
const PLAIN_LENGTH_AT: usize = 11;

/// The records of a datagram (RFC 9147, Section 4). All after a malformed record belongs to it.
#[derive(Clone, Debug)]
pub(super) struct Records<'a>(pub(super) &'a [u8]);

impl Records<'_> {
    /// The length of the first record; `None` if it extends to the end.
    fn first_length(&self) -> Option<usize> {
        let flags = *self.0.first()?;
        let length_at = if flags & 0xe0 == 0x20 {
            // The unified header. Connection IDs are not negotiated, and a length is optional.
            let has_length = flags & 0x04 != 0 && flags & 0x10 == 0;
            let sequence = if flags & 0x08 != 0 { 2 } else { 1 };
            has_length.then_some(1 + sequence)?
        } else {
            PLAIN_LENGTH_AT
        };
        let length = self.0.get(length_at..length_at + 2)?;
        Some(length_at + 2 + usize::from(u16::from_be_bytes([length[0], length[1]])))
    }
}

impl<'a> Iterator for Records<'a> {
    type Item = &'a [u8];

    fn next(&mut self) -> Option<&'a [u8]> {
        if self.0.is_empty() {
            return None;
        }
        let length = self.first_length().filter(|length| *length <= self.0.len()).unwrap_or(self.0.len());
        let (record, rest) = self.0.split_at(length);
        self.0 = rest;
        Some(record)
    }
}

#[cfg(test)]
mod tests;
