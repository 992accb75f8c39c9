use whimbrel_units::{DataRate, Duration, Instant};

use super::{Protection, QueueProtectionConfig};
use crate::FlowId;
use crate::queue::FlowKey;
use crate::queue::tests::ms;

const THRESHOLD: Duration = Duration::from_millis(1);

/// Protection with an aging rate of 1 MB/s: a byte that is certainly marked adds 1 µs to the score.
fn protection() -> Protection {
    let aging = DataRate::from_bytes_per_second(1e6);
    Protection::new(&QueueProtectionConfig { aging, ..QueueProtectionConfig::default() }, THRESHOLD).unwrap()
}

fn flow(number: u32) -> FlowKey {
    FlowKey { flow: FlowId(number), ..FlowKey::default() }
}

fn micros(n: u64) -> Duration {
    Duration::from_micros(n)
}

/// The score of a flow after a packet.
fn score(protection: &mut Protection, now: Instant, flow: FlowKey, size: u32, probability: f64) -> Duration {
    let bucket = protection.pick(now, flow);
    protection.fill(now, bucket, size, probability)
}

/// Flows that use the same buckets as the flow 1.
fn colliding() -> Vec<FlowKey> {
    let buckets = |flow: FlowKey| (flow.hash() & 31, flow.hash() >> 5 & 31);
    (2..).map(flow).filter(|&other| buckets(other) == buckets(flow(1))).take(3).collect()
}

#[test]
fn the_score_is_congestion_bytes_over_the_aging_rate_less_the_time_since() {
    let mut protection = protection();
    assert_eq!(score(&mut protection, ms(10), flow(1), 1_000, 0.0), Duration::ZERO);
    assert_eq!(score(&mut protection, ms(10), flow(1), 1_000, 0.5), micros(500));
    assert_eq!(score(&mut protection, ms(10), flow(1), 1_500, 1.0), micros(2_000));
    // Another flow has its own score.
    assert_eq!(score(&mut protection, ms(10), flow(2), 100, 1.0), micros(100));
    assert_eq!(score(&mut protection, ms(11), flow(1), 250, 1.0), micros(1_250));
    // After its expiry, a score begins at zero, not below.
    assert_eq!(score(&mut protection, ms(500), flow(1), 1_000, 0.25), micros(250));
}

#[test]
fn the_default_aging_rate_is_two_to_the_power_of_19_bytes_per_second() {
    let mut protection = Protection::new(&QueueProtectionConfig::default(), THRESHOLD).unwrap();
    assert_eq!(score(&mut protection, ms(1), flow(1), 4_096, 0.5), Duration::from_nanos(3_906_250));
}

#[test]
fn a_packet_is_redirected_if_the_product_of_delay_and_score_is_critical() {
    let redirects =
        |delay, size, probability| protection().redirects(ms(1), flow(1), size, delay, probability);
    // The thresholds themselves are harmless: 1 ms, and 1 ms times 4 ms.
    assert!(!redirects(micros(1_000), 65_535, 1.0));
    assert!(redirects(micros(1_001), 65_535, 1.0));
    assert!(!redirects(micros(2_000), 2_000, 1.0));
    assert!(redirects(micros(2_000), 2_001, 1.0));
    assert!(!redirects(micros(4_000), 2_000, 0.5));
    assert!(redirects(micros(4_000), 2_001, 0.5));
    assert!(!redirects(Duration::from_secs(5), 65_535, 0.0));
}

#[test]
fn the_score_is_bounded_and_the_bound_redirects_at_any_delay() {
    let mut protection = protection();
    let mut packets = 1;
    while !protection.redirects(ms(1), flow(1), 50_000, Duration::ZERO, 1.0) {
        packets += 1;
    }
    assert_eq!(packets, 100);
    assert_eq!(score(&mut protection, ms(1), flow(1), 50_000, 1.0), Duration::from_secs(5));
    assert!(!protection.redirects(ms(2), flow(1), 0, Duration::ZERO, 1.0));
}

#[test]
fn flows_without_a_bucket_share_the_last_one() {
    let mut protection = protection();
    let others = colliding();
    let used = |protection: &mut Protection, flow| protection.pick(ms(1), flow);
    score(&mut protection, ms(1), flow(1), 1_000, 1.0);
    score(&mut protection, ms(1), others[0], 1_000, 1.0);
    let (first, second) = (used(&mut protection, flow(1)), used(&mut protection, others[0]));
    assert!(first < 32 && second < 32 && first != second, "{first} {second}");
    // Two more flows find both buckets live: they share a score.
    assert_eq!(score(&mut protection, ms(1), others[1], 300, 1.0), micros(300));
    assert_eq!(score(&mut protection, ms(1), others[2], 400, 1.0), micros(700));
    assert_eq!((used(&mut protection, others[1]), used(&mut protection, others[2])), (32, 32));
    // The shared score has no effect on flows with a bucket.
    assert_eq!(score(&mut protection, ms(1), flow(1), 0, 1.0), micros(1_000));
    // Once the score of the first flow has aged, its bucket is free.
    assert_eq!(protection.pick(ms(2), others[1]), first);
}

#[test]
fn a_flow_keeps_its_bucket_when_an_earlier_one_expires() {
    let mut protection = protection();
    let other = colliding()[0];
    score(&mut protection, ms(1), flow(1), 1_000, 1.0);
    score(&mut protection, ms(1), other, 9_000, 1.0);
    // The first flow's bucket has expired, but the other flow's score is in the second one.
    assert_eq!(score(&mut protection, ms(5), other, 0, 1.0), micros(5_000));
}

#[test]
fn parameters_are_checked() {
    let error = |config| Protection::new(&config, THRESHOLD).err().unwrap().to_string();
    let default = QueueProtectionConfig::default;
    let zero = Duration::ZERO;
    for (config, expected) in [
        (QueueProtectionConfig { critical_delay: Some(zero), ..default() }, "protection.critical_delay is 0"),
        (QueueProtectionConfig { critical_score: zero, ..default() }, "protection.critical_score is 0"),
        (QueueProtectionConfig { aging: DataRate::INFINITE, ..default() }, "protection.aging is "),
        (
            QueueProtectionConfig { buckets: 0, ..default() },
            "protection.buckets is 0, expected a power of two",
        ),
        (QueueProtectionConfig { buckets: 33, ..default() }, "protection.buckets is 33, expected a power"),
    ] {
        let said = error(config);
        assert!(said.starts_with(expected), "{said}");
    }
}

/// The number of redirected packets of 10 000. The flow sends at a share of the aging rate, the queue's
/// delay is four times the critical one, and every packet is marked.
fn redirected(share: f64) -> usize {
    let mut protection = protection();
    let interval = micros(1_000).mul_f64(1.0 / share);
    let mut now = Instant::ZERO;
    let packets = (0..10_000).filter(|_| {
        now += interval;
        protection.redirects(now, flow(1), 1_000, THRESHOLD * 4, 1.0)
    });
    packets.count()
}

#[test]
fn a_flow_below_the_aging_rate_is_never_redirected() {
    // A packet adds 1 ms to the score, and 1 ms is critical at 4 ms of delay.
    assert_eq!(redirected(0.9), 0);
    assert_eq!(redirected(1.0), 0);
    assert!(redirected(1.1) > 9_900, "{}", redirected(1.1));
}
