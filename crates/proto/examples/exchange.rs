//! Carries a million datagrams between two connections, and prints the number of packets and the simulated
//! time. A profiler gives the processor time:
//!
//! ```text
//! cargo build --release -p whimbrel-proto --example exchange
//! perf stat target/release/examples/exchange 3 1000000
//! valgrind --tool=callgrind target/release/examples/exchange 3 20000
//! ```

#[path = "../tests/support/lane.rs"]
mod lane;

use lane::Lane;
use whimbrel_proto::Ccid;
use whimbrel_units::{Duration, Instant};

fn main() {
    let mut arguments = std::env::args().skip(1);
    let mut number = |default| arguments.next().and_then(|text| text.parse().ok()).unwrap_or(default);
    let ccid = Ccid(number(3) as u8);
    let datagrams = number(1_000_000);
    let mut lane = Lane::connected(ccid, Duration::from_micros(10));
    lane.run(datagrams);
    println!(
        "{ccid}: {} datagrams in {} packets, {:.3} s on the path",
        lane.received(),
        lane.packets(),
        (lane.now() - Instant::from_secs(1)).as_secs_f64()
    );
}
