//! The text of scenarios, and the plans that are made of it. All tests of the crate are in one program.

mod bounds;
mod cells;
mod document;
mod hosts;
mod limits;
mod losses;
mod position_memory;
mod positions;
mod power_save;
mod probes;
mod protection;
mod qos;
mod randomness;
mod recordings;
mod vehicular;
mod wifi;

use std::fs;

use serde_json::json;
use whimbrel_netsim::{Impairment, LinkRate, QueueLimit};
use whimbrel_units::{DataRate, Duration, Instant};

use whimbrel_lab::scenario::*;
use whimbrel_lab::transport::dccp::DccpFlow;

const PLAIN: &str = r#"
[simulation]
duration = "10 s"
[[node]]
name = "a"
[[node]]
name = "r"
[[node]]
name = "b"
[[link]]
name = "access"
between = ["a", "r"]
rate = "10 Mbit/s"
delay = "1 ms"
[[link]]
name = "radio"
between = ["r", "b"]
rate = "1 Mbit/s"
delay = "20 ms"
queue = "13 packets"
loss = { model = "bernoulli", rate = "5 %" }
[[flow]]
name = "bulk"
from = "a"
to = "b"
transport = "dccp"
packet_size = "762 B"
"#;

fn document(text: &str) -> Document {
    Document::from_toml(text).expect("TOML")
}

/// The error of the plain scenario after one change.
fn error_after(key: &str, value: serde_json::Value) -> String {
    let mut document = document(PLAIN);
    document.set_value(key, value).expect("a key that can be set");
    document.plan().expect_err("a mistake").to_string()
}

#[test]
fn a_plain_scenario_becomes_a_plan() {
    let plan = document(PLAIN).plan().unwrap();
    assert_eq!(plan.end, Instant::from_secs(10));
    assert_eq!(plan.nodes, ["a", "r", "b"]);
    let names: Vec<&str> = plan.links.iter().map(|link| link.name.as_str()).collect();
    assert_eq!(names, ["access", "access:reverse", "radio", "radio:reverse"]);
    let radio = &plan.links[2].config;
    assert_eq!(radio.limit, QueueLimit::Packets(13));
    assert_eq!(radio.impairment, Impairment::Bernoulli { loss: 0.05 });
    // Losses concern one direction; the rest holds in both.
    assert_eq!(plan.links[3].config.impairment, Impairment::None);
    assert_eq!(plan.links[3].config.rate, LinkRate::Constant(DataRate::from_megabits_per_second(1.0)));
    let flow = &plan.flows[0];
    assert_eq!((flow.path.as_slice(), flow.bottleneck), ([0, 2].as_slice(), Some(1)));
    // 20 bytes of IPv4 and 16 of a DCCP-Data packet.
    assert_eq!((flow.packet_size, flow.payload), (762, 726));
}

#[test]
fn toml_and_json_are_equivalent() {
    let toml = document(PLAIN);
    let json = Document::from_json(&toml.as_json().to_string()).unwrap();
    assert_eq!(toml.scenario().unwrap(), json.scenario().unwrap());
}

#[test]
fn mistakes_are_named_with_their_key_their_value_and_what_was_expected() {
    assert_eq!(
        error_after("link.radio.delay", json!(20)),
        "link[1].delay = 20: expected a time with its unit (ns, us, ms, s, min, h), such as \"10 ms\""
    );
    assert_eq!(
        error_after("link.radio.rate", json!("1 Mb/s")),
        "link[1].rate = \"1 Mb/s\": expected a rate with its unit (bit/s, kbit/s, Mbit/s, Gbit/s, B/s, kB/s, MB/s), \
         such as \"150 kbit/s\"; did you mean \"1 Mbit/s\"?"
    );
    assert_eq!(
        error_after("link[1].loss.rate", json!(-0.5)),
        "link[1].loss.rate = -0.5: expected a probability from 0 to 1, or a percentage such as \"7.8 %\""
    );
    let error = error_after("link[1].los", json!("none"));
    assert!(
        error.starts_with("link[1].los: unknown key, did you mean `loss`? Expected one of name, "),
        "{error}"
    );
    let error = error_after("link[1].loss.model", json!("gilbert"));
    assert!(
        error.starts_with("link[1].loss.model = \"gilbert\": expected one of \"none\", \"bernoulli\", "),
        "{error}"
    );
    assert_eq!(error_after("link[1].loss", json!({ "model": "bernoulli" })), "link[1].loss.rate: missing");
    let error = error_after("link[1].loss", json!({ "model": "bernoulli", "rate": 0.1, "run": 1 }));
    assert_eq!(error, "link[1].loss.run: unknown key, expected one of rate, correlation");
    assert_eq!(
        error_after("flow.bulk.transport", json!("sctp")),
        "flow[0].transport = \"sctp\": expected one of \"dccp\", \"tcp\", \"udp\", \"media\", \"mp-dccp\", \"xcp\", \"rcp\", \"abc\""
    );
    assert_eq!(error_after("flow.bulk.count", json!(-2)), "flow[0].count = -2: expected u32");
    assert_eq!(error_after("simulation", json!({})), "simulation.duration: missing");
}

#[test]
fn inconsistent_keys_are_named_too() {
    assert_eq!(
        error_after("flow.bulk.to", json!("c")),
        "flow[0].to = \"c\": expected the name of a node: a, r, b"
    );
    assert_eq!(error_after("flow.bulk.to", json!("a")), "flow[0].to = \"a\": expected another node");
    assert_eq!(
        error_after("link.radio.between", json!(["r", "a"])),
        "flow[0].to = \"b\": expected a node that can be reached: there is no path from \"a\" to \"b\""
    );
    assert_eq!(
        error_after("node[2].name", json!("a")),
        "node[2].name = \"a\": expected a name that nothing else of its kind has"
    );
    assert_eq!(
        error_after("node[0].count", json!(2)),
        "node[0].name = \"a\": expected a name with `{i}` in it, so that copies differ"
    );
    assert_eq!(
        error_after("simulation.warm_up", json!("10 s")),
        "simulation.warm_up = 10s: expected less than the duration, 10s"
    );
    assert_eq!(
        error_after("flow.bulk.packet_size", json!("36 B")),
        "flow[0].packet_size = \"36 B\": expected a size that leaves 1 to 65507 bytes of data beside 36 bytes of headers"
    );
    assert_eq!(
        error_after("flow.bulk.tcp", json!({})),
        "flow[0].tcp = ...: expected nothing: only flows with transport = \"tcp\" have it"
    );
    assert_eq!(
        error_after("flow.bulk.bottleneck", json!("radio:reverse")),
        "flow[0].bottleneck = \"radio:reverse\": expected a link on the flow's path: access, radio"
    );
    assert_eq!(
        error_after("event", json!([{ "time": "3 s", "link": "radar", "up": false }])),
        "event[0].link = \"radar\": expected the name of a link with that direction: access, radio"
    );
    assert_eq!(
        error_after("link.radio.loss", json!({ "model": "run-length", "rate": 0.1, "runs": [0.5, 0.4] })),
        "link[1].loss = {...}: expected a valid loss model (the probabilities of loss runs sum to 0.9, not to 1)"
    );
    let mut udp = document(PLAIN);
    udp.set("flow.bulk.transport", "udp").unwrap();
    assert_eq!(
        udp.plan().unwrap_err().to_string(),
        "flow[0].traffic = \"bulk\": expected another kind: UDP has no congestion control to set the rate"
    );
}

#[test]
fn endless_or_oversized_scenarios_are_refused() {
    let cbr = json!({ "kind": "cbr", "rate": "100000000 Gbit/s" });
    assert_eq!(
        error_after("flow.bulk.traffic", cbr),
        "flow[0].traffic.rate = \"100000000.000 Gbit/s\": expected a rate that leaves a nanosecond between packets"
    );
    assert_eq!(
        error_after("record", json!({ "interval": "100 ns" })),
        "record.interval = 100ns: expected at least \"1 us\""
    );
    let mut long = document(PLAIN);
    long.set("record.interval", "1 us").unwrap();
    long.set("simulation.duration", "100 s").unwrap();
    assert_eq!(
        long.plan().unwrap_err().to_string(),
        "record.interval = 1µs: expected a longer interval: the record would have 100000000 rows"
    );
    assert_eq!(
        error_after("node[0].count", json!(1_000_000)),
        "node[0].count = 1000000: expected at most 100000 copies"
    );
}

#[test]
fn errors_name_the_file() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("wrong.toml");
    fs::write(&file, PLAIN.replace("10 s", "soon")).unwrap();
    let error = Document::from_file(&file).unwrap().plan().unwrap_err();
    assert_eq!(error.file.as_deref(), Some(file.as_path()));
    assert!(
        error.to_string().contains("wrong.toml: simulation.duration = \"soon\": expected a time"),
        "{error}"
    );
    fs::write(&file, "a = ").unwrap();
    let error = Document::from_file(&file).unwrap_err().to_string();
    assert!(error.contains("wrong.toml: TOML parse error at line 1"), "{error}");
    let error = Document::from_file(directory.path().join("none.toml")).unwrap_err().to_string();
    assert!(error.contains("none.toml: ") && error.contains("(os error 2)"), "{error}");
}

#[test]
fn values_are_overridden_by_position_or_by_name() {
    let mut document = document(PLAIN);
    document.set("link.radio.rate", "2 Mbit/s").unwrap();
    document.set("link[0].queue", "\"7 packets\"").unwrap();
    document.set("flow.bulk.ccid", "2").unwrap();
    document.set("flow.bulk.traffic", "{ kind = \"cbr\", rate = \"64 kbit/s\" }").unwrap();
    document.set("record.interval", "1 s").unwrap();
    let plan = document.plan().unwrap();
    assert_eq!(plan.links[2].config.rate, LinkRate::Constant(DataRate::from_megabits_per_second(2.0)));
    assert_eq!(plan.links[0].config.limit, QueueLimit::Packets(7));
    assert!(plan.flows[0].transport.get::<DccpFlow>().is_some_and(|dccp| dccp.ccid == 2));
    // 762 bytes every 95.25 ms are 64 kbit/s.
    let interval = Duration::from_micros(95_250);
    assert_eq!(plan.flows[0].traffic, TrafficPlan::Cbr { interval, jitter: Duration::ZERO });
    assert!(plan.record.interval.is_some());
    let error = document.set("link.radar.rate", "1 Mbit/s").unwrap_err().to_string();
    assert_eq!(error, "link = \"radar\": expected a position below 2 or a name: access, radio");
    let error = document.set("simulation.duration.s", "1").unwrap_err().to_string();
    assert_eq!(error, "simulation.duration = \"10 s\": expected a table with the key `s`");
}

#[test]
fn variables_and_counts_make_copies() {
    let text = r#"
        [variables]
        n = 3
        [simulation]
        duration = "1 s"
        [[node]]
        name = "s{i}"
        count = "$n"
        [[node]]
        name = "d"
        [[link]]
        between = ["s{i}", "d"]
        rate = "1 Mbit/s"
        count = "$n"
        [[flow]]
        name = "f{i}"
        from = "s{i}"
        to = "d"
        transport = "tcp"
        count = "$n"
    "#;
    let mut document = document(text);
    let plan = document.plan().unwrap();
    let names: Vec<&str> = plan.flows.iter().map(|flow| flow.name.as_str()).collect();
    assert_eq!(names, ["f0", "f1", "f2"]);
    assert_eq!(plan.nodes, ["s0", "s1", "s2", "d"]);
    assert_eq!(plan.links[4].name, "s2-d");
    document.set("variables.n", "1").unwrap();
    assert_eq!(document.plan().unwrap().flows.len(), 1);
    document.set("flow[0].count", "$m").unwrap();
    assert_eq!(document.plan().unwrap_err().to_string(), "flow[0].count = \"$m\": expected a variable: n");
}

#[test]
fn capacity_follows_the_events() {
    let mut document = document(PLAIN);
    document.set("simulation.warm_up", "2 s").unwrap();
    let events = json!([
        { "time": "4 s", "link": "radio", "rate": "3 Mbit/s", "direction": "forward" },
        { "time": "6 s", "link": "radio", "up": false },
        { "time": "8 s", "link": "radio", "up": true }
    ]);
    document.set_value("event", events).unwrap();
    let plan = document.plan().unwrap();
    // From 2 s to 10 s: 2 s at 1, 2 s at 3, 2 s down, 2 s at 3 Mbit/s; in the other direction 1 Mbit/s while
    // up.
    assert_eq!(plan.mean_capacity(2, &plan.events, 1).as_bits_per_second(), 14e6 / 8.0);
    assert_eq!(plan.mean_capacity(3, &plan.events, 1).as_bits_per_second(), 6e6 / 8.0);
    assert_eq!(plan.mean_capacity(0, &plan.events, 1).as_bits_per_second(), 10e6);
}

#[test]
fn files_are_found_beside_the_scenario() {
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("fade.txt"), "0 1\n1").unwrap();
    fs::write(directory.path().join("rates.tsv"), "0\t2\n1\t4\n").unwrap();
    fs::write(directory.path().join("clip.csv"), "time_s,size_bytes,frame,type\n0,1000,0,I\n0.04,300,1,P\n")
        .unwrap();
    let scenario = directory.path().join("scenario.toml");
    let text = PLAIN
        .replace(
            "rate = \"1 Mbit/s\"",
            "trace = { file = \"rates.tsv\", format = \"rate\" }\nreverse = { rate = \"1 Mbit/s\" }",
        )
        .replace("{ model = \"bernoulli\", rate = \"5 %\" }", "{ model = \"mask\", file = \"fade.txt\" }")
        .replace(
            "packet_size = \"762 B\"",
            "traffic = { kind = \"video\", schedule = \"clip.csv\", playout = \"200 ms\" }",
        );
    fs::write(&scenario, &text).unwrap();
    let plan = Document::from_file(&scenario).unwrap().plan().unwrap();
    assert_eq!(
        plan.links[2].config.impairment,
        Impairment::Mask { lost: vec![1, 2], length: 3, repeats: false }
    );
    assert_eq!(plan.mean_capacity(2, &plan.events, 1).as_bits_per_second().round(), 3e6);
    assert_eq!(plan.flows[0].payload, 1000);
    fs::write(directory.path().join("clip.csv"), "time_s,size_bytes\n0,1000\n").unwrap();
    let error = Document::from_file(&scenario).unwrap().plan().unwrap_err().to_string();
    assert!(
        error.ends_with(
            "flow[0].traffic.schedule = \"clip.csv\": expected a schedule (line 1: expected the header \
             `time_s,size_bytes,frame,type`, found `time_s,size_bytes`)"
        ),
        "{error}"
    );
    fs::remove_file(directory.path().join("fade.txt")).unwrap();
    let error = Document::from_file(&scenario).unwrap().plan().unwrap_err().to_string();
    assert!(error.contains("link[1].loss.file = \"fade.txt\": expected a readable file"), "{error}");
}

const RADIO: &str = r#"{ model = "rayleigh", doppler = "78.6 Hz", frame = "20.32 ms", frame_size = "381 B", interleaved = 3 }"#;

#[test]
fn a_fading_radio_has_the_papers_parameters_by_default() {
    let mut document = document(PLAIN);
    document.set("link.radio.loss", RADIO).unwrap();
    let plan = document.plan().unwrap();
    let Impairment::Rayleigh(radio) = &plan.links[2].config.impairment else { panic!("no radio") };
    assert_eq!(radio.doppler_hz, 78.6);
    assert_eq!(radio.frames.duration, Duration::from_micros(20_320));
    assert_eq!((radio.frames.bytes, radio.frames.symbols, radio.frames.interleaved), (381, 6096, 3));
    let reception = &radio.reception;
    assert_eq!((reception.paths, reception.users, reception.spreading_gain), (4, 5, 16));
    assert_eq!(reception.eb_n0_db, 4.0);
}

#[test]
fn an_invalid_radio_is_refused() {
    let radio = |key: &str, value: serde_json::Value| {
        let mut document = document(PLAIN);
        document.set("link.radio.loss", RADIO).unwrap();
        document.set_value(&format!("link.radio.loss.{key}"), value).unwrap();
        document.plan().expect_err("a mistake").to_string()
    };
    let error = radio("doppler", json!(78.6));
    assert!(error.starts_with("link[1].loss.doppler = 78.6: expected a frequency with its unit"), "{error}");
    let error = radio("code_memory", json!(12));
    assert!(error.contains("the code's memory is 12, not from 2 to 8 bits"), "{error}");
    let error = radio("frame_size", json!("5 GB"));
    assert!(error.contains("the frame's size"), "{error}");
    let error = radio("interleave", json!(2));
    assert!(error.contains("loss.interleave") && error.contains("interleaved"), "{error}");
}

#[test]
fn the_schema_has_the_keys_the_tags_and_the_shorthands() {
    let schema = schema();
    let link = &schema["$defs"]["Link"];
    assert_eq!(link["additionalProperties"], false);
    assert_eq!(
        schema["$defs"]["Handover"]["properties"]["time"]["anyOf"],
        json!([{ "$ref": "#/$defs/Time" }, { "$ref": "#/$defs/Variable" }])
    );
    assert_eq!(schema["properties"]["variables"]["anyOf"], serde_json::Value::Null);
    let variants = |name: &str| schema["$defs"][name]["oneOf"].as_array().unwrap().clone();
    let has = |name: &str, path: &str, word: &str| {
        variants(name).iter().any(|variant| variant.pointer(path).is_some_and(|found| found == word))
    };
    assert!(has("Traffic", "/properties/kind/const", "on-off"));
    assert!(has("Loss", "/properties/model/const", "gilbert-elliott"));
    assert!(has("Loss", "/properties/model/const", "rayleigh") && !has("Loss", "/const", "rayleigh"));
    // `traffic = "bulk"` will do; `traffic = "cbr"` lacks its rate.
    assert!(has("Traffic", "/const", "bulk") && !has("Traffic", "/const", "cbr"));
    assert!(has("Loss", "/const", "none") && !has("Loss", "/const", "bernoulli"));
}

#[test]
fn transports_print_as_they_are_written() {
    for transport in ["dccp", "tcp", "udp"] {
        let mut document = document(PLAIN);
        document.set("flow.bulk.transport", transport).unwrap();
        document.set("flow.bulk.traffic", "{ kind = \"cbr\", rate = \"64 kbit/s\" }").unwrap();
        assert_eq!(document.scenario().unwrap().flow[0].transport, transport);
    }
}

#[test]
fn a_variant_that_needs_nothing_may_be_a_plain_string() {
    let mut document = document(PLAIN);
    document.set("flow.bulk.traffic", "bulk").unwrap();
    document.set("link.radio.loss", "none").unwrap();
    assert_eq!(document.plan().unwrap().links[2].config.impairment, Impairment::None);
    assert_eq!(error_after("flow.bulk.traffic", json!("cbr")), "flow[0].traffic.rate: missing");
    assert_eq!(
        error_after("flow.bulk.traffic", json!("burst")),
        "flow[0].traffic = \"burst\": expected one of \"bulk\", \"transfer\", \"downloads\", \"probe-pairs\", \"cbr\", \"poisson\", \"on-off\", \"video\", \"trace\""
    );
    assert_eq!(
        error_after("flow.bulk.traffic", json!({ "rate": "1 Mbit/s" })),
        "flow[0].traffic.kind: missing, expected one of \"bulk\", \"transfer\", \"downloads\", \"probe-pairs\", \"cbr\", \"poisson\", \"on-off\", \"video\", \"trace\""
    );
}

#[test]
fn networks_are_known_by_their_names() {
    let mut document = document(PLAIN);
    document.set_value("link[1].rate", serde_json::Value::Null).unwrap();
    document.set_value("link[1].queue", serde_json::Value::Null).unwrap();
    document.set("link[1].delay", "7 ms").unwrap();
    document.set("link[1].network", "umts").unwrap();
    let config = &document.plan().unwrap().links[2].config;
    // Given values hold; the others are the network's: Table 5 and ns-2's 50 packets.
    assert_eq!(config.rate, LinkRate::Constant(DataRate::from_kilobits_per_second(384.0)));
    assert_eq!((config.delay, config.limit), (Duration::from_millis(7), QueueLimit::Packets(50)));
    document.set("link[1].network", "wimax").unwrap();
    assert_eq!(
        document.plan().unwrap_err().to_string(),
        "link[1].network = \"wimax\": expected one of umts, 802.16, 802.11b, 802.11g, lte, 5g"
    );
}

fn with_handover(handover: serde_json::Value) -> Result<Plan, ScenarioError> {
    let mut document = document(PLAIN);
    document.set_value("handover", json!([handover])).unwrap();
    document.plan()
}

#[test]
fn a_handover_is_down_then_another_network_and_up_in_both_directions() {
    let handover = json!({ "time": "3 s", "link": "radio", "to": "802.16", "duration": "mobile-ipv6" });
    let plan = with_handover(handover).unwrap();
    let gaps = plan.gaps(1);
    // 2.5 s and the 170 ms of Table 3.
    assert_eq!(gaps[0].down, Instant::ZERO + Duration::from_secs(3));
    assert_eq!(gaps[0].up, Instant::ZERO + Duration::from_millis(5670));
    let events = plan.events_with(&gaps);
    let changes: Vec<_> =
        events.iter().map(|event| (event.link, event.up, event.rate, event.delay)).collect();
    let rate = DataRate::from_kilobits_per_second(9500.0);
    let new = |link| (link, Some(true), Some(rate), Some(Duration::from_millis(80)));
    assert_eq!(changes, [(2, Some(false), None, None), (3, Some(false), None, None), new(2), new(3)]);
}

#[test]
fn random_handovers_differ_between_seeds_and_stay_within_their_bounds() {
    let handover = json!({ "time": "3 s", "jitter": "400 ms", "link": "radio", "rate": "2 Mbit/s", "duration": "5g-nsa" });
    let plan = with_handover(handover).unwrap();
    let mut earliest = Duration::MAX;
    let mut latest = Duration::ZERO;
    for seed in 0..200 {
        let gap = plan.gaps(seed).remove(0);
        let after = gap.down - (Instant::ZERO + Duration::from_secs(3));
        (earliest, latest) = (earliest.min(after), latest.max(after));
        let length = gap.up - gap.down;
        assert!(length >= Duration::from_millis(24) && length <= Duration::from_millis(251), "{length}");
        assert_eq!(plan.gaps(seed), [gap]);
    }
    // 200 draws leave a twentieth of the range empty at an end with a chance of 0.95^200 = 3.5e-5.
    assert!(earliest < Duration::from_millis(20), "{earliest}");
    assert!(latest > Duration::from_millis(380) && latest < Duration::from_millis(400), "{latest}");
}

#[test]
fn invalid_handovers_are_refused() {
    let usual = json!({ "time": "3 s", "link": "radio", "duration": "1 s" });
    let error = |key: &str, value: serde_json::Value| {
        let mut handover = usual.clone();
        handover[key] = value;
        with_handover(handover).unwrap_err().to_string()
    };
    assert!(
        error("link", json!("nowhere"))
            .starts_with("handover[0].link = \"nowhere\": expected the name of a link")
    );
    assert!(error("time", json!("1 h")).starts_with("handover[0].time"));
    assert!(error("duration", json!("soon")).contains("\"mobile-ipv6\""));
    assert!(error("to", json!("wimax")).contains("one of umts, 802.16"));
    assert!(error("rate", json!("0 bit/s")).starts_with("handover[0].rate"));
}
