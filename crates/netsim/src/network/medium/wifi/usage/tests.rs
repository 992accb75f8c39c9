use super::*;

/// A channel of which all times are so many microseconds, and all counts so many.
fn usage(count: u64) -> ChannelUsage {
    ChannelUsage {
        frames: count,
        retries: count + 1,
        overlapping: count + 2,
        air_time: Duration::from_micros(count + 3),
        busy: Duration::from_micros(count + 4),
        busy_until: Instant::from_millis(count + 5),
    }
}

#[test]
fn the_use_since_an_earlier_state_is_the_difference_of_all_counters() {
    let ten = ChannelUsage {
        frames: 10,
        retries: 10,
        overlapping: 10,
        air_time: Duration::from_micros(10),
        busy: Duration::from_micros(10),
        busy_until: usage(110).busy_until,
    };
    assert_eq!(usage(110).since(&usage(100)), ten);
}
