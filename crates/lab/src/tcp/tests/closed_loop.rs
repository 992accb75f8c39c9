//! The window over time against the laws of TCP's sawtooth.

use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;
use whimbrel_units::{DataRate, Duration, Instant};

use super::pipe::{Network, PacketOutcome};
use crate::tcp::{DelayedAck, TcpConfig, Variant};

const ROUND_TRIP: f64 = 0.1;

/// Segments delivered in a round-trip time, on average, at that loss rate; losses are regular or random.
fn mean_window(config: &TcpConfig, loss: f64, regular: bool) -> f64 {
    const SECONDS: u64 = 1500;
    let rate = DataRate::from_megabits_per_second(1e4);
    let mut network = Network::new(config, rate, Duration::from_secs_f64(ROUND_TRIP / 2.0), 10_000);
    network.sender.send_forever();
    let every = (1.0 / loss) as usize;
    let mut random = Pcg64Mcg::seed_from_u64(1);
    network.run(Instant::from_secs(SECONDS), |number, _| {
        let lost = if regular { number % every == every - 1 } else { random.random::<f64>() < loss };
        if lost { PacketOutcome::Drop } else { PacketOutcome::Pass }
    });
    network.receiver.snapshot().delivered as f64
        / f64::from(config.segment_size)
        / (SECONDS as f64 / ROUND_TRIP)
}

fn config(variant: Variant) -> TcpConfig {
    let mut config = TcpConfig::rfc(variant);
    config.rto.minimum = Duration::from_millis(200);
    config
}

#[test]
fn the_mean_window_follows_the_square_root_of_the_loss_rate() {
    // Mathis et al. 1997: W = sqrt(3 / 2p) without delayed acknowledgements.
    for loss in [0.001, 0.002, 0.005, 0.01] {
        let law = (1.5f64 / loss).sqrt();
        let window = mean_window(&config(Variant::Sack), loss, false);
        assert!((window / law - 1.0).abs() < 0.15, "p = {loss}: {window:.2}, the law gives {law:.2}");
    }
}

#[test]
fn with_regular_losses_the_sawtooth_has_the_length_it_must_have() {
    // From m segments up to 2m, one more in each round, and a round of recovery with m: 1.5 m^2 + 2.5 m
    // segments in m + 2 rounds, of which one is lost. The remaining difference is that windows are whole
    // segments.
    for (loss, tolerance) in [(0.001, 0.02), (0.002, 0.02), (0.005, 0.04), (0.01, 0.08)] {
        let segments: f64 = 1.0 / loss;
        let m = ((6.25 + 6.0 * segments).sqrt() - 2.5) / 3.0;
        let law = (segments - 1.0) / (m + 2.0);
        let window = mean_window(&config(Variant::Sack), loss, true);
        assert!(
            (window / law - 1.0).abs() < tolerance,
            "p = {loss}: {window:.2}, the sawtooth gives {law:.2}"
        );
    }
}

#[test]
fn delayed_acks_take_a_factor_of_the_square_root_of_two() {
    // W = sqrt(3 / 2bp) with b segments to an acknowledgement.
    let mut delayed = config(Variant::Sack);
    delayed.receiver.delayed_ack = Some(DelayedAck::STANDARD);
    let ratio = mean_window(&config(Variant::Sack), 0.002, true) / mean_window(&delayed, 0.002, true);
    assert!((ratio / 2f64.sqrt() - 1.0).abs() < 0.1, "{ratio}");
}

#[test]
fn where_losses_are_single_new_reno_does_as_well_as_sack() {
    let (sack, new_reno) = (
        mean_window(&config(Variant::Sack), 0.001, true),
        mean_window(&config(Variant::NewReno), 0.001, true),
    );
    assert!((new_reno / sack - 1.0).abs() < 0.05, "{new_reno} and {sack}");
}

#[test]
fn a_bottleneck_is_filled_and_its_queue_overflows_once_in_a_sawtooth() {
    // 10 Mbit/s, 40 ms, a queue of one bandwidth-delay product: the link never idles.
    for variant in [Variant::NewReno, Variant::Sack] {
        let rate = DataRate::from_megabits_per_second(10.0);
        let mut network = Network::new(&config(variant), rate, Duration::from_millis(20), 34);
        network.sender.send_forever();
        network.run(Instant::from_secs(20), |_, _| PacketOutcome::Pass);
        let (received, sender) = (network.receiver.snapshot(), network.sender.snapshot());
        network.run(Instant::from_secs(120), |_, _| PacketOutcome::Pass);
        let goodput = (network.receiver.snapshot().delivered - received.delivered) as f64 * 8.0 / 100.0;
        let most = 10e6 * 1460.0 / 1500.0;
        assert!(goodput > 0.98 * most && goodput <= most * 1.001, "{variant:?}: {goodput}");
        let after = network.sender.snapshot();
        assert_eq!(after.timeouts, sender.timeouts, "{variant:?}");
        // From 34 to 68 segments, one more in each round, of 40 to 80 ms: about 2 s for a cycle.
        let cycles = after.fast_retransmits - sender.fast_retransmits;
        assert!((40..=60).contains(&cycles), "{variant:?}: {cycles}");
    }
}
