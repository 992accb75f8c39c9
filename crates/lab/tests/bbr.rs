//! TCP with BBR version 3 (draft-ietf-ccwg-bbr) next to CUBIC.

use crate::simulation;
use simulation::{document, number_of, simulate};
use whimbrel_lab::Record;

/// 40 ms; the rate, the queue and the losses are set.
const PATH: &str = concat!(
    pair!(
        r#"
name = "path"
rate = "10 Mbit/s"
delay = "20 ms"
queue = "333 packets"
reverse = { rate = "1 Gbit/s", queue = "1000 packets" }
"#
    ),
    r#"
[simulation]
duration = "60 s"
warm_up = "10 s"
"#
);

fn flow(name: &str, law: &str) -> String {
    format!(
        "[[flow]]\nname = \"{name}\"\nfrom = \"a\"\nto = \"b\"\npacket_size = \"1500 B\"\n\
         transport = \"tcp\"\ntcp = {{ preset = \"linux\", congestion = \"{law}\" }}\n"
    )
}

fn run(flows: &[(&str, &str)], changes: &[(&str, &str)]) -> Record {
    let flows: String = flows.iter().map(|(name, law)| flow(name, law)).collect();
    simulate(&format!("{PATH}{flows}"), changes)
}

fn rate(record: &Record, flow: &str) -> f64 {
    number_of(record, flow, "throughput_bps")
}

/// Mean time in the queue in milliseconds, without propagation and transmission, at 10 Mbit/s.
fn queueing(record: &Record, flow: &str) -> f64 {
    1e3 * number_of(record, flow, "delay_mean_s") - 20.0 - 1.2
}

/// Ten products of bandwidth and delay: CUBIC fills them, BBR has less than half a product, 20 ms.
#[test]
fn bbr_alone_fills_the_link_and_leaves_a_deep_queue_empty() {
    let bbr = run(&[("bbr", "bbr")], &[]);
    let cubic = run(&[("cubic", "cubic")], &[]);
    let (rate, queue) = (rate(&bbr, "bbr"), queueing(&bbr, "bbr"));
    assert!(rate > 0.95 * 10e6, "{rate} bit/s");
    assert!(queue < 20.0, "{queue} ms");
    assert_eq!(number_of(&bbr, "bbr", "lost_queue"), 0.0);
    let of_cubic = queueing(&cubic, "cubic");
    assert!(of_cubic > 200.0, "{of_cubic} ms");
}

/// CUBIC's window at a loss rate of 1 % is some 12 packets (RFC 9438, Section 5.2): a sixth of the path.
#[test]
fn random_losses_of_one_percent_leave_bbr_most_of_the_rate_and_cubic_little() {
    let losses = [
        ("link.path.rate", "20 Mbit/s"),
        ("link.path.queue", "67 packets"),
        ("link.path.loss", "{ model = \"bernoulli\", rate = 0.01 }"),
        ("link.path.reverse.loss", "{ model = \"none\" }"),
    ];
    let of = |law| rate(&run(&[("flow", law)], &losses), "flow") / 20e6;
    let (bbr, cubic) = (of("bbr"), of("cubic"));
    assert!(bbr > 0.8, "{bbr}");
    assert!(cubic < 0.25, "{cubic}");
}

#[test]
fn two_flows_of_bbr_share() {
    for queue in ["33 packets", "333 packets"] {
        let record = run(
            &[("one", "bbr"), ("two", "bbr")],
            &[
                ("link.path.queue", queue),
                ("flow.two.start", "5 s"),
                ("simulation.warm_up", "30 s"),
                ("simulation.duration", "90 s"),
            ],
        );
        let (one, two) = (rate(&record, "one"), rate(&record, "two"));
        assert!(one + two > 0.9 * 10e6, "{queue}: {one} and {two} bit/s");
        assert!((0.6..1.67).contains(&(one / two)), "{queue}: {one} and {two} bit/s");
    }
}

#[test]
fn bbr_and_cubic_share_a_queue_of_one_product() {
    let record = run(
        &[("bbr", "bbr"), ("cubic", "cubic")],
        &[
            ("link.path.queue", "33 packets"),
            ("simulation.warm_up", "30 s"),
            ("simulation.duration", "120 s"),
        ],
    );
    let (bbr, cubic) = (rate(&record, "bbr") / 10e6, rate(&record, "cubic") / 10e6);
    assert!(bbr + cubic > 0.95, "{bbr} and {cubic}");
    assert!((0.25..0.75).contains(&bbr), "{bbr} and {cubic}");
}

#[test]
fn keys_that_exclude_bbr_are_errors() {
    let error = |tcp: &str| {
        let text = format!("{PATH}{}", flow("flow", "bbr"));
        document(&text, &[("flow.flow.tcp", tcp)]).plan().map(drop).map_err(|error| error.to_string())
    };
    assert_eq!(error("{ congestion = \"bbr\", delayed_acks = true, initial_window = 10 }"), Ok(()));
    assert_eq!(error("{ preset = \"linux\", congestion = \"bbr\", rack = true, undo = false }"), Ok(()));
    for (keys, expected) in [
        ("preset = \"ns2\"", "flow[0].tcp.preset = \"ns2\": expected another with `congestion = \"bbr\"`"),
        (
            "variant = \"reno\"",
            "flow[0].tcp.variant = \"reno\": expected \"sack\" with `congestion = \"bbr\"`",
        ),
        ("rack = false", "flow[0].tcp.rack = false: expected true with `congestion = \"bbr\"`"),
        (
            "rate_reduction = true",
            "flow[0].tcp.rate_reduction = true: expected false with `congestion = \"bbr\"`",
        ),
        ("ecn = true", "flow[0].tcp.ecn = true: expected false with `congestion = \"bbr\"`"),
    ] {
        assert_eq!(error(&format!("{{ {keys}, congestion = \"bbr\" }}")), Err(expected.to_string()));
    }
}
