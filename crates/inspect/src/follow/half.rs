//! One direction of a connection: the packets of one end, and the other end's reports on them.

use std::collections::BTreeMap;

use whimbrel_control::reordering::LatenessMeter;
use whimbrel_units::{Duration, Instant};
use whimbrel_wire::{Ecn, SeqNo};

use crate::flows::gaps::Gaps;

use super::repair::Repair;
use super::rtt::{Spread, Timestamps};
use super::sent::SentPackets;
use super::sequence::Sequence;
use super::table::Table;

/// The packets of one end.
#[derive(Clone, Debug)]
pub(crate) struct Half {
    pub(crate) sequence: Sequence,
    /// Late times of packets that were reordered before the capture point.
    pub(crate) lateness: LatenessMeter,
    pub(crate) sent: SentPackets,
    pub(crate) timestamps: Timestamps,
    pub(crate) counts: Counts,
    pub(crate) reported: Reported,
    pub(crate) table: Table,
    pub(crate) gaps: Gaps,
    /// Repair of the data of this end.
    pub(crate) repair: Repair,
    /// Interface of the capture at which the latest packet counted.
    pub(crate) interface: Option<u32>,
    /// Packets whose options were not captured completely.
    pub(crate) cut_options: u64,
}

impl Half {
    pub(crate) fn new(start: Instant, width: Duration) -> Self {
        Self {
            sequence: Sequence::default(),
            lateness: LatenessMeter::new(),
            sent: SentPackets::default(),
            timestamps: Timestamps::default(),
            counts: Counts::default(),
            reported: Reported::default(),
            table: Table::new(start, width),
            gaps: Gaps::default(),
            repair: Repair::default(),
            interface: None,
            cut_options: 0,
        }
    }
}

impl Half {
    /// Processes the first capture of packet `sequence`.
    pub(crate) fn measure_lateness(&mut self, now: Instant, sequence: SeqNo) {
        self.lateness.on_packet(now, sequence.unwrap_or_first(self.lateness.next_sequence()));
    }
}

/// Counters of captured packets.
#[derive(Clone, Debug, Default)]
pub(crate) struct Counts {
    pub(crate) packets: u64,
    pub(crate) datagrams: u64,
    pub(crate) bytes: u64,
    /// Packets by type.
    pub(crate) types: [u64; 11],
    /// Packets by ECN codepoint.
    pub(crate) ecn: [u64; 4],
    /// Packets by Checksum Coverage.
    pub(crate) coverage: [u64; 16],
    /// Options by type, without Padding.
    pub(crate) options: BTreeMap<u8, u64>,
    /// Capture times of the first and the last packet with application data.
    pub(crate) data_span: Option<(Instant, Instant)>,
}

impl Counts {
    pub(crate) fn on_ecn(&mut self, ecn: Ecn) {
        self.ecn[usize::from(ecn.bits())] += 1;
    }
}

/// Values reported by the other end.
#[derive(Clone, Debug, Default)]
pub(crate) struct Reported {
    /// Application data received, in bytes, by Ack Vectors.
    pub(crate) acknowledged: u64,
    /// Packets not received so far, by Ack Vectors.
    pub(crate) lost: i64,
    /// Packets received with a mark.
    pub(crate) marked: u64,
    /// `true` if there were Ack Vectors.
    pub(crate) by_ack_vector: bool,
    /// The latest loss event rate, and the maximum.
    pub(crate) loss_event_rate: Option<f64>,
    pub(crate) greatest_loss_event_rate: f64,
    /// `true` if reports were cut off before their loss event rate.
    pub(crate) has_cut_rates: bool,
    /// The latest Receive Rate, in bytes per second.
    pub(crate) receive_rate: Option<u32>,
    /// Capture time of the latest Receive Rate.
    pub(crate) receive_rate_at: Option<Instant>,
    /// The latest sum of Dropped Packets (CCID 4).
    pub(crate) dropped: Option<u64>,
    /// Round-trip time from the capture point to the receiver.
    pub(crate) rtt: Spread,
    /// The round-trip time signalled by the sender (RFC 6323).
    pub(crate) sender_rtt: Spread,
}
