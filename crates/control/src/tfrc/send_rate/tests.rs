use proptest::prelude::*;

use super::*;
use crate::tfrc::throughput;

const SEGMENT: ByteCount = ByteCount::new(1000);
const RTT: Duration = Duration::from_millis(100);
const PATH: PathEstimate =
    PathEstimate { rtt: RTT, segment_size: SEGMENT, max_segment_size: SEGMENT, retransmit_timeout: None };

fn kilobytes(rate: f64) -> DataRate {
    DataRate::from_bytes_per_second(rate * 1000.0)
}

fn ms(ms: u64) -> Instant {
    Instant::from_millis(ms)
}

fn in_kilobytes(rate: DataRate) -> f64 {
    rate.as_bytes_per_second() / 1000.0
}

#[track_caller]
fn assert_kilobytes(rate: DataRate, expected: f64) {
    assert!((in_kilobytes(rate) - expected).abs() < 1e-6 * expected, "{} kB/s", in_kilobytes(rate));
}

fn report(receive_rate: f64, p: f64) -> RateReport {
    RateReport {
        receive_rate: kilobytes(receive_rate),
        loss_event_rate: LossEventRate::new(p),
        new_loss_event: false,
        data_limited: false,
    }
}

/// A sender whose round-trip time was measured at time zero.
fn started() -> SendRate {
    let mut rate = SendRate::new(ms(0), SEGMENT, SendRateConfig::default());
    rate.on_first_round_trip(ms(0), &PATH);
    rate
}

/// A sender in congestion avoidance, with X_recv_set = {X_recv} kB/s at time zero.
fn avoiding(receive_rate: f64, p: f64) -> SendRate {
    let mut rate = started();
    rate.receive_rates.replace(ms(0), DataRate::ZERO);
    rate.on_feedback(ms(0), &report(receive_rate, p), &PATH);
    rate
}

/// RFC 5348, Section 4.2: min(4 MSS, max(2 MSS, 4380)).
#[test]
fn the_initial_window_is_two_to_four_segments() {
    let window = |size| InitialWindow::Rfc3390.bytes(ByteCount::new(size)).as_u64();
    assert_eq!(window(536), 2144);
    assert_eq!(window(1095), 4380);
    assert_eq!(window(1460), 4380);
    assert_eq!(window(4000), 8000);
}

/// RFC 6928, Section 2: min(10 MSS, max(2 MSS, 14600)). The least rate of slow start remains RFC 3390's.
#[test]
fn a_start_with_ten_segments_does_not_raise_the_least_rate() {
    let window = |size| InitialWindow::Rfc6928.bytes(ByteCount::new(size)).as_u64();
    assert_eq!([536, 1460, 4000, 9000].map(window), [5360, 14_600, 14_600, 18_000]);
    let config = SendRateConfig { initial_window: InitialWindow::Rfc6928, ..SendRateConfig::default() };
    let mut rate = SendRate::new(ms(0), SEGMENT, config);
    rate.on_first_round_trip(ms(100), &PATH);
    assert_kilobytes(rate.allowed(), 100.0);
    rate.on_feedback(ms(300), &report(1.0, 0.0), &PATH);
    assert_kilobytes(rate.allowed(), 40.0);
}

#[test]
fn the_rate_starts_at_a_segment_per_second_then_a_window_per_round_trip() {
    let mut rate = SendRate::new(ms(0), SEGMENT, SendRateConfig::default());
    assert_kilobytes(rate.allowed(), 1.0);
    rate.on_first_round_trip(ms(100), &PATH);
    assert_kilobytes(rate.allowed(), 40.0);
}

#[test]
fn slow_start_doubles_once_per_round_trip_up_to_twice_the_receive_rate() {
    let mut rate = started();
    rate.on_feedback(ms(100), &report(40.0, 0.0), &PATH);
    assert_kilobytes(rate.allowed(), 80.0);
    rate.on_feedback(ms(150), &report(40.0, 0.0), &PATH);
    assert_kilobytes(rate.allowed(), 80.0);
    rate.on_feedback(ms(200), &report(80.0, 0.0), &PATH);
    assert_kilobytes(rate.allowed(), 160.0);
    // The path carries 90 kB/s; infinity expires two round-trip times after 0.
    rate.on_feedback(ms(300), &report(90.0, 0.0), &PATH);
    assert_kilobytes(rate.allowed(), 180.0);
    rate.on_feedback(ms(400), &report(90.0, 0.0), &PATH);
    assert_kilobytes(rate.allowed(), 180.0);
}

/// A feedback early by a clock tick still completes a round-trip time; one early by a tenth does not.
#[test]
fn slow_start_does_not_wait_for_the_last_microsecond_of_a_round_trip() {
    let mut rate = started();
    rate.on_feedback(Instant::from_nanos(99_999_000), &report(400.0, 0.0), &PATH);
    assert_kilobytes(rate.allowed(), 80.0);
    rate.on_feedback(ms(190), &report(400.0, 0.0), &PATH);
    assert_kilobytes(rate.allowed(), 80.0);
}

#[test]
fn slow_start_never_falls_below_the_initial_rate() {
    let mut rate = started();
    for i in 1..9 {
        rate.on_feedback(ms(i * 100), &report(1.0, 0.0), &PATH);
    }
    assert_kilobytes(rate.allowed(), 40.0);
}

/// p = 0.01, R = 0.1 s, s = 1000: X_Bps = 1000/0.1/0.0890216 = 112.333 kB/s.
#[test]
fn after_a_loss_the_equation_rules() {
    let rate = avoiding(200.0, 0.01);
    assert_kilobytes(rate.allowed(), 10.0 / 0.089_021_642_4);
    assert!(!rate.in_slow_start());
}

#[test]
fn the_equation_rate_is_limited_to_twice_the_receive_rate() {
    let rate = avoiding(30.0, 0.01);
    assert_kilobytes(rate.allowed(), 60.0);
}

#[test]
fn a_packet_in_64_seconds_is_always_allowed() {
    let mut rate = avoiding(200.0, 1.0);
    rate.receive_rates.replace(ms(0), DataRate::ZERO);
    rate.on_feedback(ms(0), &report(0.0001, 1.0), &PATH);
    assert_kilobytes(rate.allowed(), 1.0 / 64.0);
}

/// The chain of Section 4.4: X_Bps = 112.3, X_recv = 80, so X_Bps limits: Update_Limits(56.2) leaves
/// X_recv_set = {28.1}. Then 2 X_recv limits: Update_Limits(28.1), (14.0), and so on by halves.
#[test]
fn each_silence_halves_the_rate_down_to_a_packet_in_64_seconds() {
    let mut rate = avoiding(80.0, 0.01);
    let mut expected = 10.0 / 0.089_021_642_4;
    assert_kilobytes(rate.allowed(), expected);
    for i in 0..20 {
        assert_eq!(rate.on_nofeedback(ms(400 * (i + 1)), Some(&PATH), SEGMENT, false), Expiration::Reduced);
        expected = f64::max(expected / 2.0, 1.0 / 64.0);
        assert_kilobytes(rate.allowed(), expected);
        assert_kilobytes(rate.receive_rate(), expected / 2.0);
    }
    assert_kilobytes(rate.allowed(), 1.0 / 64.0);
}

#[test]
fn silence_before_the_first_loss_halves_as_well() {
    let mut rate = started();
    rate.on_nofeedback(ms(400), Some(&PATH), SEGMENT, false);
    assert_kilobytes(rate.allowed(), 20.0);
}

#[test]
fn silence_before_the_first_round_trip_halves_a_segment_per_second() {
    let mut rate = SendRate::new(ms(0), SEGMENT, SendRateConfig::default());
    for (i, expected) in [0.5, 0.25, 0.125, 0.0625, 0.03125, 0.015_625, 0.015_625].into_iter().enumerate() {
        rate.on_nofeedback(Instant::from_secs(2 << i), None, SEGMENT, false);
        assert_kilobytes(rate.allowed(), expected);
    }
}

/// recover_rate = W_init/R = 40 kB/s.
#[test]
fn an_idle_sender_in_slow_start_keeps_less_than_twice_the_recover_rate() {
    let mut rate = started();
    rate.on_feedback(ms(100), &report(40.0, 0.0), &PATH);
    rate.on_feedback(ms(200), &report(80.0, 0.0), &PATH);
    assert_kilobytes(rate.allowed(), 160.0);
    assert_eq!(rate.on_nofeedback(ms(600), Some(&PATH), SEGMENT, true), Expiration::Reduced);
    assert_eq!(rate.on_nofeedback(ms(1000), Some(&PATH), SEGMENT, true), Expiration::Reduced);
    assert_kilobytes(rate.allowed(), 40.0);
    assert_eq!(rate.on_nofeedback(ms(1400), Some(&PATH), SEGMENT, true), Expiration::Kept);
    assert_kilobytes(rate.allowed(), 40.0);
}

#[test]
fn an_idle_sender_after_a_loss_keeps_a_remembered_rate_below_the_recover_rate() {
    let mut rate = avoiding(100.0, 0.001);
    assert_kilobytes(rate.allowed(), 200.0);
    // X_recv = 100, 50, 25: the last is below 40.
    for expected in [100.0, 50.0] {
        assert_eq!(rate.on_nofeedback(ms(400), Some(&PATH), SEGMENT, true), Expiration::Reduced);
        assert_kilobytes(rate.allowed(), expected);
    }
    assert_eq!(rate.on_nofeedback(ms(1200), Some(&PATH), SEGMENT, true), Expiration::Kept);
    assert_kilobytes(rate.allowed(), 50.0);
}

/// RFC 5348, Appendix C.4, example 2: from 100 packets per round-trip time, a sender limited to 99
/// loses one and is limited to 85.
#[test]
fn a_loss_in_a_data_limited_interval_leaves_85_percent() {
    let mut rate = avoiding(1000.0, 0.000_01);
    let limited = RateReport { data_limited: true, new_loss_event: true, ..report(990.0, 0.000_02) };
    rate.on_feedback(ms(100), &limited, &PATH);
    assert_kilobytes(rate.receive_limit(), 0.85 * 990.0);
    assert_kilobytes(rate.allowed(), 0.85 * 990.0);
}

/// Example 3: from 100 packets per round-trip time to an idle period to a single marked packet: 50.
#[test]
fn a_loss_in_a_quiet_time_halves_the_recorded_rates() {
    let mut rate = avoiding(1000.0, 0.000_01);
    let quiet = RateReport { data_limited: true, ..report(10.0, 0.000_01) };
    rate.on_feedback(ms(100), &quiet, &PATH);
    assert_kilobytes(rate.receive_limit(), 2000.0);
    rate.on_feedback(ms(200), &RateReport { loss_event_rate: LossEventRate::new(0.000_02), ..quiet }, &PATH);
    assert_kilobytes(rate.receive_limit(), 500.0);
}

#[test]
fn a_data_limited_sender_keeps_its_previous_receive_rate() {
    let mut rate = avoiding(1000.0, 0.000_01);
    for i in 1..50 {
        rate.on_feedback(ms(i * 100), &RateReport { data_limited: true, ..report(10.0, 0.000_01) }, &PATH);
    }
    assert_kilobytes(rate.receive_limit(), 2000.0);
    // An interval of full use, two round-trip times later, ends this.
    rate.on_feedback(ms(5001), &report(10.0, 0.000_01), &PATH);
    rate.on_feedback(ms(5202), &report(10.0, 0.000_01), &PATH);
    assert_kilobytes(rate.receive_limit(), 20.0);
}

#[test]
fn the_first_report_of_nothing_does_not_limit() {
    let mut rate = started();
    rate.receive_rates.replace(ms(0), kilobytes(500.0));
    rate.on_feedback(Instant::from_secs(9), &report(0.0, 0.01), &PATH);
    assert_kilobytes(rate.allowed(), 10.0 / 0.089_021_642_4);
}

#[test]
fn a_maximum_is_never_exceeded() {
    let config = SendRateConfig { max_rate: kilobytes(50.0), ..SendRateConfig::default() };
    let mut rate = SendRate::new(ms(0), SEGMENT, config);
    rate.on_first_round_trip(ms(0), &PATH);
    for i in 1..9 {
        rate.on_feedback(ms(i * 100), &report(1000.0, 0.0), &PATH);
    }
    assert_kilobytes(rate.allowed(), 50.0);
    rate.set_max_rate(kilobytes(30.0));
    assert_kilobytes(rate.allowed(), 30.0);
}

#[test]
fn faster_restart_quadruples_up_to_the_sustained_rate() {
    let restart = Some(super::super::faster_restart::DECAY_TIME);
    let config = SendRateConfig { faster_restart: restart, ..SendRateConfig::default() };
    let mut rate = SendRate::new(ms(0), SEGMENT, config);
    rate.on_first_round_trip(ms(0), &PATH);
    rate.receive_rates.replace(ms(0), DataRate::ZERO);
    for now in [0, 1] {
        rate.on_feedback(ms(now), &report(1000.0, 0.000_01), &PATH);
    }
    // Idle until the minimum of twice the initial window per round-trip time.
    let mut now = 400;
    while rate.on_nofeedback(ms(now), Some(&PATH), SEGMENT, true) == Expiration::Reduced {
        now += 400;
    }
    assert!(rate.receive_rate() < kilobytes(80.0) && rate.receive_rate() > kilobytes(40.0));
    let before = in_kilobytes(rate.receive_rate());
    rate.on_feedback(ms(now), &report(before, 0.000_01), &PATH);
    assert_kilobytes(rate.allowed(), 4.0 * before);
}

#[derive(Clone, Debug)]
enum Step {
    Feedback { receive_rate: f64, p: f64, new_loss_event: bool, data_limited: bool, rtt_us: u64, size: u64 },
    Silence { idle: bool, rtt_us: u64, size: u64 },
}

fn step() -> impl Strategy<Value = Step> {
    let rate = prop_oneof![Just(0.0), 1e-3f64..1e7];
    let p = prop_oneof![Just(0.0), 1e-9f64..=1.0, Just(1.0)];
    prop_oneof![
        (rate, p, any::<bool>(), any::<bool>(), 1u64..10_000_000, 1u64..65_536).prop_map(
            |(receive_rate, p, new_loss_event, data_limited, rtt_us, size)| Step::Feedback {
                receive_rate,
                p,
                new_loss_event,
                data_limited,
                rtt_us,
                size
            }
        ),
        (any::<bool>(), 1u64..10_000_000, 1u64..65_536).prop_map(|(idle, rtt_us, size)| Step::Silence {
            idle,
            rtt_us,
            size
        }),
    ]
}

proptest! {
    #[test]
    fn the_rate_stays_within_its_limits(
        steps in proptest::collection::vec((step(), 0u64..2_000), 1..60)
    ) {
        let (mut now, mut rate) = (ms(0), started());
        for (step, wait) in steps {
            now += Duration::from_millis(wait);
            let before = rate.allowed();
            let path = |rtt_us, size| PathEstimate {
                rtt: Duration::from_micros(rtt_us),
                segment_size: ByteCount::new(size),
                max_segment_size: ByteCount::new(size),
                retransmit_timeout: None,
            };
            match step {
                Step::Feedback { receive_rate, p, new_loss_event, data_limited, rtt_us, size } => {
                    let path = path(rtt_us, size);
                    rate.on_feedback(now, &RateReport { new_loss_event, data_limited, ..report(receive_rate, p) }, &path);
                    if p > 0.0 {
                        let least = path.segment_size / MAX_BACKOFF;
                        prop_assert!(rate.allowed() <= rate.equation().max(least));
                        prop_assert!(rate.allowed() <= rate.receive_limit().max(least));
                        prop_assert!(rate.allowed() >= least);
                    } else {
                        prop_assert!(rate.allowed() <= (before * 2.0).max(path.initial_rate()));
                    }
                }
                Step::Silence { idle, rtt_us, size } => {
                    let path = path(rtt_us, size);
                    let least = path.segment_size / MAX_BACKOFF;
                    rate.on_nofeedback(now, Some(&path), path.segment_size, idle);
                    if rate.in_slow_start() {
                        prop_assert!(rate.allowed() <= before.max(least));
                    }
                }
            }
            let bytes = rate.allowed().as_bytes_per_second();
            prop_assert!(bytes.is_finite() && bytes > 0.0);
        }
    }
}

#[test]
fn the_equation_is_evaluated_at_no_less_than_the_floor_of_p() {
    let floor = LossEventRate::new(1e-5);
    let config = SendRateConfig { least_loss_event_rate: floor, ..SendRateConfig::default() };
    let mut rate = SendRate::new(ms(0), SEGMENT, config);
    rate.on_first_round_trip(ms(0), &PATH);
    let at_floor = throughput(SEGMENT, RTT, floor, RetransmitTimeout::FourRoundTrips);
    for (p, equation) in [(1e-7, at_floor), (1e-5, at_floor), (0.0, DataRate::INFINITE)] {
        rate.on_feedback(ms(100), &report(1e6, p), &PATH);
        assert_eq!(rate.equation(), equation, "{p}");
    }
    rate.on_feedback(ms(100), &report(1e6, 1e-3), &PATH);
    assert!(rate.equation() < at_floor);
}
