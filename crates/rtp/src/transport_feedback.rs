//! Transport-wide congestion control feedback: the arrival times of packets by a sequence number that all
//! streams of a transport share (draft-holmer-rmcat-transport-wide-cc-extensions-01, Section 3).

use alloc::vec;
use alloc::vec::Vec;

use whimbrel_units::Duration;

use crate::RtcpError;
use crate::rtcp::Feedback;

#[cfg(test)]
mod tests;

/// Transport-layer feedback, and the format of this message.
const PACKET_TYPE: u8 = 205;
const FORMAT: u8 = 15;
/// Unit of the arrival times.
pub const TICK: Duration = Duration::from_micros(250);
/// Units of the reference time in ticks: 64 ms.
const REFERENCE: i64 = 256;
/// Statuses in a chunk of one-bit symbols, in one of two-bit symbols, and the most in a run.
const ONE_BIT: usize = 14;
const TWO_BIT: usize = 7;
const LONGEST_RUN: usize = 0x1fff;
/// Symbols: not received, received with a delta of one byte, and of two. The fourth one is reserved.
const MISSING: u8 = 0;
const SMALL: u8 = 1;
const LARGE: u8 = 2;

/// A received packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Received {
    /// Distance of its sequence number from the first packet's.
    pub offset: u16,
    /// Its arrival relative to the previous received packet, in units of [`TICK`]; for the first one, after
    /// the reference time.
    pub delta: i16,
}

impl Received {
    fn symbol(self) -> u8 {
        if (0..=255).contains(&self.delta) { SMALL } else { LARGE }
    }
}

/// A feedback message: the packets of a range of sequence numbers that have been received. The others have
/// not.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TransportFeedback {
    /// SSRC of the end that sends the message.
    pub sender: u32,
    /// SSRC of one of the streams.
    pub media: u32,
    /// Transport-wide sequence number of the first packet.
    pub base: u16,
    /// Number of packets, received and not received.
    pub count: u16,
    /// Reference time in units of 64 ms, -2^23 to 2^23 - 1. Its origin is the receiver's.
    pub reference: i32,
    /// Number of this message, by which lost messages are noticed.
    pub number: u8,
    /// The received packets, in the order of their sequence numbers.
    pub received: Vec<Received>,
}

impl TransportFeedback {
    /// Sequence numbers and arrival times of the received packets. The times are in units of [`TICK`] since
    /// the origin of the reference time.
    pub fn arrivals(&self) -> impl Iterator<Item = (u16, i64)> {
        self.received.iter().scan(i64::from(self.reference) * REFERENCE, |time, packet| {
            *time += i64::from(packet.delta);
            Some((self.base.wrapping_add(packet.offset), *time))
        })
    }

    /// Appends the message to `out`. Chunks are chosen so that each covers as many packets as possible.
    ///
    /// # Errors
    /// [`RtcpError::Order`] if the received packets are not ascending or exceed the number of packets, and
    /// for no packets at all;
    /// [`RtcpError::Reserved`] for a reference time of more than 24 bits. Then nothing is appended.
    pub fn encode(&self, out: &mut Vec<u8>) -> Result<(), RtcpError> {
        let is_ascending = self.received.is_sorted_by(|one, next| one.offset < next.offset);
        let reaches = self.received.last().is_none_or(|last| last.offset < self.count);
        if !is_ascending || !reaches || self.count == 0 {
            return Err(RtcpError::Order);
        }
        if !(-(1 << 23)..1 << 23).contains(&self.reference) {
            return Err(RtcpError::Reserved);
        }
        let mut symbols = vec![MISSING; usize::from(self.count)];
        for packet in &self.received {
            symbols[usize::from(packet.offset)] = packet.symbol();
        }
        let mut body = Vec::with_capacity(8 + 2 * self.received.len());
        body.extend(self.base.to_be_bytes());
        body.extend(self.count.to_be_bytes());
        body.extend(&self.reference.to_be_bytes()[1..]);
        body.push(self.number);
        let mut rest = &symbols[..];
        while !rest.is_empty() {
            let (chunk, covered) = first_chunk(rest);
            body.extend(chunk.to_be_bytes());
            rest = &rest[covered..];
        }
        for packet in &self.received {
            match packet.symbol() {
                SMALL => body.push(packet.delta as u8),
                _ => body.extend(packet.delta.to_be_bytes()),
            }
        }
        Feedback { sender: self.sender, media: self.media, body: &body }.encode(PACKET_TYPE, FORMAT, out)
    }

    /// Decodes the message at the start of `bytes`; what follows it, as in a compound packet, is ignored.
    ///
    /// # Errors
    /// The [`RtcpError`] found first.
    pub fn decode(bytes: &[u8]) -> Result<Self, RtcpError> {
        let Feedback { sender, media, body } = Feedback::decode(bytes, PACKET_TYPE, FORMAT)?;
        let ([base @ .., c0, c1, r0, r1, r2, number], mut rest) =
            body.split_first_chunk::<8>().ok_or(RtcpError::Truncated)?;
        let count = u16::from_be_bytes([*c0, *c1]);
        if count == 0 {
            return Err(RtcpError::Order);
        }
        // The highest of 24 bits is the sign.
        let reference = i32::from_be_bytes([*r0, *r1, *r2, 0]) >> 8;
        let mut marked: Vec<(u16, u8)> = Vec::new();
        let mut next = 0_usize;
        while next < usize::from(count) {
            let (chunk, after) = rest.split_first_chunk().ok_or(RtcpError::Truncated)?;
            rest = after;
            let chunk = u16::from_be_bytes(*chunk);
            let left = usize::from(count) - next;
            let length = chunk_length(chunk).min(left);
            let is_run = chunk >> 15 == 0;
            // Each received packet has a byte to come, before memory is allocated for it.
            if is_run && symbol(chunk, 0) != MISSING && marked.len() + length > body.len() {
                return Err(RtcpError::Truncated);
            }
            if !is_run || symbol(chunk, 0) != MISSING {
                let found = (0..length).map(|index| ((next + index) as u16, symbol(chunk, index)));
                marked.extend(found.filter(|(_, symbol)| *symbol != MISSING));
            }
            next += length;
        }
        let mut received = Vec::with_capacity(marked.len());
        for (offset, symbol) in marked {
            let delta;
            (delta, rest) = match symbol {
                SMALL => {
                    let (byte, after) = rest.split_first().ok_or(RtcpError::Truncated)?;
                    (i16::from(*byte), after)
                }
                LARGE => {
                    let (bytes, after) = rest.split_first_chunk().ok_or(RtcpError::Truncated)?;
                    (i16::from_be_bytes(*bytes), after)
                }
                _ => return Err(RtcpError::Reserved),
            };
            received.push(Received { offset, delta });
        }
        let base = u16::from_be_bytes(*base);
        Ok(Self { sender, media, base, count, reference, number: *number, received })
    }
}

/// The packets of a chunk.
fn chunk_length(chunk: u16) -> usize {
    match chunk >> 14 {
        0b10 => ONE_BIT,
        0b11 => TWO_BIT,
        _ => usize::from(chunk) & LONGEST_RUN,
    }
}

/// A symbol of a chunk (Sections 3.1.3 and 3.1.4).
fn symbol(chunk: u16, index: usize) -> u8 {
    match chunk >> 14 {
        0b10 => (chunk >> (ONE_BIT - 1 - index) & 1) as u8,
        0b11 => (chunk >> (2 * (TWO_BIT - 1 - index)) & 3) as u8,
        _ => (chunk >> 13 & 3) as u8,
    }
}

/// The chunk that covers the most of these symbols from the first on, and their number.
fn first_chunk(symbols: &[u8]) -> (u16, usize) {
    let first = symbols.first().copied().unwrap_or(MISSING);
    let run = symbols.iter().take(LONGEST_RUN).take_while(|symbol| **symbol == first).count();
    let is_one_bit = symbols.iter().take(ONE_BIT).all(|symbol| *symbol != LARGE);
    let vector = symbols.len().min(if is_one_bit { ONE_BIT } else { TWO_BIT });
    if run >= vector {
        return (u16::from(first) << 13 | run as u16, run);
    }
    // Symbols beyond the number of packets are zero.
    let bits = |width: usize, length: usize| {
        let symbols = symbols.iter().copied().chain(core::iter::repeat(MISSING)).take(length);
        symbols.fold(0, |bits, symbol| bits << width | u16::from(symbol))
    };
    let chunk = if is_one_bit { 1 << 15 | bits(1, ONE_BIT) } else { 0b11 << 14 | bits(2, TWO_BIT) };
    (chunk, vector)
}
