use super::*;

#[test]
fn the_rate_shrinks_with_each_update_while_the_window_is_exceeded() {
    let rate = DataRate::from_megabits_per_second(1.0);
    let mut pushback = Pushback::new(PushbackConfig::default());
    let apply = |pushback: &mut Pushback, in_flight| {
        pushback.set_in_flight(ByteCount::new(in_flight));
        (pushback.apply(rate).as_bits_per_second() / 1e3).round()
    };
    assert_eq!(apply(&mut pushback, 1_000_000), 1000.0);
    pushback.record_rtt(Duration::from_millis(150));
    pushback.record_rtt(Duration::from_millis(100));
    pushback.update_window(rate);
    // 1 Mbit/s for 100 + 350 ms are 56,250 bytes.
    assert_eq!(apply(&mut pushback, 56_250), 1000.0);
    assert_eq!(apply(&mut pushback, 56_251), 950.0);
    assert_eq!(apply(&mut pushback, 84_376), 855.0);
    assert_eq!(apply(&mut pushback, 50_000), 898.0);
    assert_eq!(apply(&mut pushback, 5_624), 1000.0);
    for _ in 0..100 {
        apply(&mut pushback, 100_000);
    }
    assert_eq!(apply(&mut pushback, 100_000), 30.0);
}

#[test]
fn the_window_moves_halfway_and_has_a_least_size() {
    let mut pushback = Pushback::new(PushbackConfig::default());
    pushback.record_rtt(Duration::from_millis(50));
    pushback.update_window(DataRate::from_megabits_per_second(1.0));
    pushback.update_window(DataRate::from_kilobits_per_second(500.0));
    assert_eq!(pushback.window, Some(ByteCount::new(37_500)));
    for _ in 0..20 {
        pushback.update_window(DataRate::from_kilobits_per_second(10.0));
    }
    assert_eq!(pushback.window, Some(ByteCount::new(3000)));
}
