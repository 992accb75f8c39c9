use whimbrel_units::Duration;

use super::{QueueLimits, expected};
use crate::phy::{Format, GuardInterval, Mode, Width};

/// 1538 bytes in Linux's integers, and the packets until 5 and 12 ms are pending.
#[test]
fn estimates_are_those_of_linux() {
    let cases = [
        (Format::Ht, 0, 1, Width::Mhz20, GuardInterval::Ns800, 1_912, 3, 7),
        (Format::Ht, 7, 1, Width::Mhz20, GuardInterval::Ns800, 188, 27, 64),
        (Format::Ht, 7, 2, Width::Mhz40, GuardInterval::Ns400, 40, 125, 300),
        (Format::Vht, 9, 2, Width::Mhz80, GuardInterval::Ns400, 12, 417, 1_000),
        (Format::He, 11, 2, Width::Mhz80, GuardInterval::Ns800, 8, 625, 1_500),
    ];
    for (format, mcs, streams, width, guard, micros, low, high) in cases {
        let mode = Mode::new(format, mcs, streams, width, guard).unwrap();
        let each = expected(mode, 1_538);
        assert_eq!(each, Duration::from_micros(micros), "{mode}");
        let admitted = |of_others| {
            let mut count = 0;
            while QueueLimits::LINUX.admit(each * count, of_others) {
                count += 1;
            }
            count
        };
        assert_eq!((admitted(Duration::from_millis(24)), admitted(Duration::ZERO)), (low, high), "{mode}");
    }
}
