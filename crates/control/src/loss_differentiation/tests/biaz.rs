use super::super::packet_time::Estimate;
use super::super::{Biaz, Evidence, LossClass, LossDifferentiation};
use super::{at, packet, verdict};
use whimbrel_units::{ByteCount, Duration};

/// T_min is 10 ms: arrivals 12, 10 and 15 ms apart.
fn trained(mut biaz: Biaz) -> Biaz {
    for (sequence, ms) in [(0, 0.0), (1, 12.0), (2, 22.0), (3, 37.0)] {
        biaz.on_arrival(&packet(sequence, ms, 5.0));
    }
    biaz
}

#[test]
fn the_window_reaches_from_n_plus_1_to_n_plus_2_packet_times() {
    let mut biaz = trained(Biaz::new());
    for (n, interval, expected) in [
        (1, 19.999, LossClass::Congestion), // 19.999 < (1 + 1) 10: too early
        (1, 20.0, LossClass::Wireless),     // the lower limit belongs to the window
        (1, 29.999, LossClass::Wireless),
        (1, 30.0, LossClass::Congestion), // the upper does not
        (3, 39.999, LossClass::Congestion),
        (3, 40.0, LossClass::Wireless),
        (3, 50.0, LossClass::Congestion),
    ] {
        assert_eq!(verdict(&mut biaz, n, 100.0, 100.0 + interval), expected, "n = {n}, {interval} ms");
    }
}

#[test]
fn the_modified_window_ends_at_n_plus_1_2() {
    let mut biaz = trained(Biaz::modified());
    for (n, interval, expected) in [
        (1, 19.999, LossClass::Congestion),
        (1, 20.0, LossClass::Wireless),
        (1, 21.999, LossClass::Wireless),
        (1, 22.0, LossClass::Congestion),
        (2, 30.0, LossClass::Wireless),
        (2, 32.0, LossClass::Congestion),
    ] {
        assert_eq!(verdict(&mut biaz, n, 100.0, 100.0 + interval), expected, "n = {n}, {interval} ms");
    }
}

#[test]
fn the_evidence_contains_the_compared_values() {
    let mut biaz = trained(Biaz::new());
    verdict(&mut biaz, 2, 100.0, 131.0);
    let expected = Evidence::InterArrival {
        interval: Duration::from_millis(31),
        minimum: Duration::from_millis(10),
        count: 2,
    };
    assert_eq!(biaz.evidence(), expected);
}

#[test]
fn a_packet_without_data_is_not_used_for_the_packet_time() {
    let mut biaz = trained(Biaz::new());
    let mut short = packet(4, 38.0, 5.0);
    short.size = ByteCount::ZERO;
    biaz.on_arrival(&short);
    assert_eq!(biaz.minimum_interval(), Some(Estimate::exact(Duration::from_millis(10))));
    // The next data packet's interval is measured from the last data packet: 47 - 37.
    biaz.on_arrival(&packet(5, 46.0, 5.0));
    assert_eq!(biaz.minimum_interval(), Some(Estimate::exact(at(46.0) - at(37.0))));
}
