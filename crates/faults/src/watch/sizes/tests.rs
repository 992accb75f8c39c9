use super::*;

const RTT: Duration = Duration::from_millis(10);

fn at(seconds: u64) -> Instant {
    Instant::from_secs(seconds)
}

#[test]
#[should_panic(expected = "data packets vanish for their size")]
fn data_may_not_vanish_for_longer_than_probes_take() {
    let mut sizes = Sizes::default();
    for second in [0, 6, 15] {
        sizes.on_vanished(at(second), RTT);
    }
}

/// While answers to the last probe count as under way, on a slow path too, nothing is probed.
#[test]
fn a_size_is_trusted_for_round_trip_times() {
    let rtt = Duration::from_secs(2);
    let mut sizes = Sizes::default();
    for second in [0, 6, 11, 11 + 8 * 8] {
        sizes.on_vanished(at(second), rtt);
    }
}

/// A frozen sender does not probe.
#[test]
fn the_time_of_a_freeze_does_not_count() {
    let mut sizes = Sizes::default();
    sizes.on_vanished(at(0), RTT);
    sizes.on_vanished(at(6), RTT);
    sizes.on_pause(at(6));
    for second in [100, 106, 114] {
        sizes.on_vanished(at(second), RTT);
    }
}

/// A search that a freeze has interrupted is not expected to be over when the freeze is.
#[test]
fn a_search_has_its_time_after_a_freeze() {
    let mut sizes = Sizes::default();
    sizes.on_open(at(0));
    let has_had_time = |sizes: &Sizes, second| Sizes::has_had_time(at(second), sizes.open_since);
    assert!(has_had_time(&sizes, 40));
    sizes.on_pause(at(39));
    assert!(!has_had_time(&sizes, 78) && has_had_time(&sizes, 79));
}

/// A size that is too large is noticed by the loss of data packets, not before them.
#[test]
fn a_size_has_its_time_from_its_first_use_on() {
    let mut sizes = Sizes::default();
    sizes.on_open(at(0));
    sizes.on_sent(at(100), MIN);
    assert_eq!(sizes.used_since, None);
    sizes.on_sent(at(107), MIN + 1);
    sizes.on_sent(at(108), MIN + 1);
    assert!(
        !Sizes::has_had_time(at(146), sizes.used_since) && Sizes::has_had_time(at(147), sizes.used_since)
    );
}
