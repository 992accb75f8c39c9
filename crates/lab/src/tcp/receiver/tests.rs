use whimbrel_units::Duration;

use super::*;
use crate::tcp::{DelayedAck, LossDetection, Variant};

/// A receiver driven by numbers of segments of 1000 bytes.
struct Script {
    receiver: TcpReceiver,
    now: Instant,
}

impl Script {
    fn new(config: &TcpConfig) -> Self {
        Self { receiver: TcpReceiver::new(config), now: Instant::ZERO }
    }

    fn plain() -> Self {
        Self::new(&TcpConfig::rfc(Variant::Sack))
    }

    fn delayed() -> Self {
        let mut config = TcpConfig::rfc(Variant::NewReno);
        config.receiver.delayed_ack = Some(DelayedAck::STANDARD);
        Self::new(&config)
    }

    fn receive(&mut self, number: u64) -> &mut Self {
        self.receive_range(number * 1000, 1000, Flags::ACK)
    }

    fn receive_range(&mut self, seq: u64, length: u32, flags: Flags) -> &mut Self {
        self.receiver.handle_segment(self.now, &Segment { seq, length, flags, ..Segment::default() });
        self
    }

    fn acks(&mut self) -> Vec<Segment> {
        std::iter::from_fn(|| self.receiver.poll_transmit(self.now)).collect()
    }

    /// One acknowledgement of all before `number`.
    #[track_caller]
    fn acknowledges(&mut self, number: u64) -> &mut Self {
        assert_eq!(self.acks().iter().map(|segment| segment.ack).collect::<Vec<_>>(), [number * 1000]);
        self
    }

    #[track_caller]
    fn stays_silent(&mut self) -> &mut Self {
        assert_eq!(self.acks(), []);
        self
    }

    /// One acknowledgement, with blocks, in bytes.
    #[track_caller]
    fn reports(&mut self, ack: u64, blocks: &[(u64, u64)]) -> &mut Self {
        let acks = self.acks();
        assert_eq!(acks.len(), 1);
        let reported: Vec<_> = acks[0].sack.iter().map(|block| (block.start, block.end)).collect();
        assert_eq!((acks[0].ack, reported.as_slice()), (ack, blocks));
        self
    }
}

#[test]
fn every_segment_is_acknowledged_at_once() {
    Script::plain().receive(0).acknowledges(1).receive(1).acknowledges(2).stays_silent();
}

#[test]
fn what_is_out_of_order_is_acknowledged_as_before_and_kept() {
    let mut script = Script::plain();
    script.receive(0).acknowledges(1).receive(2).acknowledges(1).receive(3).acknowledges(1);
    assert_eq!((script.receiver.snapshot().delivered, script.receiver.snapshot().buffered), (1000, 2000));
    script.receive(1).acknowledges(4);
    let snapshot = script.receiver.snapshot();
    assert_eq!((snapshot.delivered, snapshot.buffered, snapshot.out_of_order), (4000, 0, 2));
}

#[test]
fn duplicates_are_acknowledged_and_not_delivered() {
    let mut script = Script::plain();
    script.receive(0).acknowledges(1).receive(0).acknowledges(1);
    script.receive(2).acknowledges(1).receive(2).acknowledges(1);
    let snapshot = script.receiver.snapshot();
    assert_eq!((snapshot.delivered, snapshot.duplicates, snapshot.segments), (1000, 2, 4));
}

#[test]
fn segments_of_any_cut_are_put_together() {
    let mut script = Script::plain();
    script.receive_range(1500, 1000, Flags::ACK).reports(0, &[(1500, 2500)]);
    script.receive_range(3000, 10, Flags::ACK).reports(0, &[(3000, 3010), (1500, 2500)]);
    // Over the first block and into the second.
    script.receive_range(0, 3005, Flags::ACK).reports(3010, &[]);
    assert_eq!(script.receiver.snapshot().delivered, 3010);
}

// RFC 2018, Section 7: the left window edge is 5000, segments have 500 bytes.
fn at_5000() -> Script {
    let mut script = Script::plain();
    script.receive_range(0, 5000, Flags::ACK).acks();
    script
}

#[test]
fn rfc_2018_case_1_the_last_four_of_eight_are_lost() {
    let mut script = at_5000();
    for number in 0..4 {
        script.receive_range(5000 + 500 * number, 500, Flags::ACK).reports(5500 + 500 * number, &[]);
    }
}

#[test]
fn rfc_2018_case_2_the_first_of_eight_is_lost() {
    let mut script = at_5000();
    for number in 1..8 {
        let end = 5500 + 500 * number;
        script.receive_range(5000 + 500 * number, 500, Flags::ACK).reports(5000, &[(5500, end)]);
    }
}

#[test]
fn rfc_2018_case_3_every_second_is_lost() {
    let mut script = at_5000();
    script.receive_range(5000, 500, Flags::ACK).reports(5500, &[]);
    script.receive_range(6000, 500, Flags::ACK).reports(5500, &[(6000, 6500)]);
    script.receive_range(7000, 500, Flags::ACK).reports(5500, &[(7000, 7500), (6000, 6500)]);
    script.receive_range(8000, 500, Flags::ACK).reports(5500, &[(8000, 8500), (7000, 7500), (6000, 6500)]);
    script.receive_range(6500, 500, Flags::ACK).reports(5500, &[(6000, 7500), (8000, 8500)]);
    script.receive_range(5500, 500, Flags::ACK).reports(7500, &[(8000, 8500)]);
}

#[test]
fn the_most_recent_blocks_are_reported_as_far_as_there_is_room() {
    for (blocks, timestamps, room) in [(4, false, 4), (3, false, 3), (4, true, 3), (0, false, 0)] {
        let mut config = TcpConfig::rfc(Variant::Sack);
        config.receiver.sack_blocks = blocks;
        config.timestamps = timestamps;
        let mut script = Script::new(&config);
        for number in [2, 4, 6, 8, 10] {
            script.receive(number);
        }
        let recent = [10u64, 8, 6, 4].map(|number| (number * 1000, number * 1000 + 1000));
        let last = *script.acks().last().expect("acknowledgements");
        assert_eq!(last.sack.iter().map(|b| (b.start, b.end)).collect::<Vec<_>>(), recent[..room]);
    }
}

#[test]
fn delayed_acks_cover_two_segments_or_wait_200_ms() {
    let mut script = Script::delayed();
    script.receive(0).stays_silent().receive(1).acknowledges(2);
    assert_eq!(script.receiver.poll_timeout(), None);
    script.now = Instant::from_millis(50);
    script.receive(2).stays_silent();
    assert_eq!(script.receiver.poll_timeout(), Some(Instant::from_millis(250)));
    script.receiver.handle_timeout(Instant::from_millis(249));
    script.stays_silent();
    script.now = Instant::from_millis(250);
    script.receiver.handle_timeout(script.now);
    script.acknowledges(3);
    assert_eq!(script.receiver.poll_timeout(), None);
}

#[test]
fn no_ack_is_delayed_while_data_is_missing() {
    let mut script = Script::delayed();
    script.receive(0).stays_silent();
    // A segment ahead of a gap covers the delayed one as well.
    script.receive(2).acknowledges(1);
    assert_eq!(script.receiver.poll_timeout(), None);
    script.receive(4).acknowledges(1);
    // Filling a gap, wholly or in part.
    script.receive(1).acknowledges(3);
    script.receive(3).acknowledges(5);
    // All is in order again.
    script.receive(5).stays_silent();
}

#[test]
fn a_duplicate_is_acknowledged_at_once_except_the_last_segment_in_ns_2() {
    let mut script = Script::delayed();
    script.receive(0).receive(1).acknowledges(2).receive(1).acknowledges(2);
    let mut config = TcpConfig::ns2(Variant::NewReno);
    config.receiver.delayed_ack = Some(DelayedAck::NS2);
    let mut script = Script::new(&config);
    script.receive(0).receive(1).acknowledges(2).receive(1).stays_silent();
    assert_eq!(script.receiver.poll_timeout(), Some(Instant::from_millis(100)));
    script.receive(0).acknowledges(2);
}

#[test]
fn a_fin_is_acknowledged_at_once_and_ends_the_data() {
    let mut script = Script::delayed();
    script.receive_range(1000, 500, Flags::ACK | Flags::FIN).acks();
    assert!(!script.receiver.snapshot().finished);
    script.receive(0);
    assert_eq!(script.acks().iter().map(|s| s.ack).collect::<Vec<_>>(), [1501]);
    assert_eq!((script.receiver.snapshot().finished, script.receiver.snapshot().delivered), (true, 1500));
    let mut script = Script::delayed();
    script.receive_range(0, 500, Flags::ACK | Flags::FIN);
    assert_eq!(script.acks().iter().map(|s| s.ack).collect::<Vec<_>>(), [501]);
}

#[test]
fn what_lies_beyond_the_window_is_dropped() {
    let mut config = TcpConfig::rfc(Variant::Sack);
    config.receiver.window = 2500;
    let mut script = Script::new(&config);
    script.receive(1).reports(0, &[(1000, 2000)]).receive(2).reports(0, &[(1000, 2000)]);
    assert_eq!((script.receiver.snapshot().beyond_window, script.receiver.snapshot().buffered), (1, 1000));
    script.receive(0).acknowledges(2).receive(3).reports(2000, &[(3000, 4000)]);
}

#[test]
fn congestion_is_echoed_until_the_sender_has_reacted() {
    let mut config = TcpConfig::rfc(Variant::NewReno);
    config.ecn = EcnMode::Classic;
    let mut script = Script::new(&config);
    let mut echoes = |seq: u64, flags: Flags| {
        script.receive_range(seq * 1000, 1000, flags);
        script.acks()[0].flags.contains(Flags::ECE)
    };
    let data = Flags::ACK | Flags::ECT;
    assert!(!echoes(0, data));
    assert!(echoes(1, data | Flags::CE));
    assert!(echoes(2, data));
    assert!(!echoes(3, data | Flags::CWR));
    // A mark on the segment that announces the reaction is a new one.
    assert!(echoes(4, data | Flags::CWR | Flags::CE));
    assert_eq!(script.receiver.snapshot().marked, 2);
}

/// RFC 9768, Sections 3.2.1 to 3.2.3: ACE starts at 5, EE1B at 1, ECEB at 0.
#[test]
fn accurate_feedback_counts_packets_and_bytes() {
    let mut config = TcpConfig::rfc(Variant::Sack);
    config.ecn = EcnMode::Accurate;
    let mut script = Script::new(&config);
    let mut feedback = |seq: u64, flags: Flags| {
        script.receive_range(seq * 1000, 1000, Flags::ACK | flags);
        let ack = script.acks()[0];
        (ack.flags.ace(), ack.ecn)
    };
    let counters = |ect1, ce| Some(EcnCounters { ect1, ce });
    assert_eq!(feedback(0, Flags::ECT1), (5, counters(1001, 0)));
    assert_eq!(feedback(1, Flags::ECT1 | Flags::CE), (6, counters(1001, 1000)));
    assert_eq!(feedback(2, Flags::NONE), (6, None), "no counter has changed");
    for packet in 3..6 {
        feedback(packet, Flags::ECT1 | Flags::CE);
    }
    assert_eq!(feedback(6, Flags::ECT1), (1, counters(2001, 4000)));
    assert_eq!(script.receiver.snapshot().marked, 4);
}

#[test]
fn a_change_of_marking_and_a_second_mark_are_acknowledged_at_once() {
    let mut config = TcpConfig::rfc(Variant::Sack);
    config.ecn = EcnMode::Accurate;
    config.receiver.delayed_ack = Some(DelayedAck { segments: 10, ..DelayedAck::STANDARD });
    let mut script = Script::new(&config);
    let mut acks = |seq: u64, is_marked: bool| {
        let mark = if is_marked { Flags::CE } else { Flags::NONE };
        script.receive_range(seq * 1000, 1000, Flags::ACK | Flags::ECT1 | mark);
        script.acks().len()
    };
    let marks = [false, false, true, true, true, true, true, false, false];
    let sent: Vec<usize> = (0..).zip(marks).map(|(seq, is_marked)| acks(seq, is_marked)).collect();
    assert_eq!(sent, [0, 0, 1, 0, 1, 0, 1, 1, 0]);
}

#[test]
fn the_option_is_left_out_where_blocks_leave_no_room() {
    let mut config = TcpConfig::rfc(Variant::Sack);
    config.ecn = EcnMode::Accurate;
    config.timestamps = true;
    let mut script = Script::new(&config);
    for (packet, has_room) in [(1, true), (3, true), (5, false)] {
        script.receive_range(packet * 1000, 1000, Flags::ACK | Flags::ECT1);
        let ack = script.acks()[0];
        assert_eq!(ack.ecn.is_some(), has_room, "{packet}");
        assert!(ack.header_length() <= 60);
    }
}

#[test]
fn an_ack_echoes_the_timestamp_of_the_earliest_segment_it_covers() {
    let mut config = TcpConfig::rfc(Variant::Sack);
    config.timestamps = true;
    config.receiver.delayed_ack = Some(DelayedAck::STANDARD);
    let mut receiver = TcpReceiver::new(&config);
    let mut echo = |seq: u64, value: u32, at: u64| {
        let timestamps = Some(Timestamps { value, echo: 0 });
        let segment = Segment { seq, length: 1000, flags: Flags::ACK, timestamps, ..Segment::default() };
        let now = Instant::ZERO + Duration::from_micros(at);
        receiver.handle_segment(now, &segment);
        receiver.poll_transmit(now).and_then(|ack| ack.timestamps).map(|t| (t.value, t.echo))
    };
    assert_eq!(echo(0, 100, 5), None);
    assert_eq!(echo(1000, 101, 6), Some((6, 100)));
    // Ahead of a gap: the last segment in order still counts (RFC 7323, Section 4.3, case B).
    assert_eq!(echo(3000, 103, 7), Some((7, 100)));
    assert_eq!(echo(2000, 102, 8), Some((8, 102)));
}

#[test]
fn a_syn_is_answered_every_time() {
    let mut script = Script::plain();
    for _ in 0..2 {
        script.receive_range(0, 0, Flags::SYN);
        let answers = script.acks();
        assert_eq!(answers.len(), 1);
        assert!(answers[0].flags.contains(Flags::SYN | Flags::ACK | Flags::SACK_PERMITTED));
        assert_eq!((answers[0].mss, answers[0].window), (1460, 1 << 30));
    }
    assert_eq!(script.receiver.snapshot().segments, 0);
}

/// Reports of data received twice, for the examples of RFC 2883.
fn with_duplicates() -> Script {
    let mut config = TcpConfig::rfc(Variant::Sack);
    config.receiver.duplicate_sack = true;
    Script::new(&config)
}

/// RFC 2883, Section 4.1.1: the acknowledgements of 3500 to 4499 are lost, and 3000 to 3499 is sent again.
#[test]
fn rfc_2883_reporting_a_duplicate_segment() {
    let mut script = with_duplicates();
    script.receive_range(0, 3000, Flags::ACK).acks();
    script.receive_range(3000, 500, Flags::ACK).reports(3500, &[]);
    script.receive_range(3500, 500, Flags::ACK).reports(4000, &[]);
    script.receive_range(3000, 500, Flags::ACK).reports(4000, &[(3000, 3500)]);
    // Once only.
    script.receive_range(4000, 500, Flags::ACK).reports(4500, &[]);
}

/// RFC 2883, Section 4.1.2: 4000 is lost, and 3000 to 3499 is sent again.
#[test]
fn rfc_2883_reporting_an_out_of_order_and_a_duplicate_segment() {
    let mut script = with_duplicates();
    script.receive_range(0, 4000, Flags::ACK).acks();
    script.receive_range(4500, 500, Flags::ACK).reports(4000, &[(4500, 5000)]);
    script.receive_range(3000, 500, Flags::ACK).reports(4000, &[(3000, 3500), (4500, 5000)]);
}

/// RFC 2883, Section 4.1.3: a duplicate of an out-of-order segment is followed by its block.
#[test]
fn rfc_2883_reporting_a_duplicate_of_an_out_of_order_segment() {
    let mut script = with_duplicates();
    script.receive_range(0, 4000, Flags::ACK).acks();
    script.receive_range(4500, 500, Flags::ACK).reports(4000, &[(4500, 5000)]);
    script.receive_range(5000, 500, Flags::ACK).reports(4000, &[(4500, 5500)]);
    script.receive_range(5000, 500, Flags::ACK).reports(4000, &[(5000, 5500), (4500, 5500)]);
    // A block of one segment is repeated.
    script.receive_range(7000, 500, Flags::ACK).reports(4000, &[(7000, 7500), (4500, 5500)]);
    let blocks = [(7000, 7500), (7000, 7500), (4500, 5500)];
    script.receive_range(7000, 500, Flags::ACK).reports(4000, &blocks);
}

/// RFC 2883, Section 4.2.1: two segments of 500 bytes are sent again as one of 1000, of which the second half
/// is new.
#[test]
fn rfc_2883_reporting_part_of_a_segment() {
    let mut script = with_duplicates();
    script.receive_range(0, 1000, Flags::ACK).acks();
    script.receive_range(500, 1000, Flags::ACK).reports(1500, &[(500, 1000)]);
    // Above the cumulative acknowledgement: the first part that was received before.
    script.receive_range(3000, 500, Flags::ACK).receive_range(4000, 500, Flags::ACK).acks();
    script.receive_range(2500, 2500, Flags::ACK).reports(1500, &[(3000, 3500), (2500, 5000)]);
}

#[test]
fn without_d_sack_duplicates_are_not_reported() {
    let mut script = Script::plain();
    script.receive(0).receive(2).acks();
    script.receive(0).reports(1000, &[(2000, 3000)]);
    script.receive(2).reports(1000, &[(2000, 3000)]);
}

/// RFC 7323, Section 4.3: the timestamp echoed never goes back.
#[test]
fn an_original_that_comes_after_its_retransmission_leaves_the_timestamp() {
    let mut config = TcpConfig::rfc(Variant::Sack);
    config.timestamps = true;
    let mut script = Script::new(&config);
    for (value, echo) in [(10, 10), (30, 30), (20, 30)] {
        let timestamps = Some(Timestamps { value, echo: 0 });
        let segment = Segment { length: 1000, flags: Flags::ACK, timestamps, ..Segment::default() };
        script.receiver.handle_segment(script.now, &segment);
        assert_eq!(script.acks()[0].timestamps.map(|timestamps| timestamps.echo), Some(echo));
    }
}

#[test]
fn data_that_is_repaired_at_the_end_is_delivered_at_once_and_acknowledged_by_its_number() {
    let mut config = TcpConfig::rfc(Variant::Sack);
    config.recovery.detection = LossDetection::AtTheEnd;
    config.receiver.window = 2000;
    let mut script = Script::new(&config);
    let acknowledged = |script: &mut Script, number: u64, flags: Flags| {
        script.receive_range(number * 1000, 1000, flags);
        let acks = script.acks();
        acks.iter().map(|ack| (ack.seq, ack.ack, ack.sack.len())).collect::<Vec<_>>()
    };
    assert_eq!(acknowledged(&mut script, 7, Flags::ACK), [(7000, 8000, 0)]);
    assert_eq!(acknowledged(&mut script, 0, Flags::ACK), [(0, 1000, 0)]);
    // A second copy is acknowledged and not delivered; a FIN is no data.
    assert_eq!(acknowledged(&mut script, 7, Flags::ACK), [(7000, 8000, 0)]);
    assert_eq!(acknowledged(&mut script, 8, Flags::ACK | Flags::FIN), [(8000, 9001, 0)]);
    let snapshot = script.receiver.snapshot();
    assert_eq!((snapshot.delivered, snapshot.duplicates, snapshot.acks), (3000, 1, 4));
}
