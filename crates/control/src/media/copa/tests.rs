use alloc::boxed::Box;
use alloc::vec::Vec;

use whimbrel_units::{DataRate, Duration, Instant};

use super::{Copa, CopaConfig, Velocity};
use crate::media::buffer_filler::BufferFiller;
use crate::media::path::{Flow, Path, mean, queue_ms, run, run_flows};
use crate::media::{MediaController, RateLimits};

fn config() -> CopaConfig {
    CopaConfig::new(RateLimits {
        min: DataRate::from_kilobits_per_second(50.0),
        start: DataRate::from_kilobits_per_second(500.0),
        max: DataRate::from_megabits_per_second(200.0),
    })
}

fn path(kbps: f64, delay_ms: u64, queue_ms: u64) -> Path {
    Path { report_every: Duration::from_millis(10), ..Path::new(kbps, delay_ms, queue_ms) }
}

/// Mean and maximum of the queue in packets of 1200 bytes, and utilisation, after 20 s of 40 s.
fn equilibrium(config: CopaConfig, (kbps, delay_ms, report_ms): (f64, u64, u64)) -> (f64, f64, f64) {
    let path = Path { report_every: Duration::from_millis(report_ms), ..path(kbps, delay_ms, 500) };
    let samples = run(&mut Copa::new(config), &path, 40, 3);
    let steady = &samples[200..];
    let packets = kbps / 9600.0;
    let most = steady.iter().map(queue_ms).fold(0.0, f64::max);
    (mean(steady, queue_ms) * packets, most * packets, mean(steady, |sample| sample.received) / (kbps * 1e3))
}

#[test]
fn in_equilibrium_the_queue_holds_between_one_and_two_and_a_half_over_delta_packets() {
    // The path's clock of 1 ms, or two packets at 20 Mbit/s, adds to the queue.
    for path in [(2e3, 20, 1), (10e3, 20, 1), (20e3, 50, 1)] {
        let (queue, most, utilisation) = equilibrium(config(), path);
        assert!((2.0..6.0).contains(&queue) && most < 10.5, "{path:?}: {queue}, {most}");
        assert!(utilisation > 0.99, "{path:?}: {utilisation}");
    }
    for path in [(10e3, 20, 1), (20e3, 50, 1)] {
        let (queue, most, utilisation) = equilibrium(CopaConfig { delta: 0.25, ..config() }, path);
        assert!((4.0..10.0).contains(&queue) && most < 16.5, "{path:?}: {queue}, {most}");
        assert!(utilisation > 0.99, "{path:?}: {utilisation}");
        assert!(queue > equilibrium(config(), path).0, "{path:?}");
    }
}

#[test]
fn a_bounded_velocity_keeps_the_equilibrium_with_rare_reports() {
    let bounded = CopaConfig { velocity_max: 1.0, ..config() };
    for path in [(10e3, 20, 10), (10e3, 20, 50), (50e3, 20, 50), (5e3, 100, 50), (20e3, 50, 50)] {
        let (queue, most, utilisation) = equilibrium(bounded, path);
        assert!(queue < 14.0 && most <= 26.0, "{path:?}: {queue}, {most}");
        assert!(utilisation > 0.97, "{path:?}: {utilisation}");
    }
}

#[test]
fn the_velocity_of_the_paper_can_oscillate_on_a_long_path() {
    let path = (5e3, 100, 1);
    let (_, most, utilisation) = equilibrium(config(), path);
    assert!(most > 50.0 && utilisation < 0.8, "{most} packets, utilisation {utilisation}");
    let (_, most, utilisation) = equilibrium(CopaConfig { velocity_max: 1.0, ..config() }, path);
    assert!(most <= 12.0 && utilisation > 0.99, "{most} packets, utilisation {utilisation}");
}

#[test]
fn flows_that_start_later_or_have_a_longer_path_get_their_share() {
    for delay_ms in [20, 60] {
        let first = Path { report_every: Duration::from_millis(1), ..path(10e3, 20, 500) };
        let late = |at| if at < Instant::from_secs(20) { 1.0 } else { f64::INFINITY };
        let second = Path {
            report_every: Duration::from_millis(1),
            encoder: Box::new(late),
            ..path(10e3, delay_ms, 500)
        };
        let config = CopaConfig { mode_switching: false, ..config() };
        let (mut a, mut b) = (Copa::new(config), Copa::new(config));
        let mut flows = [
            Flow { controller: &mut a, path: &first, link: 0, reports: None },
            Flow { controller: &mut b, path: &second, link: 0, reports: None },
        ];
        let samples = run_flows(&mut flows, 60, 5);
        let rates: Vec<f64> =
            samples.iter().map(|flow| mean(&flow[400..], |sample| sample.received)).collect();
        let (sum, squares) = (rates.iter().sum::<f64>(), rates.iter().map(|rate| rate * rate).sum::<f64>());
        let jain = sum * sum / (2.0 * squares);
        assert!(jain > 0.95 && sum > 9.8e6, "{delay_ms} ms: {rates:?}");
        assert!(mean(&samples[0][400..], queue_ms) < 10.0, "{delay_ms} ms");
    }
}

/// Share of 10 Mbit/s against a flow that fills the queue.
fn share_beside_a_buffer_filler(mode_switching: bool, queue_ms: u64) -> f64 {
    let path = Path { report_every: Duration::from_millis(1), ..path(10e3, 20, queue_ms) };
    let mut copa = Copa::new(CopaConfig { mode_switching, ..config() });
    let mut filler = BufferFiller::new();
    let mut flows = [
        Flow { controller: &mut copa, path: &path, link: 0, reports: None },
        Flow { controller: &mut filler, path: &path, link: 0, reports: None },
    ];
    mean(&run_flows(&mut flows, 60, 5)[0][200..], |sample| sample.received) / 10e6
}

#[test]
fn competitive_mode_gets_half_beside_a_flow_that_fills_the_queue() {
    assert!(share_beside_a_buffer_filler(false, 100) < 0.1);
    for queue_ms in [40, 100, 200] {
        let share = share_beside_a_buffer_filler(true, queue_ms);
        assert!((0.35..0.65).contains(&share), "queue of {queue_ms} ms: {share}");
    }
}

#[test]
fn random_losses_do_not_lower_the_rate_and_an_overload_does() {
    let path_with = |loss| Path { loss, report_every: Duration::from_millis(1), ..path(10e3, 20, 500) };
    let samples = run(&mut Copa::new(config()), &path_with(0.02), 30, 3);
    assert!(mean(&samples[100..], |sample| sample.received) > 0.96 * 10e6);
    // More than 30 % are lost.
    let samples = run(&mut Copa::new(config()), &path_with(0.4), 30, 3);
    assert!(mean(&samples[100..], |sample| sample.received) < 0.2 * 10e6);
}

#[test]
fn lost_packets_at_the_end_of_the_window_do_not_stop_the_flow() {
    let outage = |at: Instant| if (5.0..6.0).contains(&at.as_secs_f64()) { 0.0 } else { 10e6 };
    let path = Path { capacity: Box::new(outage), ..path(10e3, 20, 20) };
    let samples = run(&mut Copa::new(config()), &path, 20, 3);
    let rate = mean(&samples[150..], |sample| sample.received);
    assert!(rate > 8e6, "{rate} bit/s");
}

#[test]
fn the_velocity_doubles_from_the_third_round_trip_in_a_direction_and_falls_to_one_with_its_change() {
    let mut velocity = Velocity { window: 10.0, ..Velocity::new() };
    let mut after = |window| {
        velocity.end_round(Instant::ZERO, window, 3);
        velocity.value
    };
    assert_eq!([11.0, 12.0, 13.0, 15.0, 19.0].map(&mut after), [1.0, 1.0, 2.0, 4.0, 8.0]);
    assert_eq!([18.0, 17.0, 16.0, 15.0].map(&mut after), [1.0, 1.0, 1.0, 2.0]);
}

#[test]
fn the_window_stays_within_the_limits_of_the_encoder() {
    let mut copa = Copa::new(CopaConfig {
        limits: RateLimits { max: DataRate::from_megabits_per_second(2.0), ..config().limits },
        ..config()
    });
    let samples = run(&mut copa, &path(10e3, 20, 500), 20, 3);
    assert!(samples.iter().all(|sample| sample.target.as_bits_per_second() <= 2e6));
    assert!(mean(&samples[100..], |sample| sample.received) > 1.9e6);
    // Two packets for each report of 10 ms, 50 ms and the packet that is being sent.
    assert!(copa.allowance().window.is_some_and(|window| window.as_u64() < 25_000));
}

/// Share of 1 Mbit/s and mean queueing delay in ms of a flow whose reports meet another flow's queue.
fn beside_opposite_traffic(mode_switching: bool, is_opposed: bool) -> (f64, f64) {
    let config = CopaConfig { mode_switching, ..config() };
    let (mut forth, mut back) = (Copa::new(config), Copa::new(config));
    let paths = [path(1e3, 50, 300), path(1e3, 50, 300)];
    let mut flows = alloc::vec![Flow {
        controller: &mut forth,
        path: &paths[0],
        link: 0,
        reports: is_opposed.then_some(1)
    }];
    if is_opposed {
        flows.push(Flow { controller: &mut back, path: &paths[1], link: 1, reports: Some(0) });
    }
    let samples = run_flows(&mut flows, 60, 1);
    let samples = &samples[0][200..];
    (mean(samples, |sample| sample.received) / 1e6, mean(samples, queue_ms))
}

/// Copa's round-trip time contains the queue of its reports. The queue of a flow in the other direction looks
/// like a competitor that never leaves an empty queue, so that both flows enter competitive mode, and fill
/// their queues.
#[test]
fn traffic_against_the_reports_is_mistaken_for_competition() {
    let (_, alone) = beside_opposite_traffic(true, false);
    let (_, opposed) = beside_opposite_traffic(true, true);
    let (share, without) = beside_opposite_traffic(false, true);
    assert!(alone < 50.0, "{alone} ms");
    assert!(opposed > 4.0 * alone, "{opposed} ms, alone {alone}");
    assert!(without < alone, "{without} ms, alone {alone}");
    assert!(share > 0.8, "{share}");
}
