//! Positions of other programs' files in scenarios.

use std::fs;

use serde_json::{Value, json};
use tempfile::TempDir;
use whimbrel_units::Instant;

use super::{Document, Plan};

const NODES: &str = r#"
[simulation]
duration = "20 s"
[[wifi]]
name = "air"
[[node]]
name = "n{i}"
count = 2
wifi = "air"
mobility = { kind = "csv", file = "nodes.csv" }
[[flow]]
name = "f"
from = "n0"
to = "n1"
transport = "udp"
traffic = { kind = "cbr", rate = "10 kbit/s" }
"#;

const TABLE: &str = "time,node,x,y\n0,a,0,0\n0,b,50,0\n10,a,10,0\n15,b,60,0\n";

fn plan(table: &str, mobility: Option<Value>) -> Result<Plan, String> {
    let folder = TempDir::new().unwrap();
    fs::write(folder.path().join("nodes.csv"), table).unwrap();
    let path = folder.path().join("scenario.toml");
    fs::write(&path, NODES).unwrap();
    let mut document = Document::from_file(&path).unwrap();
    if let Some(mobility) = mobility {
        document.set_value("node.n{i}.mobility", mobility).unwrap();
    }
    document.plan().map_err(|error| error.to_string())
}

#[test]
fn stations_move_as_the_nodes_of_a_file_and_are_off_without_a_position() {
    let is_on = |plan: &Plan, station: usize, second: u64| {
        plan.wifi[0].stations[station].presence.is_on(Instant::from_secs(second))
    };
    let both = plan(TABLE, None).unwrap();
    assert_eq!([9, 10, 14, 16].map(|second| is_on(&both, 0, second)), [true, false, false, false]);
    assert_eq!([9, 10, 14, 16].map(|second| is_on(&both, 1, second)), [true, true, true, false]);
    let gap = plan(TABLE, Some(json!({ "kind": "csv", "file": "nodes.csv", "gap": "12 s" }))).unwrap();
    assert_eq!([1, 14].map(|second| is_on(&gap, 1, second)), [false, false]);
}

#[test]
fn errors_name_the_file_the_key_and_the_value() {
    let cases = [
        (
            plan(&TABLE.replace("50", "fifty"), None),
            "node[0].mobility.file = \"nodes.csv\": expected positions (line 3: fifty",
        ),
        (plan("time,node,x,y\n0,a,0,0\n", None), "expected a file with 2 nodes; it has 1"),
        (
            plan(TABLE, Some(json!({ "kind": "csv", "file": "nodes.csv", "id": "car{i}" }))),
            "node[0].mobility.id = \"car0\": expected a node of \"nodes.csv\": a, b",
        ),
        (plan(TABLE, Some(json!({ "kind": "sumo", "file": "nodes.csv" }))), "node[0].mobility.file"),
        (plan(TABLE, Some(json!({ "kind": "csv", "file": "other.csv" }))), "node[0].mobility.file"),
    ];
    for (plan, expected) in cases {
        let error = plan.expect_err(expected);
        assert!(error.contains(expected), "{error}");
    }
}
