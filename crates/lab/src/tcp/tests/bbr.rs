//! BBR alone: Startup, ProbeRTT and the queue (draft-ietf-ccwg-bbr).

use whimbrel_units::{DataRate, Duration, Instant};

use super::pipe::{Network, PacketOutcome};
use crate::tcp::{TcpConfig, Variant};

/// Packets of 1500 bytes that 10 Mbit/s send in 40 ms.
const PRODUCT: f64 = 10e6 / 8.0 * 0.04 / 1500.0;

/// A state of the model from that time on.
type Phase = (Instant, &'static str);

/// A greedy flow on 10 Mbit/s, 40 ms and a queue of 10 products, at regular times of 1 ms.
struct Run {
    phases: Vec<Phase>,
    /// Segments in flight, each millisecond.
    in_flight: Vec<f64>,
    /// The estimate of the bandwidth at the end of Startup, in bit/s of payload.
    estimate: f64,
    delivered: u64,
}

fn run(config: &TcpConfig, seconds: u64) -> Run {
    let rate = DataRate::from_megabits_per_second(10.0);
    let mut network = Network::new(config, rate, Duration::from_millis(20), (10.0 * PRODUCT) as usize);
    network.sender.send_forever();
    let mut run = Run { phases: Vec::new(), in_flight: Vec::new(), estimate: 0.0, delivered: 0 };
    for millisecond in 0..seconds * 1000 {
        network.run(Instant::from_millis(millisecond), |_, _| PacketOutcome::Pass);
        let model = network.sender.snapshot().model.expect("BBR");
        let state = model.state;
        if run.phases.last().is_none_or(|(_, last)| *last != state) {
            run.phases.push((network.now, state));
            if run.phases.len() == 2 {
                run.estimate = model.bandwidth.as_bits_per_second();
            }
        }
        run.in_flight.push(network.sender.snapshot().pipe as f64 / f64::from(config.segment_size));
    }
    run.delivered = network.receiver.snapshot().delivered;
    run
}

fn config() -> TcpConfig {
    TcpConfig::rfc(Variant::Sack).with_bbr()
}

#[test]
fn startup_doubles_in_each_round_and_ends_three_rounds_after_the_pipe_is_full() {
    let run = run(&config(), 3);
    assert_eq!((run.phases[0].1, run.phases[1].1), ("Startup", "Drain"));
    // From 3 packets. The full rate is sampled a round after it is sent, and three rounds show no growth; the
    // queue lengthens these four to at most twice the path's round-trip time.
    let doublings = libm::ceil(libm::log2(PRODUCT / 3.0));
    let most = Duration::from_millis(40).mul_f64(1.0 + doublings + 1.0 + 2.0 * 4.0);
    assert!(run.phases[1].0 < Instant::ZERO + most, "{}", run.phases[1].0);
    let payload = 10e6 * 1460.0 / 1500.0;
    assert!((run.estimate / payload - 1.0).abs() < 0.03, "{} bit/s", run.estimate);
    // Drain empties the queue within its three rounds.
    assert!(run.phases[2].0 - run.phases[1].0 <= Duration::from_millis(4 * 80), "{:?}", run.phases);
}

#[test]
fn the_link_is_full_and_the_queue_shorter_than_a_product() {
    let run = run(&config(), 60);
    let goodput = run.delivered as f64 * 8.0 / 60.0;
    assert!(goodput > 0.93 * 10e6 * 1460.0 / 1500.0, "{goodput} bit/s");
    let steady = &run.in_flight[5000..];
    let queue = steady.iter().map(|packets| (packets - PRODUCT).max(0.0)).sum::<f64>() / steady.len() as f64;
    assert!(queue < 0.25 * PRODUCT, "{queue} packets");
}

#[test]
fn probe_rtt_halves_the_bytes_in_flight_every_five_seconds() {
    let run = run(&config(), 60);
    let probes: Vec<Instant> =
        run.phases.iter().filter(|(_, state)| *state == "ProbeRTT").map(|(at, _)| *at).collect();
    assert!((8..=12).contains(&probes.len()), "{probes:?}");
    for pair in probes.windows(2) {
        let seconds = (pair[1] - pair[0]).as_secs_f64();
        assert!((5.0..6.5).contains(&seconds), "{seconds} s");
    }
    for at in &probes {
        // ProbeRTTDuration and a round, after a round in which the bytes in flight fall.
        let from = (at.as_secs_f64() * 1e3) as usize;
        let least = run.in_flight[from..from + 300].iter().copied().fold(f64::INFINITY, f64::min);
        assert!((least / PRODUCT - 0.5).abs() < 0.1, "{} of the product at {at}", least / PRODUCT);
        let low = run.in_flight[from..from + 400].iter().filter(|packets| **packets < 0.6 * PRODUCT).count();
        assert!((190..300).contains(&low), "{low} ms at {at}");
    }
}
