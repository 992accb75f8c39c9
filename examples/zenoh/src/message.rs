//! A sample as a datagram: a map in CBOR.
//!
//! | field | type | |
//! |---|---|---|
//! | `key` | text | a key of Zenoh, without wildcards |
//! | `payload` | bytes | |
//! | `encoding` | text | as Zenoh writes it, such as `application/json` |
//! | `attachment` | bytes | only if there is one |
//! | `delete` | true | only for deletions |
//!
//! An empty map carries nothing: it is the greeting by which the other end learns where to send.

use anyhow::{Context, Result, anyhow, bail, ensure};
use minicbor::{Decoder, Encoder};
use zenoh::key_expr::keyexpr;

use crate::report::shortened;

/// The longest datagram in bytes: what UDP carries over IPv4.
pub(crate) const LONGEST: usize = 65_507;
/// The longest text of an encoding in bytes: Zenoh does not send a schema that is longer.
const LONGEST_ENCODING: usize = 255;
/// An empty map.
pub(crate) const GREETING: [u8; 1] = [0xa0];

/// The content of a datagram.
#[derive(Debug, PartialEq)]
pub(crate) enum Message<'a> {
    /// Nothing but where the sender is.
    Greeting,
    /// A value or a deletion.
    Sample(Sample<'a>),
}

/// A value of a key, or its deletion.
#[derive(Debug, PartialEq)]
pub(crate) struct Sample<'a> {
    pub(crate) key: &'a keyexpr,
    pub(crate) payload: &'a [u8],
    pub(crate) encoding: &'a str,
    pub(crate) attachment: Option<&'a [u8]>,
    pub(crate) is_deletion: bool,
}

impl Sample<'_> {
    /// The datagram, or an error if there is none for this sample.
    pub(crate) fn encode(&self) -> Result<Vec<u8>> {
        single(self.key)?;
        let mut datagram = Vec::new();
        let mut writer = Encoder::new(&mut datagram);
        let fields = 3 + u64::from(self.attachment.is_some()) + u64::from(self.is_deletion);
        writer.map(fields)?.str("key")?.str(self.key)?;
        writer.str("payload")?.bytes(self.payload)?.str("encoding")?.str(self.encoding)?;
        if let Some(attachment) = self.attachment {
            writer.str("attachment")?.bytes(attachment)?;
        }
        if self.is_deletion {
            writer.str("delete")?.bool(true)?;
        }
        ensure!(
            datagram.len() <= LONGEST,
            "key {}: a payload of {} bytes makes a datagram of {}, expected at most {LONGEST}",
            shortened(self.key),
            self.payload.len(),
            datagram.len()
        );
        Ok(datagram)
    }
}

impl<'a> Message<'a> {
    /// Reads a datagram, in time and memory that grow with its length only.
    pub(crate) fn decode(datagram: &'a [u8]) -> Result<Self> {
        ensure!(
            datagram.len() <= LONGEST,
            "a datagram of {} bytes, expected at most {LONGEST}",
            datagram.len()
        );
        let mut reader = Decoder::new(datagram);
        let (mut key, mut payload, mut encoding, mut attachment, mut deletion) =
            (None, None, None, None, None);
        let fields = reader.map()?.context("expected a map whose length is known at its beginning")?;
        // The number may be huge: each field takes bytes, so that the loop ends with the datagram.
        for _ in 0..fields {
            let name = reader.str()?;
            let is_repeated = match name {
                "key" => key.replace(reader.str()?).is_some(),
                "payload" => payload.replace(reader.bytes()?).is_some(),
                "encoding" => encoding.replace(reader.str()?).is_some(),
                "attachment" => attachment.replace(reader.bytes()?).is_some(),
                "delete" => deletion.replace(reader.bool()?).is_some(),
                _ => {
                    bail!("field {}: expected key, payload, encoding, attachment or delete", shortened(name))
                }
            };
            ensure!(!is_repeated, "field {name}: expected once");
        }
        let rest = datagram.len() - reader.position();
        ensure!(rest == 0, "{rest} bytes behind the map, expected none");
        if fields == 0 {
            return Ok(Self::Greeting);
        }
        let key = key.context("field key: expected, but missing")?;
        let key = <&keyexpr>::try_from(key).map_err(|_| {
            anyhow!("key {}: expected a key expression of Zenoh, such as vehicle/speed", shortened(key))
        })?;
        let encoding = encoding.context("field encoding: expected, but missing")?;
        ensure!(
            encoding.len() <= LONGEST_ENCODING,
            "key {}: an encoding of {} bytes, expected at most {LONGEST_ENCODING}",
            shortened(key),
            encoding.len()
        );
        Ok(Self::Sample(Sample {
            key: single(key)?,
            payload: payload.context("field payload: expected, but missing")?,
            encoding,
            attachment,
            is_deletion: deletion.unwrap_or(false),
        }))
    }
}

/// The key, if it names a single resource.
fn single(key: &keyexpr) -> Result<&keyexpr> {
    ensure!(!key.contains('*'), "key {}: expected one without wildcards", shortened(key));
    Ok(key)
}

#[cfg(test)]
mod tests;
