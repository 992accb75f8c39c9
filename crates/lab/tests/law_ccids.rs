//! Compares the experimental CCIDs that have the window laws of TCP with TCP under the same law.

use crate::simulation;
use simulation::{document, number, number_of, simulate};

/// A path without a queue that matters, on which packets are lost at random.
const LOSSY: &str = r#"
[simulation]
duration = "160 s"
warm_up = "20 s"
[[node]]
name = "a"
[[node]]
name = "b"
[[link]]
name = "path"
between = ["a", "b"]
rate = "20 Mbit/s"
delay = "50 ms"
queue = "500 packets"
loss = { model = "bernoulli", rate = 0.002 }
reverse = { loss = { model = "none" } }
[[flow]]
name = "flow"
from = "a"
to = "b"
packet_size = "1000 B"
"#;

/// Two flows of each transport through a common queue.
const SHARED: &str = r#"
[simulation]
duration = "130 s"
warm_up = "30 s"
[[node]]
name = "a"
[[node]]
name = "b"
[[link]]
name = "bottleneck"
between = ["a", "b"]
rate = "10 Mbit/s"
delay = "20 ms"
queue = "60 packets"
reverse = { rate = "100 Mbit/s" }
"#;

fn throughput(changes: &[(&str, &str)]) -> f64 {
    number(&simulate(LOSSY, changes), "throughput_bps")
}

fn tcp(law: &str, loss: &str) -> f64 {
    let tcp = format!("{{ congestion = \"{law}\" }}");
    throughput(&[("flow.flow.transport", "tcp"), ("flow.flow.tcp", &tcp), ("link.path.loss.rate", loss)])
}

fn dccp(law: &str, loss: &str) -> f64 {
    let ccid = format!("\"{law}\"");
    throughput(&[("flow.flow.transport", "dccp"), ("flow.flow.ccid", &ccid), ("link.path.loss.rate", loss)])
}

/// Rates of two TCPs and of two DCCP flows in a queue of that discipline.
fn shares(law: &str, discipline: &str, keys: &str) -> (f64, f64) {
    let flow = |name: &str, keys: &str| {
        format!(
            "[[flow]]\nname = \"{name}\"\nfrom = \"a\"\nto = \"b\"\npacket_size = \"1000 B\"\nstart_jitter = \"1 s\"\n{keys}\n"
        )
    };
    let tcp = format!("transport = \"tcp\"\ntcp = {{ congestion = \"{law}\"{keys} }}");
    let law = if law == "reno" { "tcp-like" } else { law };
    let dccp = format!("transport = \"dccp\"\nccid = \"{law}\"");
    let flows = [flow("t0", &tcp), flow("t1", &tcp), flow("d0", &dccp), flow("d1", &dccp)].concat();
    let record = simulate(&format!("{SHARED}{flows}"), &[("link.bottleneck.discipline", discipline)]);
    let sum = |names: [&str; 2]| names.map(|name| number_of(&record, name, "throughput_bps")).iter().sum();
    (sum(["t0", "t1"]), sum(["d0", "d1"]))
}

/// No queue, and the same law: the long-run rates are equal. (A timeout repeats data in TCP, and loses it in
/// DCCP.)
#[test]
fn under_random_losses_each_law_has_the_rate_of_its_tcp() {
    for law in ["cubic", "veno", "prague"] {
        for loss in ["0.0005", "0.004"] {
            let ratio = dccp(law, loss) / tcp(law, loss);
            assert!((0.94..1.06).contains(&ratio), "{law} at {loss}: {ratio}");
        }
    }
}

/// The window of Westwood+ after a loss is the product of bandwidth and delay that the sender has measured,
/// which multiplies small differences. That CCID 253 is slower than TCP where losses are frequent may be due
/// to its windows of whole packets: a guess.
#[test]
fn westwood_has_the_rate_of_its_tcp_while_losses_are_rare() {
    let ratio = dccp("westwood", "0.0005") / tcp("westwood", "0.0005");
    assert!((0.94..1.06).contains(&ratio), "{ratio}");
    let ratio = dccp("westwood", "0.004") / tcp("westwood", "0.004");
    assert!((0.7..1.06).contains(&ratio), "{ratio}");
}

/// The Classic queue of DualPI2, which does not depend on the phase of packets as a full drop-tail queue
/// does.
#[test]
fn each_law_shares_a_queue_evenly_with_its_tcp() {
    for law in ["cubic", "veno", "westwood"] {
        let (tcp, dccp) = shares(law, "\"dualpi2\"", "");
        let ratio = dccp / tcp;
        assert!((0.87..1.15).contains(&ratio), "{law}: {ratio}");
        assert!(tcp + dccp > 9.7e6, "{law}: {} bit/s", tcp + dccp);
    }
}

/// Acknowledgements of two packets each, which CCID 2 sends too, release bursts of two, which the low-latency
/// queue marks more often than single packets.
#[test]
fn prague_shares_the_low_latency_queue_with_its_tcp() {
    let (tcp, dccp) = shares("prague", "\"dualpi2\"", ", delayed_acks = true");
    assert!((0.7..1.15).contains(&(dccp / tcp)), "{}", dccp / tcp);
    assert!(tcp + dccp > 9.0e6, "{} bit/s", tcp + dccp);
}

#[test]
fn a_ccid_has_a_number_and_a_name() {
    let scheme = |ccid: &str| {
        let changes = [("flow.flow.transport", "dccp"), ("flow.flow.ccid", ccid)];
        document(LOSSY, &changes)
            .plan()
            .map(|plan| plan.flows[0].transport.scheme())
            .map_err(|error| error.to_string())
    };
    for (number, name) in [
        ("2", "tcp-like"),
        ("3", "tfrc"),
        ("248", "cubic"),
        ("249", "veno"),
        ("253", "westwood"),
        ("252", "Delay-Aware"),
        ("254", "Prague"),
    ] {
        assert_eq!(scheme(number), Ok(format!("ccid{number}")));
        assert_eq!(scheme(&format!("\"{name}\"")), Ok(format!("ccid{number}")));
    }
    let known = "2 (TCP-like), 3 (TFRC), 4 (TFRC-SP), 248 (CUBIC), 249 (Veno), 250 (an experiment), 252 (delay-aware), 253 (Westwood) or 254 (Prague)";
    for (ccid, found) in [("5", "5"), ("256", "256"), ("\"bbr\"", "\"bbr\"")] {
        let error = scheme(ccid).expect_err("an error");
        assert!(error.contains("ccid") && error.contains(found) && error.contains(known), "{error}");
    }
}
