//! Both ends running for longer than the fields of their options can count.

use whimbrel_units::{Duration, Instant};
use whimbrel_wire::option::tfrc::LossInterval;
use whimbrel_wire::{Ecn, Options, PacketType, SeqNo};

use super::*;
use crate::ccid::tfrc::{Receiver, Sender};
use crate::ccid::{Feedback, HcReceiver, HcSender, ReceivedPacket, SenderMarks, SentPacket};

/// A million packets per second.
const SPACING: Duration = Duration::from_micros(1);
const ONE_WAY: Duration = Duration::from_millis(20);

/// A sender and a receiver; the sender processes only the packets that are acknowledged.
struct Ends {
    sender: Sender,
    receiver: Receiver,
    sequence: SeqNo,
    /// Data in each packet.
    size: usize,
    /// The NDP Count of packets after a hole.
    ndp_count: Option<u64>,
    /// Arrival time of the next packet.
    now: Instant,
}

impl Ends {
    fn new(size: usize) -> Self {
        let config = config(all());
        // The numbers go round the circle, too.
        let next_sequence = SeqNo::new(SeqNo::MODULUS - 1000);
        let half = config.half_connection(Instant::from_secs(1), size, Some(ONE_WAY * 2), next_sequence);
        let tfrc = all();
        let (sender, receiver) = (Sender::new(&half, VARIANT, &tfrc), Receiver::new(&half, VARIANT, &tfrc));
        Self {
            sender,
            receiver,
            sequence: half.next_sequence,
            size,
            ndp_count: None,
            now: half.now + ONE_WAY,
        }
    }

    /// A packet arrives, after `missing` that do not; due feedback is returned at once. Returns `true` if
    /// there was any.
    fn arrive(&mut self, missing: u64) -> bool {
        self.sequence = self.sequence.add(missing);
        self.now += SPACING * missing;
        let sequence = self.sequence;
        let packet = ReceivedPacket {
            sequence,
            packet_type: PacketType::Data,
            ccval: ((self.now.as_nanos() * 4 / (ONE_WAY * 2).as_nanos()) % 16) as u8,
            payload: self.size,
            ecn: Ecn::Ect0,
            corrupt: false,
            discarded: false,
            arrived: None,
            options: &[],
            ndp_count: self.ndp_count.filter(|_| missing > 0),
            rtt_hint: Some(ONE_WAY * 2),
        };
        if self.receiver.poll_timeout().is_some_and(|deadline| deadline <= self.now) {
            self.receiver.handle_timeout(self.now);
        }
        self.receiver.on_received(self.now, packet);
        let is_due = self.receiver.feedback_due(self.now);
        if is_due {
            self.report(sequence);
        }
        self.sequence = self.sequence.next();
        self.now += SPACING;
        is_due
    }

    fn report(&mut self, ack: SeqNo) {
        let (mut ccval, mut options) = (0, Options::new());
        let (packet_type, payload) = (PacketType::Data, self.size);
        let sent = SentPacket { sequence: ack, packet_type, payload, more_queued: true };
        let marks = SenderMarks { ccval: &mut ccval, options: &mut options };
        self.sender.on_sent(self.now.saturating_sub(ONE_WAY), sent, marks);
        let mut options = Options::new();
        self.receiver.write_feedback(self.now, ack, &mut options);
        let feedback = Feedback {
            ack,
            sequence: SeqNo::new(self.now.as_nanos() / 1000),
            packet_type: PacketType::Ack,
            options: &options,
            ack_vector: &[],
            data_dropped: &[],
            timestamp_rtt: None,
        };
        self.sender.on_feedback(self.now + ONE_WAY, &feedback);
    }

    fn rate(&self) -> f64 {
        self.sender.snapshot().allowed_rate.unwrap().as_bytes_per_second()
    }

    fn p(&self) -> f64 {
        self.sender.snapshot().loss_event_rate.unwrap()
    }
}

/// As many packets as the Lossless Length and the Data Length can count, and a tenth more.
const LONG: u64 = (LossInterval::MAX_LENGTH as u64) * 11 / 10;

/// One packet is lost in the beginning. A report of the time since can hold no more than 2^24 - 1 packets,
/// and p still falls, as both ends can compute.
#[test]
fn a_flow_goes_on_after_2_to_the_24_packets_without_loss() {
    let mut ends = Ends::new(SIZE);
    for n in 0..LONG {
        let before = (ends.p(), ends.rate());
        if ends.arrive(u64::from(n == 1000)) && n > 2000 {
            assert!(ends.p() <= before.0, "after {n} packets p rose from {} to {}", before.0, ends.p());
            assert!(ends.rate() >= before.1, "after {n} packets X fell from {} to {}", before.1, ends.rate());
        }
    }
    assert_eq!(ends.sender.snapshot().lost, 1);
    let interval = (LONG - 1000) as f64;
    assert!(
        1.0 / ends.p() > interval / 2.0,
        "an average interval of {}, the last is {interval}",
        1.0 / ends.p()
    );
}

/// An outage of more packets than the Loss Length, or even than the Data Length can count.
#[test]
fn a_hole_too_long_for_its_field_leaves_the_flow_its_feedback() {
    for missing in [1 << 23, (1 << 24) + 5, 1 << 27] {
        let mut ends = Ends::new(SIZE);
        (0..100_000).for_each(|_| _ = ends.arrive(0));
        ends.arrive(missing);
        let mut reports = 0;
        (0..200_000).for_each(|_| reports += u32::from(ends.arrive(0)));
        assert!(reports > 3);
        assert_eq!(ends.sender.snapshot().lost, 2, "the first and the last packet of {missing}");
        // The interval before the hole is worth more than its field can say, so that the sender is the more
        // careful.
        let (sender, receiver) = (ends.p(), ends.receiver.snapshot().loss_event_rate.unwrap());
        assert!(receiver <= sender && sender < 1.2e-7, "{missing}: p is {sender}, {receiver} there");
        assert!(ends.rate() > 5e7, "{missing}: {}", ends.rate());
    }
}

/// 2^32 - 1 is the greatest Receive Rate (RFC 4342, Section 8.3): a sender of more must not take it for all
/// that arrives less and less of, but is limited to twice that.
#[test]
fn a_receive_rate_beyond_its_field_is_the_greatest_that_fits() {
    let mut ends = Ends::new(60_000);
    let mut rate = 0.0;
    for n in 0..900_000 {
        if ends.arrive(0) {
            assert!(ends.rate() >= rate * 0.999, "after {n} packets X fell from {rate} to {}", ends.rate());
            rate = ends.rate();
        }
    }
    assert!((1.99..2.01).contains(&(rate / f64::from(u32::MAX))), "{rate}");
}

/// An NDP Count beyond the hole before its packet says no more than that nothing in that had data, up to the
/// greatest, which stands for all larger ones.
#[test]
fn an_ndp_count_at_its_end_says_that_a_hole_had_no_data() {
    let run = |ndp_count| {
        let mut ends = Ends::new(SIZE);
        ends.ndp_count = ndp_count;
        for n in 0..200_000 {
            ends.arrive(if n % 1000 == 500 { 5 } else { 0 });
        }
        (ends.p(), ends.sender.snapshot().lost, ends.rate())
    };
    let exact = run(Some(5));
    for count in [6, 1 << 24, (1 << 48) - 2, (1 << 48) - 1] {
        assert_eq!(run(Some(count)), exact, "{count}");
    }
    assert_ne!(run(None), exact, "an NDP Count does say something");
}
