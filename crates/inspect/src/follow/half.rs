//! One direction of a connection: what one end sends, and what the other end reports of it.

use std::collections::BTreeMap;

use whimbrel_control::reordering::LatenessMeter;
use whimbrel_units::{Duration, Instant};
use whimbrel_wire::{Ecn, SeqNo};

use super::rtt::{Spread, Timestamps};
use super::sent::SentPackets;
use super::sequence::Sequence;
use super::table::Table;

/// What one end sends.
#[derive(Clone, Debug)]
pub(crate) struct Half {
    pub(crate) sequence: Sequence,
    /// Late times of packets that were overtaken before they passed here.
    pub(crate) lateness: LatenessMeter,
    pub(crate) sent: SentPackets,
    pub(crate) timestamps: Timestamps,
    pub(crate) counts: Counts,
    pub(crate) reported: Reported,
    pub(crate) table: Table,
    /// Which of the capture's interfaces it is followed at: the first one that had it.
    pub(crate) interface: Option<u32>,
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
            interface: None,
        }
    }
}

impl Half {
    /// Packet `sequence` passed for the first time.
    pub(crate) fn measure_lateness(&mut self, now: Instant, sequence: SeqNo) {
        self.lateness.on_packet(now, sequence.unwrap_or_first(self.lateness.next_sequence()));
    }
}

/// What has passed.
#[derive(Clone, Debug, Default)]
pub(crate) struct Counts {
    pub(crate) packets: u64,
    pub(crate) datagrams: u64,
    pub(crate) bytes: u64,
    pub(crate) elsewhere: u64,
    /// By type.
    pub(crate) types: [u64; 11],
    /// By ECN codepoint.
    pub(crate) ecn: [u64; 4],
    /// By Checksum Coverage.
    pub(crate) coverage: [u64; 16],
    /// Options by type, without Padding.
    pub(crate) options: BTreeMap<u8, u64>,
    /// When the first and the last packet with application data passed.
    pub(crate) data_span: Option<(Instant, Instant)>,
}

impl Counts {
    pub(crate) fn on_ecn(&mut self, ecn: Ecn) {
        self.ecn[usize::from(ecn.bits())] += 1;
    }
}

/// What the other end reports of it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Reported {
    /// Application data received, in bytes, by Ack Vectors.
    pub(crate) acknowledged: u64,
    /// Packets not received so far, by Ack Vectors.
    pub(crate) lost: i64,
    /// Packets received with a mark.
    pub(crate) marked: u64,
    /// Whether there were Ack Vectors.
    pub(crate) by_ack_vector: bool,
    /// The latest loss event rate, and the greatest.
    pub(crate) loss_event_rate: Option<f64>,
    pub(crate) greatest_loss_event_rate: f64,
    /// The latest Receive Rate, in bytes per second.
    pub(crate) receive_rate: Option<u32>,
    /// When that came.
    pub(crate) receive_rate_at: Option<Instant>,
    /// The latest sum of Dropped Packets (CCID 4).
    pub(crate) dropped: Option<u64>,
    /// From here to the receiver and back.
    pub(crate) rtt: Spread,
    /// The round-trip time that the sender says it uses (RFC 6323).
    pub(crate) sender_rtt: Spread,
}
