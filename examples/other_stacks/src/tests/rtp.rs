//! A law that is told of a queue lowers the rate.

use whimbrel_control::media::RateLimits;
use whimbrel_control::media::{Reception, Scream, ScreamConfig};
use whimbrel_units::{DataRate, Duration, Ecn, Instant};

use crate::rtp_rate::RtpRate;

/// The rate after ten seconds of packets whose delay grows by that time each.
fn after_ten_seconds(growth: Duration) -> DataRate {
    let limits = [0.1, 1.0, 5.0].map(DataRate::from_megabits_per_second);
    let limits = RateLimits { min: limits[0], start: limits[1], max: limits[2] };
    let mut stream = RtpRate::new(Scream::new(ScreamConfig::new(limits)));
    let mut rate = limits.start;
    for number in 0..1_000 {
        let sent = Instant::ZERO + Duration::from_millis(1_000 + 10 * number);
        let sequence = stream.on_sent(sent, 1_200);
        let arrived = sent + Duration::from_millis(20) + growth * number;
        let report = vec![(sequence, Reception::Arrived { at: arrived, ecn: Ecn::NotEct })];
        rate = stream.on_report(arrived + Duration::from_millis(20), report, Duration::ZERO).target;
    }
    rate
}

#[test]
fn a_growing_delay_lowers_the_rate() {
    let (free, queued) = (after_ten_seconds(Duration::ZERO), after_ten_seconds(Duration::from_micros(500)));
    assert!(free > queued * 2.0, "{free} without a queue, {queued} with one");
}
