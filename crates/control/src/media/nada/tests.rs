use alloc::boxed::Box;
use alloc::vec::Vec;

use whimbrel_units::{ByteCount, DataRate, Duration, Ecn, Instant};

use super::signal::warped;
use super::{Nada, NadaConfig};
use crate::media::path::{Flow, Path, Sample, run, run_flows};
use crate::media::{Feedback, MediaController, PacketReport, Reception, SentPacket};

/// A flow of packets of 1250 bytes each 10 ms, 1 Mbit/s, over a path of 50 ms, reported each 100 ms.
struct Stream {
    nada: Nada,
    sequence: u64,
}

impl Stream {
    fn new(config: NadaConfig) -> Self {
        Self { nada: Nada::new(config), sequence: 0 }
    }

    /// A report on ten packets with a queueing delay in ms; the packets in `lost` by index are missing, those
    /// in `marked` marked.
    fn report(&mut self, queueing: u64, lost: &[u64], marked: &[u64]) {
        let mut reports = Vec::new();
        for index in 0..10 {
            let sent_at = Instant::from_millis(10 * self.sequence);
            let sent = SentPacket {
                sequence: self.sequence,
                sent_at,
                captured_at: sent_at,
                size: ByteCount::new(1250),
                probe: None,
            };
            self.nada.on_sent(&sent);
            let ecn = if marked.contains(&index) { Ecn::Ce } else { Ecn::Ect0 };
            let at = sent_at + Duration::from_millis(1_000_000 + 50 + queueing);
            let reception =
                if lost.contains(&index) { Reception::Missing } else { Reception::Arrived { at, ecn } };
            reports.push(PacketReport { sent, reception });
            self.sequence += 1;
        }
        let now = Instant::from_millis(10 * self.sequence + 100);
        let rtt = Some(Duration::from_millis(100 + queueing));
        self.nada.on_feedback(&Feedback { now, packets: &reports, rtt, in_flight: ByteCount::ZERO });
    }
}

fn kbps(rate: DataRate) -> f64 {
    rate.as_bits_per_second() / 1e3
}

#[test]
fn ramp_up_multiplies_the_receiving_rate_by_equation_3() {
    let mut stream = Stream::new(NadaConfig::default());
    stream.report(0, &[], &[]);
    // gamma = min(0.5, 50 / (100 + 100 + 120)) = 0.15625, and r_recv = 1 Mbit/s.
    assert!((kbps(stream.nada.reference_rate()) - 1156.25).abs() < 1e-6);
}

#[test]
fn ramp_up_never_lowers_the_rate() {
    let mut config = NadaConfig::default();
    config.limits.start = DataRate::from_megabits_per_second(1.4);
    let mut stream = Stream::new(config);
    stream.report(0, &[], &[]);
    assert!((kbps(stream.nada.reference_rate()) - 1400.0).abs() < 1e-6);
}

#[test]
fn the_gradual_update_follows_equations_5_to_7() {
    let mut stream = Stream::new(NadaConfig::default());
    stream.report(0, &[], &[]);
    stream.report(20, &[], &[]);
    // The minimum over 15 packets still includes five of the first report: x_curr = 0, x_prev = 0, but the
    // raw delay exceeds QEPS. x_offset = -10 * 1500 / 1156.25 = -12.973 ms, delta = 100 ms:
    // r_ref = 1156.25 (1 + 0.5 * 0.2 * 12.973 / 500) = 1159.25.
    assert!((kbps(stream.nada.reference_rate()) - 1159.25).abs() < 1e-6);
    assert_eq!(stream.nada.congestion(), Duration::ZERO);
    stream.report(20, &[], &[]);
    // x_curr = 20 ms, x_diff = 20 ms, x_offset = 20 - 10 * 1500 / 1159.25 = 7.0606 ms:
    // r_ref = 1159.25 (1 - 0.5 * 0.2 * 7.0606 / 500 - 0.5 * 2 * 20 / 500) = 1111.2430.
    let rate: f64 = 1159.25;
    let expected = rate * (1.0 - 0.1 * (20.0 - 15000.0 / rate) / 500.0 - 0.04);
    assert!((expected - 1111.243).abs() < 1e-3);
    assert!((kbps(stream.nada.reference_rate()) - expected).abs() < 1e-6);
    assert_eq!(stream.nada.congestion(), Duration::from_millis(20));
}

#[test]
fn the_delay_is_warped_beyond_the_threshold() {
    let config = NadaConfig::default();
    assert!((warped(&config, 0.049) - 0.049).abs() < 1e-12);
    // 50 exp(-0.5 (150 - 50) / 50) = 50 / e = 18.394 ms.
    assert!((warped(&config, 0.150) - 0.018_393_972).abs() < 1e-9);
}

#[test]
fn a_loss_adds_its_penalty_and_warps_the_delay_until_it_expires() {
    let mut stream = Stream::new(NadaConfig::default());
    for _ in 0..5 {
        stream.report(0, &[], &[]);
    }
    // Packet 50 is lost. Each of the next windows of 500 ms holds 36 packets, as the delay grew by 150 ms.
    stream.report(150, &[0], &[]);
    stream.report(150, &[], &[]);
    stream.report(150, &[], &[]);
    let ratio = (1.0 - 0.9_f64.powi(3)) / 36.0;
    assert!((stream.nada.signal.loss - ratio).abs() < 1e-12);
    // d_tilde = 18.394 ms (equation 1).
    let congestion = |stream: &Stream, delay: f64| {
        let loss = stream.nada.signal.loss / 0.01;
        let expected = delay + 10.0 * loss * loss;
        let signal = stream.nada.congestion().as_secs_f64() * 1e3;
        assert!((signal - expected).abs() < 1e-3, "{signal} {expected}");
    };
    congestion(&stream, 18.393_972);
    // The average loss interval is the one before the loss, 50 packets: the loss expires 350 packets after
    // it, and 380 packets after it 60 % of the interpolation have passed.
    while stream.sequence < 50 + 350 {
        stream.report(150, &[], &[]);
    }
    congestion(&stream, 18.393_972);
    while stream.sequence < 50 + 380 {
        stream.report(150, &[], &[]);
    }
    congestion(&stream, 0.6 * 150.0 + 0.4 * 18.393_972);
    while stream.sequence < 50 + 400 {
        stream.report(150, &[], &[]);
    }
    congestion(&stream, 150.0);
}

#[test]
fn marks_add_their_penalty() {
    let mut stream = Stream::new(NadaConfig::default());
    stream.report(0, &[], &[3]);
    // p_mark = 0.1 * 0.1 = 0.01, the reference ratio: DMARK = 2 ms.
    assert!((stream.nada.signal.mark - 0.01).abs() < 1e-12);
    assert_eq!(stream.nada.congestion(), Duration::from_millis(2));
}

#[test]
fn the_buffer_moves_the_rates_of_encoder_and_pacer_apart() {
    let mut config = NadaConfig::default();
    config.limits.start = DataRate::from_megabits_per_second(1.0);
    let mut nada = Nada::new(config);
    // The RFC's example: 2000 bytes adjust the rates by 48 kbit/s.
    nada.on_pacer_queue(Instant::ZERO, ByteCount::new(2000));
    assert!((kbps(nada.allowance().target) - 952.0).abs() < 1e-6);
    assert!((kbps(nada.allowance().pacing) - 1048.0).abs() < 1e-6);
    nada.on_pacer_queue(Instant::ZERO, ByteCount::new(100_000));
    assert!((kbps(nada.allowance().target) - 950.0).abs() < 1e-6);
}

#[test]
fn a_change_of_the_path_forgets_the_baseline_delay() {
    let mut stream = Stream::new(NadaConfig::default());
    stream.report(0, &[], &[]);
    stream.nada.on_path_change(Instant::from_millis(100));
    assert!((kbps(stream.nada.reference_rate()) - 150.0).abs() < 1e-6);
    stream.report(80, &[], &[]);
    stream.report(80, &[], &[]);
    assert_eq!(stream.nada.congestion(), Duration::ZERO);
}

/// Mean rate received, greatest and least target and mean queueing delay in ms from `from` to `to` seconds.
#[derive(Debug)]
struct Phase {
    received: f64,
    max: f64,
    min: f64,
    queueing: f64,
    lost: u64,
}

fn phase(samples: &[Sample], from: u64, to: u64) -> Phase {
    let all: Vec<&Sample> = samples
        .iter()
        .filter(|s| s.at > Instant::from_secs(from) && s.at <= Instant::from_secs(to))
        .collect();
    let n = all.len() as f64;
    Phase {
        received: all.iter().map(|s| s.received).sum::<f64>() / n / 1e3,
        max: all.iter().map(|s| kbps(s.target)).fold(0.0, f64::max),
        min: all.iter().map(|s| kbps(s.target)).fold(f64::INFINITY, f64::min),
        queueing: all.iter().map(|s| s.queueing.as_secs_f64()).sum::<f64>() / n * 1e3,
        lost: all[all.len() - 1].lost - all[0].lost,
    }
}

/// Capacities in Mbit/s and their times of beginning.
fn steps(steps: &'static [(u64, f64)]) -> Box<dyn Fn(Instant) -> f64> {
    Box::new(move |now| {
        let step = steps.iter().rev().find(|(from, _)| now >= Instant::from_secs(*from));
        step.map_or(0.0, |(_, megabits)| megabits * 1e6)
    })
}

/// The path of RFC 8867, Section 4.2, with the capacities of a test case: a tail-drop queue of 300 ms at
/// `reference` kbit/s.
fn rfc8867(reference: f64, delay: u64, capacity: &'static [(u64, f64)]) -> Path {
    Path {
        capacity: steps(capacity),
        report_every: Duration::from_millis(100),
        ..Path::new(reference, delay, 300)
    }
}

/// Expects the mean rate received from `from` to `to` seconds within `share` and 1.05 times `rate` kbit/s, a
/// steady target, a short queue and no loss.
fn expect(samples: &[Sample], from: u64, to: u64, rate: f64, share: f64) {
    let phase = phase(samples, from, to);
    assert!(phase.received > share * rate && phase.received < 1.05 * rate, "{from} s: {phase:?}");
    assert!(phase.queueing < 60.0 && phase.lost == 0, "{from} s: {phase:?}");
}

#[test]
fn rfc8867_variable_capacity_with_a_single_flow() {
    for (delay, oscillation) in [(50, 1.01), (100, 1.3)] {
        let path = rfc8867(1000.0, delay, &[(0, 1.0), (40, 2.5), (60, 0.6), (80, 1.0)]);
        let mut nada = Nada::new(NadaConfig::default());
        let samples = run(&mut nada, &path, 100, 1);
        expect(&samples, 20, 40, 1000.0, 0.98);
        // The encoder's greatest rate is below the capacity.
        expect(&samples, 50, 60, 1500.0, 0.98);
        // 10 s after a fall below half of the rate.
        expect(&samples, 70, 80, 600.0, 0.8);
        expect(&samples, 90, 99, 1000.0, 0.98);
        for (from, to) in [(20, 40), (50, 60), (90, 99)] {
            let phase = phase(&samples, from, to);
            assert!(phase.max / phase.min < oscillation, "{delay} ms, {from} s: {phase:?}");
        }
        // Equilibrium: XREF RMAX / r_ref = 15 ms.
        if delay == 50 {
            let congestion = nada.congestion().as_secs_f64() * 1e3;
            assert!((congestion - 15.0).abs() < 1.5, "{congestion}");
        }
    }
}

/// Jitter of RFC 8868, Section 4.5.3. Its delays exceed QEPS, so that the rate grows by gradual updates
/// alone, and the last 10 s do not suffice to fill the link again.
#[test]
fn rfc8867_variable_capacity_with_jitter() {
    for delay in [50, 100] {
        let path = rfc8867(1000.0, delay, &[(0, 1.0), (40, 2.5), (60, 0.6), (80, 1.0)]);
        let path = Path { jitter: Duration::from_millis(5), ..path };
        let samples = run(&mut Nada::new(NadaConfig::default()), &path, 100, 1);
        expect(&samples, 20, 40, 1000.0, 0.98);
        expect(&samples, 50, 60, 1500.0, 0.98);
        expect(&samples, 70, 80, 600.0, 0.8);
        expect(&samples, 90, 99, 1000.0, 0.85);
        let phase = phase(&samples, 20, 40);
        assert!(phase.max / phase.min < 1.02, "{delay} ms: {phase:?}");
    }
}

#[test]
fn rfc8867_variable_capacity_with_two_flows() {
    let path = rfc8867(2000.0, 50, &[(0, 4.0), (25, 2.0), (50, 3.5), (75, 1.0), (100, 2.0)]);
    let (mut one, mut two) = (Nada::new(NadaConfig::default()), Nada::new(NadaConfig::default()));
    let mut flows = [
        Flow { controller: &mut one, path: &path, link: 0, reports: None },
        Flow { controller: &mut two, path: &path, link: 0, reports: None },
    ];
    for flow in run_flows(&mut flows, 125, 1) {
        // Both share the capacity evenly, or reach the encoder's greatest rate.
        expect(&flow, 15, 25, 1500.0, 0.95);
        expect(&flow, 40, 50, 1000.0, 0.95);
        expect(&flow, 65, 75, 1500.0, 0.95);
        expect(&flow, 90, 100, 500.0, 0.95);
        expect(&flow, 115, 125, 1000.0, 0.95);
    }
}

#[test]
fn flows_share_by_their_priorities() {
    let path = rfc8867(2000.0, 50, &[(0, 1.5)]);
    let config = NadaConfig { priority: 2.0, ..NadaConfig::default() };
    let (mut one, mut two) = (Nada::new(config), Nada::new(NadaConfig::default()));
    let mut flows = [
        Flow { controller: &mut one, path: &path, link: 0, reports: None },
        Flow { controller: &mut two, path: &path, link: 0, reports: None },
    ];
    let samples = run_flows(&mut flows, 60, 1);
    let (one, two) = (phase(&samples[0], 40, 60), phase(&samples[1], 40, 60));
    assert!((one.received / two.received - 2.0).abs() < 0.25, "{one:?} {two:?}");
}

#[test]
fn rfc8867_congested_feedback_link() {
    let forward = rfc8867(1000.0, 50, &[(0, 2.0), (20, 1.0), (40, 0.5), (60, 2.0)]);
    let backward = rfc8867(1000.0, 50, &[(0, 2.0), (35, 0.8), (70, 2.0)]);
    let simulate = |congested: bool| {
        let (mut one, mut two) = (Nada::new(NadaConfig::default()), Nada::new(NadaConfig::default()));
        let mut flows = [
            Flow { controller: &mut one, path: &forward, link: 0, reports: congested.then_some(1) },
            Flow { controller: &mut two, path: &backward, link: 1, reports: congested.then_some(0) },
        ];
        run_flows(&mut flows, 100, 1)
    };
    // The logs are compared with logs from a feedback channel without impairment.
    let (reference, congested) = (simulate(false), simulate(true));
    for (flow, from, to) in
        [(0, 10, 20), (0, 25, 35), (0, 45, 60), (0, 70, 100), (1, 10, 20), (1, 45, 60), (1, 70, 100)]
    {
        let (reference, congested) = (phase(&reference[flow], from, to), phase(&congested[flow], from, to));
        let ratio = congested.received / reference.received;
        assert!(ratio > 0.95 && ratio < 1.05, "flow {flow}, {from} s: {reference:?} {congested:?}");
        assert!(congested.queueing < 60.0 && congested.lost == 0, "flow {flow}, {from} s: {congested:?}");
    }
}

/// Appendix A states that marks of a step threshold are untested with NADA. The ratio is smoothed over
/// reports and the penalty is its square, so that the rate swings between 190 and 1120 kbit/s.
#[test]
fn marks_of_a_step_threshold_keep_the_queue_short_at_the_cost_of_the_rate() {
    let mut path = rfc8867(2000.0, 50, &[(0, 1.0)]);
    let unmarked = run(&mut Nada::new(NadaConfig::default()), &path, 60, 1);
    path.mark_above = Some(Duration::from_millis(8));
    let marked = run(&mut Nada::new(NadaConfig::default()), &path, 60, 1);
    let (unmarked, marked) = (phase(&unmarked, 30, 60), phase(&marked, 30, 60));
    assert!(marked.queueing < 0.75 * unmarked.queueing && marked.lost == 0, "{unmarked:?} {marked:?}");
    assert!(marked.received > 500.0 && marked.received < 700.0, "{marked:?}");
}

/// Runs a flow for each path over one link, the first path's.
fn share(paths: &[Path], seconds: u64) -> Vec<Vec<Sample>> {
    let mut laws: Vec<Nada> = paths.iter().map(|_| Nada::new(NadaConfig::default())).collect();
    let mut flows: Vec<Flow<'_>> = laws
        .iter_mut()
        .zip(paths)
        .map(|(law, path)| Flow { controller: law, path, link: 0, reports: None })
        .collect();
    run_flows(&mut flows, seconds, 1)
}

/// `path` with an encoder that is active from each first to each second time in s.
fn active(path: Path, times: &'static [(u64, u64)]) -> Path {
    let is_active = move |now: &Instant| {
        times.iter().any(|(from, to)| *now >= Instant::from_secs(*from) && *now < Instant::from_secs(*to))
    };
    Path { encoder: Box::new(move |now| if is_active(&now) { f64::INFINITY } else { 0.0 }), ..path }
}

#[test]
fn rfc8867_competing_flows() {
    let path = || rfc8867(3500.0, 50, &[(0, 3.5)]);
    let samples = share(&[path(), active(path(), &[(20, 120)]), active(path(), &[(40, 120)])], 120);
    expect(&samples[0], 10, 20, 1500.0, 0.98);
    for flow in &samples[..2] {
        expect(flow, 30, 40, 1500.0, 0.98);
    }
    // 3.5 Mbit/s among three flows; the last one converges slowly.
    for flow in &samples {
        let phase = phase(flow, 100, 120);
        assert!((phase.received * 3.0 / 3500.0 - 1.0).abs() < 0.12, "{phase:?}");
        assert!(phase.queueing < 60.0 && phase.lost == 0, "{phase:?}");
    }
}

#[test]
fn rfc8867_pause_and_resume() {
    let path = || rfc8867(3500.0, 50, &[(0, 3.5)]);
    let samples = share(&[path(), path(), active(path(), &[(0, 40), (60, 120)])], 120);
    for flow in &samples {
        expect(flow, 20, 40, 3500.0 / 3.0, 0.98);
        expect(flow, 100, 120, 3500.0 / 3.0, 0.93);
    }
    for flow in &samples[..2] {
        expect(flow, 50, 60, 1500.0, 0.98);
    }
}

/// Rates in kbit/s from 200 to 300 s of five flows with one-way delays of 10 to 150 ms that share 4 Mbit/s
/// and begin `interval` s apart.
fn round_trip_fairness(interval: u64) -> [f64; 5] {
    let paths = [10, 25, 50, 100, 150].map(|delay| rfc8867(4000.0, delay, &[(0, 4.0)]));
    let mut number = 0;
    let paths = paths.map(|path| {
        let from = Instant::from_secs(number * interval);
        number += 1;
        Path { encoder: Box::new(move |now| if now >= from { f64::INFINITY } else { 0.0 }), ..path }
    });
    let samples = share(&paths, 300);
    core::array::from_fn(|n| {
        let phase = phase(&samples[n], 200, 300);
        assert!(phase.lost == 0 && phase.queueing < 60.0, "{phase:?}");
        phase.received
    })
}

/// Flows that find a standing queue take its delay for the path's (Section 6.1), and their rate is higher:
/// the case's expectation, shares that do not depend on the round-trip time, holds for flows that begin
/// together only.
#[test]
fn rfc8867_round_trip_fairness() {
    let together = round_trip_fairness(0);
    assert!(together.iter().all(|rate| (rate - 800.0).abs() < 40.0), "{together:?}");
    let in_turn = round_trip_fairness(10);
    assert!(in_turn[..3].iter().all(|rate| (rate - 524.0).abs() < 50.0), "{in_turn:?}");
    assert!(in_turn[4] > 1400.0, "{in_turn:?}");
}
