//! `whimbrel perf` over handovers: freezes by signals and by warnings, links that are followed.

use std::thread;
use std::time::Duration;

use rustix::process::Signal;
use serde_json::Value;

use crate::processes;
use processes::{Server, finish, number, signal, stderr};

#[test]
fn signals_freeze_and_unfreeze_the_sending_end() {
    let server = Server::start(&[]);
    for (option, direction) in [(&[][..], "up"), (&["--reverse"], "down")] {
        let options = ["--rate", "2M", "--time", "3", "--interval", "0.1", "--json"];
        let client = server.client(&[&options[..], option].concat());
        thread::sleep(Duration::from_millis(1000));
        signal(&client, Signal::USR1);
        thread::sleep(Duration::from_millis(800));
        signal(&client, Signal::USR2);
        let output = finish(client);
        assert!(output.status.success(), "{output:?}");
        let record: Value = serde_json::from_slice(&output.stdout).expect("JSON");
        let freezes = record["handover"]["freezes"].as_array().expect("a list");
        assert_eq!(freezes.len(), 1, "{freezes:?}");
        assert_eq!(freezes[0]["cause"], "signal");
        let (start, length) = (number(&freezes[0], "start_s"), number(&freezes[0], "length_s"));
        assert!(start > 0.1 && length > 0.5, "{freezes:?}");
        // Datagrams in transit when it began may still arrive.
        let (from, to) = (start + 0.2, start + length);
        let rows = record["intervals"].as_array().expect("a list");
        let during: Vec<f64> = rows
            .iter()
            .filter(|row| number(row, "start_s") >= from && number(row, "end_s") <= to)
            .map(|row| number(&row[direction], "received.datagrams"))
            .collect();
        assert!(
            during.len() >= 2 && during.iter().all(|datagrams| *datagrams == 0.0),
            "{during:?} {freezes:?}"
        );
        let after = rows.iter().filter(|row| number(row, "start_s") >= to + 0.2);
        let after: f64 = after.map(|row| number(&row[direction], "received.datagrams")).sum();
        assert!(after > 10.0, "{after} {rows:?}");
        if direction == "up" {
            assert_eq!(record["handover"]["state"], "normal");
            assert!(number(&freezes[0], "full_rate_s") < 0.5, "{freezes:?}");
        }
    }
}

#[test]
fn a_warning_freezes_that_much_earlier_than_the_outage() {
    let server = Server::start(&[]);
    let options =
        ["--rate", "1M", "--time", "2.5", "--freeze-notice", "1", "--freeze-lead", "400ms", "--json"];
    let client = server.client(&options);
    thread::sleep(Duration::from_millis(800));
    signal(&client, Signal::USR1);
    let output = finish(client);
    let record: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let freezes = record["handover"]["freezes"].as_array().expect("a list");
    // The signal comes after 0.7 s or later, and the freeze 0.6 s after it.
    assert!(freezes.len() == 1 && number(&freezes[0], "start_s") > 1.0, "{freezes:?}");
    assert_eq!(record["handover"]["state"], "frozen");
}

#[test]
fn a_link_that_cannot_be_followed_is_called_by_its_name() {
    let server = Server::start(&[]);
    let output = finish(server.client(&["--freeze-on-link-loss=nothere7", "--time", "1"]));
    assert_eq!(output.status.code(), Some(1));
    let expected = if cfg!(target_os = "linux") { "nothere7" } else { "not supported here" };
    assert!(stderr(&output).contains(expected), "{output:?}");
    let output = finish(server.client(&["--freeze-on-link-loss", "--udp"]));
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    let output = finish(server.client(&["--freeze-lead", "soon"]));
    assert!(stderr(&output).contains("1rtt, 200ms or 0.2s"), "{output:?}");
}
