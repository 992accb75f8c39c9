use alloc::vec::Vec;

use proptest::prelude::*;
use whimbrel_units::{ByteCount, Instant};

use super::*;
use crate::loss_differentiation::{Omniscient, PacketArrival};
use crate::tfrc::loss_intervals::HISTORY;

const RTT: EventRule = EventRule::RoundTrip(Duration::from_millis(100));

fn known_start() -> HistoryConfig {
    HistoryConfig { first: Some(0), ..HistoryConfig::default() }
}

/// A packet every 10 ms.
fn packet(sequence: u64) -> ArrivedPacket {
    ArrivedPacket::new(Instant::from_millis(sequence * 10), sequence)
}

/// Arrivals of packets every 10 ms except `missing`, with a first interval of 50 packets.
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

/// A queue fills at once. The sender learns of its 400 ms half a second after the first losses.
#[test]
fn events_of_a_round_trip_time_that_was_far_too_short_become_one() {
    let missing: Vec<u64> = (20..66).filter(|sequence| sequence % 6 != 1).collect();
    // 149 ms is no other estimate than 100 ms, and what lies two round-trip times back stays as it was.
    for (at, later, is_merged) in [(70, 400, true), (70, 149, false), (200, 400, false)] {
        let mut history = LossHistory::new(HistoryConfig { follow_fades: true, ..known_start() });
        feed(&mut history, 0..at, &missing);
        let lost = |history: &LossHistory| history.intervals().iter().map(|each| each.losses).sum::<u64>();
        let (before, lost_before) = (lengths(&history), lost(&history));
        assert_eq!(before.len(), 5, "an event each 120 ms: {before:?}");
        let rule = EventRule::RoundTrip(Duration::from_millis(later));
        let outcome = history.on_arrival(&packet(at), rule, None, |_| 50.0);
        assert_eq!((outcome.event_undone, outcome.new_event), (is_merged, false), "{at}, {later}");
        let merged = lengths(&history);
        assert_eq!(merged.len(), if is_merged { 2 } else { 5 }, "{merged:?}");
        assert_eq!(merged.iter().sum::<f64>(), before.iter().sum::<f64>() + 1.0);
        assert_eq!(lost(&history), lost_before);
    }
}

/// 300 ms without arrivals, in a stream with ten packets per round-trip time.
#[test]
fn an_outage_is_one_event_of_any_length() {
    let mut history = LossHistory::new(known_start());
    let missing: Vec<u64> = (20..50).collect();
    feed(&mut history, 0..60, &missing);
    assert_eq!(lengths(&history), [40.0, 50.0]);
    let open = history.intervals()[0];
    assert_eq!((open.first, open.lossy_end, open.losses), (20, 50, 30));
    assert_eq!(history.counts().lost, 30);
    // A later loss is another event.
    feed(&mut history, 60..100, &[70]);
    assert_eq!(lengths(&history), [30.0, 50.0, 50.0]);
}

/// The first round-trip time of an outage may belong to the previous event. 18 is lost at 180 ms, and 20 to
/// 49 from 200 ms on: the event of 18 lasts until 280 ms, and 29 begins the next.
#[test]
fn an_outage_soon_after_a_loss_is_one_more_event() {
    let mut history = LossHistory::new(known_start());
    let missing: Vec<u64> = [18].into_iter().chain(20..50).collect();
    feed(&mut history, 0..60, &missing);
    assert_eq!(lengths(&history), [31.0, 11.0, 50.0]);
}

/// Losses classified as wireless do not split an outage.
#[test]
fn an_outage_is_one_event_regardless_of_wireless_losses() {
    let mut oracle = Omniscient::new();
    (30..33).for_each(|sequence| oracle.inform(sequence, LossClass::Wireless));
    let mut history = LossHistory::new(known_start());
    for sequence in (0..20).chain(50..60) {
        let arrival = packet(sequence);
        let size = ByteCount::new(1000);
        oracle.on_arrival(&PacketArrival { at: arrival.at, sequence, size, sent: None });
        history.on_arrival(&arrival, RTT, Some(&mut oracle), |_| 50.0);
    }
    assert_eq!(lengths(&history), [40.0, 50.0]);
}

/// A late arrival between two holes does not join them.
#[test]
fn holes_before_and_after_an_arrival_are_two_events() {
    let mut history = LossHistory::new(known_start());
    let order = (0..20).chain(40..43).chain([5]).chain(63..70);
    for sequence in order {
        let at = if sequence == 5 { 435 } else { sequence * 10 };
        history.on_arrival(&ArrivedPacket::new(Instant::from_millis(at), sequence), RTT, None, |_| 50.0);
    }
    assert_eq!(lengths(&history), [27.0, 23.0, 50.0]);
}

/// A packet every 150 ms, and a round-trip time of 100 ms: each of three consecutive losses is more than a
/// round-trip time after the previous one (RFC 5348, Section 5.2), and there is no outage.
#[test]
fn losses_of_a_stream_slower_than_a_packet_per_round_trip_are_events_of_their_own() {
    let mut history = LossHistory::new(known_start());
    for sequence in (0..10).chain(13..20) {
        let arrival = ArrivedPacket::new(Instant::from_millis(sequence * 150), sequence);
        history.on_arrival(&arrival, RTT, None, |_| 50.0);
    }
    assert_eq!(lengths(&history), [8.0, 1.0, 1.0, 50.0]);
}

/// A packet every 250 ms, and a round-trip time of 100 ms: six losses in a row would take the place of nearly
/// the whole history.
#[test]
fn six_losses_in_a_row_of_a_slow_stream_are_an_outage() {
    for (missing, expected) in [(5, alloc::vec![8.0, 1.0, 1.0, 1.0, 1.0, 50.0]), (6, alloc::vec![12.0, 50.0])]
    {
        let mut history = LossHistory::new(known_start());
        for sequence in (0..10).chain(10 + missing..22) {
            let arrival = ArrivedPacket::new(Instant::from_millis(sequence * 250), sequence);
            history.on_arrival(&arrival, RTT, None, |_| 50.0);
        }
        assert_eq!(lengths(&history), expected, "{missing} missing");
    }
}

#[test]
fn a_hole_of_a_billion_packets_is_one_event_and_costs_no_time() {
    let mut history = LossHistory::new(known_start());
    for (sequence, at) in [(0, 0), (1, 200)] {
        history.on_arrival(&ArrivedPacket::new(Instant::from_millis(at), sequence), RTT, None, |_| 50.0);
    }
    for sequence in 0..3 {
        let late = ArrivedPacket::new(Instant::from_secs(1_000_000), 1_000_000_000 + sequence);
        history.on_arrival(&late, RTT, None, |_| 50.0);
    }
    assert_eq!(lengths(&history), [1_000_000_001.0, 50.0]);
}

/// 400 ms, t_RTO, and a little more: in a stream with a packet per 90 ms.
#[test]
fn few_losses_are_an_outage_after_a_timeout_without_arrivals() {
    for (missing, expected) in [(3, alloc::vec![8.0, 2.0, 50.0]), (4, alloc::vec![10.0, 50.0])] {
        let mut history = LossHistory::new(known_start());
        for sequence in (0..10).chain(10 + missing..20) {
            let arrival = ArrivedPacket::new(Instant::from_millis(sequence * 90), sequence);
            history.on_arrival(&arrival, RTT, None, |_| 50.0);
        }
        assert_eq!(lengths(&history), expected, "{missing} missing");
    }
}

#[test]
fn the_first_interval_depends_on_data_before_the_loss() {
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
    let marked = ArrivedPacket { marked: true, ..packet(30) };
    assert!(history.on_arrival(&marked, RTT, None, |_| 50.0).new_event);
    // RFC 5348, Section 5.3: a current interval of one marked packet has length one.
    assert_eq!(lengths(&history), [1.0, 50.0]);
    assert_eq!(history.counts().marked, 1);
}

#[test]
fn a_late_packet_revokes_its_loss() {
    let mut history = LossHistory::new(known_start());
    feed(&mut history, 0..30, &[20]);
    assert!(!history.loss_event_rate().is_zero());
    let late = ArrivedPacket::new(Instant::from_millis(300), 20);
    let outcome = history.on_arrival(&late, RTT, None, |_| 50.0);
    assert_eq!(outcome, Outcome { reception: Reception::Late, new_event: false, event_undone: true });
    assert!(history.loss_event_rate().is_zero());
}

#[test]
fn a_loss_is_kept_by_configuration_or_if_the_late_packet_is_marked() {
    for (forgive_late, marked) in [(false, false), (true, true)] {
        let mut history = LossHistory::new(HistoryConfig { forgive_late, ..known_start() });
        feed(&mut history, 0..30, &[20]);
        let late = ArrivedPacket { marked, ..ArrivedPacket::new(Instant::from_millis(300), 20) };
        assert!(!history.on_arrival(&late, RTT, None, |_| 50.0).event_undone);
        assert!(!history.loss_event_rate().is_zero());
    }
}

#[test]
fn packets_without_data_shorten_the_interval_they_are_in() {
    let mut history = LossHistory::new(known_start());
    for sequence in (0..50).filter(|&sequence| sequence != 20) {
        let arrival = ArrivedPacket { carries_data: sequence % 2 == 0, ..packet(sequence) };
        history.on_arrival(&arrival, RTT, None, |_| 50.0);
    }
    // 20 to 49 are 30 packets, of which the 15 odd ones carry no data.
    assert_eq!(lengths(&history), [15.0, 50.0]);
}

/// Processes (sequence, window counter) and returns the first packets of the loss events found.
fn events_by_counter(packets: &[(u64, u8)]) -> Vec<u64> {
    let mut history = LossHistory::new(known_start());
    for &(sequence, window_counter) in packets {
        let arrival = ArrivedPacket { window_counter, ..packet(sequence) };
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
fn consecutive_losses_are_one_event_regardless_of_the_counter() {
    let packets = [(0, 0), (1, 0), (40, 11), (41, 11), (42, 11)];
    assert_eq!(events_by_counter(&packets), [2]);
}

#[test]
fn losses_classified_as_wireless_count_as_received() {
    let mut oracle = Omniscient::new();
    for sequence in [20, 21, 40] {
        oracle.inform(sequence, LossClass::Wireless);
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

/// 20 to 22 are lost, 21 on the wireless link. When 21 arrives after all, the event still has two losses;
/// each of them then revokes one.
#[test]
fn a_late_packet_that_never_counted_as_lost_revokes_nothing() {
    let mut oracle = Omniscient::new();
    oracle.inform(21, LossClass::Wireless);
    let mut history = LossHistory::new(known_start());
    let mut arrive = |sequence: u64, at: u64| {
        let arrival = ArrivedPacket::new(Instant::from_millis(at), sequence);
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

/// Classifies gaps as wireless while so configured, and records them.
#[derive(Debug, Default)]
struct ConfigurableObserver {
    wireless: bool,
    gaps: Vec<LossGap>,
}

impl LossDifferentiation for ConfigurableObserver {
    fn on_arrival(&mut self, _: &PacketArrival) {}
    fn classify(&mut self, gap: &LossGap) -> LossClass {
        self.gaps.push(*gap);
        if self.wireless { LossClass::Wireless } else { LossClass::Congestion }
    }
}

#[test]
fn a_gap_is_classified_when_it_opens_not_when_it_is_declared_lost() {
    let mut observer = ConfigurableObserver { wireless: true, ..ConfigurableObserver::default() };
    let mut history = LossHistory::new(known_start());
    for sequence in [0, 1, 4] {
        history.on_arrival(&packet(sequence), RTT, Some(&mut observer), |_| 50.0);
    }
    observer.wireless = false;
    for sequence in [5, 6] {
        history.on_arrival(&packet(sequence), RTT, Some(&mut observer), |_| 50.0);
    }
    let at = Instant::from_millis;
    assert_eq!(observer.gaps, [LossGap { first: 2, count: 2, before: at(10), after: at(40) }]);
    assert!(history.loss_event_rate().is_zero());
    assert_eq!(history.counts(), LossCounts { lost: 2, wireless: 2, marked: 0 });
}

/// Loss events of RFC 5348, Section 5.2, in order of sequence numbers, for packets that arrive in order and
/// evenly: packet i at i times 10 ms. At most one event begins in an outage.
fn naive_events(missing: &[u64], rtt_ms: u64) -> Vec<u64> {
    let arrived_before = |sequence: u64| (0..sequence).rev().find(|before| !missing.contains(before));
    let mut events: Vec<u64> = Vec::new();
    for &lost in missing {
        let last = arrived_before(lost).expect("packet 0 arrived");
        let hole = last + 1;
        let length = (hole..).take_while(|sequence| missing.contains(sequence)).count() as u64;
        let spacing = arrived_before(last).map_or(0, |before| (last - before) * 10);
        let is_silence = (length + 1) * 10 > 4 * rtt_ms;
        let is_outage = length >= 8 || is_silence && (spacing <= rtt_ms || length >= 6);
        let joins = |&old: &u64| old * 10 + rtt_ms >= lost * 10 || is_outage && old >= hole;
        if !events.last().is_some_and(joins) {
            events.push(lost);
        }
    }
    events
}

/// Single losses, and holes of up to 20 packets.
fn arrivals() -> impl Strategy<Value = Vec<u8>> {
    let run = prop_oneof![
        4 => (1u8..4, 1usize..4),
        2 => (Just(0u8), 1usize..2),
        1 => (Just(0u8), 1usize..20),
    ];
    let flat = |runs: Vec<(u8, usize)>| runs.into_iter().flat_map(|(fate, n)| core::iter::repeat_n(fate, n));
    proptest::collection::vec(run, 5..150).prop_map(move |runs| flat(runs).collect())
}

proptest! {
    #[test]
    fn events_are_those_of_the_definition(
        arrivals in arrivals(), rtt_ms in 0u64..500
    ) {
        let missing: Vec<u64> =
            (1..arrivals.len() as u64).filter(|&sequence| arrivals[sequence as usize] == 0).collect();
        let mut history = LossHistory::new(known_start());
        let rule = EventRule::RoundTrip(Duration::from_millis(rtt_ms));
        let end = arrivals.len() as u64 + 3;
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
    fn the_loss_event_rate_is_valid_for_any_arrivals(
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
            let arrival = ArrivedPacket { sequence, at: now, marked, carries_data, empty_before, window_counter };
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
            // Intervals are contiguous.
            prop_assert!(intervals.windows(2).all(|pair| pair[0].first == pair[1].end));
        }
    }
}

/// RFC 4828, Section 4.4, by time: 15 packets with 3 losses in 150 ms, within two round-trip times of 100 ms,
/// count as 5. Until it is longer, the open interval does not count.
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
fn in_a_long_interval_losses_count_once() {
    let mut history = LossHistory::new(HistoryConfig { count_short_losses: true, ..known_start() });
    feed(&mut history, 0..60, &[20, 24, 28, 41]);
    assert_eq!(lengths(&history)[1..], [21.0, 50.0]);
}

/// RFC 5622, Section 8.4, by the window counter: up to eight quarters are two round-trip times.
#[test]
fn the_window_counter_identifies_short_intervals() {
    let length = |per_quarter: u64, second_loss: u64| {
        let mut history = LossHistory::new(HistoryConfig { count_short_losses: true, ..known_start() });
        for sequence in (0..120).filter(|sequence| ![20, 22, second_loss].contains(sequence)) {
            let counter = (sequence / per_quarter % 16) as u8;
            let arrival = ArrivedPacket { window_counter: counter, ..packet(sequence) };
            history.on_arrival(&arrival, EventRule::WindowCounter, None, |_| 50.0);
        }
        lengths(&history)[1]
    };
    // Two packets per quarter: the loss of 20 occurs after nine quarters, of 35 after 17, of 38
    // after 18.
    assert_eq!(length(2, 35), 15.0 / 2.0);
    assert_eq!(length(2, 38), 18.0);
}
