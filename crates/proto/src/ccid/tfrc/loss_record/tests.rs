use whimbrel_wire::option::OptionBytes;
use whimbrel_wire::option::tfrc::{self, LossInterval};

use super::*;

mod saturation;

fn seq(n: u64) -> SeqNo {
    SeqNo::new(n)
}

/// A report of (lossless, lossy, data) lengths, the newest interval first.
fn report(skip: u8, intervals: &[(u32, u32, u32)]) -> Vec<DccpOption> {
    let intervals = intervals.iter().map(|&(lossless_length, loss_length, data_length)| LossInterval {
        lossless_length,
        loss_length,
        data_length,
        nonce: false,
    });
    tfrc::loss_intervals(skip, intervals).collect()
}

fn record() -> LossRecord {
    LossRecord::new(seq(0))
}

/// RFC 4342, Section 8.6.2, byte by byte.
#[test]
fn the_example_of_the_rfc_is_read_as_it_says() {
    let data = [
        2, 0, 0, 10, 128, 0, 1, 0, 0, 10, 0, 0, 8, 0, 0, 5, 0, 0, 10, 0, 0, 8, 0, 0, 1, 0, 0, 8, 0, 0, 10,
        128, 0, 0, 0, 0, 15,
    ];
    let option =
        DccpOption::CcidSpecific { kind: tfrc::LOSS_INTERVALS, data: OptionBytes::from_slice(&data) };
    let mut record = record();
    assert_eq!(record.update(seq(44), &[option]), Some(true));
    let places: Vec<[u64; 3]> = record
        .intervals
        .iter()
        .map(|interval| [interval.first, interval.lossy_end, interval.end].map(SeqNo::value))
        .collect();
    assert_eq!(places, [[32, 33, 43], [19, 24, 32], [10, 11, 19], [0, 0, 10]]);
    // Data lengths 10, 10, 8, 15: (10 + 8 + 15)/3 = 11.
    assert!((record.loss_event_rate().as_f64() - 1.0 / 11.0).abs() < 1e-12);
}

#[test]
fn before_any_loss_there_is_one_interval_and_no_rate() {
    let mut record = record();
    assert_eq!(record.update(seq(9), &report(0, &[(10, 0, 0)])), Some(false));
    assert!(record.loss_event_rate().is_zero());
}

#[test]
fn a_loss_event_is_reported_once() {
    let mut record = record();
    assert_eq!(record.update(seq(19), &report(0, &[(9, 1, 10), (10, 0, 50)])), Some(true));
    assert_eq!(record.update(seq(29), &report(0, &[(19, 1, 20), (10, 0, 50)])), Some(false));
    assert_eq!(record.update(seq(39), &report(0, &[(4, 1, 5), (24, 1, 25), (10, 0, 50)])), Some(true));
}

#[test]
fn intervals_that_are_not_repeated_are_kept() {
    let mut record = record();
    record.update(seq(39), &report(0, &[(4, 1, 5), (24, 1, 25), (10, 0, 50)]));
    // The interval that was open has closed, and another has begun.
    record.update(seq(59), &report(0, &[(9, 1, 10), (14, 1, 15)]));
    let lengths: Vec<f64> = record.lengths(Interval::counted).to_vec();
    assert_eq!(lengths, [10.0, 15.0, 25.0, 50.0]);
}

#[test]
fn an_open_interval_alone_is_worth_its_length() {
    let mut record = record();
    record.update(seq(1019), &report(0, &[(19, 1, 20)]));
    assert_eq!(record.loss_event_rate(), LossEventRate::new(0.05));
}

#[test]
fn reports_that_break_the_rules_are_none() {
    let mut record = record();
    let invalid = [
        // Four packets skipped.
        report(4, &[(10, 0, 0)]),
        // Nothing reported.
        report(0, &[]),
        // A loss interval without data packets, and one with more than it has packets.
        report(0, &[(9, 1, 0), (10, 0, 50)]),
        report(0, &[(9, 1, 11), (10, 0, 50)]),
        // An interval without a loss that is not the first.
        report(0, &[(9, 0, 9), (4, 1, 5), (10, 0, 50)]),
        // More packets than were sent.
        report(0, &[(9, 1, 10), (100_000, 0, 50)]),
        Vec::new(),
    ];
    for options in invalid {
        assert_eq!(record.update(seq(44), &options), None, "{options:?}");
    }
    assert_eq!(record.update(SeqNo::ZERO.previous(), &report(0, &[(10, 0, 0)])), None, "acks the unsent");
}

#[test]
fn later_options_continue_the_first_unless_they_skip() {
    let mut record = record();
    let mut options = report(1, &[(9, 1, 10)]);
    options.extend(report(2, &[(1, 1, 2)]));
    options.extend(report(0, &[(4, 1, 5), (5, 0, 7)]));
    record.update(seq(20), &options);
    assert_eq!(record.lengths(Interval::counted).to_vec(), [10.0, 5.0, 7.0]);
}

/// Packet 30 lies in the lossless part of 20..40: the interval becomes 20..30 and 30..40.
#[test]
fn data_dropped_cuts_an_interval() {
    let mut record = record();
    record.update(seq(39), &report(0, &[(19, 1, 20), (20, 0, 50)]));
    let (now, rtt) = (Instant::from_secs(1), Duration::from_millis(100));
    assert!(record.on_dropped(seq(30), now, rtt));
    assert!(!record.on_dropped(seq(31), now + rtt, rtt), "within a round-trip time");
    assert_eq!(record.lengths(Interval::counted).to_vec(), [10.0, 10.0, 50.0]);
    // The loss is remembered in later reports, and a loss of the receiver's own in the same place is not
    // counted twice.
    record.update(seq(49), &report(0, &[(29, 1, 30), (20, 0, 50)]));
    assert_eq!(record.lengths(Interval::counted).to_vec(), [20.0, 10.0, 50.0]);
    record.update(seq(49), &report(0, &[(10, 20, 30), (20, 0, 50)]));
    assert_eq!(record.lengths(Interval::counted).to_vec(), [30.0, 50.0]);
}

/// Packets that go every 10 ms, number n at 10 n ms, to a receiver 100 ms away and back.
fn sent(sequence: SeqNo) -> Option<Instant> {
    Some(Instant::from_millis(sequence.value() * 10))
}
const RTT: Duration = Duration::from_millis(100);

/// RFC 4828, Section 4.4: an interval of 15 packets, 150 ms, counts each of its 3 losses; one of 25 packets,
/// 250 ms, counts once. The open one, 100 ms old, does not count.
#[test]
fn of_small_packets_each_loss_of_a_short_interval_counts() {
    let mut record = record();
    record.update(seq(100), &report(0, &[(10, 1, 11), (5, 10, 15), (20, 5, 25), (50, 0, 100)])).unwrap();
    record.count_losses([1, 3, 2, 0].into_iter(), sent, RTT);
    assert_eq!(record.lengths(Interval::counted).to_vec(), [11.0, 5.0, 25.0, 100.0]);
    assert_eq!(record.loss_event_rate(), LossEventRate::from_average_interval((5.0 + 25.0 + 100.0) / 3.0));
    assert_eq!(record.losses(), 6);
    // A plausible average is not bounded by what short intervals count for.
    assert_eq!(record.longest(), 100.0);
}

/// RFC 5622, Section 8.7.
#[test]
fn a_drop_count_is_the_loss_length_if_it_is_missing_or_too_large() {
    let counted = |counts: &[u32]| {
        let mut record = record();
        record.update(seq(100), &report(0, &[(10, 1, 11), (5, 10, 15), (5, 10, 15), (60, 0, 100)])).unwrap();
        record.count_losses(counts.iter().copied(), sent, RTT);
        record.lengths(Interval::counted)[1..3].to_vec()
    };
    assert_eq!(counted(&[1, 3, 5]), [5.0, 3.0]);
    assert_eq!(counted(&[1, 3]), [5.0, 1.5]);
    assert_eq!(counted(&[]), [1.5, 1.5]);
    assert_eq!(counted(&[1, 11, 0xff_ffff, 4, 4, 4]), [1.5, 1.5]);
}

/// Intervals that a report leaves out, because it need not repeat them, keep their counts; counts beyond
/// those reported are ignored.
#[test]
fn drop_counts_belong_to_the_intervals_they_come_with() {
    let mut record = record();
    record.update(seq(100), &report(0, &[(5, 10, 15), (5, 10, 15), (70, 0, 100)])).unwrap();
    record.count_losses([2, 3, 0].into_iter(), sent, RTT);
    record.update(seq(115), &report(0, &[(10, 5, 15)])).unwrap();
    record.count_losses([4, 9, 9].into_iter(), sent, RTT);
    assert_eq!(record.lengths(Interval::counted).to_vec(), [3.75, 7.5, 5.0, 100.0]);
    assert_eq!(record.losses(), 9);
}

#[test]
fn an_interval_is_classified_when_it_closes() {
    let mut record = record();
    record.update(seq(100), &report(0, &[(5, 10, 15), (85, 0, 100)])).unwrap();
    record.count_losses([3, 0].into_iter(), sent, RTT);
    assert_eq!(record.loss_event_rate(), LossEventRate::from_average_interval(100.0));
    // 300 ms long by now.
    record.update(seq(115), &report(0, &[(20, 10, 30), (85, 0, 100)])).unwrap();
    record.count_losses([3, 0].into_iter(), sent, RTT);
    assert_eq!(record.lengths(Interval::counted).to_vec(), [30.0, 100.0]);
    // The next event's first packet ends it, 300 ms long; a longer round-trip time changes nothing later.
    for (ack, rtt) in [(120, RTT), (121, RTT * 5)] {
        let open = u32::try_from(ack - 115).unwrap();
        record.update(seq(ack), &report(0, &[(open - 1, 1, open), (20, 10, 30), (85, 0, 100)])).unwrap();
        record.count_losses([1, 3, 0].into_iter(), sent, rtt);
    }
    assert_eq!(record.lengths(Interval::counted)[1], 30.0);
}

/// Of a synthetic history, the newest interval is reported, in the place of the one that it replaces: it has
/// no loss.
const MADE_UP: [(u32, u32, u32); 2] = [(4, 1, 5), (5, 0, 400)];

#[test]
fn a_synthetic_history_while_probing_stands_for_eight_intervals() {
    let mut record = record();
    record.update(seq(39), &report(0, &[(4, 1, 5), (24, 1, 25), (10, 0, 50)]));
    record.expect_fit(8);
    assert_eq!(record.update(seq(44), &report(0, &MADE_UP)), Some(true), "a new event");
    assert_eq!(
        record.lengths(Interval::counted)[..],
        [5.0, 400.0, 400.0, 400.0, 400.0, 400.0, 400.0, 400.0, 400.0]
    );
    assert!((record.loss_event_rate().as_f64() - 1.0 / 400.0).abs() < 1e-12);
    // 605 packets later: (605 + 5 400)/6.
    record.update(seq(644), &report(0, &[(604, 1, 605), (5, 0, 400)]));
    assert!((record.loss_event_rate().as_f64() - 6.0 / 2605.0).abs() < 1e-12);
    // Another loss: seven of the eight are left.
    record.update(seq(654), &report(0, &[(9, 1, 10), (604, 1, 605), (5, 0, 400)]));
    assert_eq!(record.lengths(Interval::counted)[..3], [10.0, 605.0, 400.0]);
    assert_eq!(record.lengths(Interval::counted).len(), HISTORY);
    // Earlier losses are not forgotten: two events of the old history.
    assert_eq!(record.losses(), 4);
}

#[test]
fn a_synthetic_history_of_one_interval_stands_for_that_one() {
    let mut record = record();
    record.update(seq(39), &report(0, &[(4, 1, 5), (24, 1, 25), (10, 0, 50)]));
    assert_eq!(record.closed_intervals(), 2);
    record.expect_fit(1);
    record.update(seq(44), &report(0, &MADE_UP));
    assert_eq!(record.lengths(Interval::counted)[..], [5.0, 400.0]);
    assert_eq!(record.closed_intervals(), 1);
}

#[test]
fn without_a_probe_there_is_no_synthetic_history() {
    let mut record = record();
    record.update(seq(39), &report(0, &[(4, 1, 5), (24, 1, 25), (10, 0, 50)]));
    record.update(seq(44), &report(0, &MADE_UP));
    assert!(record.lengths(Interval::counted).len() < HISTORY);
}

#[test]
fn the_interval_before_a_first_loss_is_not_synthetic() {
    let mut record = record();
    record.expect_fit(8);
    record.update(seq(19), &report(0, &[(9, 1, 10), (10, 0, 50)]));
    assert_eq!(record.lengths(Interval::counted)[..], [10.0, 50.0]);
}

#[test]
fn losses_in_an_outage_are_one_event() {
    let mut record = record();
    record.update(seq(39), &report(0, &[(19, 1, 20), (19, 1, 20)]));
    // Packets 40 to 59 left while the path was away; 60 brought the news, and the receiver makes an event of
    // every fourth.
    record.on_outage(seq(40), seq(60));
    let lost = [(1, 4, 5), (0, 4, 4), (0, 4, 4), (0, 4, 4), (0, 4, 4), (19, 1, 20), (19, 1, 20)];
    assert_eq!(record.update(seq(60), &report(0, &lost)), Some(true));
    assert!(record.has_outage());
    assert_eq!(record.lengths(Interval::counted)[..], [5.0, 20.0, 20.0]);
    // (20 + 20)/2, as if nothing had been lost since.
    assert!((record.loss_event_rate().as_f64() - 1.0 / 20.0).abs() < 1e-12);
    // Another loss is an event of its own, and what the receiver no longer repeats is remembered.
    let more = [(9, 1, 10), (20, 4, 24), (0, 4, 4), (0, 4, 4), (0, 4, 4), (0, 4, 4)];
    assert_eq!(record.update(seq(89), &report(0, &more)), Some(true));
    assert_eq!(record.lengths(Interval::counted)[..], [10.0, 24.0, 20.0, 20.0]);
}
