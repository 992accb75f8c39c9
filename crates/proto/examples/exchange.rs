//! Carries datagrams between two connections, and prints their number, the number of packets, and the
//! simulated time. A profiler gives the cost:
//!
//! ```text
//! cargo build --release -p whimbrel-proto --example exchange
//! perf stat target/release/examples/exchange 3 datagrams 1000000
//! valgrind --tool=callgrind target/release/examples/exchange 3 datagrams 20000
//! ```

#[path = "../tests/support/lane.rs"]
mod lane;

use lane::Lane;
use whimbrel_proto::Ccid;
use whimbrel_units::{Duration, Instant};

fn main() {
    let number =
        |place, default| std::env::args().nth(place).and_then(|text| text.parse().ok()).unwrap_or(default);
    let ccid = Ccid(number(1, 3) as u8);
    let datagrams = number(3, 1_000_000);
    let mut lane = Lane::connected(ccid, Duration::from_micros(10));
    lane.run(datagrams);
    println!(
        "datagrams packets path_s\n{} {} {:.3}",
        lane.received(),
        lane.packets(),
        (lane.now() - Instant::from_secs(1)).as_secs_f64()
    );
}
