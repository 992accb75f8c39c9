//! The key of a datagram, by the format of its contents.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, Visitor};

use super::hash;

/// The largest datagram that is parsed: the work grows with the length.
const LARGEST: usize = 16 << 10;

/// The hash of the value of a field of the outermost object of JSON, which is text, a number or a boolean.
pub(super) fn json(field: &str, datagram: &[u8]) -> Option<u64> {
    let mut reader = serde_json::Deserializer::from_slice(datagram.get(..datagram.len().min(LARGEST))?);
    let found = Outer(field).deserialize(&mut reader).ok()??;
    reader.end().ok().map(|()| found)
}

/// The outermost object, of which that field is looked for.
struct Outer<'a>(&'a str);

impl<'de> DeserializeSeed<'de> for Outer<'_> {
    type Value = Option<u64>;
    fn deserialize<D: Deserializer<'de>>(self, reader: D) -> Result<Option<u64>, D::Error> {
        reader.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Outer<'_> {
    type Value = Option<u64>;
    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Option<u64>, A::Error> {
        let mut found = None;
        while let Some(is_it) = map.next_key_seed(Named(self.0))? {
            if is_it {
                found = Some(map.next_value_seed(Scalar)?);
            } else {
                map.next_value::<IgnoredAny>()?;
            }
        }
        Ok(found)
    }
}

/// A name to compare with.
struct Named<'a>(&'a str);

impl<'de> DeserializeSeed<'de> for Named<'_> {
    type Value = bool;
    fn deserialize<D: Deserializer<'de>>(self, reader: D) -> Result<bool, D::Error> {
        reader.deserialize_str(self)
    }
}

impl Visitor<'_> for Named<'_> {
    type Value = bool;
    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a name")
    }

    fn visit_str<E: Error>(self, name: &str) -> Result<bool, E> {
        Ok(name == self.0)
    }
}

/// The hash of a value.
struct Scalar;

impl<'de> DeserializeSeed<'de> for Scalar {
    type Value = u64;
    fn deserialize<D: Deserializer<'de>>(self, reader: D) -> Result<u64, D::Error> {
        reader.deserialize_any(self)
    }
}

impl Visitor<'_> for Scalar {
    type Value = u64;
    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("text, a number or a truth value")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<u64, E> {
        Ok(hash(text.bytes()))
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<u64, E> {
        Ok(hash(number.to_be_bytes()))
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<u64, E> {
        Ok(hash(number.to_be_bytes()))
    }

    fn visit_f64<E: Error>(self, number: f64) -> Result<u64, E> {
        Ok(hash(number.to_be_bytes()))
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<u64, E> {
        Ok(hash([u8::from(value)]))
    }
}

/// The hash of the value of a field of a map in CBOR (RFC 8949), as it is encoded.
pub(super) fn cbor(field: &str, datagram: &[u8]) -> Option<u64> {
    let mut reader = Cbor(datagram.get(..datagram.len().min(LARGEST))?);
    let (MAP, pairs) = reader.head()? else { return None };
    let mut found = None;
    for read in 0_u64.. {
        let is_over = match pairs {
            Some(pairs) => read == pairs,
            None => reader.0.first() == Some(&BREAK),
        };
        if is_over {
            return found;
        }
        let name = reader.item()?;
        let value = reader.item()?;
        let mut name = Cbor(name);
        if matches!(name.head(), Some((TEXT, Some(_)))) && name.0 == field.as_bytes() {
            found = Some(hash(value.iter().copied()));
        }
    }
    None
}

/// Major types of CBOR.
const BYTES: u8 = 2;
const TEXT: u8 = 3;
const ARRAY: u8 = 4;
const MAP: u8 = 5;
const TAG: u8 = 6;
/// Ends what has no length.
const BREAK: u8 = 0xff;
/// Items within each other.
const MOST_LEVELS: u8 = 16;

/// Unread rest of CBOR.
struct Cbor<'a>(&'a [u8]);

impl<'a> Cbor<'a> {
    /// The major type of the next item, and its number; `None` for a length that is not known before the end.
    fn head(&mut self) -> Option<(u8, Option<u64>)> {
        let (&first, rest) = self.0.split_first()?;
        self.0 = rest;
        let number = match first & 31 {
            number @ 0..24 => Some(number.into()),
            size @ 24..28 => {
                let bytes = self.take(1 << (size - 24))?;
                Some(bytes.iter().fold(0, |number, byte| number << 8 | u64::from(*byte)))
            }
            31 if first != BREAK => None,
            _ => return None,
        };
        Some((first >> 5, number))
    }

    fn take(&mut self, size: u64) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(usize::try_from(size).ok()?)?;
        self.0 = rest;
        Some(taken)
    }

    /// The next item with all in it, as it is encoded.
    fn item(&mut self) -> Option<&'a [u8]> {
        let all = self.0;
        self.skip(0)?;
        all.get(..all.len() - self.0.len())
    }

    fn skip(&mut self, level: u8) -> Option<()> {
        if level == MOST_LEVELS {
            return None;
        }
        let (major, number) = self.head()?;
        let items = match (major, number) {
            (BYTES | TEXT, Some(size)) => return self.take(size).map(drop),
            (TAG, Some(_)) => Some(1),
            (ARRAY, items) => items,
            (MAP, pairs) => pairs.map(|pairs| pairs.saturating_mul(2)),
            (BYTES | TEXT, None) => None,
            (_, number) => return number.map(drop),
        };
        for read in 0_u64.. {
            match items {
                Some(items) if read == items => return Some(()),
                None if self.0.first() == Some(&BREAK) => return self.take(1).map(drop),
                _ => self.skip(level + 1)?,
            }
        }
        None
    }
}

/// Kinds of submessages of RTPS (DDSI-RTPS 2.5, Section 9.4.5).
const INFO_TIMESTAMP: u8 = 0x09;
const INFO_DESTINATION: u8 = 0x0e;
const DATA: u8 = 0x15;
/// Parameters in front of the data follow; numbers have their low byte first.
const HAS_PARAMETERS: u8 = 2;
const LITTLE_ENDIAN: u8 = 1;
/// The parameter with the hash of an instance's key, and the last one.
const KEY_HASH: u16 = 0x0070;
const SENTINEL: u16 = 1;

/// The writer of the only data of a datagram of RTPS, and the instance if its key is there. `None` for
/// others: heartbeats and acknowledgements, parts of large data, and what the protocol sends for itself.
pub(super) fn rtps(datagram: &[u8]) -> Option<u64> {
    let header = datagram.get(..20)?;
    if !header.starts_with(b"RTPS") {
        return None;
    }
    let mut rest = &datagram[20..];
    let mut found = None;
    while !rest.is_empty() {
        let &[kind, flags, a, b] = rest.first_chunk()?;
        let number = |bytes: [u8; 2]| match flags & LITTLE_ENDIAN {
            0 => u16::from_be_bytes(bytes),
            _ => u16::from_le_bytes(bytes),
        };
        // Without a length, the last one reaches to the end.
        let length = match usize::from(number([a, b])) {
            0 if kind == DATA => rest.len() - 4,
            length => length,
        };
        let body = rest.get(4..4 + length)?;
        rest = &rest[4 + length..];
        match kind {
            INFO_TIMESTAMP | INFO_DESTINATION => {}
            DATA if found.is_none() => {
                let writer = body.get(8..12)?;
                // The upper two bits of its kind: 0 for a writer of the application.
                if writer[3] & 0xc0 != 0 {
                    return None;
                }
                let before = 4 + usize::from(number([*body.get(2)?, *body.get(3)?]));
                let instance = match flags & HAS_PARAMETERS {
                    0 => None,
                    _ => instance(body.get(before..)?, number)?,
                };
                let of_writer = header[8..].iter().chain(writer);
                found = Some(hash(of_writer.chain(instance.into_iter().flatten()).copied()));
            }
            _ => return None,
        }
    }
    found
}

/// The hash of the key among parameters; an outer `None` if they are none.
fn instance(mut parameters: &[u8], number: impl Fn([u8; 2]) -> u16) -> Option<Option<&[u8]>> {
    loop {
        let &[a, b, c, d] = parameters.first_chunk()?;
        let length = usize::from(number([c, d]));
        match number([a, b]) {
            SENTINEL => return Some(None),
            KEY_HASH => return Some(Some(parameters.get(4..4 + length)?)),
            _ => parameters = parameters.get(4 + length..)?,
        }
    }
}
