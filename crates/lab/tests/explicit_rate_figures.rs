//! XCP, RCP, blind XCP and ABC in the simulated network: figures of Katabi 2002 and RCP beyond one dumbbell.

use std::fmt::Write as _;

use whimbrel_lab::Record;

use crate::rates;
use crate::simulation;
use rates::{jain, link, rates, total};
use simulation::simulate;

/// One flow: source, sink, one-way delays to the first router and from the last one in ms, and further keys.
struct Flow {
    at: [usize; 2],
    delays: [f64; 2],
    keys: String,
}

/// Routers `r0`, `r1`, ... in a chain of links `c0`, `c1`, ... with the given keys, and flows over it, each
/// with a source and a sink of its own. A flow from a later to an earlier router uses the reverse direction.
fn chain(links: &[String], access: &str, flows: &[Flow]) -> String {
    let mut text = String::new();
    for router in 0..=links.len() {
        writeln!(text, "[[node]]\nname = \"r{router}\"").unwrap();
    }
    for (number, keys) in links.iter().enumerate() {
        let next = number + 1;
        writeln!(text, "[[link]]\nname = \"c{number}\"\nbetween = [\"r{number}\", \"r{next}\"]\n{keys}")
            .unwrap();
    }
    for (number, Flow { at: [from, to], delays: [first, last], keys }) in flows.iter().enumerate() {
        for (node, router, delay) in [("s", from, first), ("d", to, last)] {
            writeln!(
                text,
                "[[node]]\nname = \"{node}{number}\"\n[[link]]\nbetween = [\"{node}{number}\", \"r{router}\"]\n\
                 rate = \"{access}\"\ndelay = \"{delay} ms\""
            )
            .unwrap();
        }
        writeln!(
            text,
            "[[flow]]\nname = \"f{number}\"\nfrom = \"s{number}\"\nto = \"d{number}\"\npayload = \"1000 B\"\n{keys}"
        )
        .unwrap();
    }
    text
}

fn flow(at: [usize; 2], delays: [f64; 2], transport: &str) -> Flow {
    Flow { at, delays, keys: format!("transport = \"{transport}\"") }
}

fn bottleneck(rate: &str, delay: &str, queue: u32, controller: &str) -> String {
    format!(
        "rate = \"{rate}\"\ndelay = \"{delay}\"\nqueue = \"{queue} packets\"\ncontroller = {{ {controller} }}"
    )
}

fn run(text: &str, duration: f64, warm_up: f64) -> Record {
    let text = format!(
        "[simulation]\nduration = \"{duration} s\"\nwarm_up = \"{warm_up} s\"\n[record]\ninterval = \"200 ms\"\n{text}"
    );
    simulate(&text, &[])
}

/// Sum of the goodputs of all flows in the intervals from `from` to `to` seconds, in bit/s.
fn goodput(record: &Record, from: f64, to: f64) -> f64 {
    let table = record.table("intervals").unwrap();
    let mut sum = 0.0;
    for row in 0..table.rows() {
        let time = table.number("time_s", row).unwrap();
        if time > from + 1e-9 && time < to + 1e-9 {
            sum += table.number("goodput_bps", row).unwrap_or(0.0);
        }
    }
    sum / ((to - from) / 0.2).round()
}

/// Windows have as many packets as with 10 Mbit/s and 40 ms.
#[test]
fn xcp_and_rcp_are_stable_with_a_round_trip_time_of_a_millisecond() {
    for (law, transport, least) in [("law = \"xcp\"", "xcp", 0.98), ("law = \"rcp\"", "rcp", 0.94)] {
        let flows: Vec<Flow> = (0..10).map(|_| flow([0, 1], [0.1, 0.1], transport)).collect();
        let text = chain(&[bottleneck("400 Mbit/s", "0.3 ms", 100, law)], "4 Gbit/s", &flows);
        let record = run(&text, 2.0, 1.0);
        let (used, queue) = (link(&record, "c0", "utilisation"), link(&record, "c0", "queue_mean_packets"));
        let fairness = jain(&rates(&record, 0..10));
        assert!(used > least && queue < 6.0 && fairness > 0.999, "{law}: {used} {queue} {fairness}");
        assert_eq!(total(&record, "dropped_packets"), 0.0);
    }
}

/// Katabi 2002, Figure 4: 50 flows and 50 in the other direction, RTT 80 ms, a buffer of a bandwidth-delay
/// product. The flows start within a second. Without the flows in the other direction the queue has 3 to 12
/// packets instead of 57 to 880; that compressed acknowledgements fill it is a guess.
#[test]
fn figure_4_utilization_is_high_at_any_capacity_without_a_drop() {
    for (rate, queue) in [(20.0, 200), (80.0, 800), (320.0, 3200)] {
        let flows: Vec<Flow> = (0..100)
            .map(|number| {
                let mut flow = flow(if number < 50 { [0, 1] } else { [1, 0] }, [5.0, 5.0], "xcp");
                flow.keys += "\nstart_jitter = \"1 s\"";
                flow
            })
            .collect();
        let text = chain(
            &[bottleneck(&format!("{rate} Mbit/s"), "30 ms", queue, "law = \"xcp\"")],
            "1 Gbit/s",
            &flows,
        );
        let record = run(&text, 12.0, 6.0);
        for name in ["c0", "c0:reverse"] {
            let used = link(&record, name, "utilisation");
            assert!(used > 0.97, "{rate} {name}: {used}");
        }
        assert_eq!(total(&record, "dropped_packets"), 0.0, "{rate}");
    }
}

/// Katabi 2002, Figure 8: 30 flows over 30 Mbit/s, with RTTs of 40 ms, or of 40 to 330 ms in steps of 10 ms.
#[test]
fn figure_8_flows_are_fair_with_different_round_trip_times() {
    for step in [0.0, 10.0] {
        let flows: Vec<Flow> =
            (0..30).map(|number| flow([0, 1], [9.0 + f64::from(number) * step / 2.0, 1.0], "xcp")).collect();
        let text = chain(&[bottleneck("30 Mbit/s", "10 ms", 600, "law = \"xcp\"")], "1 Gbit/s", &flows);
        let record = run(&text, 60.0, 30.0);
        let rates = rates(&record, 0..30);
        assert!(jain(&rates) > 0.99, "{step}: {rates:?}");
        // 5 and 10 packets; with beta = 0, 10 and 66.
        let queue = link(&record, "c0", "queue_mean_packets");
        assert!(queue < 8.0 + step, "{step}: {queue}");
        assert_eq!(total(&record, "dropped_packets"), 0.0);
    }
}

/// Katabi 2002, Figure 9, with a fifth of the flows and of the rates, so that windows have as many packets:
/// nine links of 20 ms, the fifth with half the rate; flows over all links, as many in the other direction,
/// and as many over each link. The router is ns-2's, with which the figure was made. "More than 90 %" does
/// not hold here on the links before the fifth, where the flows that the fifth limits do not use the traffic
/// that is shuffled to them: 87 to 90 %. The gain alpha returns that traffic: 79 to 84 % with 0.2, 90 to 92 %
/// with 0.55. The draft's router has 87 %.
#[test]
fn figure_9_nine_links_are_used_and_fewer_than_one_packet_in_a_million_is_dropped() {
    let law = "law = \"xcp\", reading = \"ns-2\"";
    let links: Vec<String> = (0..9)
        .map(|number| bottleneck(if number == 4 { "10 Mbit/s" } else { "20 Mbit/s" }, "20 ms", 900, law))
        .collect();
    let mut flows: Vec<Flow> =
        (0..20).map(|number| flow(if number < 10 { [0, 9] } else { [9, 0] }, [1.0, 1.0], "xcp")).collect();
    flows.extend((0..90).map(|number| flow([number / 10, number / 10 + 1], [1.0, 1.0], "xcp")));
    let record = run(&chain(&links, "1 Gbit/s", &flows), 40.0, 10.0);
    for number in 0..9 {
        let used = link(&record, &format!("c{number}"), "utilisation");
        assert!(used > if number < 4 { 0.86 } else { 0.9 }, "{number}: {used}");
        // Without shuffling, the first link has 93.6 %.
        assert!(number >= 4 || used < 0.92, "{number}: {used}");
    }
    assert!(total(&record, "departed_packets") > 1e6);
    assert_eq!(total(&record, "dropped_packets"), 0.0);
}

/// Katabi 2002, Figure 11: 10 flows over 100 Mbit/s with 40 ms; 100 more come at 4 s and leave at 8 s.
#[test]
fn figure_11_a_hundred_flows_come_and_go_without_a_drop() {
    let flows: Vec<Flow> = (0..110)
        .map(|number| {
            let mut flow = flow([0, 1], [2.0, 2.0], "xcp");
            if number >= 10 {
                flow.keys += "\nstart = \"4 s\"\nstop = \"8 s\"";
            }
            flow
        })
        .collect();
    let text = chain(&[bottleneck("100 Mbit/s", "16 ms", 500, "law = \"xcp\"")], "1 Gbit/s", &flows);
    let record = run(&text, 12.0, 0.0);
    assert_eq!(total(&record, "dropped_packets"), 0.0);
    // The queue of the arrivals drains: 15 packets; with beta = 0, 134.
    let queue = link(&record, "c0", "queue_mean_packets");
    assert!(queue < 30.0, "{queue}");
    let capacity = 100e6 * 1000.0 / 1072.0;
    // Within 20 round-trip times after each change.
    for (from, to) in [(2.0, 4.0), (4.8, 8.0), (8.8, 12.0)] {
        let used = goodput(&record, from, to) / capacity;
        assert!(used > 0.95, "{from} s: {used}");
    }
}

/// 50 RCP flows start at once, each with R = 0.05 C: an overload by 2.5. The queue drains, and N R = eta C.
/// The peak is 3.6 bandwidth-delay products; a fluid without opening has 2.3. A guess at the difference: the
/// rate rises while the SYNs are under way.
#[test]
fn rcp_recovers_from_fifty_flows_that_start_at_a_twentieth_of_the_capacity() {
    let flows: Vec<Flow> = (0..50).map(|_| flow([0, 1], [5.0, 5.0], "rcp")).collect();
    let law = "law = \"rcp\", reading = \"netfpga\"";
    let text = chain(&[bottleneck("100 Mbit/s", "40 ms", 10_000, law)], "1 Gbit/s", &flows);
    let start = run(&text, 2.0, 0.0);
    let product = 100e6 * 0.1 / (1072.0 * 8.0);
    let peak = link(&start, "c0", "queue_max_packets") / product;
    let record = run(&text, 20.0, 10.0);
    let (used, queue) = (link(&record, "c0", "utilisation"), link(&record, "c0", "queue_mean_packets"));
    assert!((3.0..4.0).contains(&peak), "{peak}");
    assert!((used - 0.95).abs() < 0.01 && queue < 0.02 * product, "{used} {queue}");
    assert!(jain(&rates(&record, 0..50)) > 0.9999);
}

/// Blind XCP has no capacity: the same law serves links of any rate.
#[test]
fn blind_xcp_fills_links_of_unknown_rate_without_a_drop() {
    for rate in [5.0, 20.0] {
        let flows: Vec<Flow> = (0..5).map(|_| flow([0, 1], [2.0, 2.0], "xcp")).collect();
        // A capacity that is given has no effect.
        let law = "law = \"blind-xcp\", capacity = \"1 Gbit/s\"";
        let text = chain(&[bottleneck(&format!("{rate} Mbit/s"), "16 ms", 100, law)], "1 Gbit/s", &flows);
        let record = run(&text, 60.0, 20.0);
        let (used, queue) = (link(&record, "c0", "utilisation"), link(&record, "c0", "queue_mean_packets"));
        let fairness = jain(&rates(&record, 0..5));
        assert!(used > 0.97 && fairness > 0.999, "{rate}: {used} {fairness}");
        // The ramp on an empty queue: 74 % in the first second at 20 Mbit/s; without it 39 %.
        let first = goodput(&record, 0.0, 1.0) / (rate * 1e6 * 1000.0 / 1072.0);
        assert!(first > 0.7, "{rate}: {first}");
        // The target is a tenth of the buffer, 15 kB.
        assert!((13.0..18.0).contains(&queue), "{rate}: {queue}");
        assert_eq!(total(&record, "dropped_packets"), 0.0, "{rate}");
    }
}

/// The growth of the queue reveals a falling capacity: without that term, the link has 92 % after the step.
#[test]
fn blind_xcp_uses_a_link_whose_capacity_falls_to_a_tenth() {
    let flows: Vec<Flow> = (0..5).map(|_| flow([0, 1], [2.0, 2.0], "xcp")).collect();
    let links = [bottleneck("20 Mbit/s", "16 ms", 100, "law = \"blind-xcp\"")];
    let step = "[[event]]\ntime = \"15 s\"\nlink = \"c0\"\nrate = \"2 Mbit/s\"\n";
    let record = run(&(chain(&links, "1 Gbit/s", &flows) + step), 20.0, 15.0);
    let used = link(&record, "c0", "utilisation");
    assert!(used > 0.98, "{used}");
}

/// The additive term of its window makes ABC fair to a flow that joins (NSDI 2020, Section 3.1.3).
#[test]
fn abc_shares_a_link_equally_with_a_flow_that_joins() {
    let flows: Vec<Flow> = (0..5)
        .map(|number| {
            let mut flow = flow([0, 1], [2.0, 2.0], "abc");
            if number == 4 {
                flow.keys += "\nstart = \"10 s\"";
            }
            flow
        })
        .collect();
    let text = chain(&[bottleneck("20 Mbit/s", "16 ms", 400, "law = \"abc\"")], "1 Gbit/s", &flows);
    let record = run(&text, 80.0, 40.0);
    let (used, queue) = (link(&record, "c0", "utilisation"), link(&record, "c0", "queue_mean_packets"));
    let fairness = jain(&rates(&record, 0..5));
    assert!(used > 0.95 && fairness > 0.999, "{used} {fairness}");
    // The delay without effect, 20 ms, is 46 packets.
    assert!((46.0..65.0).contains(&queue), "{queue}");
    assert_eq!(total(&record, "dropped_packets"), 0.0);
}
