use super::*;

fn ms(n: u64) -> Duration {
    Duration::from_millis(n)
}

/// Acknowledgements of two segments each. Returns the window at which slow start ends, if it does.
struct Train {
    hystart: LinuxHyStart,
    cwnd: f64,
    now: Instant,
}

impl Train {
    fn new(cwnd: f64) -> Self {
        Self { hystart: LinuxHyStart::new(), cwnd, now: Instant::ZERO }
    }

    fn ack(&mut self, after: Duration, rtt: Duration) -> bool {
        self.now += after;
        self.hystart.on_delivery(&Delivery { now: self.now, delivered: 2.0, marked: 0.0, rtt: Some(rtt) });
        let ends = self.hystart.on_ack(self.now, self.cwnd, self.cwnd - 2.0);
        if !ends {
            self.cwnd += 2.0;
        }
        ends
    }
}

/// A least round-trip time of 200 ms, then one of 240 ms: more than an eighth. The ninth sample of the round
/// ends slow start.
#[test]
fn a_longer_round_trip_time_ends_slow_start_at_the_ninth_sample() {
    let mut train = Train::new(20.0);
    train.hystart.least = Some(ms(200));
    for sample in 0..8 {
        assert!(!train.ack(ms(3), ms(240)), "{sample}");
    }
    assert!(train.ack(ms(3), ms(240)));
    assert_eq!(train.cwnd, 36.0);
}

#[test]
fn an_increase_within_the_threshold_does_not() {
    let mut train = Train::new(20.0);
    train.hystart.least = Some(ms(200));
    // An eighth of 200 ms is 25 ms, and the threshold at most 16 ms.
    assert!((0..100).all(|_| !train.ack(ms(3), ms(216))));
    let mut train = Train::new(20.0);
    train.hystart.least = Some(ms(8));
    assert!((0..100).all(|_| !train.ack(ms(3), ms(12))));
}

#[test]
fn a_train_of_half_the_least_round_trip_time_ends_slow_start() {
    let mut train = Train::new(100.0);
    train.hystart.least = Some(ms(40));
    // 20.5 ms at 2 ms each, from the first one on.
    let ended = (0..100).position(|_| train.ack(ms(2), ms(40)));
    assert_eq!(ended, Some(11));
    // Gaps of more than 2 ms are no train.
    let mut train = Train::new(100.0);
    train.hystart.least = Some(ms(40));
    assert!((0..100).all(|_| !train.ack(ms(2) + Duration::from_micros(1), ms(40))));
}

#[test]
fn windows_below_16_segments_are_left_alone() {
    let mut train = Train::new(10.0);
    train.hystart.least = Some(ms(10));
    for _ in 0..3 {
        assert!(!train.ack(ms(1), ms(100)));
    }
    assert_eq!((train.cwnd, train.hystart.round_end), (16.0, None));
}
