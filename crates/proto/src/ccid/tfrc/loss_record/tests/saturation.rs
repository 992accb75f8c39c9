//! Intervals with more packets than the fields of a Loss Intervals option can say (RFC 4342, Section 8.6).

use proptest::prelude::*;

use super::*;

const FULL: u32 = LossInterval::MAX_LENGTH;
const FULL_LOSS: u32 = LossInterval::MAX_LOSS_LENGTH;
/// The first packet number at which an interval from 0 on does not fit.
const BEYOND: u64 = 1 << 24;

#[test]
fn an_interval_without_loss_that_outgrows_its_field_is_no_loss() {
    let mut record = record();
    for ack in [FULL - 1, FULL - 2].map(u64::from).into_iter().chain((0..5).map(|i| BEYOND + i * 1000)) {
        let length = (ack + 1).min(FULL.into()) as u32;
        assert_eq!(record.update(seq(ack), &report(0, &[(length, 0, 0)])), Some(false), "at {ack}");
        assert!(record.loss_event_rate().is_zero(), "at {ack}: {}", record.loss_event_rate());
        assert_eq!(record.intervals.len(), 1);
    }
}

/// Another implementation may let the length wrap: the connection's first interval then seems to begin late.
#[test]
fn an_interval_without_loss_whose_length_wraps_is_no_loss() {
    let mut record = record();
    record.update(seq(FULL.into()), &report(0, &[(FULL, 0, 0)])).unwrap();
    assert_eq!(record.update(seq(BEYOND + 9), &report(0, &[(10, 0, 0)])), Some(false));
    assert!(record.loss_event_rate().is_zero());
}

#[test]
fn after_an_early_loss_it_is_no_new_loss_event_with_each_report() {
    let mut record = record();
    assert_eq!(record.update(seq(19), &report(0, &[(9, 1, 10), (10, 0, 50)])), Some(true));
    let mut before = LossEventRate::ONE;
    for ack in (1..40).map(|i| i * (BEYOND / 16)) {
        let length = (ack - 9).min(FULL.into()) as u32;
        let lossless = length.min((ack - 10).min(FULL.into()) as u32);
        assert_eq!(record.update(seq(ack), &report(0, &[(lossless, 1, length), (10, 0, 50)])), Some(false));
        // Its length is known all the same: from the packet whose loss began it up to this one.
        assert_eq!(record.lengths(Interval::counted)[..], [(ack - 9) as f64, 50.0], "at {ack}");
        assert!(record.loss_event_rate() < before);
        before = record.loss_event_rate();
    }
    assert_eq!(record.losses(), 1);
    // A loss after all that is one, and leaves the interval that it closes as long as it was.
    let ack = 40 * (BEYOND / 16);
    for i in 0..3 {
        let newest = (4 + i as u32, 1, 5 + i as u32);
        let options = report(0, &[newest, (FULL, 1, FULL), (10, 0, 50)]);
        assert_eq!(record.update(seq(ack + i), &options), Some(i == 0));
        assert_eq!(record.lengths(Interval::counted)[..], [5.0 + i as f64, (ack - 14) as f64, 50.0]);
    }
}

#[test]
fn a_hole_longer_than_its_field_is_one_loss_event() {
    let mut record = record();
    record.update(seq(19), &report(0, &[(9, 1, 10), (10, 0, 50)])).unwrap();
    // Packets 20 to `end` are lost; the hole is found to be longer a little later, within the same round-trip
    // time.
    let end = 3 * BEYOND;
    for (i, growth) in [0, 0, 7, 7].into_iter().enumerate() {
        let ack = end + growth + 3 + i as u64;
        let newest = (3 + i as u32, FULL_LOSS, FULL);
        let options = report(0, &[newest, (9, 1, 10), (10, 0, 50)]);
        assert_eq!(record.update(seq(ack), &options), Some(i == 0), "report {i}");
        assert_eq!(record.lengths(Interval::counted)[1..], [10.0, 50.0], "report {i}");
    }
    // And so it is once what follows the hole has outgrown its field, too.
    for i in 0..5 {
        let options = report(0, &[(FULL, FULL_LOSS, FULL), (9, 1, 10), (10, 0, 50)]);
        assert_eq!(record.update(seq(end + 2 * BEYOND + i), &options), Some(false));
        assert_eq!(record.lengths(Interval::counted)[1..], [10.0, 50.0]);
    }
}

/// Earlier reports were lost on the reverse path: the first one received has an interval that does not fit.
#[test]
fn a_first_report_of_such_an_interval_is_followed_by_no_phantom() {
    for newest in [(FULL, 5, FULL), (FULL, FULL_LOSS, FULL)] {
        let mut record = record();
        for i in 0..4 {
            let options = report(0, &[newest, (9, 1, 10), (10, 0, 50)]);
            assert_eq!(record.update(seq(5 * BEYOND + i * 99), &options), Some(i == 0), "{newest:?}");
            assert!(record.loss_event_rate().as_f64() < 1e-6, "{newest:?}: {}", record.loss_event_rate());
        }
    }
}

/// More packets than a half of the circle of sequence numbers, where what is old would begin to look new, and
/// than the circle.
#[test]
fn numbers_may_go_round_the_circle() {
    for loss in [0, 1] {
        let mut record = LossRecord::new(seq(SeqNo::MODULUS - 100));
        let start = seq(SeqNo::MODULUS - 100);
        let early: &[_] = if loss == 1 { &[(9, 1, 10), (10, 0, 50)] } else { &[(20, 0, 0)] };
        record.update(start.add(19), &report(0, early)).unwrap();
        for i in 1..80 {
            let ack = start.add(i << 43);
            let options = report(0, &[(FULL, loss, FULL * loss), (10, 0, 50)][..loss as usize + 1]);
            assert_eq!(record.update(ack, &options), Some(false), "loss {loss}, step {i}");
            let p = record.loss_event_rate().as_f64();
            assert!(p < 1e-7 && (p > 0.0) == (loss > 0), "loss {loss}, step {i}: {p}");
        }
        // Still there: a loss that is new, and the end of the interval that is not.
        let ack = start.add(80 << 43);
        let options = report(0, &[(4, 1, 5), (FULL, loss, FULL)]);
        assert_eq!(record.update(ack, &options), Some(true));
        assert_eq!(record.update(ack.next(), &report(0, &[(5, 1, 6), (FULL, loss, FULL)])), Some(false));
        assert_eq!(record.intervals[0].first, ack.sub(4));
    }
}

/// A sequence of loss events: the number of packets lost in each, and of those that arrive after it.
fn events() -> impl Strategy<Value = Vec<(u64, u64)>> {
    let loss =
        prop_oneof![4 => 1u64..100, 1 => (FULL_LOSS as u64 - 2)..(FULL_LOSS as u64 + 3), 1 => 1u64..1 << 26];
    let lossless =
        prop_oneof![4 => 3u64..1000, 2 => (FULL as u64 - 2)..(FULL as u64 + 3), 2 => 3u64..1 << 27];
    prop::collection::vec((loss, lossless), 1..14)
}

proptest! {
    /// A receiver that reports when an event is new, in the middle of the interval and at its end: there are
    /// as many events as it has detected, and the intervals have their true lengths, as far as their starts
    /// could be observed.
    #[test]
    fn no_length_makes_an_event_of_none(events in events()) {
        let mut record = record();
        // (first, lossy_end) of each interval, the newest last.
        let mut places = vec![(0u64, 0u64)];
        let mut end = 1000u64;
        record.update(seq(end - 1), &report(0, &[(1000, 0, 0)])).unwrap();
        for (loss, lossless) in events {
            let (first, lossy_end) = (end, end + loss);
            places.push((first, lossy_end));
            let exact = places.iter().all(|(first, lossy_end)| lossy_end - first < u64::from(FULL_LOSS));
            for (i, arrived) in [3, lossless.div_ceil(2).max(3), lossless].into_iter().enumerate() {
                end = lossy_end + arrived;
                let clip = |length: u64, most: u32| length.min(most.into()) as u32;
                let intervals: Vec<(u32, u32, u32)> = (0..places.len().min(HISTORY)).map(|age| {
                    let place = places.len() - 1 - age;
                    let (first, lossy_end) = places[place];
                    let end = if age == 0 { end } else { places[place + 1].0 };
                    let (lossless, loss) = (clip(end - lossy_end, FULL), clip(lossy_end - first, FULL_LOSS));
                    let data = if place == 0 { 1000 } else { clip(end - first, FULL).min(lossless + loss) };
                    (lossless, loss, data)
                }).collect();
                let news = record.update(seq(end - 1), &report(0, &intervals));
                prop_assert_eq!(news, Some(i == 0), "{:?}", intervals);
                prop_assert!(record.intervals.len() <= places.len());
                if exact {
                    let lengths = record.lengths(Interval::counted);
                    for (age, length) in lengths.iter().enumerate() {
                        let place = places.len() - 1 - age;
                        let end = if age == 0 { end } else { places[place + 1].0 };
                        let expected = if place == 0 { 1000 } else { end - places[place].0 };
                        prop_assert_eq!(*length, expected as f64, "interval {} of {:?}", age, &intervals);
                    }
                    prop_assert_eq!(lengths.len(), places.len().min(HISTORY));
                }
            }
        }
    }
}
