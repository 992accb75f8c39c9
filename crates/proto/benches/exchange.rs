//! Cost of a datagram from one application to the other, both connections together: sending, receiving, its
//! share of the feedback, and the loop around it.

#[path = "../tests/support/lane.rs"]
mod lane;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use lane::Lane;
use whimbrel_proto::Ccid;
use whimbrel_units::Duration;

/// Datagrams per measurement.
const BATCH: u64 = 10_000;

fn exchange(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("exchange");
    group.throughput(Throughput::Elements(BATCH));
    for ccid in [Ccid::TCP_LIKE, Ccid::TFRC] {
        let mut lane = Lane::connected(ccid, Duration::from_micros(10));
        lane.run(100_000);
        group.bench_function(format!("{ccid}"), |bencher| bencher.iter(|| lane.run(BATCH)));
    }
    group.finish();
}

criterion_group!(benches, exchange);
criterion_main!(benches);
