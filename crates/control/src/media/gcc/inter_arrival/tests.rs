use super::*;

fn ms(n: u64) -> Instant {
    Instant::from_millis(n)
}

fn groups() -> InterArrival {
    InterArrival::new(Duration::from_millis(5))
}

#[test]
fn groups_span_more_than_5_ms_of_sending_time() {
    let mut groups = groups();
    // Packets each ms: 0 to 5, 6 to 11 and 12 on. Each is delayed by 50 ms, from the second group on by 2 ms
    // more.
    let mut found = [None; 13];
    for sent in 0..=12 {
        let arrived = sent + if sent < 6 { 50 } else { 52 };
        found[sent as usize] = groups.record(ms(sent), ms(arrived), ms(200));
    }
    assert!(found[..12].iter().all(Option::is_none));
    let deltas = Deltas { sent: Duration::from_millis(6), arrived: Duration::from_millis(8) };
    assert_eq!(found[12], Some(deltas));
}

#[test]
fn packets_that_a_queue_releases_together_are_one_group() {
    let mut groups = groups();
    // Sent each 20 ms, arrived each 4 ms.
    for (sent, arrived) in [(0, 100), (20, 104), (40, 108)] {
        assert_eq!(groups.record(ms(sent), ms(arrived), ms(200)), None);
    }
    assert_eq!(groups.record(ms(60), ms(128), ms(200)), None);
    let deltas = groups.record(ms(80), ms(148), ms(200));
    // From the packet sent at 40 ms to the one sent at 60 ms.
    let expected = Deltas { sent: Duration::from_millis(20), arrived: Duration::from_millis(20) };
    assert_eq!(deltas, Some(expected));
}

#[test]
fn a_burst_lasts_at_most_100_ms() {
    let mut groups = groups();
    for n in 0..26 {
        assert_eq!(groups.record(ms(20 * n), ms(1000 + 4 * n), ms(2000)), None, "{n}");
    }
    // The packet that arrived 100 ms after the first begins the second group, this one the third.
    assert!(groups.record(ms(600), ms(1200), ms(2000)).is_some());
}

#[test]
fn packets_in_disorder_are_left_out() {
    let mut groups = groups();
    for sent in [0, 10, 20, 30] {
        groups.record(ms(sent), ms(sent + 50), ms(200));
    }
    let before = groups.clone();
    assert_eq!(groups.record(ms(5), ms(90), ms(200)), None);
    assert_eq!(groups, before);
}

#[test]
fn a_jump_of_the_receivers_clock_resets_the_groups() {
    let mut groups = groups();
    groups.record(ms(0), ms(50), ms(100));
    groups.record(ms(10), ms(4060), ms(110));
    assert_eq!(groups.record(ms(20), ms(4070), ms(120)), None);
    assert_eq!(groups.current, None);
}
