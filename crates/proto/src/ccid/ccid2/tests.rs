//! Scripts worked by hand, and the two ends in a loop.

use whimbrel_units::{Duration, Instant};
use whimbrel_wire::option::{Elapsed, FeatureNumber};
use whimbrel_wire::{DccpOption, Ecn, OptionBytes, Options, PacketType, SeqNo};

use super::*;
use crate::SendVerdict;
use crate::ack_vector::{AckedPacket, PacketArrival};
use crate::ccid::{Feedback, ReceivedPacket, SenderMarks, SentPacket};

mod closed_loop;
mod receiving;
mod sending;

const ACK_RATIO: FeatureNumber = FeatureNumber::AckRatio;

fn seq(n: u64) -> SeqNo {
    SeqNo::new(n)
}

fn at(millis: u64) -> Instant {
    Instant::from_millis(millis)
}

fn millis(n: u64) -> Duration {
    Duration::from_millis(n)
}

/// A sender of datagrams of `packet_size` bytes.
fn sender_of(packet_size: usize, rtt: Option<Duration>, ccid2: &Ccid2) -> Sender {
    Sender::new(&crate::Config::default().half_connection(at(0), packet_size, rtt, seq(1)), ccid2)
}

fn ccid2(max_burst: Option<u32>) -> Ccid2 {
    Ccid2 { max_burst, ..Ccid2::default() }
}

/// A packet with nothing remarkable.
fn received(sequence: u64, packet_type: PacketType) -> ReceivedPacket<'static> {
    ReceivedPacket {
        sequence: seq(sequence),
        packet_type,
        ccval: 0,
        payload: if packet_type.carries_data() { 1_000 } else { 0 },
        ecn: Ecn::Ect0,
        corrupt: false,
        discarded: false,
        options: &[],
        ndp_count: None,
        rtt_hint: None,
        arrived: None,
    }
}
