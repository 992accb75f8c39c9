//! The delay-aware CCID 252 through queues.

use crate::simulation;
use simulation::{number_of, simulate};

/// Propagation delay, in milliseconds, and the target of the queueing delay.
const PROPAGATION: f64 = 25.0;
const TARGET: f64 = 25.0;

/// A link with a deep drop-tail queue: 600 ms at 10 Mbit/s.
const LINK: &str = r#"
[simulation]
duration = "60 s"
warm_up = "15 s"
[[node]]
name = "a"
[[node]]
name = "b"
[[link]]
name = "bottleneck"
between = ["a", "b"]
rate = "10 Mbit/s"
delay = "25 ms"
queue = "625 packets"
reverse = { rate = "100 Mbit/s" }
"#;

fn flow(name: &str, keys: &str) -> String {
    format!("[[flow]]\nname = \"{name}\"\nfrom = \"a\"\nto = \"b\"\npacket_size = \"1200 B\"\n{keys}\n")
}

fn dccp(name: &str, ccid: &str) -> String {
    flow(name, &format!("transport = \"dccp\"\nccid = \"{ccid}\""))
}

/// Share of the link, 95th percentile of the one-way delay in milliseconds, and packets lost in the queue, of
/// a flow alone.
fn alone(ccid: &str, rate_mbps: f64) -> (f64, f64, f64) {
    let queue = format!("\"{} packets\"", (rate_mbps * 62.5).round());
    let rate = format!("\"{rate_mbps} Mbit/s\"");
    let changes = [("link.bottleneck.rate", rate.as_str()), ("link.bottleneck.queue", &queue)];
    let record = simulate(&format!("{LINK}{}", dccp("flow", ccid)), &changes);
    let of = |column| number_of(&record, "flow", column);
    (of("throughput_bps") / (rate_mbps * 1e6), 1e3 * of("delay_p95_s"), of("lost_queue"))
}

#[test]
fn the_delay_in_a_deep_queue_is_bounded_and_the_link_is_used() {
    for rate_mbps in [1.0, 4.0, 10.0, 40.0] {
        let (used, delay, lost) = alone("delay-aware", rate_mbps);
        let transmission = 1200.0 * 8.0 / (rate_mbps * 1e3);
        assert!(used > 0.95, "{rate_mbps} Mbit/s: {used} of the link");
        // A packet on the link before this one, and half of one that is under way, are beyond the control of
        // the law.
        assert!(delay < PROPAGATION + 2.5 * transmission + TARGET, "{rate_mbps} Mbit/s: {delay} ms");
        assert_eq!(lost, 0.0, "{rate_mbps} Mbit/s");
    }
}

#[test]
fn ccid_3_fills_the_same_queue() {
    let (used, delay, lost) = alone("tfrc", 10.0);
    assert!(used > 0.95 && delay > PROPAGATION + 8.0 * TARGET, "{used}, {delay} ms, {lost}");
}

/// The shares of flows that begin one after another, and the 95th percentile of the delay of the last.
#[test]
fn flows_share_the_link_and_the_queue_stays_short() {
    let names = ["f0", "f1", "f2"];
    let flows: String = names
        .iter()
        .enumerate()
        .map(|(k, name)| format!("{}start = \"{} s\"\n", dccp(name, "delay-aware"), 5 * k))
        .collect();
    let changes = [("simulation.duration", "\"180 s\""), ("simulation.warm_up", "\"60 s\"")];
    let record = simulate(&format!("{LINK}{flows}"), &changes);
    let rates = names.map(|name| number_of(&record, name, "throughput_bps") / 10e6);
    let (sum, squares) = (rates.iter().sum::<f64>(), rates.iter().map(|rate| rate * rate).sum::<f64>());
    assert!(sum > 0.95, "{rates:?}");
    assert!(sum * sum / (3.0 * squares) > 0.9, "Jain's index of {rates:?}");
    let delay = 1e3 * number_of(&record, "f2", "delay_p95_s");
    assert!(delay < PROPAGATION + TARGET + 3.0, "{delay} ms");
}

/// The low-latency queue of DualPI2 marks from 0.8 ms on.
#[test]
fn the_low_latency_queue_is_used_and_short() {
    // At 2 Mbit/s a packet lasts 4.8 ms, and 11 of them are a round-trip time.
    for (rate_mbps, least, most) in [(2.0, 0.8, 25.0), (10.0, 0.85, 5.0), (40.0, 0.85, 5.0)] {
        let rate = format!("\"{rate_mbps} Mbit/s\"");
        let changes = [("link.bottleneck.discipline", "\"dualpi2\""), ("link.bottleneck.rate", &rate)];
        let record = simulate(&format!("{LINK}{}", dccp("flow", "delay-aware")), &changes);
        let of = |column| number_of(&record, "flow", column);
        let (used, delay) = (of("throughput_bps") / (rate_mbps * 1e6), 1e3 * of("delay_p95_s"));
        assert!(used > least, "{rate_mbps} Mbit/s: {used} of the link");
        assert!(of("marked_packets") > 0.0 && of("lost_queue") == 0.0);
        let transmission = 1200.0 * 8.0 / (rate_mbps * 1e3);
        assert!(delay < PROPAGATION + transmission + most, "{rate_mbps} Mbit/s: {delay} ms");
    }
}

/// With a Prague-like TCP in the low-latency queue, and a CUBIC in the other.
#[test]
fn other_flows_through_a_dual_queue_leave_it_a_share() {
    for (congestion, keys) in [("prague", ""), ("cubic", ", ecn = true")] {
        let tcp =
            flow("tcp", &format!("transport = \"tcp\"\ntcp = {{ congestion = \"{congestion}\"{keys} }}"));
        let changes = [("link.bottleneck.discipline", "\"dualpi2\""), ("simulation.duration", "\"120 s\"")];
        let record = simulate(&format!("{LINK}{}{tcp}", dccp("aware", "delay-aware")), &changes);
        let [aware, tcp] = ["aware", "tcp"].map(|name| number_of(&record, name, "throughput_bps") / 10e6);
        assert!(aware + tcp > 0.9, "{congestion}: {aware} and {tcp} of the link");
        assert!((0.5..2.5).contains(&(aware / tcp)), "{congestion}: {aware} and {tcp} of the link");
    }
}

/// With losses and no queue, the rate equals CCID 3's.
#[test]
fn under_random_losses_the_rate_is_that_of_ccid_3() {
    for loss in ["0.002", "0.02"] {
        let rate = |ccid: &str| {
            let changes = [
                ("link.bottleneck.rate", "\"100 Mbit/s\""),
                ("simulation.duration", "\"200 s\""),
                ("link.bottleneck.loss", &format!("{{ model = \"bernoulli\", rate = {loss} }}")),
                ("link.bottleneck.reverse.loss", "{ model = \"none\" }"),
            ];
            number_of(&simulate(&format!("{LINK}{}", dccp("flow", ccid)), &changes), "flow", "throughput_bps")
        };
        let ratio = rate("delay-aware") / rate("tfrc");
        assert!((0.9..1.1).contains(&ratio), "{loss}: {ratio}");
    }
}

/// RFC 8868's variation of delay, 0 to 30 ms without reordering, is no queue.
#[test]
fn jitter_takes_no_rate_and_the_queue_stays_bounded() {
    for rate_mbps in [1.0, 4.0, 10.0] {
        let rate = format!("\"{rate_mbps} Mbit/s\"");
        let changes = [("link.bottleneck.rate", rate.as_str()), ("link.bottleneck.delay_variation", "{}")];
        let record = simulate(&format!("{LINK}{}", dccp("flow", "delay-aware")), &changes);
        let of = |column| number_of(&record, "flow", column);
        let (used, delay) = (of("throughput_bps") / (rate_mbps * 1e6), 1e3 * of("delay_p95_s"));
        assert!(used > 0.9, "{rate_mbps} Mbit/s: {used} of the link");
        let transmission = 1200.0 * 8.0 / (rate_mbps * 1e3);
        assert!(
            delay < PROPAGATION + 30.0 + 2.5 * transmission + 1.5 * TARGET,
            "{rate_mbps} Mbit/s: {delay} ms"
        );
    }
}
