use proptest::prelude::*;
use whimbrel_control::loss_differentiation::{Differentiation, Scheme};
use whimbrel_wire::option::tfrc::RttEstimate;

use super::*;
use crate::Config;
use crate::ccid::ccid3;
use crate::config::LossDetection;

mod freezing;
mod ordering;
mod reported_rtt;

fn ms(ms: u64) -> Instant {
    Instant::from_millis(ms)
}

fn seq(n: u64) -> SeqNo {
    SeqNo::new(n)
}

/// A receiver that expects packet 1 next, of a sender 100 ms away.
fn receiver_of(config: &Config) -> Receiver {
    receiver_from(config, seq(1))
}

fn receiver_from(config: &Config, next_sequence: SeqNo) -> Receiver {
    let half = config.half_connection(ms(0), 1000, Some(Duration::from_millis(100)), next_sequence);
    Receiver::new(&half, ccid3::VARIANT, config.ccids.tfrc().expect("CCID 3"))
}

fn receiver() -> Receiver {
    receiver_of(&Config::default())
}

/// Packet n of 1000 bytes, sent at 10 n ms by a sender that counts quarters of 100 ms.
fn data(n: u64) -> ReceivedPacket<'static> {
    ReceivedPacket {
        sequence: seq(n),
        packet_type: PacketType::Data,
        ccval: (n * 10 / 25 % 16) as u8,
        payload: 1000,
        ecn: Ecn::Ect0,
        corrupt: false,
        discarded: false,
        options: &[],
        ndp_count: None,
        rtt_hint: Some(Duration::from_millis(100)),
        arrived: None,
    }
}

fn ack(n: u64) -> ReceivedPacket<'static> {
    ReceivedPacket { packet_type: PacketType::Ack, payload: 0, ccval: 0, ..data(n) }
}

/// A feedback, taken apart.
#[derive(Clone, PartialEq, Debug)]
struct ReceiverReport {
    at: u64,
    elapsed: Duration,
    receive_rate: u32,
    skip: u8,
    /// (lossless, lossy, data), the newest first.
    intervals: Vec<(u32, u32, u32)>,
    loss_event_rate: Option<u32>,
}

fn report(receiver: &mut Receiver, now: Instant, ack: u64) -> ReceiverReport {
    let mut options = Options::new();
    receiver.write_feedback(now, seq(ack), &mut options);
    let mut report = ReceiverReport {
        at: now.as_nanos() / 1_000_000,
        elapsed: Duration::MAX,
        receive_rate: u32::MAX,
        skip: u8::MAX,
        intervals: Vec::new(),
        loss_event_rate: None,
    };
    for option in &options {
        match option {
            DccpOption::ElapsedTime(elapsed) => report.elapsed = Duration::from_nanos(elapsed.nanos()),
            other => match TfrcOption::parse(other).expect("an option of this CCID") {
                TfrcOption::ReceiveRate(rate) => report.receive_rate = rate,
                TfrcOption::LossEventRate(inverse) => report.loss_event_rate = Some(inverse),
                TfrcOption::LossIntervals(intervals) => {
                    report.skip = intervals.skip_length;
                    report.intervals =
                        intervals.iter().map(|i| (i.lossless_length, i.loss_length, i.data_length)).collect();
                }
                TfrcOption::Unfrozen => {}
                other => panic!("{other:?}"),
            },
        }
    }
    report
}

/// Lets packets arrive 50 ms after they are sent, and timers fire between them; collects feedback.
fn arrive<'a>(
    receiver: &mut Receiver,
    packets: impl IntoIterator<Item = ReceivedPacket<'a>>,
) -> Vec<ReceiverReport> {
    let mut reports = Vec::new();
    for packet in packets {
        let now = ms(packet.sequence.value() * 10 + 50);
        while let Some(deadline) = receiver.poll_timeout().filter(|deadline| *deadline <= now) {
            receiver.handle_timeout(deadline);
            if receiver.feedback_due(deadline) {
                let greatest = SeqNo::new(receiver.law.tfrc().greatest()).value();
                reports.push(self::report(receiver, deadline, greatest));
            }
        }
        receiver.on_received(now, packet);
        if receiver.feedback_due(now) {
            let greatest = SeqNo::new(receiver.law.tfrc().greatest()).value();
            reports.push(self::report(receiver, now, greatest));
        }
        assert!(!receiver.feedback_due(now));
    }
    reports
}

fn but(lost: &'static [u64]) -> impl Fn(&u64) -> bool {
    move |n| !lost.contains(n)
}

#[test]
fn the_first_data_packet_is_answered_with_nothing_measured() {
    let reports = arrive(&mut receiver(), [data(1)]);
    let expected = ReceiverReport {
        at: 60,
        elapsed: Duration::ZERO,
        receive_rate: 0,
        skip: 0,
        intervals: vec![(1, 0, 0)],
        loss_event_rate: None,
    };
    assert_eq!(reports, [expected]);
}

#[test]
fn feedback_is_due_when_the_counter_has_advanced_by_four() {
    let reports = arrive(&mut receiver(), (1..=60).map(data));
    // Counter 0 is on packets 1 and 2; 4 from packet 10 on, 8 from 20, 12 from 30, 0 from 40.
    let at: Vec<u64> = reports.iter().map(|report| report.at).collect();
    assert_eq!(at, [60, 150, 250, 350, 450, 550, 650]);
    // Ten packets in 100 ms.
    assert!(reports[2..].iter().all(|report| report.receive_rate == 100_000), "{reports:?}");
    assert_eq!(reports[6].intervals, [(60, 0, 0)]);
}

#[test]
fn a_loss_is_reported_at_once() {
    let mut receiver = receiver();
    let reports = arrive(&mut receiver, (1..=60).filter(but(&[33])).map(data));
    let lossy = reports.iter().find(|report| report.intervals.len() == 2).expect("a report of the loss");
    // 33 is missed when 36 arrives. Intervals: 33..37, 1..33; the first is worth X_recv.
    assert_eq!((lossy.at, lossy.skip, lossy.intervals[0]), (410, 0, (3, 1, 4)));
    assert_eq!((lossy.intervals[1].0, lossy.intervals[1].1), (32, 0));
    assert_eq!(receiver.snapshot().lost, 1);
}

/// RFC 5348, Section 6.
#[test]
fn a_late_packet_that_revokes_a_loss_event_is_reported_at_once() {
    let mut receiver = receiver();
    let reports = arrive(&mut receiver, (1..=30).filter(but(&[21])).map(data));
    assert_eq!(reports.last().unwrap().intervals.len(), 2);
    receiver.on_received(ms(355), data(21));
    assert!(receiver.feedback_due(ms(355)));
    assert_eq!(report(&mut receiver, ms(355), 30).intervals, [(30, 0, 0)]);
}

#[test]
fn without_forgiveness_it_stays_lost() {
    let mut config = Config::default();
    config.tune_tfrc(|tfrc| tfrc.forgive_late = false);
    let mut receiver = receiver_of(&config);
    arrive(&mut receiver, (1..=30).filter(but(&[21])).map(data));
    receiver.on_received(ms(355), data(21));
    assert!(!receiver.feedback_due(ms(355)));
    assert_eq!(receiver.law.tfrc().history().intervals().len(), 2);
}

#[test]
fn without_a_feedback_timer_only_data_make_reports() {
    for feedback_timer in [true, false] {
        let mut config = Config::default();
        config.tune_tfrc(|tfrc| tfrc.feedback_timer = feedback_timer);
        let mut receiver = receiver_of(&config);
        arrive(&mut receiver, (1..=30).map(data));
        receiver.on_received(ms(310), data(31));
        assert!(!receiver.feedback_due(ms(310)));
        // The path breaks: nothing arrives any more.
        receiver.handle_timeout(ms(5000));
        assert_eq!(receiver.feedback_due(ms(5000)), feedback_timer);
        receiver.on_received(ms(6000), data(32));
        assert!(receiver.feedback_due(ms(6000)));
    }
}

/// RFC 5348, Section 5.5.
#[test]
fn without_history_discounting_a_long_lossless_time_counts_as_one_interval() {
    let average = |history_discounting| {
        let mut config = Config::default();
        config.tune_tfrc(|tfrc| tfrc.history_discounting = history_discounting);
        let mut receiver = receiver_of(&config);
        arrive(&mut receiver, (1..=700).filter(|n| n % 20 != 0 || *n > 200).map(data));
        1.0 / receiver.snapshot().loss_event_rate.unwrap()
    };
    // The open interval has 501 packets, seven of twenty packets weigh five: (501 + 5 20)/6.
    assert!((average(false) - (501.0 + 5.0 * 20.0) / 6.0).abs() < 1.0, "{}", average(false));
    assert!(average(true) > 200.0, "{}", average(true));
}

#[test]
fn one_later_packet_is_enough_with_detection_by_the_first_packet() {
    for (detection, losses) in [(LossDetection::FirstPacket, 1), (LossDetection::Packets, 0)] {
        let mut config = Config::default();
        config.receive.loss_detection = detection;
        let mut receiver = receiver_of(&config);
        arrive(&mut receiver, (1..=22).filter(but(&[21])).map(data));
        assert_eq!(receiver.law.tfrc().history().intervals().len(), 1 + losses, "{detection:?}");
    }
}

/// RFC 4342, Section 8.6.1: at least the nine most recent ones.
#[test]
fn nine_loss_intervals_are_reported() {
    let mut receiver = receiver();
    let reports = arrive(&mut receiver, (1..=300).filter(|n| n % 20 != 0).map(data));
    let last = reports.last().unwrap();
    assert_eq!(last.intervals.len(), 9);
    assert_eq!(last.intervals[1..], [(19, 1, 20); 8]);
}

#[test]
fn packets_behind_a_gap_are_skipped_until_it_is_decided() {
    let mut receiver = receiver();
    arrive(&mut receiver, (1..=29).map(data));
    // Packet 30, with which feedback would have been due, is missing; 31 brings it.
    let reports = arrive(&mut receiver, [data(31)]);
    assert_eq!((reports[0].skip, &reports[0].intervals[..]), (2, &[(29, 0, 0)][..]));
}

#[test]
fn of_a_large_gap_three_packets_are_skipped() {
    let mut receiver = receiver();
    arrive(&mut receiver, (1..=20).map(data));
    let reports = arrive(&mut receiver, [data(31)]);
    assert_eq!((reports[0].skip, &reports[0].intervals[..]), (3, &[(28, 0, 0)][..]));
}

#[test]
fn a_mark_begins_an_interval() {
    let mut receiver = receiver();
    arrive(&mut receiver, (1..=19).map(data));
    let reports = arrive(&mut receiver, [ReceivedPacket { ecn: Ecn::Ce, ..data(20) }]);
    assert_eq!(reports[0].intervals[0], (0, 1, 1));
    assert_eq!(receiver.snapshot().marked, 1);
}

#[test]
fn a_mark_on_an_acknowledgement_is_nothing() {
    let mut receiver = receiver();
    arrive(&mut receiver, (1..=18).map(data));
    assert_eq!(arrive(&mut receiver, [ReceivedPacket { ecn: Ecn::Ce, ..ack(19) }]), []);
    assert_eq!(receiver.snapshot().loss_event_rate, Some(0.0));
}

/// RFC 4340, Section 7.7: the NDP Count of 2 says that the two packets before 23 had no data.
#[test]
fn missing_packets_that_carried_no_data_are_no_loss() {
    let mut receiver = receiver();
    arrive(&mut receiver, (1..=20).map(data));
    arrive(&mut receiver, [ReceivedPacket { ndp_count: Some(2), ..data(23) }]);
    arrive(&mut receiver, (24..=40).map(data));
    assert_eq!(receiver.snapshot().loss_event_rate, Some(0.0));
    assert_eq!(receiver.snapshot().lost, 0);
}

#[test]
fn packets_without_data_do_not_count_in_the_data_length() {
    let mut receiver = receiver();
    arrive(&mut receiver, (1..=30).filter(but(&[21])).map(data));
    // From 31 to 50 every other packet is an acknowledgement of the other half-connection.
    let reports = arrive(&mut receiver, (31..=50).map(|n| if n % 2 == 0 { ack(n) } else { data(n) }));
    let last = reports.last().unwrap();
    let (lossless, lossy, data_length) = last.intervals[0];
    let acks = (31..=last.at / 10 - 5).filter(|n| n % 2 == 0).count() as u32;
    assert!(acks > 0);
    assert_eq!(lossless + lossy - data_length, acks);
}

#[test]
fn the_loss_event_rate_is_sent_when_requested() {
    let mut receiver = receiver();
    receiver.on_feature(ms(0), FeatureNumber::SendLossEventRate, 1);
    let reports = arrive(&mut receiver, (1..=100).filter(but(&[33, 60])).map(data));
    assert_eq!(reports[0].loss_event_rate, Some(tfrc::NO_LOSS_EVENT));
    let last = reports.last().unwrap();
    let lengths: Vec<f64> = last.intervals.iter().map(|interval| f64::from(interval.2)).collect();
    let p = whimbrel_control::tfrc::loss_intervals::loss_event_rate(&lengths);
    assert_eq!(last.loss_event_rate, Some(p.to_inverse()), "{last:?}");
}

#[test]
fn the_elapsed_time_counts_from_the_acknowledged_packet() {
    let mut receiver = receiver();
    arrive(&mut receiver, (1..=9).map(data));
    receiver.on_received(ms(150), data(10));
    let report = report(&mut receiver, ms(157), 10);
    assert_eq!(report.elapsed, Duration::from_millis(7));
}

#[test]
fn a_packet_not_passed_to_the_receiver_can_be_acknowledged() {
    let mut receiver = receiver();
    arrive(&mut receiver, (1..=9).map(data));
    receiver.on_received(ms(150), data(10));
    let report = report(&mut receiver, ms(157), 11);
    assert_eq!((report.elapsed, &report.intervals[..]), (Duration::ZERO, &[(11, 0, 0)][..]));
}

/// Data is lost for 80 s, then three packets without data arrive, by which it is known to be lost, and
/// data right behind these.
#[test]
fn an_outage_that_a_packet_without_data_ends_is_no_round_trip_time() {
    for first in [3, 30] {
        let mut receiver = receiver();
        arrive(&mut receiver, (1..=first).map(data));
        let before = receiver.snapshot().rtt;
        for number in first + 20..first + 23 {
            receiver.on_received(ms(80_000), ack(number));
        }
        let ccval = (data(first).ccval + 4) % 16;
        receiver.on_received(ms(80_000), ReceivedPacket { ccval, ..data(first + 23) });
        assert_eq!(receiver.snapshot().rtt, before, "after {first} packets");
    }
}

#[test]
fn a_slow_sender_is_answered_packet_by_packet() {
    let mut receiver = receiver();
    // A packet every 400 ms with the counter five ahead each time.
    for i in 0..10u64 {
        let now = ms(i * 400);
        receiver.handle_timeout(now);
        receiver.on_received(now, ReceivedPacket { ccval: (5 * i % 16) as u8, ..data(i + 1) });
        assert!(receiver.feedback_due(now), "packet {i}");
        report(&mut receiver, now, i + 1);
    }
}

#[test]
fn a_sender_that_leaves_the_counter_alone_still_gets_feedback() {
    let still = |n| ReceivedPacket { ccval: 0, ..data(n) };
    let reports = arrive(&mut receiver(), (1..=100).map(still));
    let at: Vec<u64> = reports.iter().map(|report| report.at).collect();
    assert_eq!(at, [60, 260, 460, 660, 860]);
}

#[test]
fn a_handshake_that_ends_with_data_begins_with_it() {
    let mut receiver = receiver();
    // The packet by which the connection learned of its peer is number 0.
    receiver.on_received(ms(50), ReceivedPacket { packet_type: PacketType::DataAck, ..data(0) });
    assert!(receiver.feedback_due(ms(50)));
    assert_eq!(report(&mut receiver, ms(50), 0).intervals, [(1, 0, 0)]);
}

#[test]
fn the_sequence_numbers_may_wrap() {
    let start = SeqNo::new(SeqNo::MODULUS - 30);
    let mut receiver = receiver_from(&Config::default(), start);
    for n in (0..60).filter(|n| *n != 40) {
        let packet = ReceivedPacket { sequence: start.add(n), ..data(n) };
        receiver.on_received(ms(n * 10), packet);
    }
    let lengths: Vec<u64> =
        receiver.law.tfrc().history().intervals().iter().map(|i| i.end - i.first).collect();
    assert_eq!(lengths, [20, 40]);
}

#[test]
fn with_known_causes_wireless_losses_count_as_received() {
    let mut config = Config::default();
    config.tune_tfrc(|tfrc| tfrc.differentiation = Some(Differentiation::unguarded(Scheme::Omniscient)));
    let mut receiver = receiver_of(&config);
    for n in [33, 34, 50] {
        receiver.on_loss_cause(seq(n), LossClass::Wireless);
    }
    arrive(&mut receiver, (1..=80).filter(but(&[33, 34, 50, 70])).map(data));
    let snapshot = receiver.snapshot();
    assert_eq!((snapshot.lost, snapshot.lost_wireless), (4, 3));
    assert_eq!(receiver.law.tfrc().history().intervals().len(), 2, "packet 70 alone was lost to congestion");
}

proptest! {
    #[test]
    fn whatever_arrives_a_sender_can_read_the_reports(
        packets in proptest::collection::vec(
            (0u64..400, 0u64..200, 0u8..16, any::<bool>(), 0u8..8, proptest::option::of(0u64..6)), 1..150),
        reported: bool,
    ) {
        let mut receiver = receiver();
        receiver.on_feature(ms(0), FeatureNumber::SendRttEstimate, u64::from(reported));
        receiver.on_feature(ms(0), FeatureNumber::SendLossEventRate, 1);
        let mut record = super::super::loss_record::LossRecord::new(seq(1));
        let options = [RttEstimate::Micros(50_000).to_option()];
        let mut now = ms(0);
        for (n, wait, ccval, is_data, ecn, ndp_count) in packets {
            now += Duration::from_millis(wait);
            receiver.handle_timeout(now);
            let packet_type = if is_data { PacketType::Data } else { PacketType::Ack };
            let ecn = if ecn == 0 { Ecn::Ce } else { Ecn::Ect0 };
            receiver.on_received(now, ReceivedPacket { packet_type, ccval, ecn, ndp_count, options: &options, ..data(n + 1) });
            if receiver.feedback_due(now) {
                let mut options = Options::new();
                let greatest = SeqNo::new(receiver.law.tfrc().greatest());
                receiver.write_feedback(now, greatest, &mut options);
                prop_assert!(record.update(greatest, &options).is_some(), "{options:?}");
                let p = record.loss_event_rate().as_f64();
                prop_assert!((0.0..=1.0).contains(&p));
                prop_assert_eq!(p == 0.0, receiver.snapshot().loss_event_rate == Some(0.0));
            }
            prop_assert!(!receiver.feedback_due(now));
            prop_assert!(receiver.poll_timeout().is_none_or(|deadline| deadline > now));
        }
    }
}

#[test]
fn packets_processed_together_count_from_their_arrival() {
    use whimbrel_control::loss_differentiation::Evidence;
    let mut config = Config::default();
    config.tune_tfrc(|tfrc| tfrc.differentiation = Some(Differentiation::unguarded(Scheme::Biaz)));
    let evidence = |knows: bool| {
        let mut receiver = receiver_of(&config);
        // Four at a time are shown, 10 ms after the last of them arrived; number 30 is lost.
        for n in (1..60).filter(|n| *n != 30) {
            let shown = ms((n / 4 * 4 + 4) * 10);
            let arrived = knows.then_some(ms(n * 10));
            receiver.on_received(shown, ReceivedPacket { arrived, ..data(n) });
        }
        let verdict = receiver.take_verdict().expect("a loss");
        let Evidence::InterArrival { interval, minimum, .. } = verdict.evidence else {
            panic!("{verdict:?}")
        };
        (interval.as_millis(), minimum.as_millis())
    };
    assert_eq!(evidence(true), (20, 10));
    assert_eq!(evidence(false), (0, 0), "which is why it matters");
}

#[test]
fn the_time_before_processing_counts_as_elapsed() {
    let mut receiver = receiver();
    receiver.on_received(ms(50), ReceivedPacket { arrived: Some(ms(30)), ..data(1) });
    let mut options = Options::new();
    receiver.write_feedback(ms(51), seq(1), &mut options);
    let elapsed = Elapsed::from_nanos(21_000_000);
    assert!(options.contains(&DccpOption::ElapsedTime(elapsed)), "{options:?}");
}

/// RFC 5348, Section 6.2, step 2, counts what came within a round-trip time, or since the feedback timer
/// expired, with or without anything to report.
#[test]
fn an_outage_is_not_in_the_receive_rate() {
    for reported in [true, false] {
        let mut receiver = receiver();
        receiver.on_feature(ms(0), FeatureNumber::SendRttEstimate, u64::from(reported));
        arrive(&mut receiver, (1..200).map(data));
        let after = arrive(&mut receiver, (3000..3001).map(data)).pop().expect("it is answered at once");
        assert_eq!((after.at, after.receive_rate), (30_050, 10_000), "{reported}");
        // Even if the timer could not expire because the process was stopped.
        receiver.on_received(ms(60_000), data(3001));
        receiver.handle_timeout(ms(60_000));
        let after = report(&mut receiver, ms(60_000), 3001);
        assert_eq!(after.receive_rate, 10_000, "{reported}");
    }
}
