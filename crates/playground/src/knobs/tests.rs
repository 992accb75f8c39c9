use whimbrel_lab::Document;

use super::*;

const TEXT: &str = r#"title = "übertragen"
[variables]
law = "gcc"
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
queue = "13 packets"
loss = { model = "bernoulli", rate = 0.01 }
[[flow]]
name = "video"
from = "here"
to = "there"
transport = "media"
media = { controller = "$law" }
[[flow]]
name = "more"
from = "here"
to = "there"
transport = "media"
media = { controller = "$law" }
[[flow]]
name = "file"
from = "here"
to = "there"
transport = "dccp"
ccid = 2
"#;

fn found() -> Vec<Knob> {
    let document = Document::from_toml(TEXT).unwrap();
    document.plan().expect("a scenario");
    knobs(TEXT, document.as_json(), &whimbrel_lab::schema())
}

#[test]
fn values_are_found_once_with_their_places() {
    let found = found();
    let labels: Vec<&str> = found.iter().map(|knob| knob.label.as_str()).collect();
    let expected = ["radio: loss", "radio: delay", "radio: queue", "radio: rate", "video: law", "file: law"];
    assert_eq!(labels, expected);
    let units: Vec<u16> = TEXT.encode_utf16().collect();
    let text = |knob: &Knob| String::from_utf16(&units[knob.span[0]..knob.span[1]]).unwrap();
    let texts: Vec<String> = found.iter().map(text).collect();
    assert_eq!(texts, ["0.01", "\"20 ms\"", "\"13 packets\"", "\"1 Mbit/s\"", "\"gcc\"", "2"]);
}

#[test]
fn numbers_have_scales_and_laws_all_their_names() {
    let found = found();
    let Kind::Number { value, unit, scale } = &found[1].kind else { panic!("{:?}", found[1]) };
    assert_eq!((*value, unit.as_str(), *scale), (20.0, "ms", [0.0, 200.0, 1.0]));
    let Kind::Number { value, unit, scale } = &found[0].kind else { panic!("{:?}", found[0]) };
    assert_eq!((*value, unit.as_str(), scale[1]), (0.01, "", 0.2));
    let Kind::Choice { options, .. } = &found[4].kind else { panic!("{:?}", found[4]) };
    assert!(
        ["\"gcc\"", "\"nada\"", "\"copa\""].iter().all(|law| options.iter().any(|option| option.0 == **law)),
        "{options:?}"
    );
    let Kind::Choice { options, .. } = &found[5].kind else { panic!("{:?}", found[5]) };
    assert!(
        ["2", "3", "248"].iter().all(|law| options.iter().any(|option| option.0 == **law)),
        "{options:?}"
    );
}

#[test]
fn a_link_without_a_name_has_the_label_of_its_ends() {
    let text = TEXT.replace("name = \"radio\"\n", "").replace("name = \"video\"", "name = \"video{i}\"");
    let document = Document::from_toml(&text).unwrap();
    let found = knobs(&text, document.as_json(), &whimbrel_lab::schema());
    assert_eq!((found[0].label.as_str(), found[4].label.as_str()), ("here–there: loss", "video: law"));
}

#[test]
fn other_texts_are_no_numbers() {
    for value in ["\"20\"", "20 ms", "\"ms\"", "\"-1 ms\"", "true", "\"$n\""] {
        assert_eq!(number(value), None, "{value}");
    }
    assert_eq!(number("\"7.8 %\""), Some((7.8, "%")));
    assert_eq!(number("3"), Some((3.0, "")));
}
