use proptest::prelude::*;

use alloc::vec;
use alloc::vec::Vec;

use super::*;

const RTT: Duration = Duration::from_millis(100);

fn ms(ms: u64) -> Instant {
    Instant::from_millis(ms)
}

#[test]
fn it_advances_by_one_every_quarter_of_a_round_trip() {
    let mut counter = WindowCounter::default();
    let stamps: Vec<u8> = (0..=20).map(|i| counter.stamp(ms(i * 10), RTT)).collect();
    // 25 ms have passed at 30 ms, and again at 60, 90, ...
    let expected = [0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 3, 4, 4, 4, 5, 5, 5, 6, 6, 6];
    assert_eq!(stamps, expected);
}

#[test]
fn after_silence_it_advances_by_five_only() {
    let mut counter = WindowCounter::default();
    counter.stamp(ms(0), RTT);
    assert_eq!(counter.stamp(ms(100_000), RTT), 5);
    assert_eq!(counter.stamp(ms(200_000), RTT), 10);
    assert_eq!(counter.stamp(ms(300_000), RTT), 15);
    assert_eq!(counter.stamp(ms(400_000), RTT), 4);
}

#[test]
fn what_follows_an_acknowledgement_is_four_ahead_of_what_was_acknowledged() {
    let mut counter = WindowCounter::default();
    counter.stamp(ms(0), RTT);
    counter.on_ack(ms(20), 0);
    assert_eq!(counter.stamp(ms(20), RTT), 4);
    // The counter is four ahead already.
    counter.on_ack(ms(21), 0);
    assert_eq!(counter.stamp(ms(21), RTT), 4);
}

proptest! {
    #[test]
    fn adjacent_packets_never_differ_by_more_than_five(
        steps in proptest::collection::vec((0u64..300, any::<bool>(), 0usize..8), 1..100)
    ) {
        let (mut now, mut counter) = (ms(0), WindowCounter::default());
        let mut sent = vec![counter.stamp(now, RTT)];
        for (wait, ack, back) in steps {
            now += Duration::from_millis(wait);
            if ack {
                counter.on_ack(now, sent[sent.len().saturating_sub(1 + back)]);
            } else {
                let stamp = counter.stamp(now, RTT);
                prop_assert!(stamp < 16 && ahead(stamp, *sent.last().unwrap()) <= 5);
                sent.push(stamp);
            }
        }
    }
}
