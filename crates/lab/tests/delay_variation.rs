//! Variation of delay without reordering in scenarios (RFC 8868, Section 4.5.2).

use crate::simulation;
use simulation::{document, number, simulate};
use whimbrel_units::Duration;

const PATH: &str = r#"
[simulation]
duration = "60 s"
[[node]]
name = "a"
[[node]]
name = "b"
[[link]]
name = "path"
from = "a"
to = "b"
rate = "2 Mbit/s"
delay = "50 ms"
delay_variation = {}
[[flow]]
name = "flow"
from = "a"
to = "b"
transport = "udp"
packet_size = "500 B"
traffic = { kind = "cbr", rate = "1 Mbit/s" }
"#;

#[test]
fn packets_are_delayed_by_up_to_30_ms_and_not_reordered() {
    let record = simulate(PATH, &[]);
    assert_eq!(number(&record, "reordered_packets"), 0.0);
    let (least, most) = (number(&record, "delay_min_s"), number(&record, "delay_max_s"));
    // 2 ms on the link, and 50 ms of propagation.
    assert!((0.052..0.060).contains(&least), "{least}");
    assert!((0.074..0.082_001).contains(&most), "{most}");
    // Packets follow each other by 4 ms: one that is late delays those behind it.
    assert!(number(&record, "delay_mean_s") > 0.067);
}

#[test]
fn a_variation_is_checked_and_nothing_without_a_deviation() {
    let plan = |changes: &[(&str, &str)]| {
        document(PATH, changes).plan().map(|plan| plan.links[0].config.delay_variation)
    };
    let recommended = plan(&[]).unwrap().expect("a variation");
    assert_eq!((recommended.deviation, recommended.bound), (Duration::from_millis(5), 3.0));
    assert_eq!(plan(&[("link.path.delay_variation", "{ deviation = \"0 s\" }")]).unwrap(), None);
    let error = |changes: &[(&str, &str)]| plan(changes).unwrap_err().to_string();
    assert_eq!(
        error(&[("link.path.delay_variation", "{ bound = 0.0 }")]),
        "link[0].delay_variation = {...}: expected a positive bound and rate: a bound of 0 is not a positive number"
    );
    assert_eq!(
        error(&[("link.path.netem", "{ delay = \"1 ms\" }")]),
        "link[0].delay_variation = {...}: expected one of `netem` and `delay_variation`"
    );
}
