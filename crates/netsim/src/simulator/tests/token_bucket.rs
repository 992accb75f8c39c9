//! Links with a token bucket, and with recorded delays.

use whimbrel_units::ByteCount;

use super::*;
use crate::trace::DelayTrace;
use crate::{Command, DownPolicy, LinkRate, TokenBucketConfig};

/// A kilobyte of tokens per millisecond, at most three; packets leave at ten times that.
fn bucket() -> LinkRate {
    let rate = DataRate::from_bytes_per_second(1e6);
    TokenBucketConfig { rate, burst: ByteCount::new(3_000), peak: rate * 10.0 }.into()
}

fn arrivals(simulator: &Simulator<Script>, sink: AgentId) -> Vec<u64> {
    simulator.agent(sink).received.iter().map(|(at, _)| at.as_nanos() / 1_000).collect()
}

#[test]
fn a_burst_leaves_at_the_peak_rate_and_what_follows_at_the_rate() {
    let (mut simulator, _, sink) = pair(LinkConfig::new(bucket(), Duration::ZERO), &[0; 6]);
    simulator.run_until(Instant::from_secs(1));
    // Three kilobytes at once. The fourth kilobyte's token is complete after 1 ms, its packet lasts 0.1 ms.
    assert_eq!(arrivals(&simulator, sink), [100, 200, 300, 1_100, 2_100, 3_100]);
}

#[test]
fn a_pause_fills_the_bucket_up_to_the_burst() {
    // The bucket is empty at 0.3 ms but for the tokens of that time, and holds 2 kB at 2 ms; at 60 ms 3 kB,
    // not 57.
    let times = [0, 0, 0, 2_000, 2_000, 2_000, 60_000, 60_000, 60_000, 60_000];
    let (mut simulator, _, sink) = pair(LinkConfig::new(bucket(), Duration::ZERO), &times);
    simulator.run_until(Instant::from_secs(1));
    let expected = [100, 200, 300, 2_100, 2_200, 3_100, 60_100, 60_200, 60_300, 61_100];
    assert_eq!(arrivals(&simulator, sink), expected);
}

#[test]
fn a_packet_above_the_burst_leaves_with_a_full_bucket() {
    let config = TokenBucketConfig {
        rate: DataRate::from_bytes_per_second(1e6),
        burst: ByteCount::new(500),
        peak: DataRate::INFINITE,
    };
    let (mut simulator, _, sink) = pair(LinkConfig::new(config, Duration::ZERO), &[0, 0, 0]);
    simulator.run_until(Instant::from_secs(1));
    assert_eq!(arrivals(&simulator, sink), [0, 1_000, 2_000]);
}

#[test]
fn a_held_link_keeps_the_tokens_of_what_it_has_not_sent() {
    let (mut simulator, link, sink) = pair(LinkConfig::new(bucket(), Duration::ZERO), &[0, 0, 0, 0]);
    // The first has left; the tokens of the second, third and fourth were planned and are there again.
    simulator.schedule(micros(150), Command::LinkDown { link, policy: DownPolicy::Hold });
    simulator.schedule(micros(160), Command::LinkUp { link });
    simulator.run_until(Instant::from_secs(1));
    assert_eq!(arrivals(&simulator, sink), [100, 260, 360, 1_100]);
}

#[test]
fn packets_have_the_delay_that_was_recorded_when_they_left_and_keep_their_order() {
    let steps = [(0, 20), (100, 50), (130, 10)]
        .map(|(at, delay)| (Instant::from_millis(at), Duration::from_millis(delay)));
    let trace = DelayTrace::from_steps(&steps, false).unwrap();
    let (mut simulator, link, sink) =
        pair(slow().with_recorded_delays(trace), &[0, 98_500, 99_500, 128_000, 129_500, 200_000]);
    simulator.run_until(Instant::from_secs(1));
    // Each leaves 1 ms later. The one that leaves at 130.5 ms has 10 ms, and waits for the one before it.
    assert_eq!(arrivals(&simulator, sink), [21_000, 119_500, 150_500, 179_000, 179_000, 211_000]);
    assert_eq!(simulator.link_stats(link).delivered.packets, 6);
}
