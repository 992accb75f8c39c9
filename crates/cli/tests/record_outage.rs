//! `whimbrel record` while a host has no network.
#![cfg(target_os = "linux")]

use std::io::{BufRead, BufReader};
use std::time::Duration;

use serde_json::Value;
use tempfile::TempDir;

#[path = "../../net/tests/support/own_network.rs"]
mod own_network;
#[allow(dead_code, reason = "the other tests use the rest")]
#[path = "support/processes.rs"]
mod processes;
use own_network::{own_network, run};
use processes::{finish, stdout, whimbrel};

#[test]
fn an_outage_is_recorded_as_losses() {
    if !own_network() {
        return;
    }
    let mut server =
        whimbrel(&["record", "server", "--bind", "127.0.0.1:6512", "--json"]).spawn().expect("it starts");
    let mut ready = String::new();
    let mut lines = BufReader::new(server.stdout.take().expect("a pipe"));
    lines.read_line(&mut ready).expect("a line");
    let folder = TempDir::new().expect("a folder");
    let out = folder.path().to_str().expect("a plain path");
    let options = ["--mode", "gentle", "--rate", "500k", "--time", "4s", "--out", out, "--json"];
    let recording = whimbrel(&[&["record", "127.0.0.1"][..], &options].concat()).spawn().expect("it starts");
    std::thread::sleep(Duration::from_secs(2));
    assert!(run("ip link set lo down"));
    std::thread::sleep(Duration::from_secs(1));
    assert!(run("ip link set lo up"));
    let ended = finish(recording);
    assert!(ended.status.success(), "{ended:?}");
    let found: Value = serde_json::from_str(&stdout(&ended)).expect("JSON");
    for name in ["up", "down"] {
        let number = |key: &str| found[name][key].as_f64().expect("a number");
        // A second of four, in one burst.
        let share = number("lost") / number("sent");
        assert!((0.2..0.4).contains(&share), "{name}: {found}");
        assert!(number("mean_burst") > 0.5 * number("lost"), "{name}: {found}");
    }
    let _ = server.kill();
    let _ = server.wait();
}
