//! Real header bytes, for captures.

use super::ranges::ByteRange;
use super::segment::{EcnCounters, Flags, Segment};

/// The shift of the window scale option of a SYN in a capture (RFC 7323, Section 2): enough for 1 GiB.
pub const WINDOW_SHIFT: u8 = 14;

/// The endpoint addresses, for ports and checksum.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Addresses {
    /// The IPv4 address of the segment's sender.
    pub source: [u8; 4],
    /// The IPv4 address of its receiver.
    pub destination: [u8; 4],
    /// The port of the segment's sender.
    pub source_port: u16,
    /// The port of its receiver.
    pub destination_port: u16,
}

/// Appends the TCP header of a segment to `out`: 20 bytes and the options, [`Segment::header_length`] in all
/// (RFC 9293, Section 3.1).
///
/// The checksum covers the segment with a payload of zeros and an IPv4 pseudo-header; the payload is not
/// appended. Both ends start at sequence number 0, so the SYN is number 0 and the first byte number 1.
/// Sequence numbers and timestamps are cut to 32 bits. Windows are scaled by [`WINDOW_SHIFT`], except in a
/// SYN, and stop at the largest that fits.
pub fn write_tcp_header(segment: &Segment, addresses: &Addresses, out: &mut Vec<u8>) {
    let begin = out.len();
    let syn = segment.flags.contains(Flags::SYN);
    let seq = if syn { 0 } else { on_wire(segment.seq) };
    let ack = if segment.flags.contains(Flags::ACK) { on_wire(segment.ack) } else { 0 };
    let window = if syn { segment.window } else { segment.window >> WINDOW_SHIFT };
    out.extend(addresses.source_port.to_be_bytes());
    out.extend(addresses.destination_port.to_be_bytes());
    out.extend(seq.to_be_bytes());
    out.extend(ack.to_be_bytes());
    let accurate = u8::from(segment.flags.contains(Flags::AE));
    out.push(((segment.header_length() / 4) << 4) as u8 | accurate);
    out.push(segment.flags.header_bits());
    out.extend((window.min(0xffff) as u16).to_be_bytes());
    out.extend([0; 4]); // checksum and urgent pointer
    write_options(segment, syn, out);
    debug_assert_eq!(out.len() - begin, segment.header_length() as usize);
    let checksum = checksum(addresses, &out[begin..], segment.length);
    out[begin + 16..begin + 18].copy_from_slice(&checksum.to_be_bytes());
}

/// A SYN takes the number before the first byte.
fn on_wire(number: u64) -> u32 {
    (number as u32).wrapping_add(1)
}

fn write_options(segment: &Segment, syn: bool, out: &mut Vec<u8>) {
    const NOP: u8 = 1;
    if syn {
        out.extend([2, 4]);
        out.extend(segment.mss.to_be_bytes());
    }
    match (syn && segment.flags.contains(Flags::SACK_PERMITTED), segment.timestamps) {
        (true, Some(_)) => out.extend([4, 2]),
        (true, None) => out.extend([NOP, NOP, 4, 2]),
        (false, Some(_)) => out.extend([NOP, NOP]),
        (false, None) => {}
    }
    if let Some(timestamps) = segment.timestamps {
        out.extend([8, 10]);
        out.extend(timestamps.value.to_be_bytes());
        out.extend(timestamps.echo.to_be_bytes());
    }
    if syn {
        return out.extend([NOP, 3, 3, WINDOW_SHIFT]);
    }
    if !segment.sack.is_empty() {
        out.extend([NOP, NOP, 5, 2 + 8 * segment.sack.len() as u8]);
        for ByteRange { start, end } in segment.sack.iter() {
            out.extend(on_wire(*start).to_be_bytes());
            out.extend(on_wire(*end).to_be_bytes());
        }
    }
    if let Some(EcnCounters { ect1, ce }) = segment.ecn {
        // AccECN1: the counter of ECT(1) comes first.
        out.extend([174, EcnCounters::LENGTH as u8]);
        out.extend(&ect1.to_be_bytes()[1..]);
        out.extend(&ce.to_be_bytes()[1..]);
    }
}

/// RFC 9293, Section 3.1; zeros of payload add only their length.
fn checksum(addresses: &Addresses, header: &[u8], payload: u32) -> u16 {
    const PROTOCOL: u32 = 6;
    let halves = |bytes: &[u8]| -> u32 {
        bytes
            .chunks(2)
            .map(|pair| u32::from(pair[0]) << 8 | u32::from(pair.get(1).copied().unwrap_or(0)))
            .sum()
    };
    let length = header.len() as u32 + payload;
    let mut sum = halves(&addresses.source) + halves(&addresses.destination) + halves(header);
    sum += PROTOCOL + (length >> 16) + (length & 0xffff);
    while sum > 0xffff {
        sum = (sum >> 16) + (sum & 0xffff);
    }
    !(sum as u16)
}

#[cfg(test)]
mod tests;
