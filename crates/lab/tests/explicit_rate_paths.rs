//! Explicit rate control where the path does not match the law: given capacities, steps, and paths without a
//! router.

use crate::rates;
use crate::simulation;
use simulation::{number, simulate};

/// One flow over 5 Mbit/s with 40 ms of round-trip time.
const ONE: &str = concat!(
    dumbbell!("1", "rate = \"5 Mbit/s\"\ndelay = \"16 ms\"\nqueue = \"100 packets\"\n"),
    r#"
[simulation]
duration = "20 s"
warm_up = "5 s"
[[flow]]
name = "f"
from = "s0"
to = "d0"
transport = "xcp"
payload = "1000 B"
"#
);

const STEP: &str = "[[event]]\ntime = \"3 s\"\nlink = \"bottleneck\"\nrate = \"20 Mbit/s\"\n";

#[test]
fn the_capacity_of_a_law_follows_the_link_unless_it_is_given() {
    let text = format!("{ONE}{STEP}");
    for law in ["xcp", "rcp", "abc"] {
        let run = |controller: &str| {
            let controller = format!("{{ law = \"{law}\" {controller} }}");
            rates::link(
                &simulate(&text, &[("link.bottleneck.controller", &controller), ("flow.f.transport", law)]),
                "bottleneck",
                "throughput_bps",
            ) / 1e6
        };
        let [follows, given] = [run(""), run(", capacity = \"4 Mbit/s\"")];
        assert!(follows > 19.0, "{law}: {follows}");
        // ABC's additive term takes more than its target where no queue forms.
        let most = if law == "abc" { 5.5 } else { 4.2 };
        assert!((3.8..most).contains(&given), "{law}: {given}");
    }
}

#[test]
fn rcp_without_a_router_sends_two_packets_per_round_trip_time() {
    let record = simulate(ONE, &[("flow.f.transport", "rcp")]);
    let expected = 2.0 * 8000.0 / 0.0417;
    let rate = number(&record, "goodput_bps");
    assert!((rate / expected - 1.0).abs() < 0.1, "{rate} of {expected}");
}

#[test]
fn the_window_of_xcp_is_halved_by_a_loss_and_stays_without_a_router() {
    let window = |loss: &str| number(&simulate(ONE, &[("link.bottleneck.loss", loss)]), "cwnd_mean_packets");
    let lossless = number(&simulate(ONE, &[]), "cwnd_mean_packets");
    let lossy = window("{ model = \"bernoulli\", rate = 0.02 }");
    assert!((lossless - 2.0).abs() < 1e-9, "{lossless}");
    assert!(lossy < 1.1, "{lossy}");
}
