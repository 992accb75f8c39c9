//! XCP and RCP in the simulated network, against the figures of their papers.

use crate::rates;
use crate::simulation;
use rates::{jain, link, rates};
use simulation::{document, number_of, simulate};
use whimbrel_lab::Record;

/// Ten flows over 10 Mbit/s; the round-trip time is 40 ms.
const TEN: &str = concat!(
    dumbbell!(
        "10",
        r#"
rate = "10 Mbit/s"
delay = "16 ms"
queue = "100 packets"
controller = { law = "$law" }
"#
    ),
    r#"
[variables]
law = "xcp"
transport = "xcp"
[simulation]
duration = "60 s"
warm_up = "20 s"
[[flow]]
name = "f{i}"
count = 10
from = "s{i}"
to = "d{i}"
transport = "$transport"
payload = "1000 B"
"#
);

#[test]
fn xcp_uses_a_dumbbell_fairly_with_an_empty_queue() {
    for reading in ["draft", "sigcomm", "ns-2"] {
        let controller = format!("{{ law = \"xcp\", reading = \"{reading}\" }}");
        let record = simulate(TEN, &[("link.bottleneck.controller", &controller)]);
        let utilization = link(&record, "bottleneck", "utilisation");
        let queue = link(&record, "bottleneck", "queue_mean_packets");
        let dropped = link(&record, "bottleneck", "dropped_packets");
        let fairness = jain(&rates(&record, 0..10));
        assert!(utilization >= 0.98, "{reading}: {utilization}");
        assert!(queue < 3.0, "{reading}: {queue}");
        assert_eq!(dropped, 0.0, "{reading}");
        // ns-2's router bounds the feedback of a packet by the pools: 0.9988, without that bound 0.9997. The
        // difference stays; after 60 s it is 0.9981.
        let least = if reading == "ns-2" { 0.998 } else { 0.999 };
        assert!(fairness > least, "{reading}: {fairness}");
    }
}

#[test]
fn rcp_shares_the_target_rate_with_an_empty_queue() {
    let record = simulate(
        TEN,
        &[
            ("variables.law", "rcp"),
            ("variables.transport", "rcp"),
            ("link.bottleneck.controller", "{ law = \"rcp\", reading = \"netfpga\" }"),
        ],
    );
    let utilization = link(&record, "bottleneck", "utilisation");
    let queue = link(&record, "bottleneck", "queue_mean_packets");
    let dropped = link(&record, "bottleneck", "dropped_packets");
    let fairness = jain(&rates(&record, 0..10));
    // N R = eta C.
    assert!((utilization - 0.95).abs() < 0.01, "{utilization}");
    // Of which 0.94 packets are in transmission.
    assert!(queue < 1.5, "{queue}");
    assert_eq!(dropped, 0.0);
    assert!(fairness > 0.9999, "{fairness}");
}

#[test]
fn invalid_controllers_are_refused() {
    for (value, expected) in [
        (
            "{ law = \"xcp-winf\" }",
            "link[0].controller.law = \"xcp-winf\": expected a law without an estimate",
        ),
        ("{ law = \"xcp\", reading = \"thesis\" }", "link[0].controller.reading"),
        ("{ law = \"rcp\", alpha = -1 }", "link[0].controller.alpha"),
        ("{ law = \"abc\", beta = 0.1 }", "link[0].controller.beta"),
        ("{ law = \"rcp\", capacity = \"0 bit/s\" }", "link[0].controller.capacity"),
        ("{ law = \"bcp\" }", "link[0].controller.law"),
        (
            "{ law = \"xcp\", collision_correction = true }",
            "link[0].controller.collision_correction = true: expected nothing",
        ),
        (
            "{ law = \"xcp\", capacity_correction = false }",
            "link[0].controller.capacity_correction = false: expected nothing",
        ),
        (
            "{ law = \"rcp\", averaging = \"largest\" }",
            "link[0].controller.averaging = largest: expected nothing",
        ),
    ] {
        let mut document = document(TEN, &[]);
        let error = document
            .set("link.bottleneck.controller", value)
            .and_then(|()| document.plan().map(drop))
            .unwrap_err()
            .to_string();
        assert!(error.contains(expected), "{error}");
    }
}

/// Losses of a tenth. A transfer is complete after passes through what is missing; an endless flow repeats
/// nothing, and all that arrives is new.
#[test]
fn rcp_that_repairs_at_the_end_completes_a_transfer_and_repeats_nothing_of_an_endless_flow() {
    let with = |details: &str| {
        let text = TEN
            .replace("delay = \"16 ms\"", "delay = \"16 ms\"\nloss = { model = \"bernoulli\", rate = 0.1 }")
            .replace("payload = \"1000 B\"", &format!("payload = \"1000 B\"\n{details}"));
        simulate(
            &text,
            &[("variables.law", "rcp"), ("variables.transport", "rcp"), ("simulation.warm_up", "0 s")],
        )
    };
    let sums = |record: &Record, column| {
        (0..10).map(|flow| number_of(record, &format!("f{flow}"), column)).sum::<f64>()
    };
    let endless = with("rcp = { reliability = \"at-the-end\" }");
    assert_eq!(sums(&endless, "retransmitted_packets"), 0.0);
    let (delivered, packets) = (sums(&endless, "delivered_bytes"), sums(&endless, "received_packets"));
    assert!((delivered / 1000.0 / packets - 1.0).abs() < 1e-3, "{delivered} of {packets}");
    let known =
        with("rcp = { reliability = \"at-the-end\" }\ntraffic = { kind = \"transfer\", bytes = \"1 MB\" }");
    assert_eq!(sums(&known, "delivered_bytes"), 10e6);
    assert!(sums(&known, "retransmitted_packets") > 900.0);
}

/// Each flow that joins has its share within 50 round-trip times (Katabi 2002, Figure 10, with 20 Mbit/s).
#[test]
fn xcp_is_fair_to_a_flow_that_joins_within_fifty_round_trips() {
    let changes = [
        ("link.bottleneck.rate", "20 Mbit/s"),
        ("simulation.duration", "30 s"),
        ("simulation.warm_up", "0 s"),
        ("record.interval", "1 s"),
    ];
    let flows = ["0 s", "10 s", "20 s"].iter().enumerate().map(|(number, start)| {
        format!(
            "[[flow]]\nname = \"f{number}\"\nfrom = \"s{number}\"\nto = \"d{number}\"\ntransport = \"$transport\"\n\
             payload = \"1000 B\"\nstart = \"{start}\"\n"
        )
    });
    let head = TEN.split("[[flow]]").next().unwrap().to_owned();
    let record = simulate(&(head + &flows.collect::<String>()), &changes);
    let intervals = record.table("intervals").unwrap();
    let rate = |flow: usize, end: f64| {
        let name = format!("f{flow}");
        let words = [("flow", name.as_str())];
        let mut rows = simulation::rows_with(intervals, &words);
        let row = rows.find(|row| (intervals.number("time_s", *row).unwrap() - end).abs() < 1e-9);
        intervals.number("goodput_bps", row.unwrap()).unwrap()
    };
    // 50 round-trip times are 2 s: the third second after the start.
    for (joined, end) in [(2, 13.0), (3, 23.0)] {
        let rates: Vec<f64> = (0..joined).map(|flow| rate(flow, end)).collect();
        assert!(jain(&rates) > 0.99, "{rates:?}");
        let sum: f64 = rates.iter().sum();
        assert!(sum > 0.95 * 20e6 * 1000.0 / 1072.0, "{rates:?}");
    }
    assert_eq!(link(&record, "bottleneck", "dropped_packets"), 0.0);
}

/// Steps of the capacity: the law follows the rate of the link. At 5 Mbit/s windows have 2.3 packets of 1000
/// bytes, which leaves 3.6 % unused (3.9 % without a step); with packets of 250 bytes 0.5 %.
#[test]
fn xcp_follows_steps_of_the_capacity() {
    let text = format!(
        "{TEN}[[event]]\ntime = \"10 s\"\nlink = \"bottleneck\"\nrate = \"5 Mbit/s\"\n\
         [[event]]\ntime = \"20 s\"\nlink = \"bottleneck\"\nrate = \"10 Mbit/s\"\n"
    );
    for (warm_up, payload, least) in
        [("12 s", 1000, 0.955), ("12 s", 250, 0.99), ("22 s", 1000, 0.98), ("22 s", 250, 0.98)]
    {
        let end = if warm_up == "12 s" { "20 s" } else { "30 s" };
        let payload = format!("{payload} B");
        let record = simulate(
            &text,
            &[("simulation.duration", end), ("simulation.warm_up", warm_up), ("flow.f{i}.payload", &payload)],
        );
        let used = link(&record, "bottleneck", "throughput_bps");
        let capacity = if warm_up == "12 s" { 5e6 } else { 10e6 };
        assert!(used > least * capacity, "{payload}: {used} of {capacity}");
        assert_eq!(link(&record, "bottleneck", "dropped_packets"), 0.0);
    }
}

/// XCP and RCP with round-trip times from 10 ms to 2 s: stable, fair, and no drop with a buffer of a
/// bandwidth-delay product.
#[test]
fn utilization_and_queue_are_stable_for_any_round_trip_time() {
    for scheme in ["xcp", "rcp"] {
        for (rate, delay, queue, duration, warm_up) in [
            // As many packets per window as with 10 Mbit/s and 40 ms: at 10 Mbit/s, XCP's windows would have
            // 1.2 packets.
            ("40 Mbit/s", "1 ms", "60 packets", "20 s", "5 s"),
            ("10 Mbit/s", "100 ms", "250 packets", "60 s", "20 s"),
            // RCP reaches 99 % of its target after 160 s.
            ("10 Mbit/s", "1 s", "2400 packets", "300 s", "200 s"),
        ] {
            let record = simulate(
                TEN,
                &[
                    ("variables.law", scheme),
                    ("variables.transport", scheme),
                    ("link.bottleneck.rate", rate),
                    ("link.bottleneck.delay", delay),
                    ("link.bottleneck.queue", queue),
                    ("simulation.duration", duration),
                    ("simulation.warm_up", warm_up),
                ],
            );
            let used = link(&record, "bottleneck", "utilisation");
            let waiting = link(&record, "bottleneck", "queue_mean_packets");
            let fairness = jain(&rates(&record, 0..10));
            assert!(used > 0.97, "{scheme} {delay}: {used}");
            assert!(waiting < 5.0, "{scheme} {delay}: {waiting}");
            assert!(fairness > 0.999, "{scheme} {delay}: {fairness}");
            assert_eq!(link(&record, "bottleneck", "dropped_packets"), 0.0, "{scheme} {delay}");
        }
    }
}

/// A paced sender whose application writes while a segment waits for its time.
#[test]
fn paced_flows_of_constant_bit_rate_run_at_their_rate() {
    for scheme in ["xcp", "rcp", "abc"] {
        let record = simulate(
            TEN,
            &[
                ("variables.law", scheme),
                ("variables.transport", scheme),
                ("flow.f{i}.payload", "160 B"),
                ("flow.f{i}.traffic", r#"{ kind = "cbr", rate = "64 kbit/s" }"#),
            ],
        );
        for flow in 0..10 {
            let load = 64e3 * 160.0 / number_of(&record, &format!("f{flow}"), "sent_bytes")
                * number_of(&record, &format!("f{flow}"), "sent_packets");
            let rate = number_of(&record, &format!("f{flow}"), "goodput_bps");
            assert!((rate / load - 1.0).abs() < 0.02, "{scheme}: {rate} of {load}");
        }
    }
}
