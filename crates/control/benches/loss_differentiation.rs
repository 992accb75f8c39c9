//! Cost of an arrival and of a classification for each classifier.
//!
//! Run with `cargo bench -p whimbrel-control`. At 1 Gbit/s, a packet arrives every 10,000 ns.

use std::hint::black_box;

use criterion::{BatchSize, Criterion, criterion_group, criterion_main};
use whimbrel_control::loss_differentiation::{LossGap, PacketArrival, Scheme};
use whimbrel_units::{ByteCount, Duration, Instant};

/// Arrivals per measured batch.
const ARRIVALS: usize = 1024;

/// Packets about 10 ms apart with trip times between 20 and 83 ms; every twentieth is missing.
fn arrivals() -> Vec<PacketArrival> {
    (0..ARRIVALS as u64)
        .map(|arrival| arrival + arrival / 19)
        .map(|sequence| {
            let at = Instant::ZERO
                + Duration::from_secs(1)
                + Duration::from_micros(9_700 + sequence % 7 * 100) * sequence;
            let rott = Duration::from_millis(20 + sequence % 64);
            PacketArrival { at, sequence, size: ByteCount::new(1000), sent: Some(at.saturating_sub(rott)) }
        })
        .collect()
}

fn classifiers(criterion: &mut Criterion) {
    let arrivals = arrivals();
    let mut group = criterion.benchmark_group("classifier");
    group.throughput(criterion::Throughput::Elements(ARRIVALS as u64));
    for scheme in Scheme::ALL {
        group.bench_function(format!("{scheme}/arrival"), |bencher| {
            bencher.iter_batched_ref(
                || scheme.build(),
                |algorithm| arrivals.iter().for_each(|arrival| algorithm.on_arrival(black_box(arrival))),
                BatchSize::SmallInput,
            );
        });
        group.bench_function(format!("{scheme}/arrival_and_verdict"), |bencher| {
            bencher.iter_batched_ref(
                || scheme.build(),
                |algorithm| {
                    for pair in arrivals.windows(2) {
                        algorithm.on_arrival(&pair[1]);
                        let gap = LossGap {
                            first: pair[0].sequence,
                            count: 1,
                            before: pair[0].at,
                            after: pair[1].at,
                        };
                        black_box(algorithm.classify(black_box(&gap)));
                    }
                },
                BatchSize::SmallInput,
            );
        });
    }
    group.finish();
}

criterion_group!(benches, classifiers);
criterion_main!(benches);
