//! Cost of the code per datagram of 1,200 bytes, compared with a copy of the bytes (the limit of the memory).
//!
//! Run with `cargo bench -p whimbrel-repair`.

#[path = "support/frame.rs"]
mod frame;

use std::hint::black_box;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use frame::{FRAME, PARITY, SIZE, send_frame};
use whimbrel_repair::decoder::Decoder;
use whimbrel_repair::encoder::{CodeConfig, Encoder};
use whimbrel_repair::fecframe::Esi;
use whimbrel_repair::kernel::Kernel;

fn kernels(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("multiply_add");
    group.throughput(Throughput::Bytes(SIZE as u64));
    let (source, mut target) = (vec![7_u8; SIZE], vec![3_u8; SIZE]);
    group.bench_function("copy", |bencher| {
        bencher.iter(|| black_box(&mut target).copy_from_slice(black_box(&source)));
    });
    for (name, kernel) in [("vector", Kernel::new()), ("portable", Kernel::portable())] {
        group.bench_function(name, |bencher| {
            bencher.iter(|| kernel.multiply_add(black_box(&mut target), black_box(&source), black_box(0x53)));
        });
    }
    group.finish();
}

fn encoding(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("encode");
    group.throughput(Throughput::Elements(u64::from(FRAME)));
    let adu = vec![9; SIZE];
    for (name, frames) in [("window_of_one_frame", 1), ("window_of_three_frames", 3)] {
        let mut encoder = Encoder::new(CodeConfig::new(1220), Esi(0));
        let mut out = Vec::new();
        group.bench_function(name, |bencher| {
            bencher.iter(|| {
                send_frame(&mut encoder, frames, &adu, |encoder| {
                    out.clear();
                    black_box(encoder.close(&mut out));
                });
            });
        });
    }
    group.finish();
}

/// A frame of which as many datagrams are lost as there are repair symbols, and one without losses.
fn decoding(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("decode");
    group.throughput(Throughput::Elements(u64::from(FRAME)));
    let adu = vec![9; SIZE];
    for (name, lost) in [("nothing_lost", 0), ("four_of_twenty_lost", PARITY)] {
        let config = CodeConfig { window: 64, ..CodeConfig::new(1220) };
        let mut encoder = Encoder::new(config, Esi(0));
        let mut decoder = Decoder::new(config, Esi(0), 64);
        let mut repairs = vec![Vec::new(); PARITY as usize];
        group.bench_function(name, |bencher| {
            bencher.iter(|| {
                let mut ids = Vec::with_capacity(PARITY as usize);
                let mut outs = repairs.iter_mut();
                let first = send_frame(&mut encoder, 1, &adu, |encoder| {
                    let out = outs.next().expect("a buffer");
                    out.clear();
                    ids.push(encoder.close(out).expect("an open symbol"));
                });
                for n in lost..FRAME {
                    decoder.on_source(first.plus(n), 0, &adu);
                }
                for (id, repair) in ids.iter().zip(&repairs) {
                    decoder.on_repair(*id, repair);
                }
                while let Some(esi) = decoder.poll_solved() {
                    black_box(decoder.symbol(esi));
                }
            });
        });
    }
    group.finish();
}

criterion_group!(benches, kernels, encoding, decoding);
criterion_main!(benches);
