use proptest::prelude::*;
use whimbrel_units::{ByteCount, Duration};

use super::*;

const TFRC: f64 = 4.0;

#[test]
fn at_one_percent_and_100_ms_tcp_sends_164_kilobytes_per_second() {
    // sqrt(0.02/3) + 12 sqrt(0.03/8) 0.01 (1 + 0.0032) = 0.0816497 + 0.0073719 = 0.0890216.
    let rate = throughput(
        ByteCount::new(1460),
        Duration::from_millis(100),
        LossEventRate::new(0.01),
        RetransmitTimeout::FourRoundTrips,
    );
    assert!((rate.as_bytes_per_second() - 1460.0 / 0.1 / 0.089_021_642).abs() < 0.01, "{rate}");
}

#[test]
fn a_timeout_of_a_second_makes_short_paths_slower() {
    // R = 0.1 s makes t_RTO 10 R: 0.0816497 + 30 sqrt(0.03/8) 0.01 1.0032 = 0.10007962.
    let [gentle, usual] =
        [RetransmitTimeout::AtLeastOneSecond, RetransmitTimeout::FourRoundTrips].map(|timeout| {
            throughput(ByteCount::new(1000), Duration::from_millis(100), LossEventRate::new(0.01), timeout)
        });
    assert!((gentle.as_bytes_per_second() / (1000.0 / 0.1 / 0.100_079_62) - 1.0).abs() < 1e-6, "{gentle}");
    assert!(gentle < usual);
    assert_eq!(RetransmitTimeout::AtLeastOneSecond.in_round_trips(Duration::from_millis(500)), 4.0);
}

/// RFC 4828, Table 1: kilobytes per second at a round-trip time of 100 ms, for segments of 14, 536
/// and 1460 bytes. The printed rates count 40 bytes of headers to each segment, and their
/// smallest ones show that 2/3 was taken as 0.666.
#[test]
fn the_equation_matches_table_1_of_rfc_4828() {
    let table = [
        (0.00001, [209.25, 2232.00, 5812.49]),
        (0.00003, [120.79, 1288.41, 3355.24]),
        (0.0001, [66.12, 705.25, 1836.58]),
        (0.0003, [38.10, 406.44, 1058.45]),
        (0.001, [20.74, 221.23, 576.12]),
        (0.003, [11.76, 125.49, 326.79]),
        (0.01, [6.07, 64.75, 168.61]),
        (0.03, [2.99, 31.90, 83.07]),
        (0.1, [0.96, 10.21, 26.58]),
        (0.2, [0.29, 3.09, 8.06]),
        (0.3, [0.11, 1.12, 2.93]),
        (0.4, [0.05, 0.48, 1.26]),
        (0.5, [0.02, 0.24, 0.63]),
    ];
    for (p, row) in table {
        for (size, printed) in [14, 536, 1460].into_iter().zip(row) {
            let rate = throughput(
                ByteCount::new(size + 40),
                Duration::from_millis(100),
                LossEventRate::new(p),
                RetransmitTimeout::FourRoundTrips,
            );
            let kilobytes = rate.as_bytes_per_second() / 1000.0;
            let slack = printed * 0.001 + 0.005;
            assert!(
                (kilobytes - printed).abs() < slack,
                "p {p}, {size} bytes: {kilobytes}, printed {printed}"
            );
        }
    }
}

#[test]
fn without_loss_there_is_no_limit() {
    let unlimited = throughput(
        ByteCount::new(1460),
        Duration::from_millis(100),
        LossEventRate::ZERO,
        RetransmitTimeout::default(),
    );
    assert_eq!(unlimited, DataRate::INFINITE);
}

#[test]
fn the_loss_of_the_first_packet_makes_an_interval_of_five_packets() {
    // f(0.2) = 0.36515 + 12 0.27386 0.2 2.28 = 1.8637 and f(0.21) = 0.37417 + 12 0.28062 0.21 2.4112
    // = 2.0793, so f(p) = 2 lies between 1/5 and 1/4.76.
    let interval = first_loss_interval(0.0, TFRC);
    assert!((4.76..5.0).contains(&interval), "{interval}");
    let back = packets_per_round_trip(LossEventRate::new(1.0 / interval), TFRC);
    assert!((back - 0.5).abs() < 1e-9, "{back}");
}

#[test]
fn rates_out_of_range_give_the_nearest_loss_rate() {
    assert_eq!(loss_event_rate_at(0.0, TFRC), LossEventRate::ONE);
    assert_eq!(loss_event_rate_at(-1.0, TFRC), LossEventRate::ONE);
    assert_eq!(loss_event_rate_at(f64::NAN, TFRC), LossEventRate::ONE);
    assert_eq!(loss_event_rate_at(f64::INFINITY, TFRC), LossEventRate::LOWEST);
    assert_eq!(loss_event_rate_at(1e300, TFRC), LossEventRate::LOWEST);
    assert_eq!(loss_event_rate_at(1e-300, TFRC), LossEventRate::ONE);
}

proptest! {
    #[test]
    fn the_inverse_undoes_the_equation(exponent in -8.0f64..=0.0, timeout in 4.0f64..100.0) {
        let p = LossEventRate::new(libm::pow(10.0, exponent));
        let back = loss_event_rate_at(packets_per_round_trip(p, timeout), timeout);
        prop_assert!((back.as_f64() / p.as_f64() - 1.0).abs() < 1e-9, "{p:?} became {back:?}");
    }

    #[test]
    fn more_loss_is_less_rate(a in 1e-8f64..=1.0, b in 1e-8f64..=1.0) {
        prop_assume!(a < b);
        let [much, little] = [a, b].map(|p| packets_per_round_trip(LossEventRate::new(p), TFRC));
        prop_assert!(much > little);
    }

    #[test]
    fn less_rate_is_more_loss(a in 1e-3f64..1e4, b in 1e-3f64..1e4) {
        prop_assume!(a <= b);
        prop_assert!(loss_event_rate_at(a, TFRC) >= loss_event_rate_at(b, TFRC));
    }

    #[test]
    fn any_rate_has_a_loss_rate(packets: f64, timeout in 4.0f64..1e9) {
        let p = loss_event_rate_at(packets, timeout);
        prop_assert!(p >= LossEventRate::LOWEST && p <= LossEventRate::ONE);
    }
}

/// On a clock of 100 ms a round-trip time of 53 ms is one tick, and its deviation starts at half of one and
/// never decays: three ticks for good, 5.7 R, as in ns-2.
#[test]
fn a_timeout_measured_on_a_coarse_clock_is_in_whole_ticks() {
    let coarse = RetransmitTimeout::Measured { tick: Duration::from_millis(100) };
    let mut estimator = coarse.estimator().expect("it is measured");
    for _ in 0..100 {
        estimator.on_sample(Duration::from_millis(53));
    }
    assert_eq!(estimator.rto(), Duration::from_millis(300));
    assert_eq!(coarse.in_round_trips(Duration::from_millis(53)), 4.0);
    assert!(RetransmitTimeout::FourRoundTrips.estimator().is_none());
}
