use whimbrel_lab::record::json;

use super::*;

const TEXT: &str = r#"
title = "losses of a recording"
[simulation]
duration = "5 s"
seed = 3
[[node]]
name = "a"
[[node]]
name = "b"
[[link]]
name = "radio"
between = ["a", "b"]
rate = "1 Mbit/s"
delay = "20 ms"
loss = { model = "mask", file = "../traces/losses.txt", repeat = true }
[[flow]]
name = "video"
from = "a"
to = "b"
transport = "dccp"
ccid = 3
"#;

fn session() -> Session {
    let mut session = Session::default();
    session.add_file("traces/losses.txt", b"0000000001");
    session
}

#[test]
fn a_run_in_pieces_has_the_record_of_a_whole_one() {
    let mut session = session();
    let facts = session.start(TEXT, 7, 1_000, true);
    assert_eq!(facts, json!({ "title": "losses of a recording", "seed": 3, "end": 5.0 }));
    let (mut pieces, mut events, mut capture) = (0, Vec::new(), Vec::new());
    loop {
        let ended = session.advance(3);
        events.push(session.event());
        capture.extend(session.capture());
        pieces += 1;
        if ended {
            break;
        }
    }
    assert!(pieces > 10, "{pieces}");
    assert_eq!(session.now(), 5.0);
    assert!(events[0].starts_with(r#"{"kind":"all""#), "{}", events[0]);
    assert!(events.iter().any(|event| event.starts_with(r#"{"kind":"more""#)));
    assert_eq!(capture[..4], [0x0a, 0x0d, 0x0d, 0x0a], "a pcapng file begins with a section header");
    assert!(capture.len() > 50_000, "{} bytes", capture.len());
    assert!(session.page().contains("losses of a recording"));
    let record = session.record();
    let plan = session.document(TEXT).and_then(|document| document.plan()).unwrap();
    let whole = json(&whimbrel_lab::run(&plan, 7), &plan.title, 7);
    assert_eq!(record, format!("{whole}\n"));
    assert!(whole["tables"]["flows"]["lost_wireless"][0].as_f64() > Some(10.0), "{whole}");
}

#[test]
fn an_error_has_the_line_and_the_message_of_the_command() {
    let refused = session().check(&TEXT.replace("20 ms", "20 m"));
    assert_eq!(refused["line"], 14);
    assert_eq!(refused["key"], "link[0].delay");
    assert!(
        refused["error"].as_str().unwrap().starts_with("link[0].delay = \"20 m\": expected a time"),
        "{refused}"
    );
    let missing = Session::default().check(TEXT);
    assert_eq!(missing["line"], 15);
    assert!(missing["error"].as_str().unwrap().contains("no file is available here"), "{missing}");
}
