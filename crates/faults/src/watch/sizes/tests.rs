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

/// A frozen sender does not probe.
#[test]
fn the_time_of_a_freeze_does_not_count() {
    let mut sizes = Sizes::default();
    sizes.on_vanished(at(0), RTT);
    sizes.on_vanished(at(6), RTT);
    sizes.on_pause();
    for second in [100, 106, 114] {
        sizes.on_vanished(at(second), RTT);
    }
}
