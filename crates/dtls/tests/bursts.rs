//! Handshakes on a path that loses packets in bursts, in simulated time.

use crate::world;

use whimbrel_dtls::simulated;
use whimbrel_proto::config::{Differentiation, Scheme};
use whimbrel_proto::{Ccid, Config};
use whimbrel_units::Duration;
use world::{Path, World};

/// Seconds from the first Request until both ends are connected, with the settings of a relay, in ascending
/// order; infinite if they do not. The round-trip time is 40 ms, and 5 % of the packets are lost, in bursts
/// of 8. `in_burst`: there is one at first, both ways.
fn openings(seeds: u64, in_burst: bool) -> Vec<f64> {
    // Keys and signatures are the same each time, so that all runs of the test are.
    let [client, server] = simulated([1, 2]);
    let mut config = Config::default().sender_ccids([Ccid::TFRC]).receiver_ccids([Ccid::TFRC]);
    config.tune_tfrc(|tfrc| tfrc.differentiation = Some(Differentiation::guarded(Scheme::Standing)));
    let path = Path { bursts: Some((8, 5)), ..Path::clean() };
    let open = |seed| {
        let mut world = World::new(seed, path, config.clone(), (client.clone(), server.clone()));
        world.is_burst = [in_burst; 2];
        let began = world.now;
        let is_open = world.connect(Duration::from_secs(60));
        if is_open { (world.now - began).as_secs_f64() } else { f64::INFINITY }
    };
    let mut times: Vec<f64> = (0..seeds).map(open).collect();
    times.sort_by(f64::total_cmp);
    println!("{:?}", [0.5, 0.9, 0.95, 0.99, 1.0].map(|share| at(&times, share)));
    times
}

fn at(times: &[f64], share: f64) -> f64 {
    times[(share * (times.len() - 1) as f64) as usize]
}

/// A burst lasts for a number of packets, so that it is the longer, the fewer are sent: repetitions of
/// Requests and of the flights of DTLS are what ends it. DTLS fails in a burst of more than about 36 packets:
/// 12 of 20,000 openings do, and the caller begins anew.
#[test]
fn a_burst_of_losses_delays_few_openings_and_prevents_hardly_any() {
    let times = openings(1000, false);
    assert!(at(&times, 0.5) < 0.14, "three round trips: {}", at(&times, 0.5));
    assert!(at(&times, 0.99) < 2.5, "one in a hundred: {}", at(&times, 0.99));
    assert!(at(&times, 0.998) < 20.0, "two in a thousand: {}", at(&times, 0.998));
}

#[test]
fn a_connection_opens_in_seconds_from_a_burst_in_both_directions() {
    // Eight Requests and eight Responses on average.
    let times = openings(300, true);
    assert!(at(&times, 0.5) < 3.0, "half of them: {}", at(&times, 0.5));
}
