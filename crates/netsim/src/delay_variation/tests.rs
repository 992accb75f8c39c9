use super::*;
use crate::random::RandomStreams;

fn rate() -> DataRate {
    DataRate::from_megabits_per_second(1.0)
}

fn variation() -> DelayVariation {
    let random = RandomStreams::new(1, 0).stream("link", "delay variation");
    DelayVariation::new(DelayVariationConfig::recommended(rate()), random).expect("valid values")
}

/// RFC 8868, Section 4.5.3: a normal distribution with a deviation of 5 ms, cut at three of them.
#[test]
fn delays_are_those_of_a_truncated_normal_distribution() {
    let mut variation = variation();
    // Packets far apart do not meet.
    let delays: Vec<f64> = (1..20_001)
        .map(|number| {
            let now = Instant::from_millis(100 * number);
            (variation.release(now, FlowId(1), 125) - now).as_secs_f64() * 1e3
        })
        .collect();
    let mean = delays.iter().sum::<f64>() / delays.len() as f64;
    let deviation = (delays.iter().map(|delay| (delay - mean) * (delay - mean)).sum::<f64>()
        / delays.len() as f64)
        .sqrt();
    assert!((mean - 15.0).abs() < 0.1, "{mean}");
    // Truncation at three deviations takes half of a percent.
    assert!((deviation - 4.98).abs() < 0.1, "{deviation}");
    assert!(delays.iter().all(|delay| (0.0..30.000_001).contains(delay)));
    let beyond_two = delays.iter().filter(|delay| (**delay - 15.0).abs() > 10.0).count();
    assert!((800..1020).contains(&beyond_two), "{beyond_two} of 910 expected");
}

/// RFC 8868, Section 4.5.2: at least the serialization time of the packet before, within a flow.
#[test]
fn packets_of_a_flow_keep_their_order_and_distance() {
    let mut variation = variation();
    let mut last = Instant::ZERO;
    let mut was_closest = 0;
    for number in 1..10_001 {
        let release = variation.release(Instant::from_millis(2 * number), FlowId(1), 125);
        assert!(release >= last + Duration::from_millis(1), "packet {number}");
        was_closest += u32::from(release == last + Duration::from_millis(1));
        last = release;
    }
    assert!(was_closest > 2_000, "{was_closest}");
}

#[test]
fn a_rate_that_has_risen_is_not_limited() {
    let mut variation = variation();
    // Four times the configured rate, for 10 s.
    for number in 1..40_001 {
        let now = Instant::from_secs(1) + Duration::from_micros(250) * number;
        assert!(variation.release(now, FlowId(1), 125) <= now + Duration::from_millis(30), "packet {number}");
    }
}

#[test]
fn packets_of_other_flows_may_overtake() {
    let mut variation = variation();
    let mut overtaken = 0;
    for number in 1..1_001 {
        let now = Instant::from_millis(100 * number);
        let (first, second) =
            (variation.release(now, FlowId(1), 125), variation.release(now, FlowId(2), 125));
        overtaken += u32::from(second < first);
    }
    assert!((400..600).contains(&overtaken), "{overtaken}");
}

#[test]
fn what_makes_no_sense_is_refused() {
    let config = DelayVariationConfig::recommended(rate());
    assert_eq!(config.check(), Ok(()));
    let unbounded = DelayVariationConfig { bound: f64::INFINITY, ..config };
    assert_eq!(unbounded.check(), Err(DelayVariationError::Bound(f64::INFINITY)));
    let stopped = DelayVariationConfig { rate: DataRate::ZERO, ..config };
    assert_eq!(stopped.check(), Err(DelayVariationError::Rate));
}
