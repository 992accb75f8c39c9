use serde_json::json;

use super::*;

const CALL: &str = r#"
[variables]
classifier = "biaz"
slow = "1 Mbit/s"
fast = "2 Mbit/s"
[simulation]
duration = "10 s"
[[node]]
name = "a"
[[node]]
name = "b"
[[link]]
name = "radio"
between = ["a", "b"]
rate = "$slow"
[[flow]]
name = "call"
from = "a"
to = "b"
transport = "dccp"
ccid = 3
classifier = "$classifier"
dccp = { guard = false }
[sweep]
"link.radio.rate" = ["$slow", "$fast"]
"#;

fn call() -> Document {
    Document::from_toml(CALL).expect("TOML")
}

/// The call after a change of its text.
fn changed(change: impl FnOnce(&mut serde_json::Value)) -> Document {
    let mut root = call().as_json().clone();
    change(&mut root);
    Document::from_json(&root.to_string()).expect("JSON")
}

fn complaint(document: &Document) -> String {
    document.plan().expect_err("a mistake").to_string()
}

#[test]
fn an_unused_variable_is_an_error() {
    call().plan().expect("`fast` is used by a sweep");
    let mut document = call();
    document.set("variables.clasifier", "zbs").unwrap();
    assert_eq!(
        complaint(&document),
        "variables.clasifier: nothing uses this variable, did you mean `classifier`? Expected one of classifier, \
         fast, slow"
    );
    let mut document = call();
    document.set("variables.unlike_any", "1").unwrap();
    assert!(complaint(&document).contains("or \"$unlike_any\" somewhere"), "{}", complaint(&document));
    let mut document = Document::from_toml(&CALL.replace("\"$classifier\"", "\"zbs\"")).unwrap();
    assert!(
        complaint(&document).starts_with("variables.classifier: nothing uses"),
        "{}",
        complaint(&document)
    );
    document.set("flow.call.classifier", "$classifier").unwrap();
    document.plan().expect("used now");
}

#[test]
fn a_sweep_of_an_unused_variable_is_an_error_before_any_run() {
    let error =
        |key: &str, values: serde_json::Value| complaint(&changed(|root| root["sweep"][key] = values));
    let message = error("variables.clasifier", json!(["zbs"]));
    assert!(
        message.starts_with("sweep.variables.clasifier[0].variables.clasifier: nothing uses"),
        "{message}"
    );
    assert!(message.contains("did you mean `classifier`?"), "{message}");
    let message = error("link.radio.delai", json!(["1 ms", "2 ms"]));
    assert!(message.contains("did you mean `delay`?"), "{message}");
    let message = error("link.radio.delay", json!(["1 ms", "2"]));
    assert!(message.starts_with("sweep.link.radio.delay[1].link[0].delay = \"2\""), "{message}");
    assert!(error("link.radio.delay", json!([])).contains("at least one value"));
    assert!(error("link.radio.delay", json!("1 ms")).contains("a list"));
    assert!(error("transport", json!(["dccp"])).contains("a table with a `name`"));
    let message = error("transport", json!([{ "name": "new", "flow.call.ccidd": 4 }]));
    assert!(message.contains("did you mean `ccid`?"), "{message}");
}

#[test]
fn another_transport_removes_the_keys_of_the_old_one() {
    use whimbrel_lab::transport::tcp::TcpFlow;

    let mut document = call();
    document.set("flow.call.transport", "tcp").unwrap();
    assert!(document.plan().unwrap().flows[0].transport.get::<TcpFlow>().is_some());
    // The same transport again changes nothing.
    let mut document = call();
    document.set("flow[0].transport", "dccp").unwrap();
    assert!(document.as_json()["flow"][0].get("ccid").is_some());
    // A key that was set explicitly is not dropped silently.
    for (key, value) in [("flow.call.ccid", "4"), ("flow[0].dccp.guard", "true")] {
        let mut document = call();
        document.set(key, value).unwrap();
        document.set("flow.call.transport", "udp").unwrap();
        assert!(complaint(&document).contains("only flows with transport = \"dccp\""), "{key}");
    }
}

#[test]
fn keys_without_effect_are_noted() {
    let notes = |document: &Document| -> Vec<String> {
        let plan = document.plan().expect("a plan");
        plan.notes.iter().map(|note| format!("{}: {}", note.subject, note.text)).collect()
    };
    assert!(notes(&call()).is_empty(), "{:?}", notes(&call()));
    let mut document = changed(|root| {
        root["flow"][0].as_object_mut().unwrap().remove("classifier");
        root["variables"].as_object_mut().unwrap().remove("classifier");
    });
    for (key, value) in [
        ("flow.call.dccp.reorder_size", "5 packets"),
        ("link.radio.damaged", "10 %"),
        ("link.radio.netem", "{ delay = \"1 ms\", correlation = 0.5, reorder_correlation = 0.5 }"),
        (
            "event",
            "[{ time = \"1 s\", link = \"radio\", up = true, when_down = \"hold\", at = \"receiver\" }]",
        ),
    ] {
        document.set(key, value).unwrap();
    }
    let found = notes(&document);
    let subjects: Vec<&str> = found.iter().filter_map(|note| note.split(':').next()).collect();
    assert_eq!(
        subjects,
        [
            "link[0].damaged",
            "link[0].netem.correlation",
            "link[0].netem.reorder_correlation",
            "flow[0].dccp.guard",
            "flow[0].dccp.reorder_size",
            "event[0].at",
            "event[0].when_down",
        ],
        "{found:?}"
    );
    // With the keys that they belong to, there is no note.
    document.set("link.radio.netem.jitter", "1 ms").unwrap();
    document.set("link.radio.netem.reorder", "1 %").unwrap();
    document.set("link.radio.loss", "{ model = \"bernoulli\", rate = 0.1 }").unwrap();
    document.set("flow.call.dccp.reorder_delay", "10 ms").unwrap();
    document.set("flow.call.classifier", "biaz").unwrap();
    document.set("event[0].up", "false").unwrap();
    assert_eq!(notes(&document).len(), 1, "{:?}", notes(&document));
}
