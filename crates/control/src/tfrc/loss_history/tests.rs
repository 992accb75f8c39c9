use alloc::vec::Vec;

use proptest::prelude::*;
use whimbrel_units::{ByteCount, Instant};

use super::*;
use crate::loss_differentiation::{Omniscient, PacketArrival};

const RTT: EventRule = EventRule::RoundTrip(Duration::from_millis(100));

fn known_start() -> HistoryConfig {
    HistoryConfig { first: Some(0), ..HistoryConfig::default() }
}

/// A packet every 10 ms.
fn packet(sequence: u64) -> Arrival {
    Arrival::new(Instant::from_millis(sequence * 10), sequence)
}

/// Arrivals of packets every 10 ms but those `missing`, with the first interval worth 50 packets.
fn feed(history: &mut LossHistory, sequences: impl IntoIterator<Item = u64>, missing: &[u64]) -> Vec<u64> {
    let mut events = Vec::new();
    for sequence in sequences.into_iter().filter(|sequence| !missing.contains(sequence)) {
        if history.on_arrival(&packet(sequence), RTT, None, |_| 50.0).new_event {
            events.push(sequence);
        }
    }
    events
}

fn lengths(history: &LossHistory) -> Vec<f64> {
    history.intervals().iter().map(|interval| interval.length()).collect()
}

#[test]
fn losses_within_a_round_trip_are_one_event() {
    let mut history = LossHistory::new(known_start());
    // 20 is due at 200 ms, 30 at 300 ms: T_old + R >= T_new.
    assert_eq!(feed(&mut history, 0..50, &[20, 25, 30]), [23]);
    assert_eq!(lengths(&history), [30.0, 50.0]);
    let open = history.intervals()[0];
    assert_eq!((open.first, open.lossy_end, open.end, open.losses), (20, 31, 50, 3));
}

#[test]
fn a_loss_a_round_trip_later_begins_another() {
    let mut history = LossHistory::new(known_start());
    assert_eq!(feed(&mut history, 0..50, &[20, 31]), [23, 34]);
    assert_eq!(lengths(&history), [19.0, 11.0, 50.0]);
}

#[test]
fn a_long_hole_is_cut_into_round_trips() {
    let mut history = LossHistory::new(known_start());
    // From 200 ms on, events begin at 200, 310 and 420 ms.
    let missing: Vec<u64> = (20..50).collect();
    feed(&mut history, 0..60, &missing);
    assert_eq!(lengths(&history), [18.0, 11.0, 11.0, 50.0]);
    assert_eq!(history.counts().lost, 30);
}

#[test]
fn a_hole_of_a_billion_packets_fills_the_history_and_no_more() {
    let mut history = LossHistory::new(known_start());
    history.on_arrival(&packet(0), RTT, None, |_| 50.0);
    for sequence in 0..3 {
        let late = Arrival::new(Instant::from_secs(1_000_000), 1_000_000_000 + sequence);
        history.on_arrival(&late, RTT, None, |_| 50.0);
    }
    // A packet is worth 1 ms, so events begin every 101.
    let expected = [101.0; HISTORY - 1];
    assert_eq!(lengths(&history)[1..], expected);
    assert!((history.average_interval().unwrap() - 101.0).abs() < 1.0);
}

#[test]
fn the_first_interval_knows_whether_data_came_before_the_loss() {
    for (missing, expected) in [(0, BeforeFirstLoss::Nothing), (1, BeforeFirstLoss::Data)] {
        let mut history = LossHistory::new(known_start());
        let mut asked = Vec::new();
        for sequence in (0..9).filter(|&sequence| sequence != missing) {
            history.on_arrival(&packet(sequence), RTT, None, |before| {
                asked.push(before);
                5.0
            });
        }
        assert_eq!(asked, [expected]);
    }
}

#[test]
fn a_mark_is_an_event_at_once() {
    let mut history = LossHistory::new(known_start());
    feed(&mut history, 0..30, &[]);
    let marked = Arrival { marked: true, ..packet(30) };
    assert!(history.on_arrival(&marked, RTT, None, |_| 50.0).new_event);
    // RFC 5348, Section 5.3: a current interval of one marked packet has length one.
    assert_eq!(lengths(&history), [1.0, 50.0]);
    assert_eq!(history.counts().marked, 1);
}

#[test]
fn a_late_packet_takes_its_loss_back() {
    let mut history = LossHistory::new(known_start());
    feed(&mut history, 0..30, &[20]);
    assert!(!history.loss_event_rate().is_zero());
    let late = Arrival::new(Instant::from_millis(300), 20);
    let outcome = history.on_arrival(&late, RTT, None, |_| 50.0);
    assert_eq!(outcome, Outcome { reception: Reception::Late, new_event: false, event_undone: true });
    assert!(history.loss_event_rate().is_zero());
}

#[test]
fn unless_it_was_told_not_to_or_the_late_packet_is_marked() {
    for (forgive_late, marked) in [(false, false), (true, true)] {
        let mut history = LossHistory::new(HistoryConfig { forgive_late, ..known_start() });
        feed(&mut history, 0..30, &[20]);
        let late = Arrival { marked, ..Arrival::new(Instant::from_millis(300), 20) };
        assert!(!history.on_arrival(&late, RTT, None, |_| 50.0).event_undone);
        assert!(!history.loss_event_rate().is_zero());
    }
}

#[test]
fn packets_without_data_shorten_the_interval_they_are_in() {
    let mut history = LossHistory::new(known_start());
    for sequence in (0..50).filter(|&sequence| sequence != 20) {
        let arrival = Arrival { carries_data: sequence % 2 == 0, ..packet(sequence) };
        history.on_arrival(&arrival, RTT, None, |_| 50.0);
    }
    // 20 to 49 are 30 packets, of which the 15 odd ones carry no data.
    assert_eq!(lengths(&history), [15.0, 50.0]);
}

/// Feeds (sequence, window counter) and gives the first packets of the loss events found.
fn events_by_counter(packets: &[(u64, u8)]) -> Vec<u64> {
    let mut history = LossHistory::new(known_start());
    for &(sequence, window_counter) in packets {
        let arrival = Arrival { window_counter, ..packet(sequence) };
        history.on_arrival(&arrival, EventRule::WindowCounter, None, |_| 50.0);
    }
    history.intervals().iter().rev().skip(1).map(|interval| interval.first).collect()
}

/// RFC 4342, Section 10.2, with X = 2 and C(X_prev) = C(1) = 3.
#[test]
fn a_counter_up_to_four_ahead_is_the_same_event() {
    let tail = [(8, 8), (9, 8), (10, 8)];
    let mut same = alloc::vec![(0, 3), (1, 3), (3, 4), (4, 5), (5, 6), (6, 7)];
    same.extend(tail);
    assert_eq!(events_by_counter(&same), [2], "C(Y_prev) = 7 is four ahead");
    let mut separate = alloc::vec![(0, 3), (1, 3), (3, 4), (4, 5), (5, 6), (6, 8)];
    separate.extend(tail);
    assert_eq!(events_by_counter(&separate), [2, 7], "C(Y_prev) = 8 is five ahead");
}

#[test]
fn a_counter_that_wrapped_all_the_way_between_two_losses_still_separates_them() {
    // After X = 2 the counter runs 8, 13, 2, 4: at Y_prev it is one ahead of C(X_prev) = 3 again,
    // but 8 was five ahead.
    let packets = [(0, 3), (1, 3), (3, 8), (4, 13), (5, 2), (6, 4), (8, 4), (9, 4), (10, 4)];
    assert_eq!(events_by_counter(&packets), [2, 7]);
}

#[test]
fn consecutive_losses_are_one_event_whatever_the_counter_did_meanwhile() {
    let packets = [(0, 0), (1, 0), (40, 11), (41, 11), (42, 11)];
    assert_eq!(events_by_counter(&packets), [2]);
}

#[test]
fn losses_called_wireless_are_received_packets() {
    let mut oracle = Omniscient::new();
    for sequence in [20, 21, 40] {
        oracle.inform(sequence, LossCause::Wireless);
    }
    let mut history = LossHistory::new(known_start());
    for sequence in (0..60).filter(|sequence| ![20, 21, 22, 40].contains(sequence)) {
        let arrival = packet(sequence);
        oracle.on_arrival(&PacketArrival {
            at: arrival.at,
            sequence,
            size: ByteCount::new(1000),
            sent: None,
        });
        history.on_arrival(&arrival, RTT, Some(&mut oracle), |_| 50.0);
    }
    // Only 22 was lost to congestion.
    assert_eq!(lengths(&history), [38.0, 50.0]);
    assert_eq!(history.intervals()[0].first, 22);
    assert_eq!((history.counts().lost, history.counts().wireless), (4, 3));
}

/// 20 to 22 are lost, 21 over the radio. When 21 arrives after all, the event still has its two
/// losses; each of them in turn then takes one away.
#[test]
fn a_late_packet_that_never_counted_as_lost_takes_nothing_back() {
    let mut oracle = Omniscient::new();
    oracle.inform(21, LossCause::Wireless);
    let mut history = LossHistory::new(known_start());
    let mut arrive = |sequence: u64, at: u64| {
        let arrival = Arrival::new(Instant::from_millis(at), sequence);
        history.on_arrival(&arrival, RTT, Some(&mut oracle), |_| 50.0);
        history.intervals()[0].losses
    };
    for sequence in (0..30).filter(|sequence| !(20..23).contains(sequence)) {
        arrive(sequence, sequence * 10);
    }
    assert_eq!(arrive(21, 300), 2);
    assert_eq!(arrive(20, 301), 1);
    assert_eq!(arrive(22, 302), 0);
    assert!(history.loss_event_rate().is_zero());
}

/// Calls gaps wireless while told so, and counts what it is asked.
#[derive(Debug, Default)]
struct Moody {
    wireless: bool,
    judged: Vec<LossGap>,
}

impl LossDifferentiation for Moody {
    fn on_arrival(&mut self, _: &PacketArrival) {}
    fn judge(&mut self, gap: &LossGap) -> LossCause {
        self.judged.push(*gap);
        if self.wireless { LossCause::Wireless } else { LossCause::Congestion }
    }
}

#[test]
fn a_gap_is_judged_when_it_opens_not_when_it_is_declared() {
    let mut moody = Moody { wireless: true, ..Moody::default() };
    let mut history = LossHistory::new(known_start());
    for sequence in [0, 1, 4] {
        history.on_arrival(&packet(sequence), RTT, Some(&mut moody), |_| 50.0);
    }
    moody.wireless = false;
    for sequence in [5, 6] {
        history.on_arrival(&packet(sequence), RTT, Some(&mut moody), |_| 50.0);
    }
    let at = Instant::from_millis;
    assert_eq!(moody.judged, [LossGap { first: 2, count: 2, before: at(10), after: at(40) }]);
    assert!(history.loss_event_rate().is_zero());
    assert_eq!(history.counts(), LossCounts { lost: 2, wireless: 2, marked: 0 });
}

/// Loss events of RFC 5348, Section 5.2, in order of sequence numbers, where packets arrive in order
/// and evenly: packet i at i times 10 ms.
fn naive_events(missing: &[u64], rtt_ms: u64) -> Vec<u64> {
    let mut events: Vec<u64> = Vec::new();
    for &lost in missing {
        if events.last().is_none_or(|&old| old * 10 + rtt_ms < lost * 10) {
            events.push(lost);
        }
    }
    events
}

proptest! {
    #[test]
    fn events_are_those_of_the_definition(
        fates in proptest::collection::vec(0u8..4, 5..400), rtt_ms in 0u64..500
    ) {
        let missing: Vec<u64> =
            (1..fates.len() as u64).filter(|&sequence| fates[sequence as usize] == 0).collect();
        let mut history = LossHistory::new(known_start());
        let rule = EventRule::RoundTrip(Duration::from_millis(rtt_ms));
        let end = fates.len() as u64 + 3;
        for sequence in (0..end).filter(|sequence| !missing.contains(sequence)) {
            history.on_arrival(&packet(sequence), rule, None, |_| 50.0);
        }
        let mut begins = naive_events(&missing, rtt_ms);
        let found: Vec<u64> = history.intervals().iter().map(|interval| interval.first).collect();
        begins.reverse();
        begins.truncate(HISTORY);
        prop_assert_eq!(&found[..begins.len()], &begins[..]);
    }

    #[test]
    fn whatever_arrives_the_rate_stays_a_rate(
        arrivals in proptest::collection::vec(
            (0u64..3000, 0u64..50, any::<bool>(), any::<bool>(), 0u64..4, 0u8..16, any::<bool>()), 1..300),
        jump in prop_oneof![Just(0u64), Just(1 << 40), Just(u64::MAX - 4000)],
    ) {
        let mut history = LossHistory::new(HistoryConfig::default());
        let mut now = Instant::ZERO;
        let half = arrivals.len() / 2;
        for (i, (sequence, ms, marked, carries_data, empty_before, window_counter, by_time)) in arrivals.into_iter().enumerate() {
            now += Duration::from_millis(ms);
            let sequence = if i > half { sequence + jump } else { sequence };
            let arrival = Arrival { sequence, at: now, marked, carries_data, empty_before, window_counter };
            let rule = if by_time { RTT } else { EventRule::WindowCounter };
            history.on_arrival(&arrival, rule, None, |_| 7.0);
            let p = history.loss_event_rate().as_f64();
            prop_assert!(p.is_finite() && (0.0..=1.0).contains(&p));
            let intervals = history.intervals();
            prop_assert!(intervals.len() <= HISTORY);
            for interval in intervals {
                prop_assert!(interval.length() >= 1.0 && interval.first <= interval.end);
                prop_assert!(interval.lossy_end <= interval.end);
            }
            // Intervals follow each other without holes.
            prop_assert!(intervals.windows(2).all(|pair| pair[0].first == pair[1].end));
        }
    }
}

/// RFC 4828, Section 4.4, by time: 15 packets with 3 losses in 150 ms, within two round-trip times of 100 ms,
/// count as 5. While it lasts no longer, the open interval does not count.
#[test]
fn in_a_short_interval_each_loss_counts() {
    let mut history = LossHistory::new(HistoryConfig { count_short_losses: true, ..known_start() });
    feed(&mut history, 0..45, &[20, 24, 28, 35]);
    assert_eq!(lengths(&history), [10.0, 15.0 / 3.0, 50.0]);
    assert_eq!(history.average_interval(), Some((5.0 + 50.0) / 2.0));
    // From 560 ms on, the interval that began at 350 ms is longer than two round-trip times.
    feed(&mut history, 45..400, &[]);
    assert_eq!(lengths(&history), [365.0, 5.0, 50.0]);
    assert!(history.average_interval() > Some(100.0));
}

#[test]
fn in_a_long_interval_they_count_once() {
    let mut history = LossHistory::new(HistoryConfig { count_short_losses: true, ..known_start() });
    feed(&mut history, 0..60, &[20, 24, 28, 41]);
    assert_eq!(lengths(&history)[1..], [21.0, 50.0]);
}

/// RFC 5622, Section 8.4, by the window counter: up to eight quarters are two round-trip times.
#[test]
fn the_window_counter_tells_short_intervals() {
    let length = |per_quarter: u64, second_loss: u64| {
        let mut history = LossHistory::new(HistoryConfig { count_short_losses: true, ..known_start() });
        for sequence in (0..120).filter(|sequence| ![20, 22, second_loss].contains(sequence)) {
            let counter = (sequence / per_quarter % 16) as u8;
            let arrival = Arrival { window_counter: counter, ..packet(sequence) };
            history.on_arrival(&arrival, EventRule::WindowCounter, None, |_| 50.0);
        }
        lengths(&history)[1]
    };
    // Two packets per quarter: the loss of 20 comes after nine quarters, that of 35 after 17, that of 38
    // after 18.
    assert_eq!(length(2, 35), 15.0 / 2.0);
    assert_eq!(length(2, 38), 18.0);
}
