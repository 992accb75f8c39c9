//! Over a link that is far too slow, values are new when they arrive.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use zenoh::Wait;
use zenoh::sample::Sample;

use crate::chain::Chain;
use crate::networks::Network;
use crate::programs::{wait_for, whimbrel};
use crate::slow_path::SlowPath;

/// At most 200 values are published in a second, for 9 s or more.
const STEP: Duration = Duration::from_millis(5);
const VALUES: u64 = 1800;
const KEYS: u64 = 5;

fn number(sample: &Sample) -> u64 {
    u64::from_be_bytes(sample.payload().to_bytes()[..8].try_into().expect("eight bytes"))
}

#[test]
fn values_are_new_and_the_last_ones_arrive() {
    let Some(whimbrel) = whimbrel() else { return };
    // The number of values that were published is the clock: on a busy machine it is late as well.
    let published = Arc::new(AtomicU64::new(0));
    let ages = Arc::new(Mutex::new(Vec::new()));
    let (clock, all) = (published.clone(), ages.clone());
    let vehicle = Network::open("none", |_| {});
    let ground = Network::open("slow/*", move |sample| {
        let age = clock.load(Ordering::SeqCst).saturating_sub(number(sample));
        all.lock().expect("no panic").push(age);
    });
    let mut path = None;
    let _chain = Chain::start(&whimbrel, [&vehicle, &ground], "slow/*", |relay| {
        path.insert(SlowPath::start(relay)).address
    });
    vehicle.wait_for_subscriber("slow/0");

    for n in 1..=VALUES {
        published.store(n, Ordering::SeqCst);
        // The size of a position with its covariance.
        let value = [&n.to_be_bytes()[..], &[0; 112]].concat();
        vehicle.session.put(format!("slow/{}", n % KEYS), value).wait().expect("it puts");
        thread::sleep(STEP);
    }
    let last = wait_for("the last value of each key", || {
        let mut last = BTreeMap::new();
        for sample in ground.arrived() {
            last.insert(sample.key_expr().to_string(), number(&sample));
        }
        Some(last).filter(|last| last.values().filter(|n| **n > VALUES - KEYS).count() as u64 == KEYS)
    });
    assert_eq!(last.len() as u64, KEYS);

    let ages = ages.lock().expect("no panic");
    let (arrived, oldest) = (ages.len() as u64, ages.iter().max().copied().unwrap_or(0));
    println!("{arrived} of {VALUES} values, {oldest} values old at most");
    // The link is too slow by far: had all values waited, the last ones would have been as old as this.
    let fifo = VALUES - arrived;
    assert!(arrived < VALUES / 2, "{arrived} have arrived");
    assert!(oldest < fifo / 2, "{oldest} values old, {fifo} in a queue");
}
