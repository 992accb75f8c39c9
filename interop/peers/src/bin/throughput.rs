//! The TCP throughput equation: reads lines of `BYTES RTT_SECONDS LOSS_EVENT_RATE`, writes bytes per second
//! for each.
//!
//! ```sh
//! echo '500 0.2 0.01' | cargo run -p whimbrel-peers --bin throughput
//! ```

use std::error::Error;
use std::io::{BufRead, Write};

use whimbrel_control::tfrc::{LossEventRate, RetransmitTimeout, throughput};
use whimbrel_units::{ByteCount, Duration};

#[allow(clippy::disallowed_methods, reason = "it prints numbers")]
fn main() -> Result<(), Box<dyn Error>> {
    let mut out = std::io::stdout().lock();
    for line in std::io::stdin().lock().lines() {
        let line = line?;
        let [size, rtt, p] = line.split_whitespace().collect::<Vec<_>>()[..] else {
            return Err(format!("{line:?}: expected BYTES RTT_SECONDS LOSS_EVENT_RATE").into());
        };
        let (size, rtt) = (ByteCount::new(size.parse()?), Duration::from_secs_f64(rtt.parse()?));
        let rate = throughput(size, rtt, LossEventRate::new(p.parse()?), RetransmitTimeout::FourRoundTrips);
        writeln!(out, "{}", rate.as_bytes_per_second())?;
    }
    Ok(())
}
