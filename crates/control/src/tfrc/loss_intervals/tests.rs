use alloc::vec::Vec;

use proptest::prelude::*;

use super::*;

/// A record with closed intervals of these lengths, the oldest first, and the last one open.
fn record(lengths: &[u64], discounting: bool) -> LossIntervals {
    let mut record = LossIntervals::new(0, discounting);
    let mut first = 1;
    for (i, &length) in lengths.iter().enumerate() {
        record.begin(first, Instant::from_secs(i as u64), 0, || 1.0);
        record.join(first, 1);
        first += length;
        record.extend_to(first - 1);
    }
    record
}

/// RFC 5348, Section 5.4, as it is printed, over I_0 to I_k.
fn average_as_printed(intervals: &[f64]) -> f64 {
    let k = (intervals.len() - 1).min(INTERVALS);
    let n = INTERVALS as f64;
    let w = |i: usize| if i < INTERVALS / 2 { 1.0 } else { 2.0 * (n - i as f64) / (n + 2.0) };
    let total_0: f64 = (0..k).map(|i| intervals[i] * w(i)).sum();
    let weight: f64 = (0..k).map(w).sum();
    let total_1: f64 = (1..=k).map(|i| intervals[i] * w(i - 1)).sum();
    f64::max(total_0, total_1) / weight
}

/// RFC 5348, Section 5.5, as it is printed, with its arrays and its update at every arrival.
struct DiscountingAsPrinted {
    i: [f64; HISTORY],
    df: [f64; HISTORY],
    general: f64,
    k: usize,
}

impl DiscountingAsPrinted {
    fn new(first_interval: f64) -> Self {
        let mut i = [0.0; HISTORY];
        i[1] = first_interval;
        i[0] = 1.0;
        Self { i, df: [1.0; HISTORY], general: 1.0, k: 1 }
    }

    fn arrival(&mut self) {
        self.i[0] += 1.0;
        let weight: f64 = (1..=self.k).map(|j| WEIGHTS[j - 1] * self.df[j]).sum();
        let total: f64 = (1..=self.k).map(|j| self.i[j] * WEIGHTS[j - 1] * self.df[j]).sum();
        let mean = total / weight;
        self.general = if self.i[0] > 2.0 * mean { (2.0 * mean / self.i[0]).max(0.25) } else { 1.0 };
    }

    fn event(&mut self) {
        for j in 1..=INTERVALS {
            self.df[j] *= self.general;
        }
        for j in (0..INTERVALS).rev() {
            self.df[j + 1] = self.df[j];
            self.i[j + 1] = self.i[j];
        }
        self.i[0] = 1.0;
        self.df[0] = 1.0;
        self.general = 1.0;
        self.k = (self.k + 1).min(INTERVALS);
    }

    fn p(&self) -> f64 {
        let (mut total_0, mut weight_0) = (self.i[0] * WEIGHTS[0], WEIGHTS[0]);
        for (j, weight) in WEIGHTS.iter().enumerate().take(self.k).skip(1) {
            total_0 += self.i[j] * weight * self.df[j] * self.general;
            weight_0 += weight * self.df[j] * self.general;
        }
        let (mut total_1, mut weight_1) = (0.0, 0.0);
        for j in 1..=self.k {
            total_1 += self.i[j] * WEIGHTS[j - 1] * self.df[j];
            weight_1 += WEIGHTS[j - 1] * self.df[j];
        }
        f64::min(weight_0 / total_0, weight_1 / total_1)
    }
}

/// Three losses `gap` packets apart, without arrivals between them, follow a long interval; the third packet
/// to arrive behind them reveals them all. The arrays of RFC 5348, Section 5.5, are discounted with the first
/// of them only, as DF changes with arrivals.
#[test]
fn several_events_revealed_by_one_arrival_discount_the_history_once() {
    for gap in [1, 20, 500] {
        let mut record = record(&[100; 9], true);
        let mut printed = DiscountingAsPrinted::new(1.0);
        for _ in 0..9 {
            printed.event();
            (1..100).for_each(|_| printed.arrival());
        }
        // 400 packets arrive after these 900, and then two behind the losses.
        let first = 1 + 900 + 400;
        let arrived = first + 3 * gap + 1;
        record.extend_to(arrived);
        printed.i[0] = (arrived - 801) as f64;
        printed.arrival();
        for event in 0..3 {
            record.begin(first + event * gap, Instant::from_secs(100 + event), 0, || 1.0);
            record.join(first + event * gap, 1);
            printed.event();
            printed.i[1] = if event == 0 { 500.0 } else { gap as f64 };
        }
        record.extend_to(arrived + 1);
        printed.i[0] = (gap + 2) as f64;
        printed.arrival();
        let (ours, theirs) = (record.loss_event_rate().as_f64(), printed.p());
        assert!((ours / theirs - 1.0).abs() < 1e-9, "{gap}: p is {ours}, {theirs} as printed");
    }
}

#[test]
fn the_weights_follow_their_formula() {
    for (i, weight) in WEIGHTS.into_iter().enumerate() {
        let expected = if i < 4 { 1.0 } else { 2.0 * (8 - i) as f64 / 10.0 };
        assert_eq!(weight, expected);
    }
}

/// Closed intervals of 80, 70, ... 10 packets, the newest 80: by hand
/// 80 + 70 + 60 + 50 + 0.8 40 + 0.6 30 + 0.4 20 + 0.2 10 = 320, over a weight of 6: 53.33.
#[test]
fn eight_intervals_average_by_their_weights() {
    let lengths = [10, 20, 30, 40, 50, 60, 70, 80, 5];
    assert_eq!(record(&lengths, false).average(), Some(320.0 / 6.0));
}

/// The open interval of 200 counts when it raises the average: 200 + 80 + 70 + 60 + 0.8 50 + 0.6 40
/// + 0.4 30 + 0.2 20 = 490, over 6: 81.67, and p = 6/490.
#[test]
fn a_long_open_interval_counts() {
    let record = record(&[10, 20, 30, 40, 50, 60, 70, 80, 200], false);
    assert_eq!(record.average(), Some(490.0 / 6.0));
    assert!((record.loss_event_rate().as_f64() - 6.0 / 490.0).abs() < 1e-15);
}

/// With intervals of 100 and an open one of 400, DF = 2 100/400 = 0.5: I_tot0 = 400 + 0.5 100 5 =
/// 650 over 1 + 0.5 5 = 3.5, so 185.7 packets; without discounting (400 + 500)/6 = 150.
#[test]
fn a_long_open_interval_discounts_its_predecessors() {
    let lengths = [100, 100, 100, 100, 100, 100, 100, 100, 400];
    assert!((record(&lengths, true).average().unwrap() - 650.0 / 3.5).abs() < 1e-9);
    assert_eq!(record(&lengths, false).average(), Some(150.0));
}

/// With an open interval of 4000, 2 100/4000 = 0.05 is below the threshold of 0.25.
#[test]
fn discounting_stops_at_a_quarter() {
    let record = record(&[100, 100, 100, 100, 100, 100, 100, 100, 4000], true);
    assert!((record.average().unwrap() - (4000.0 + 0.25 * 500.0) / 2.25).abs() < 1e-9);
}

/// The discount of the previous case is kept when the next loss occurs: I_1 = 400 has weight 1, the rest 0.5
/// each: I_tot1 = 400 + 0.5 100 (1 + 1 + 1 + 0.8 + 0.6 + 0.4 + 0.2) = 650, over 3.5.
#[test]
fn a_discount_persists_after_the_interval_that_caused_it() {
    let lengths = [100, 100, 100, 100, 100, 100, 100, 100, 400, 1];
    assert!((record(&lengths, true).average().unwrap() - 650.0 / 3.5).abs() < 1e-9);
}

#[test]
fn the_first_loss_seeds_the_record_with_the_given_length() {
    let mut record = LossIntervals::new(7, true);
    record.extend_to(1000);
    assert_eq!(record.loss_event_rate(), LossEventRate::ZERO);
    record.begin(900, Instant::ZERO, 0, || 250.0);
    record.join(900, 1);
    record.extend_to(1000);
    assert_eq!(record.average(), Some(250.0));
    record.extend_to(1200);
    assert_eq!(record.average(), Some(301.0), "the open interval of 301 packets is longer than 250");
}

#[test]
fn packets_without_data_do_not_lengthen_an_interval() {
    let mut record = record(&[1, 50], false);
    record.exclude(20);
    record.begin(100, Instant::ZERO, 0, || unreachable!("not the first loss"));
    let [_, closed, ..] = record.intervals() else { panic!() };
    // From 2 to 99 are 98 packets.
    assert_eq!((closed.end - closed.first, closed.length()), (98, 78.0));
}

#[test]
fn an_interval_of_empty_packets_has_length_one() {
    let mut record = record(&[1, 50], false);
    record.exclude(5000);
    assert_eq!(record.intervals()[0].length(), 1.0);
}

#[test]
fn an_event_without_remaining_losses_is_revoked() {
    let mut record = record(&[100, 60, 40], false);
    // Intervals: 1..101, 101..161, 161..201 open.
    assert_eq!(record.on_late_arrival(161, true), LateArrivalEffect::Event { latest: true });
    let open = record.intervals()[0];
    assert_eq!((open.first, open.end, open.length()), (101, 201, 100.0));
    assert_eq!(record.average(), Some(100.0));
}

#[test]
fn an_older_event_can_be_revoked() {
    let mut record = record(&[100, 60, 40], false);
    assert_eq!(record.on_late_arrival(101, true), LateArrivalEffect::Event { latest: false });
    let lengths: Vec<f64> = record.intervals().iter().map(LossInterval::length).collect();
    assert_eq!(lengths, [40.0, 160.0, 1.0]);
}

#[test]
fn revoking_the_only_event_leaves_no_loss() {
    let mut record = record(&[100], false);
    assert_eq!(record.on_late_arrival(1, true), LateArrivalEffect::Event { latest: true });
    assert_eq!(record.loss_event_rate(), LossEventRate::ZERO);
    assert_eq!(record.latest_event(), None);
}

#[test]
fn an_event_with_losses_left_stays() {
    let mut record = record(&[100, 60], false);
    record.join(105, 2);
    assert_eq!(record.on_late_arrival(105, true), LateArrivalEffect::Loss);
    assert_eq!(record.on_late_arrival(130, true), LateArrivalEffect::Nothing, "130 is in the lossless part");
    assert_eq!(record.intervals().len(), 3);
}

/// RFC 4828, Section 3: a short interval of 12 packets with 3 losses counts as 4, and does not
/// count at all while it is open.
#[test]
fn tfrc_sp_counts_each_loss_of_a_short_interval() {
    let mut record = record(&[10, 12], false);
    record.join(13, 2);
    record.set_open_is_short(true);
    assert_eq!(record.average(), Some((10.0 + 1.0) / 2.0));
    record.begin(23, Instant::ZERO, 0, || unreachable!("not the first loss"));
    assert_eq!(record.intervals()[1].length(), 4.0);
    // A late arrival leaves two losses, and the other packets.
    record.on_late_arrival(13, true);
    assert_eq!(record.intervals()[1].length(), 6.0);
    assert_eq!(record.intervals()[1].data_length(), 12.0);
}

#[test]
fn a_reported_list_gives_the_same_rate() {
    // RFC 4342, Section 8.6.2: data lengths 10, 10, 8, 15 with the open interval first:
    // I_tot0 = 10 + 10 + 8 = 28, I_tot1 = 10 + 8 + 15 = 33, over 3: 11 packets.
    assert!((loss_event_rate(&[10.0, 10.0, 8.0, 15.0]).as_f64() - 1.0 / 11.0).abs() < 1e-15);
    assert_eq!(loss_event_rate(&[15.0]), LossEventRate::ZERO);
    assert_eq!(loss_event_rate(&[]), LossEventRate::ZERO);
}

proptest! {
    #[test]
    fn the_average_is_the_printed_one(lengths in proptest::collection::vec(1u64..10_000, 1..30)) {
        let record = record(&lengths, false);
        let kept: Vec<f64> = record.intervals().iter().map(LossInterval::length).collect();
        prop_assert!((record.average().unwrap() / average_as_printed(&kept) - 1.0).abs() < 1e-12);
        prop_assert_eq!(loss_event_rate(&kept), record.loss_event_rate());
    }

    #[test]
    fn discounting_is_the_printed_one(lengths in proptest::collection::vec(1u64..300, 1..30)) {
        let mut ours = LossIntervals::new(0, true);
        let mut printed: Option<DiscountingAsPrinted> = None;
        let mut sequence = 0;
        for length in lengths {
            sequence += 1;
            ours.begin(sequence, Instant::ZERO, 0, || 40.0);
            ours.join(sequence, 1);
            match &mut printed {
                None => printed = Some(DiscountingAsPrinted::new(40.0)),
                Some(printed) => printed.event(),
            }
            for _ in 1..length {
                sequence += 1;
                ours.extend_to(sequence);
                printed.as_mut().unwrap().arrival();
            }
            let expected = printed.as_ref().unwrap().p();
            prop_assert!((ours.loss_event_rate().as_f64() / expected - 1.0).abs() < 1e-9);
        }
    }
}

#[test]
fn a_synthetic_history_has_eight_intervals_of_the_given_length_before_the_latest_event() {
    let mut record = LossIntervals::new(0, true);
    record.extend_to(50);
    record.fit(400.0, INTERVALS);
    assert_eq!(record.loss_event_rate(), LossEventRate::ZERO, "there was no loss");
    for first in [20, 50] {
        record.begin(first, Instant::ZERO, 0, || 10.0);
        record.join(first, 1);
    }
    record.extend_to(60);
    record.fit(400.0, INTERVALS);
    assert_eq!(record.intervals().len(), HISTORY);
    assert_eq!(record.average(), Some(400.0));
    // The event is still the latest, and the interval before it is like the one before a first loss.
    let [open, made_up, before, ..] = record.intervals() else { panic!("nine intervals") };
    assert_eq!((open.first, open.end, open.losses), (50, 61, 1));
    assert_eq!((made_up.first, made_up.lossy_end, made_up.end, made_up.losses), (20, 20, 50, 0));
    assert_eq!((before.first, before.end, before.losses), (20, 20, 0));
    // 611 packets in the open interval: (611 + 5 400)/6.
    record.extend_to(660);
    assert_eq!(record.average(), Some((611.0 + 5.0 * 400.0) / 6.0));
    // The next event removes one of the eight: (611 + 5 400)/6 still, as the last had a weight of only 0.2.
    record.begin(661, Instant::ZERO, 0, || 10.0);
    record.join(661, 1);
    record.extend_to(662);
    assert_eq!(record.average(), Some((611.0 + 5.0 * 400.0) / 6.0));
    // A late arrival that revokes the event restores its interval; seven of the eight remain.
    assert_eq!(record.on_late_arrival(661, true), LateArrivalEffect::Event { latest: true });
    let Some(average) = record.average() else { panic!("there was a loss") };
    assert!((average - (613.0 + 4.8 * 400.0) / 5.8).abs() < 1e-9, "{average}");
}

#[test]
fn a_synthetic_history_of_one_interval_drops_all_others() {
    let mut record = LossIntervals::new(0, true);
    for first in [20, 50, 70] {
        record.extend_to(first);
        record.begin(first, Instant::ZERO, 0, || 10.0);
        record.join(first, 1);
    }
    record.fit(400.0, 1);
    assert_eq!(record.intervals().len(), 2);
    assert_eq!(record.average(), Some(400.0));
    // The next event: (100 + 400)/2.
    record.extend_to(169);
    record.begin(170, Instant::ZERO, 0, || 10.0);
    assert_eq!(record.average(), Some(250.0));
}
