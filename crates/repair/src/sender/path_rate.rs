//! The rate of a path, from the queueing delays of two packets and what was sent between them.

use whimbrel_units::{DataRate, Duration};

/// The longest time of an octet, in seconds.
const SLOWEST: f64 = 1e-3;
/// Halvings of the search, for a picosecond.
const STEPS: usize = 30;

/// The rate of a queue that delayed a packet by `before` and a later one by `after`. `sent` are the packets
/// between, the later one included: the time since the last one, and octets.
///
/// Octets divided by the time between the arrivals would be less where the queue was empty for a part of that
/// time, for example before a large frame.
pub(super) fn path_rate(
    before: Duration,
    after: Duration,
    sent: impl Iterator<Item = (Duration, u64)> + Clone,
) -> DataRate {
    let delay_at = |time: f64| {
        sent.clone().fold(before.as_secs_f64(), |queue, (gap, octets)| {
            (queue - gap.as_secs_f64()).max(0.0) + octets as f64 * time
        })
    };
    let (mut low, mut high) = (0.0, SLOWEST);
    for _ in 0..STEPS {
        let middle = (low + high) / 2.0;
        *(if delay_at(middle) > after.as_secs_f64() { &mut high } else { &mut low }) = middle;
    }
    DataRate::from_bytes_per_second(1.0 / high)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rate_of(before: u64, after: u64, sent: &[(u64, u64)]) -> f64 {
        let sent = sent.iter().map(|&(gap, octets)| (Duration::from_millis(gap), octets));
        path_rate(Duration::from_millis(before), Duration::from_millis(after), sent).as_bytes_per_second()
    }

    #[test]
    fn a_rate_explains_the_delays() {
        let is_near = |rate: f64, expected: f64| (rate / expected - 1.0).abs() < 2e-3;
        // 1,000 octets every 10 ms to a path that carries 50,000 octets per second.
        assert!(is_near(rate_of(0, 30, &[(10, 1000), (10, 1000), (10, 1000)]), 60e3));
        assert!(is_near(rate_of(20, 40, &[(10, 1000), (10, 1000)]), 50e3));
        // The queue becomes shorter.
        assert!(is_near(rate_of(90, 40, &[(40, 0), (30, 1000)]), 50e3));
        // An empty queue for 80 ms before a large frame.
        assert!(is_near(rate_of(0, 40, &[(100, 0), (0, 1000), (0, 1000)]), 50e3));
    }
}
