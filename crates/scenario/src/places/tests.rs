use super::*;
use crate::{Document, NoTransports};

const TEXT: &str = r#"flow = []
[simulation]
duration = "10 s"

[[node]]
name = "here"
[[node]]
name = "there"

[[link]]
name = "radio"
between = ["here", "there"]
delay = "20 ms"
rate = "1 Mbit/s"
loss = { model = "bernoulli", rate = "1 %" }
"#;

fn line(text: &str) -> usize {
    let document = Document::<NoTransports>::from_toml(text).and_then(|document| document.plan().map(drop));
    line_of(text, &document.expect_err("a scenario with an error"))
}

#[test]
fn values_are_found_by_position_and_by_name() {
    let places = Places::parse(TEXT).unwrap();
    for key in ["link[0].loss.rate", "link.radio.loss.rate"] {
        assert_eq!(&TEXT[places.value(key).unwrap()], "\"1 %\"", "{key}");
    }
    assert_eq!(&TEXT[places.value("simulation.duration").unwrap()], "\"10 s\"");
    for key in ["link.other.rate", "link[1].rate", "link[0].rate.more", "title", ""] {
        assert_eq!(places.value(key), None, "{key}");
    }
}

#[test]
fn errors_are_shown_at_their_line() {
    assert_eq!(line(&TEXT.replace("20 ms", "20 m")), 13);
    assert_eq!(line(&TEXT.replace("rate = \"1 %\"", "rate = \"1 m\"")), 15);
    assert_eq!(line(&TEXT.replace("delay =", "dealy =")), 13, "an unknown key");
    assert_eq!(line(&TEXT.replace("rate = \"1 Mbit/s\"\n", "")), 10, "a missing key is shown at its table");
    assert_eq!(line(&TEXT.replace("name = \"there\"", "name = there")), 8, "no TOML");
    assert_eq!(line(&TEXT.replace("\"there\"]", "\"nowhere\"]")), 12);
}
