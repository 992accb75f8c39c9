//! Several packets that were captured as one UDP datagram.
//!
//! A program may pass many datagrams of one size and a shorter last one to the kernel at once, which are
//! split when they leave the machine (UDP segmentation offload), and may receive them coalesced. A capture on
//! that machine contains the coalesced datagram without the segment size. DCCP has no length field either;
//! but each packet begins with the same ports as the first, and its sequence number is the next.

use bytes::Bytes;
use whimbrel_wire::Packet;

/// The shortest DCCP header.
const LEAST: usize = 12;
/// Maximum number of packets that Linux coalesces.
const MOST: usize = 128;
/// Maximum number of offsets tried: application data may contain the ports many times.
const ATTEMPTS: usize = 64;

/// The packets in `bytes`, of which `first` was decoded as if it were alone.
pub(super) fn split(bytes: &Bytes, first: Packet) -> Vec<Packet> {
    let header_len = usize::from(bytes[4]) * 4;
    let ports = &bytes[..4];
    // The next packet can begin at the end of the first. If the ports occur in the application data by
    // chance, the offset does not yield a chain of packets.
    let mut at = header_len.max(LEAST);
    for _ in 0..ATTEMPTS {
        let Some(found) = find(&bytes[at.min(bytes.len())..], ports) else { break };
        let size = at + found;
        if let Some(packets) = in_pieces(bytes, size) {
            return packets;
        }
        at = size + 1;
    }
    vec![first]
}

fn find(bytes: &[u8], ports: &[u8]) -> Option<usize> {
    bytes.windows(ports.len()).position(|window| window == ports)
}

/// The packets, if all are `size` bytes long except for the last, which may be shorter, and if their sequence
/// numbers are consecutive.
fn in_pieces(bytes: &Bytes, size: usize) -> Option<Vec<Packet>> {
    if bytes.len().div_ceil(size) > MOST {
        return None;
    }
    let mut packets: Vec<Packet> = Vec::new();
    let mut start = 0;
    while start < bytes.len() {
        let piece = bytes.slice(start..(start + size).min(bytes.len()));
        let packet = Packet::decode(&piece).ok()?;
        if let Some(before) = packets.last() {
            let follows = packet.sequence == before.sequence.next()
                || !packet.extended && packet.sequence.low24() == before.sequence.next().low24();
            let same = packet.source_port == before.source_port
                && packet.destination_port == before.destination_port;
            if !follows || !same {
                return None;
            }
        }
        packets.push(packet);
        start += size;
    }
    Some(packets)
}
