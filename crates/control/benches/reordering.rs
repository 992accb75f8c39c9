//! Cost of a packet in the reorder buffer, in and out of order.
//!
//! Run with `cargo bench -p whimbrel-control`.

use std::hint::black_box;

use criterion::{Criterion, criterion_group, criterion_main};
use whimbrel_control::reordering::{BufferSize, ReorderBuffer, ReorderConfig};
use whimbrel_units::{ByteCount, Duration, Instant};

/// Packets per measured batch.
const PACKETS: u64 = 1024;

fn reordering(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("reordering");
    group.throughput(criterion::Throughput::Elements(PACKETS));
    // One packet in twenty arrives after the three that follow it.
    let overtaken = |count: u64| match count % 20 {
        10..13 => count + 1,
        13 => count - 3,
        _ => count,
    };
    for (name, order) in [("in_order", (|count| count) as fn(u64) -> u64), ("overtaken", overtaken)] {
        let config = ReorderConfig { size: BufferSize::Fixed(12), ..ReorderConfig::default() };
        let mut buffer = ReorderBuffer::new(config, 0);
        let (mut now, mut count) = (Instant::ZERO, 0);
        group.bench_function(name, |bencher| {
            bencher.iter(|| {
                for _ in 0..PACKETS {
                    now += Duration::from_millis(1);
                    buffer.on_packet(now, black_box(order(count)), ByteCount::new(500), count);
                    count += 1;
                    while let Some(output) = buffer.poll(now) {
                        black_box(output);
                    }
                }
            });
        });
    }
    group.finish();
}

criterion_group!(benches, reordering);
criterion_main!(benches);
