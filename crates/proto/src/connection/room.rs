//! Room for options beside a packet's data.
//!
//! A packet gets options in two steps: first those that carry information of their own (features, feedback, reports),
//! then those that every packet of the connection carries for some time (NDP Count, Data Checksum, the HC-sender's,
//! Init Cookies, announcements of a move). The latter are added when the packet is created, so the room for the former
//! is what the latter leave.

use whimbrel_units::Instant;
use whimbrel_wire::option::NdpCount;
use whimbrel_wire::{DccpOption, Options, PacketType, SeqNo};

use super::handshake::options_len;
use super::mtu::OVERHEAD;
use super::path_mtu::MIN;
use super::{Connection, State};
use crate::config::DataChecksumUse;

/// The most bytes of options on a packet with an Acknowledgement Number: a header has at most 1020 (RFC 4340, Section
/// 5.1), and that of a Response, the longest, 28 without them.
const MAX_OPTIONS: usize = 1020 - 28;
/// A Timestamp option, which may be added last to an Ack.
const TIMESTAMP_LEN: usize = 6;
/// An Elapsed Time option of the longest form, which goes with Ack Vectors (RFC 4340, Section 13.2).
const ELAPSED_TIME_LEN: usize = 6;
/// A Timestamp Echo option with the longest elapsed time.
pub(super) const MAX_ECHO_LEN: usize = 10;
/// A Data Checksum option.
const DATA_CHECKSUM_LEN: usize = 6;

impl Connection {
    /// The largest packet that the path carries, in bytes from the DCCP header on.
    fn packet_limit(&self) -> usize {
        self.max_datagram() + OVERHEAD
    }
    /// Number of bytes of options that fit beside `size` bytes of data into a packet of that type: whole words, as
    /// options are padded (RFC 4340, Section 5.1).
    fn room_beside(&self, packet_type: PacketType, size: usize) -> usize {
        self.packet_limit().saturating_sub(packet_type.fixed_header_len(true) + size) & !3
    }
    /// Number of bytes of options that every packet of that type, with data if it can have some, carries now besides
    /// others.
    pub(super) fn late_len(&self, now: Instant, packet_type: PacketType) -> usize {
        let has_data = packet_type.carries_data();
        let ndp_count = match self.outbound.ndp_run {
            run @ 1.. if self.features.in_force.ndp_count => {
                DccpOption::NdpCount(NdpCount::new(run)).encoded_len()
            }
            _ => 0,
        };
        ndp_count
            + if has_data && self.sends_data_checksum() { DATA_CHECKSUM_LEN } else { 0 }
            + self.freezing.encoded_len(packet_type)
            + self.congestion.marks_len(packet_type)
            + self.handshake.cookies_len()
            + self.mobility_len(now, packet_type)
    }
    /// `true` if a datagram of `size` bytes and these options fit into one packet of that type.
    pub(super) fn has_room(
        &self,
        now: Instant,
        packet_type: PacketType,
        size: usize,
        options: &Options,
    ) -> bool {
        self.has_room_for(now, packet_type, size, options_len(options))
    }
    fn has_room_for(&self, now: Instant, packet_type: PacketType, size: usize, options: usize) -> bool {
        options + self.late_len(now, packet_type) <= self.room_beside(packet_type, size)
    }
    /// `true` if a DataAck has room for a datagram of `size` bytes, these options and all pending reports.
    pub(super) fn has_room_for_reports(
        &self,
        now: Instant,
        ack: SeqNo,
        size: usize,
        options: &Options,
    ) -> bool {
        let reports = self.reports_len(ack);
        self.has_room_for(now, PacketType::DataAck, size, options_len(options) + reports)
    }
    /// `true` if a datagram of `size` bytes leaves room for the options of a usual acknowledgement.
    pub(super) fn has_room_for_feedback(&self, now: Instant, size: usize) -> bool {
        let reports = self.reports_len(self.sequence.numbers.acknowledgeable());
        self.has_room_for(now, PacketType::DataAck, size, reports + ELAPSED_TIME_LEN)
    }
    /// `true` if a Data packet with `size` bytes has room for a Timestamp Echo.
    pub(super) fn has_room_for_echo(&self, now: Instant, size: usize) -> bool {
        self.has_room_for(now, PacketType::Data, size, MAX_ECHO_LEN)
    }
    /// `true` if a datagram fits beside the options that every packet carries now: Init Cookies in PARTOPEN, or an
    /// announcement of a new address. Without these, the largest always does.
    pub(super) fn fits_beside_constants(&self, now: Instant, size: usize) -> bool {
        let packet_type = match self.state {
            State::PartOpen => PacketType::DataAck,
            _ if self.mobility.is_some() => PacketType::Data,
            _ => return true,
        };
        self.has_room_for(now, packet_type, size, 0)
    }
    /// Number of bytes of options that [`Connection::write_reports`] will add.
    fn reports_len(&self, ack: SeqNo) -> usize {
        self.ack_vectors.encoded_len() + self.dropped.encoded_len(ack)
    }
    /// Number of bytes of reports that fit beside `options` in the longest header, on a packet without data that the
    /// path carries. Every path is assumed to carry the least packet that IPv4 guarantees.
    pub(super) fn option_room(&self, now: Instant, packet_type: PacketType, options: &Options) -> usize {
        let path = self.packet_limit().max(MIN) - packet_type.fixed_header_len(true);
        let taken = options_len(options) + self.late_len(now, packet_type) + TIMESTAMP_LEN;
        MAX_OPTIONS.min(path & !3).saturating_sub(taken)
    }
    pub(super) fn sends_data_checksum(&self) -> bool {
        self.config.integrity.data_checksum != DataChecksumUse::Off
    }
}
