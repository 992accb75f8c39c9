use proptest::prelude::*;

use super::*;

const TEN: Duration = Duration::from_millis(10);

fn ms(ms: u64) -> Instant {
    Instant::from_millis(ms)
}

/// Sends all packets allowed at `now`.
fn burst(pacer: &mut Pacer, now: Instant) -> u32 {
    let mut sent = 0;
    while pacer.next_send_time() <= now {
        pacer.on_sent(now);
        sent += 1;
        assert!(sent < 1000, "the burst does not end");
    }
    sent
}

#[test]
fn packets_are_sent_at_their_nominal_times() {
    let mut pacer = Pacer::new(TEN);
    assert_eq!(burst(&mut pacer, ms(5)), 1);
    assert_eq!(pacer.next_send_time(), ms(15));
    assert_eq!(burst(&mut pacer, ms(14)), 0);
    assert_eq!(burst(&mut pacer, ms(15)), 1);
    assert_eq!(pacer.next_send_time(), ms(25));
}

#[test]
fn a_late_sender_catches_up_within_its_credit() {
    let mut pacer = Pacer::new(TEN);
    pacer.adjust(TEN, Duration::from_millis(100), Duration::ZERO);
    burst(&mut pacer, ms(0));
    // Due at 10 and 20; the one at 30 is not due.
    assert_eq!(burst(&mut pacer, ms(25)), 2);
    assert_eq!(pacer.next_send_time(), ms(30));
}

/// RFC 5348, Section 8.3: at 10 packets per round-trip time of 100 ms, an idle period retains at most 100 ms
/// of send times: the 10 in the past and the one that is due.
#[test]
fn a_long_idle_period_allows_a_round_trip_of_packets_and_no_more() {
    let mut pacer = Pacer::new(TEN);
    pacer.adjust(TEN, Duration::from_millis(100), Duration::ZERO);
    burst(&mut pacer, ms(0));
    assert_eq!(burst(&mut pacer, ms(60_000)), 11);
}

#[test]
fn without_credit_there_are_no_bursts() {
    let mut pacer = Pacer::new(TEN);
    burst(&mut pacer, ms(0));
    assert_eq!(burst(&mut pacer, ms(500)), 1);
    assert_eq!(pacer.next_send_time(), ms(510));
}

#[test]
fn a_packet_may_be_early_but_the_rate_holds() {
    let mut pacer = Pacer::new(TEN);
    pacer.adjust(TEN, Duration::ZERO, Duration::from_millis(4));
    burst(&mut pacer, ms(0));
    assert_eq!(pacer.next_send_time(), ms(6));
    burst(&mut pacer, ms(6));
    assert_eq!(pacer.next_send_time(), ms(16), "its nominal time was 10, so the next one's is 20");
}

#[test]
fn a_new_rate_applies_to_the_wait_in_progress() {
    let mut pacer = Pacer::new(Duration::from_secs(1));
    burst(&mut pacer, ms(0));
    pacer.adjust(TEN, Duration::ZERO, Duration::ZERO);
    assert_eq!(pacer.next_send_time(), ms(10));
}

proptest! {
    #[test]
    fn a_minimum_spacing_is_kept_regardless_of_missed_send_times(
        wakes in proptest::collection::vec(0u64..100, 1..60), interval in 0u64..50, credit in 0u64..200, early in 0u64..20
    ) {
        let mut pacer = Pacer::new(TEN);
        pacer.adjust(Duration::from_millis(interval), Duration::from_millis(credit), Duration::from_millis(early));
        pacer.set_spacing(TEN);
        let (mut now, mut last) = (ms(0), None);
        for wait in wakes {
            now += Duration::from_millis(wait);
            if pacer.next_send_time() <= now {
                pacer.on_sent(now);
                prop_assert!(last.is_none_or(|last| now - last >= TEN));
                last = Some(now);
            }
        }
    }

    #[test]
    fn the_number_of_packets_sent_is_bounded_by_rate_and_credit(
        wakes in proptest::collection::vec(0u64..300, 1..60), interval in 1u64..50, credit in 0u64..200
    ) {
        let mut pacer = Pacer::new(Duration::from_millis(interval));
        pacer.adjust(Duration::from_millis(interval), Duration::from_millis(credit), Duration::ZERO);
        let mut now = ms(0);
        let mut sends = alloc::vec![];
        for wait in wakes {
            now += Duration::from_millis(wait);
            sends.push((now, burst(&mut pacer, now)));
        }
        for from in 0..sends.len() {
            let mut total = 0;
            for &(at, sent) in &sends[from..] {
                total += u64::from(sent);
                let time = (at - sends[from].0).as_millis() + credit;
                prop_assert!(total <= time / interval + 1);
            }
        }
    }
}

#[test]
fn missed_send_times_are_dropped_and_pending_ones_are_kept() {
    let credit = Duration::from_millis(100);
    let mut pacer = Pacer::new(TEN);
    pacer.adjust(TEN, credit, Duration::ZERO);
    assert_eq!(burst(&mut pacer, ms(0)), 1);
    // Repeated calls do not make a packet early.
    pacer.forget_missed(ms(4));
    assert_eq!(pacer.next_send_time(), ms(10));
    pacer.forget_missed(ms(1000));
    assert_eq!(burst(&mut pacer, ms(1000)), 1, "without: eleven");
    assert_eq!(pacer.next_send_time(), ms(1010));
}
