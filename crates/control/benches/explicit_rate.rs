//! Cost of a packet in each router law: its arrival, its departure and its share of the timers.
//!
//! Run with `cargo bench -p whimbrel-control`. At 1 Gbit/s, a packet of 1000 bytes takes 8000 ns.

use std::hint::black_box;

use criterion::{Criterion, criterion_group, criterion_main};
use whimbrel_control::capacity::Estimate;
use whimbrel_control::explicit_rate::blind::BlindConfig;
use whimbrel_control::explicit_rate::xcp_winf::WinfReading;
use whimbrel_control::explicit_rate::{
    AbcConfig, AbcRouter, FlowHeader, RcpConfig, RcpRouter, RouterLaw, XcpConfig, XcpRouter, rcp_winf,
    xcp_winf,
};
use whimbrel_units::{ByteCount, DataRate, Duration, Instant};

/// Packets per measured batch.
const PACKETS: u64 = 1024;

/// A law as a value of the trait, as an egress has it.
fn laws() -> Vec<(&'static str, Box<dyn RouterLaw>)> {
    let capacity = DataRate::from_megabits_per_second(100.0);
    let start = Instant::ZERO;
    let xcp = |config| -> Box<dyn RouterLaw> { Box::new(XcpRouter::new(config, capacity, start)) };
    let rcp = |config| -> Box<dyn RouterLaw> { Box::new(RcpRouter::new(config, capacity, start)) };
    let sensible = WinfReading::Sensible;
    vec![
        ("xcp", xcp(XcpConfig::draft())),
        ("xcp_winf", xcp(xcp_winf::router(sensible))),
        ("blind", xcp(BlindConfig::for_buffer(ByteCount::new(500_000)).router())),
        ("rcp", rcp(RcpConfig::authors())),
        ("rcp_winf", rcp(rcp_winf::router(sensible))),
        ("abc", Box::new(AbcRouter::new(AbcConfig::default(), capacity, start))),
    ]
}

fn router_laws(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("router_law");
    group.throughput(criterion::Throughput::Elements(PACKETS));
    let rate = DataRate::from_megabits_per_second(10.0);
    let estimate = Estimate { capacity: DataRate::from_megabits_per_second(100.0), available: rate };
    let backlog = ByteCount::new(5000);
    for (name, mut law) in laws() {
        law.set_estimate(estimate);
        let (mut now, mut count) = (Instant::ZERO, 0_u64);
        group.bench_function(name, |bencher| {
            bencher.iter(|| {
                for _ in 0..PACKETS {
                    count += 1;
                    now += Duration::from_micros(80);
                    if law.poll_timeout().is_some_and(|at| at <= now) {
                        law.on_timeout(now, backlog);
                    }
                    let rtt = Duration::from_millis(20 + count % 64);
                    let mut header = FlowHeader { rtt, rate, allocation: f64::INFINITY };
                    law.on_arrival(now, 1000, Some(&header), backlog);
                    law.on_departure(now, 1000, Some(&mut header), backlog);
                    black_box(header.allocation);
                }
            });
        });
    }
    group.finish();
}

criterion_group!(benches, router_laws);
criterion_main!(benches);
