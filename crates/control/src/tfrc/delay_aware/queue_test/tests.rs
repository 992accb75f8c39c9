use super::*;

const INTERVAL: Duration = Duration::from_secs(10);
const LOOP: f64 = 0.1;
/// The capacity of the link, in bytes per second.
const CAPACITY: f64 = 125_000.0;

/// A report each 20 ms, of a flow at that rate.
struct Bench {
    test: QueueTest,
    now: u64,
    rate: f64,
    received: f64,
}

impl Bench {
    fn new() -> Self {
        let mut bench = Self { test: QueueTest::default(), now: 0, rate: CAPACITY, received: CAPACITY };
        bench.report(0.0);
        bench
    }

    fn report(&mut self, queueing: f64) {
        self.now += 20;
        let observed = Observation {
            now: Instant::from_millis(self.now),
            queueing,
            target: 0.025,
            loop_delay: LOOP,
            rate: self.rate,
            received: self.received,
        };
        self.test.on_report(&observed, INTERVAL);
    }

    /// Reports for that time with the same queueing delay, until a condition holds; the time at which it did.
    fn until(&mut self, seconds: f64, queueing: f64, condition: impl Fn(&QueueTest) -> bool) -> Option<f64> {
        let start = self.now;
        let end = start + (seconds * 1e3) as u64;
        while self.now < end {
            self.report(queueing);
            if condition(&self.test) {
                return Some((self.now - start) as f64 / 1e3);
            }
        }
        None
    }
}

#[test]
fn a_queue_that_stays_while_the_flow_sends_less_is_filled_by_others() {
    let mut bench = Bench::new();
    bench.received = 0.8 * CAPACITY;
    let began = bench.until(1.0, 0.1, QueueTest::is_running).expect("a test");
    assert!((0.2..0.25).contains(&began), "after two loop delays, not {began} s");
    assert!((bench.test.rate() / CAPACITY - 0.6).abs() < 1e-9, "{}", bench.test.rate());
    let ended = bench.until(1.0, 0.1, |test| !test.is_running()).expect("its end");
    // 4 x 100 ms for the queue, and two loop delays.
    assert!((0.59..0.63).contains(&ended), "{ended} s");
    assert!(bench.test.is_filled_by_others());
    assert_eq!(bench.test.reference(), CAPACITY);
}

#[test]
fn a_queue_of_the_flow_alone_empties() {
    for queueing in [0.06, 0.2, 1.0] {
        let (mut bench, mut queue) = (Bench::new(), queueing);
        let mut tests = 0;
        for _ in 0..500 {
            let was_running = bench.test.is_running();
            bench.report(queue);
            tests += u32::from(bench.test.is_running() && !was_running);
            assert!(!bench.test.is_filled_by_others(), "{queueing} s");
            queue = f64::max(queue + 0.02 * (bench.test.rate().min(CAPACITY) / CAPACITY - 1.0), 0.0);
        }
        assert_eq!((tests, queue < 0.025 * EMPTY), (1, true), "{queueing} s");
    }
}

#[test]
fn a_queue_that_shrinks_more_slowly_is_tested_again() {
    let mut bench = Bench::new();
    bench.until(1.0, 0.4, QueueTest::is_running).expect("a test");
    bench.until(3.0, 0.29, |test| !test.is_running()).expect("its end");
    assert!(!bench.test.is_filled_by_others());
    bench.until(0.3, 0.29, QueueTest::is_running).expect("another test");
}

#[test]
fn the_result_holds_for_ten_seconds_after_an_empty_queue() {
    let mut bench = Bench::new();
    bench.until(3.0, 0.1, QueueTest::is_filled_by_others).expect("a filled queue");
    for (pause, is_filled) in [(9.0, true), (11.0, false)] {
        bench.until(pause, 0.0, |_| false);
        assert!(!bench.test.is_filled_by_others());
        bench.report(0.1);
        assert_eq!(bench.test.is_filled_by_others(), is_filled, "after {pause} s");
    }
}

#[test]
fn a_filled_queue_is_tested_each_ten_seconds_without_taking_what_the_flow_uses() {
    let mut bench = Bench::new();
    bench.until(3.0, 0.1, QueueTest::is_filled_by_others).expect("a filled queue");
    bench.received = 0.5 * CAPACITY;
    for expected in [2.5, 10.0, 10.0] {
        bench.until(3.0, 0.1, |test| !test.is_running()).expect("no test");
        let began = bench.until(11.0, 0.1, QueueTest::is_running).expect("a test");
        assert!((began - expected).abs() < 0.1, "{began} s, not {expected} s");
        assert!((bench.test.rate() / CAPACITY - 0.75).abs() < 1e-9);
    }
    bench.until(3.0, 0.01, |test| !test.is_running()).expect("its end");
    assert!(!bench.test.is_filled_by_others());
    // The others are gone: the next queue is tested.
    bench.report(0.1);
    assert!(!bench.test.is_filled_by_others());
}
