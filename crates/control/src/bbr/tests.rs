use whimbrel_units::{DataRate, Duration, Instant};

use super::full_pipe::FullPipe;
use super::{Model, Parameters};

#[test]
fn the_full_pipe_is_three_rounds_without_a_quarter_more() {
    let mut pipe = FullPipe::default();
    for (rate, full) in [(1.0, false), (2.0, false), (2.4, false), (2.4, false), (2.4, true)] {
        pipe.on_round(rate);
        assert_eq!(pipe.now, full);
    }
    pipe.reset(2.4);
    assert!(!pipe.now && pipe.reached);
}

/// A model with packets of 1000 bytes and an initial window of 10.
fn model() -> Model {
    Model::for_transport(Parameters { quanta: true, ..Parameters::default() }, 10_000.0, 1000.0)
}

/// Sends `count` packets at `at` from `first` on, and acknowledges them after `rtt`, `lost` of them excepted.
fn round(model: &mut Model, first: u64, count: u64, at: Instant, rtt: Duration, lost: &[u64]) {
    for sequence in first..first + count {
        model.on_sent(at, sequence, 1000.0);
    }
    model.set_in_flight(0.0);
    for sequence in (first..first + count).filter(|sequence| !lost.contains(sequence)) {
        model.on_delivered(sequence, at + rtt);
    }
    for sequence in lost {
        model.on_lost(at + rtt, *sequence);
    }
    model.on_ack(at + rtt, Some(rtt));
}

const RTT: Duration = Duration::from_millis(100);

#[test]
fn the_first_pace_is_of_a_millisecond_until_a_round_trip_is_measured() {
    let mut model = model();
    model.start_pacing(Instant::ZERO, None);
    assert_eq!(model.pacing_rate(), DataRate::from_bytes_per_second(2.77 * 10e6));
    model.start_pacing(Instant::ZERO, Some(RTT));
    assert_eq!(model.pacing_rate(), DataRate::from_bytes_per_second(2.77 * 100e3));
    assert_eq!(model.min_rtt(), Some(RTT));
}

#[test]
fn a_quantum_is_a_millisecond_of_sending_within_two_packets_and_64_kilobytes() {
    let quantum = |window: f64| {
        let mut model = Model::for_transport(
            Parameters { quanta: true, startup_gain: 1.0, ..Parameters::default() },
            window,
            1000.0,
        );
        model.start_pacing(Instant::ZERO, Some(Duration::from_millis(10)));
        model.send_quantum()
    };
    assert_eq!((quantum(10e3), quantum(50e3), quantum(1e6)), (2000.0, 5000.0, 65_536.0));
    assert_eq!(Model::for_transport(Parameters::default(), 1e4, 1000.0).send_quantum(), 1000.0);
}

#[test]
fn a_timeout_leaves_room_for_a_packet_and_the_end_of_recovery_restores_the_window() {
    let mut model = model();
    model.start_pacing(Instant::ZERO, Some(RTT));
    round(&mut model, 0, 10, Instant::ZERO, RTT, &[]);
    assert_eq!(model.window(), 20e3);
    model.set_in_flight(3000.0);
    model.on_timeout();
    assert_eq!(model.window(), 4000.0);
    // A second time-out of the same recovery does not forget the window.
    model.set_in_flight(0.0);
    model.on_timeout();
    assert_eq!(model.window(), 1000.0);
    model.end_recovery();
    assert_eq!(model.window(), 20e3);
    // There is none to be ended.
    model.on_timeout();
    model.end_recovery();
    model.set_in_flight(0.0);
    round(&mut model, 10, 1, Instant::from_secs(1), RTT, &[]);
    let window = model.window();
    model.end_recovery();
    assert_eq!(model.window(), window);
}

#[test]
fn a_retransmission_acknowledged_within_the_minimum_round_trip_gives_no_rate() {
    let mut model = model();
    model.start_pacing(Instant::ZERO, Some(RTT));
    round(&mut model, 0, 10, Instant::ZERO, RTT, &[]);
    let before = model.bandwidth();
    assert_eq!(before.as_bytes_per_second(), 10e3 / 0.1);
    // The original arrives 1 ms after its retransmission.
    let at = Instant::ZERO + RTT;
    for sequence in 10..20 {
        model.on_sent(at, sequence, 1000.0);
        model.on_delivered(sequence, at + Duration::from_millis(1));
    }
    model.on_ack(at + Duration::from_millis(1), None);
    assert_eq!((model.bandwidth(), model.min_rtt()), (before, Some(RTT)));
}

/// Six ranges in more than 2 % of a round trip end Startup; a spurious recovery returns to it.
#[test]
fn a_spurious_recovery_returns_to_startup_and_lifts_the_bounds() {
    let mut model = model();
    model.start_pacing(Instant::ZERO, Some(RTT));
    let lost = |first: u64| [1, 3, 5, 7, 9, 11].map(|offset| first + offset);
    let mut at = Instant::ZERO;
    round(&mut model, 0, 100, at, RTT, &[]);
    at += RTT;
    model.begin_recovery();
    round(&mut model, 100, 100, at, RTT, &lost(100));
    assert_eq!(model.state(), "Startup");
    at += RTT;
    round(&mut model, 200, 100, at, RTT, &lost(200));
    assert_ne!(model.state(), "Startup");
    assert!(model.long_term_bound().is_some());
    model.on_spurious_recovery();
    assert_eq!((model.state(), model.long_term_bound()), ("Startup", None));
}
