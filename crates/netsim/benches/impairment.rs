//! Cost per packet of each model of loss.
//!
//! Run with `cargo bench -p whimbrel-netsim`. A packet of 762 bytes takes 40 ms at 150 kbit/s.

use std::hint::black_box;

use criterion::{Criterion, criterion_group, criterion_main};
use whimbrel_netsim::impairment::{Frames, Impairment, LossProcess, Rayleigh, Reception};
use whimbrel_netsim::random::RandomStreams;
use whimbrel_units::{Duration, Instant};

/// Packets per measured batch.
const PACKETS: u64 = 1024;
const FRAME: Duration = Duration::from_micros(20_320);

fn models() -> Vec<(&'static str, Impairment)> {
    let frames =
        Frames { duration: FRAME, bytes: 381, symbols: 6096, code_memory: 4, interleaved: 2, columns: 108 };
    let reception = Reception { paths: 4, eb_n0_db: 4.0, users: 5, spreading_gain: 16 };
    vec![
        ("bernoulli", Impairment::Bernoulli { loss: 0.078 }),
        (
            "gilbert-elliott",
            Impairment::GilbertElliott {
                good_to_bad: 0.06,
                bad_to_good: 0.74,
                loss_in_good: 0.0,
                loss_in_bad: 1.0,
            },
        ),
        ("run-length", Impairment::RunLength { loss_rate: 0.078, runs: vec![0.7, 0.25, 0.05] }),
        ("rayleigh", Impairment::Rayleigh(Rayleigh { doppler_hz: 78.6, frames, reception })),
    ]
}

fn impairments(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("impairment");
    group.throughput(criterion::Throughput::Elements(PACKETS));
    for (name, model) in models() {
        let stream = RandomStreams::new(1, 0).stream("link", "loss");
        let Ok(mut process) = LossProcess::new(&model, stream) else { continue };
        let mut now = Instant::ZERO;
        group.bench_function(name, |bencher| {
            bencher.iter(|| {
                for _ in 0..PACKETS {
                    now += FRAME;
                    black_box(process.loses(now, 381));
                }
            });
        });
    }
    group.finish();
}

criterion_group!(benches, impairments);
criterion_main!(benches);
