use super::*;
use crate::media::{Reception, SentPacket};
use alloc::vec::Vec;
use whimbrel_units::{ByteCount, Ecn};

mod reference;

fn kbps(rate: f64) -> DataRate {
    DataRate::from_kilobits_per_second(rate)
}

/// An estimator for packets of 1250 bytes, of which one in each `spacing` ms is sent.
struct Stream {
    estimator: LossBased,
    sequence: u64,
    now: u64,
}

impl Stream {
    fn new() -> Self {
        let estimator = LossBased::new(LossBasedConfig::default(), kbps(10.0), kbps(5000.0));
        Self { estimator, sequence: 0, now: 0 }
    }

    /// A report on 300 ms, in which the first `lost` of each ten packets are lost.
    fn report(&mut self, spacing: u64, lost: u64, acknowledged: f64, delay_based: f64) {
        let mut packets = Vec::new();
        for ms in (0..300).step_by(spacing as usize) {
            let sent_at = Instant::from_millis(1000 + self.now + ms);
            let sent = SentPacket {
                sequence: self.sequence,
                sent_at,
                captured_at: sent_at,
                size: ByteCount::new(1250),
                probe: None,
            };
            let arrived = Reception::Arrived { at: sent_at, ecn: Ecn::NotEct };
            let reception = if self.sequence % 10 < lost { Reception::Missing } else { arrived };
            packets.push(PacketReport { sent, reception });
            self.sequence += 1;
        }
        self.now += 300;
        self.estimator.set_acknowledged(kbps(acknowledged));
        self.estimator.update(&packets, kbps(delay_based), false);
    }

    /// Estimate in kbit/s and state.
    fn result(&self) -> Option<(f64, LossState)> {
        self.estimator.result().map(|(rate, state)| (rate.as_bits_per_second() / 1e3, state))
    }
}

#[test]
fn the_loss_probability_is_inherent_below_the_bandwidth_and_grows_above() {
    let channel = Channel { inherent_loss: 0.1, bandwidth: 1e6 };
    assert!((channel.loss_probability(9e5) - 0.1).abs() < 1e-12);
    // 0.1 + 0.9 (2 - 1) / 2.
    assert!((channel.loss_probability(2e6) - 0.55).abs() < 1e-12);
    assert_eq!(Channel { inherent_loss: 0.0, bandwidth: 1e6 }.loss_probability(1.0), 1e-6);
}

#[test]
fn the_inherent_loss_is_bounded_by_the_bandwidth() {
    let estimator = Stream::new().estimator;
    let feasible = |inherent_loss, bandwidth| estimator.feasible(&Channel { inherent_loss, bandwidth });
    // 0.05 + 100 / 1000.
    assert!((feasible(0.5, 1e6) - 0.15).abs() < 1e-12);
    assert!((feasible(0.5, 1e5) - 0.5).abs() < 1e-12);
    assert_eq!(feasible(0.0, 1e6), 1e-3);
}

#[test]
fn a_step_of_newtons_method_improves_the_inherent_loss() {
    let mut stream = Stream::new();
    // The first report spans 290 ms: 30 packets of 1250 bytes, 3 of them lost.
    stream.report(10, 1, 900.0, 5000.0);
    let mut channel = Channel { inherent_loss: 0.01, bandwidth: 2e6 };
    stream.estimator.improve(&mut channel);
    // First derivative 3.75 / 0.01 - 33.75 / 0.99 = 340.909, second -(3.75 / 0.01^2 + 33.75 / 0.99^2) =
    // -37,534.435: 0.01 + 0.75 * 340.909 / 37,534.435 = 0.016812.
    assert!((channel.inherent_loss - 0.016_811_92).abs() < 1e-7, "{}", channel.inherent_loss);
}

#[test]
fn three_observations_are_needed() {
    let mut stream = Stream::new();
    for _ in 0..2 {
        stream.report(10, 0, 1000.0, 1000.0);
        assert_eq!(stream.result(), None);
    }
    stream.report(10, 0, 1000.0, 1000.0);
    assert_eq!(stream.result(), Some((1000.0, LossState::DelayBased)));
}

#[test]
fn losses_of_a_channel_that_do_not_depend_on_the_rate_are_inherent() {
    let mut stream = Stream::new();
    for _ in 0..30 {
        stream.report(10, 1, 900.0, 1000.0);
    }
    // The inherent loss approaches 10 %. Until then losses are attributed to the bandwidth, which falls a
    // candidate.
    assert!((stream.estimator.best.inherent_loss - 0.1).abs() < 0.02, "{:?}", stream.estimator.best);
    assert!(stream.result().is_some_and(|(rate, _)| rate > 940.0), "{:?}", stream.result());
}

#[test]
fn losses_of_a_channel_that_is_full_limit_the_rate_to_what_is_acknowledged() {
    let mut stream = Stream::new();
    for _ in 0..10 {
        stream.report(5, 0, 2000.0, 2000.0);
    }
    // 2 Mbit/s over 1 Mbit/s: half of the packets are lost.
    for _ in 0..10 {
        stream.report(5, 5, 1000.0, 2000.0);
    }
    let (rate, state) = stream.result().unwrap_or((f64::NAN, LossState::DelayBased));
    assert_eq!(state, LossState::Decreasing);
    assert!((rate - 1000.0).abs() < 1.0, "{rate}");
}

#[test]
fn the_estimate_recovers_with_padding_after_the_losses_end() {
    let mut stream = Stream::new();
    for _ in 0..10 {
        stream.report(5, 0, 2000.0, 2000.0);
    }
    for _ in 0..5 {
        stream.report(5, 5, 1000.0, 2000.0);
    }
    let mut states = Vec::new();
    let mut rates = Vec::new();
    for _ in 0..60 {
        let acknowledged = rates.last().copied().unwrap_or(1000.0);
        stream.report(10, 0, acknowledged, 2000.0);
        let Some((rate, state)) = stream.result() else { continue };
        rates.push(rate);
        if states.last() != Some(&state) {
            states.push(state);
        }
    }
    assert_eq!(states.first(), Some(&LossState::Decreasing));
    assert!(states.contains(&LossState::IncreasingWithPadding));
    assert_eq!(states.last(), Some(&LossState::DelayBased));
    // No step exceeds 1.3 in 300 ms.
    assert!(rates.windows(2).all(|pair| pair[1] <= 1.31 * pair[0]), "{rates:?}");
}

#[test]
fn the_upper_bound_is_a_rate_that_leaves_the_loss_above_5_percent_constant() {
    let mut stream = Stream::new();
    for _ in 0..3 {
        stream.report(10, 2, 100.0, 5000.0);
    }
    // 100 / (0.2 - 0.05) kbit/s.
    assert!((stream.estimator.upper_bound() / 1e3 - 666.667).abs() < 1e-3);
}

#[test]
fn a_packet_that_arrives_after_it_was_reported_missing_is_not_lost() {
    let mut observations = Observations::new(&LossBasedConfig::default());
    let packet = |sequence, ms, arrived: bool| {
        let sent_at = Instant::from_millis(ms);
        let sent =
            SentPacket { sequence, sent_at, captured_at: sent_at, size: ByteCount::new(1000), probe: None };
        let arrival = Reception::Arrived { at: sent_at, ecn: Ecn::NotEct };
        PacketReport { sent, reception: if arrived { arrival } else { Reception::Missing } }
    };
    assert!(!observations.record(&[packet(0, 0, true), packet(1, 100, false)]));
    assert!(observations.record(&[packet(1, 100, true), packet(2, 400, true)]));
    let observed: Vec<_> = observations.weighted().collect();
    assert_eq!(observed, [(1.0, Observation { size: 3.0, lost: 0.0, rate: 60_000.0 })]);
}

#[test]
fn the_average_loss_leaves_out_the_extremes() {
    let mut observations = Observations::new(&LossBasedConfig::default());
    let mut sequence = 0;
    let mut observe = |observations: &mut Observations, lost: u64| {
        let packets: Vec<_> = (0..100)
            .map(|n| {
                sequence += 1;
                let sent_at = Instant::from_millis(1000 + 3 * sequence);
                let sent = SentPacket {
                    sequence,
                    sent_at,
                    captured_at: sent_at,
                    size: ByteCount::new(1000),
                    probe: None,
                };
                let arrival = Reception::Arrived { at: sent_at, ecn: Ecn::NotEct };
                PacketReport { sent, reception: if n < lost { Reception::Missing } else { arrival } }
            })
            .collect();
        assert!(observations.record(&packets));
        observations.average_loss()
    };
    observe(&mut observations, 10);
    observe(&mut observations, 10);
    // Three observations are averaged whole: (0.81 * 10 + 0.9 * 10 + 40) / (0.81 + 0.9 + 1).
    let loss = observe(&mut observations, 40);
    assert!((loss - 0.571 / 2.71).abs() < 1e-12, "{loss}");
    // Of four, 40 % is left out and the latest of those with the least loss.
    let loss = observe(&mut observations, 10);
    assert!((loss - 0.1).abs() < 1e-12, "{loss}");
}
