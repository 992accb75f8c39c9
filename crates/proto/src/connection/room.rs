//! Room for options in a packet with data.
//!
//! A packet gets options in two steps: first those that carry information of their own (features, feedback,
//! reports), then those that every packet of the connection carries for some time (NDP Count, Data Checksum,
//! the HC-sender's, Init Cookies, announcements of a move). The latter are added when the packet is created,
//! so the room for the former is what the latter leave.

use whimbrel_wire::{DccpOption, Options, PacketType};

use super::mtu::OVERHEAD;
use super::path_mtu::MIN;

/// The most bytes of options on a packet with an Acknowledgement Number: a header has at most 1020 (RFC 4340,
/// Section 5.1), and a Response's, the longest, 28 without them.
const MAX_OPTIONS: usize = 1020 - 28;
/// A Timestamp option, which may be added last to an Ack.
const TIMESTAMP_LEN: usize = 6;
/// An Elapsed Time option of the longest form, which goes with Ack Vectors (RFC 4340, Section 13.2).
pub(super) const ELAPSED_TIME_LEN: usize = 6;
/// A Timestamp Echo option with the longest elapsed time.
pub(super) const MAX_ECHO_LEN: usize = 10;
/// A Data Checksum option.
pub(super) const DATA_CHECKSUM_LEN: usize = 6;

/// Room for options on packets of one type.
#[derive(Clone, Copy, Debug)]
pub(super) struct Room {
    packet_type: PacketType,
    /// The largest packet that the path carries, in bytes from the DCCP header on.
    limit: usize,
    /// Number of bytes of options that every packet of that type, with data if it can have some, carries now
    /// besides others.
    constants: usize,
}

impl Room {
    /// Room on a path that carries datagrams of `max_datagram` bytes, in addition to `constants` bytes of
    /// options that every packet of that type carries now.
    pub(super) fn new(packet_type: PacketType, max_datagram: usize, constants: usize) -> Self {
        Self { packet_type, limit: max_datagram + OVERHEAD, constants }
    }

    /// Number of bytes of options that every packet of that type carries now.
    pub(super) fn constants(&self) -> usize {
        self.constants
    }

    /// `true` if a datagram of `size` bytes and `options` bytes of options, besides those that every packet
    /// carries, fit into one packet. Room for options is whole words, as options are padded (RFC 4340,
    /// Section 5.1).
    pub(super) fn fits(&self, size: usize, options: usize) -> bool {
        let beside = self.limit.saturating_sub(self.packet_type.fixed_header_len(true) + size) & !3;
        options + self.constants <= beside
    }

    /// Number of bytes of reports that fit in addition to `options` in the longest header, on a packet
    /// without data that the path carries. Every path is assumed to carry the least packet that IPv4
    /// guarantees.
    pub(super) fn for_reports(&self, options: &Options) -> usize {
        let path = self.limit.max(MIN) - self.packet_type.fixed_header_len(true);
        let taken = options_len(options) + self.constants + TIMESTAMP_LEN;
        MAX_OPTIONS.min(path & !3).saturating_sub(taken)
    }
}

/// Number of bytes that options take.
pub(super) fn options_len(options: &Options) -> usize {
    options.iter().map(DccpOption::encoded_len).sum()
}
