//! MAVLink, as far as a queue has to know it: which messages a datagram carries, and whether newer ones make
//! them useless.
//!
//! A datagram is one of MAVLink only if it consists of whole frames of version 1 or 2, at least one of a
//! message that is known here, with a valid checksum each. The checksum covers the definition of the message
//! as well: of other datagrams with the same first byte, one in 10 million is taken for a message.

mod messages;

use crc::{CRC_16_MCRF4XX, Crc};

use self::messages::MESSAGES;
use super::stream::{Keys, Lane, hash};

/// The first bytes of frames of both versions.
const VERSION_1: u8 = 0xfe;
const VERSION_2: u8 = 0xfd;
/// The only flag that changes the length of a frame: a signature follows.
const SIGNED: u8 = 1;
const SIGNATURE: usize = 13;

const CHECKSUM: Crc<u16> = Crc::<u16>::new(&CRC_16_MCRF4XX);

/// Definition of a message.
#[derive(Clone, Copy, Debug)]
struct Message {
    number: u32,
    checksum: u8,
    sort: Sort,
}

#[derive(Clone, Copy, Debug)]
enum Sort {
    /// A newer one makes it useless, of the instance that these bytes of the payload name.
    Value { start: usize, end: usize },
    /// A part of a transaction, or an event.
    Command,
    /// Contents of files and logs.
    Bulk,
}

/// A frame, and what follows it.
struct Frame<'a> {
    /// Bytes under its checksum, without the definition.
    covered: &'a [u8],
    payload: &'a [u8],
    checksum: u16,
    system: u8,
    component: u8,
    number: u32,
    is_signed: bool,
    rest: &'a [u8],
}

impl<'a> Frame<'a> {
    fn parse(bytes: &'a [u8]) -> Option<Self> {
        let length = usize::from(*bytes.get(1)?);
        let (header, system, number, is_signed) = match *bytes.first()? {
            VERSION_1 => (6, 3, u32::from(*bytes.get(5)?), false),
            VERSION_2 => {
                let flags = *bytes.get(2)?;
                let number = bytes.get(7..10)?;
                let number = u32::from_le_bytes([number[0], number[1], number[2], 0]);
                // Other flags mean that a receiver has to know more than this.
                (
                    10,
                    5,
                    number,
                    match flags {
                        0 => false,
                        SIGNED => true,
                        _ => return None,
                    },
                )
            }
            _ => return None,
        };
        let end = header + length;
        let checksum = bytes.get(end..end + 2)?;
        let rest = bytes.get(end + 2 + if is_signed { SIGNATURE } else { 0 }..)?;
        Some(Self {
            covered: &bytes[1..end],
            payload: &bytes[header..end],
            checksum: u16::from_le_bytes([checksum[0], checksum[1]]),
            system: bytes[system],
            component: bytes[system + 1],
            number,
            is_signed,
            rest,
        })
    }

    /// Definition of its message; `None` if it is not known, and an error if the checksum is wrong.
    fn message(&self) -> Result<Option<Message>, ()> {
        let found = MESSAGES.binary_search_by_key(&self.number, |message| message.number);
        let Ok(index) = found else { return Ok(None) };
        let message = MESSAGES[index];
        let mut digest = CHECKSUM.digest();
        digest.update(self.covered);
        digest.update(&[message.checksum]);
        if digest.finalize() == self.checksum { Ok(Some(message)) } else { Err(()) }
    }

    /// The key of a value. Version 2 leaves out zeros at the end of the payload.
    fn key(&self, start: usize, end: usize) -> u64 {
        let [a, b, c, _] = self.number.to_le_bytes();
        let instance = (start..end).map(|at| self.payload.get(at).copied().unwrap_or(0));
        hash([self.system, self.component, a, b, c].into_iter().chain(instance))
    }
}

/// Class of a MAVLink datagram: the most urgent of its messages decides. `None` if it is none, or has a
/// message of which nothing is known.
pub(crate) fn classify(datagram: &[u8]) -> Option<(Lane, Keys)> {
    let mut keys = Keys::default();
    let (mut lane, mut is_known, mut is_valid, mut has_bulk) = (Lane::Bulk, true, false, false);
    let mut rest = datagram;
    while !rest.is_empty() {
        let frame = Frame::parse(rest)?;
        rest = frame.rest;
        // Receivers of signed messages refuse what was overtaken.
        is_known &= !frame.is_signed;
        match frame.message().ok()? {
            Some(message) => {
                is_valid = true;
                match message.sort {
                    Sort::Command => lane = Lane::Command,
                    Sort::Value { start, end } => {
                        lane = lane.min(Lane::Newest);
                        is_known &= keys.push(frame.key(start, end));
                    }
                    Sort::Bulk => has_bulk = true,
                }
            }
            None => is_known = false,
        }
    }
    if has_bulk {
        // Newer values do not replace data of another message.
        keys = Keys::default();
    }
    (is_valid && is_known).then_some((lane, keys))
}

#[cfg(test)]
mod tests;
