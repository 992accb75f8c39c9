//! RTP streams of a capture (RFC 3550): the captured packets and their times.
//!
//! RTP has no port and no magic number of its own. A UDP datagram is assumed to be RTP if its version is 2
//! and its payload type none of those that RTCP may be mistaken for (RFC 5761, Section 4); a datagram that
//! matches by chance has no second packet.

use core::net::{IpAddr, SocketAddr};
use std::collections::BTreeMap;

use whimbrel_units::Instant;
use whimbrel_wire::udp_encapsulation;

use crate::capture::Record;
use crate::{ip, link};

/// Maximum number of streams.
const MAX_STREAMS: usize = 4096;
/// A header without contributing sources (RFC 3550, Section 5.1).
const HEADER: usize = 12;
/// Payload types that cannot be distinguished from RTCP (RFC 5761, Section 4), without the marker bit.
const LIKE_RTCP: core::ops::RangeInclusive<u8> = 64..=95;

/// A stream: addresses and synchronization source.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct StreamId {
    /// Source address and port.
    pub source: SocketAddr,
    /// Destination address and port.
    pub destination: SocketAddr,
    /// Synchronization source.
    pub ssrc: u32,
}

/// Collects the packets of RTP streams. The list grows with the number of packets.
#[derive(Clone, Debug, Default)]
pub struct RtpList {
    streams: BTreeMap<StreamId, Vec<(u64, Instant)>>,
    packets: u64,
}

impl RtpList {
    /// Processes a captured frame.
    pub fn on_record(&mut self, record: &Record<'_>) {
        let Some((id, number)) = rtp_packet(record) else { return };
        if self.streams.len() >= MAX_STREAMS && !self.streams.contains_key(&id) {
            return;
        }
        let packets = self.streams.entry(id).or_default();
        let sequence = match packets.last() {
            // Leave room for two wraps below the first number.
            None => (2 << 16) + u64::from(number),
            Some((last, _)) => {
                let ahead = number.wrapping_sub(*last as u16) as i16;
                last.saturating_add_signed(i64::from(ahead))
            }
        };
        packets.push((sequence, record.at));
        self.packets += 1;
    }

    /// Number of packets in the list.
    pub fn packets(&self) -> u64 {
        self.packets
    }

    /// The streams, with the unwrapped sequence number and the time of each packet in capture order.
    pub fn into_streams(self) -> impl Iterator<Item = (StreamId, Vec<(u64, Instant)>)> {
        self.streams.into_iter()
    }
}

/// The stream and the sequence number of a frame with RTP.
fn rtp_packet(record: &Record<'_>) -> Option<(StreamId, u16)> {
    let bytes = link::ip_packet(record.link_type, record.data).ok()??;
    let ip = ip::decode(bytes).ok()?;
    if ip.protocol != udp_encapsulation::PROTOCOL || ip.fragment.is_some() {
        return None;
    }
    let (udp, rtp) = ip.payload.split_first_chunk::<{ udp_encapsulation::HEADER_LEN }>()?;
    let rtp = rtp.first_chunk::<HEADER>()?;
    let is_rtp = rtp[0] >> 6 == 2 && !LIKE_RTCP.contains(&(rtp[1] & 0x7f));
    let at = |address: IpAddr, index: usize| {
        SocketAddr::new(address, u16::from_be_bytes([udp[index], udp[index + 1]]))
    };
    let ssrc = u32::from_be_bytes([rtp[8], rtp[9], rtp[10], rtp[11]]);
    let id = StreamId { source: at(ip.source, 0), destination: at(ip.destination, 2), ssrc };
    is_rtp.then_some((id, u16::from_be_bytes([rtp[2], rtp[3]])))
}
