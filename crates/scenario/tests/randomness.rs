use whimbrel_lab::scenario::Document;

/// A DCCP flow and a TCP flow that meet in a queue, a handover, a mask and a delay by NetEm.
const FIXED: &str = r#"
[simulation]
duration = "6 s"
[[node]]
name = "a"
[[node]]
name = "b"
[[link]]
name = "radio"
between = ["a", "b"]
rate = "1 Mbit/s"
delay = "20 ms"
queue = "10 packets"
loss = { model = "mask", packets = [7, 30, 31, 200] }
netem = { delay = "5 ms" }
[[link]]
name = "spare"
between = ["a", "b"]
rate = "1 Mbit/s"
[[flow]]
name = "call"
from = "a"
to = "b"
transport = "dccp"
traffic = { kind = "cbr", rate = "200 kbit/s" }
[[flow]]
name = "download"
from = "a"
to = "b"
transport = "tcp"
[[handover]]
time = "3 s"
link = "radio"
duration = "200 ms"
[[route]]
at = "a"
to = "b"
via = ["radio"]
"#;

fn document() -> Document {
    Document::from_toml(FIXED).expect("TOML")
}

#[test]
fn a_plan_without_randomness_gives_the_same_with_every_seed() {
    let plan = document().plan().unwrap();
    assert!(!plan.is_random());
    let [one, two] = [1, 2].map(|seed| whimbrel_lab::run(&plan, seed));
    // Debug text, as NaN is not equal to itself.
    assert_eq!(format!("{one:?}"), format!("{two:?}"));
    let flows = one.table("flows").unwrap();
    assert!(flows.number("lost_wireless", 0).unwrap() + flows.number("lost_wireless", 1).unwrap() > 0.0);
}

#[test]
fn every_random_draw_makes_a_plan_random() {
    for (key, value) in [
        ("link.radio.loss", r#"{ model = "bernoulli", rate = "1 %" }"#),
        ("link.radio.damaged", "50 %"),
        ("link.radio.netem.jitter", "1 ms"),
        ("link.radio.netem", r#"{ delay = "5 ms", reorder = "10 %" }"#),
        ("link.radio.reverse", r#"{ loss = { model = "bernoulli", rate = "10 %" } }"#),
        ("flow.call.start_jitter", "100 ms"),
        ("flow.call.traffic", r#"{ kind = "on-off", rate = "200 kbit/s" }"#),
        ("flow.download.tcp", r#"{ preset = "ns2" }"#),
        ("flow.download.tcp", r#"{ jitter = "1 ms" }"#),
        ("handover[0].jitter", "1 s"),
        ("handover[0].duration", "lte"),
        ("route[0]", r#"{ at = "a", to = "b", via = ["radio", "spare"], by = "chance" }"#),
        ("event", r#"[{ time = "2 s", link = "radio", loss = { model = "bernoulli", rate = "5 %" } }]"#),
    ] {
        let mut document = document();
        document.set(key, value).unwrap();
        let plan = document.plan().unwrap_or_else(|error| panic!("{key}: {error}"));
        assert!(plan.is_random(), "{key} = {value}");
        let [one, two] = [1, 2].map(|seed| format!("{:?}", whimbrel_lab::run(&plan, seed)));
        assert!(one != two, "{key} = {value} changes nothing from seed to seed");
    }
}
