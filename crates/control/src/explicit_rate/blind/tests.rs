use alloc::boxed::Box;

use whimbrel_units::{DataRate, Duration, Instant};

use super::*;
use crate::explicit_rate::model::{Model, Results};
use crate::explicit_rate::{Demand, LossResponse, XcpRouter, XcpSender};

const GAINS: (f64, f64) = (0.4, 0.226);

fn config() -> BlindConfig {
    BlindConfig::for_buffer(ByteCount::new(50_000))
}

#[test]
fn feedback_opposes_the_growth_of_the_queue_and_its_distance_from_the_target() {
    // kappa = 5000 bytes. In 40 ms the queue grows from 0 to 80 kbit, 2 Mbit/s, of which 60 kbit persist:
    // F = -0.4 x 2 - 0.226 x (60 - 40) kbit / 40 ms = -0.913 Mbit/s.
    let mut controller = BlindController::default();
    let feedback = controller.feedback(&config(), GAINS, (80e3, 60e3), 0.04, 0.04);
    assert!((feedback + 0.913e6).abs() < 1e-6, "{feedback}");
    // The queue drains at 1 Mbit/s to the target: F = 0.4 Mbit/s.
    let feedback = controller.feedback(&config(), GAINS, (40e3, 40e3), 0.04, 0.04);
    assert!((feedback - 0.4e6).abs() < 1e-6, "{feedback}");
}

#[test]
fn an_empty_queue_counts_as_unused_capacity_after_a_second_interval() {
    let mut controller = BlindController::default();
    let mut next = |queue| controller.feedback(&config(), GAINS, (queue, 0.0), 0.04, 0.04);
    // Below the target: 0.226 x 40 kbit / 40 ms.
    assert!((next(0.0) - 0.226e6).abs() < 1e-6);
    // chi B / d = 400 kbit / 4.374 / 40 ms.
    assert!((next(0.0) - 400e3 / 4.374 / 0.04).abs() < 1e-3);
    // A queue ends it.
    assert!(next(8e3) < 0.226e6);
    assert!(next(0.0) < 1e6);
}

fn run(capacity: f64, flows: usize) -> Results {
    // Neither the router nor the senders have the capacity.
    let law = XcpRouter::new(config().router(), DataRate::INFINITE, Instant::ZERO);
    let capacity = DataRate::from_megabits_per_second(capacity);
    let mut model = Model::new(Box::new(law), capacity);
    for _ in 0..flows {
        let sender = XcpSender::new(1000, 2.0, Demand::Unbounded, LossResponse::FallBack);
        model.add(Box::new(sender), Duration::from_millis(40), Instant::ZERO, Instant::FAR_FUTURE);
    }
    model.run_until(10.0);
    model.measure();
    model.run_until(20.0);
    model.results()
}

#[test]
fn flows_fill_links_of_unknown_capacity_with_a_queue_near_the_target() {
    for capacity in [5.0, 10.0, 20.0] {
        let results = run(capacity, 5);
        assert!(results.utilization > 0.95 && results.jain > 0.99, "{capacity}: {results:?}");
        // The target is 5 packets, the buffer 50.
        assert!(results.mean_queue > 1.0 && results.mean_queue < 20.0, "{capacity}: {results:?}");
    }
}
