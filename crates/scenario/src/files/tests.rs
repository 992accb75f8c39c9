use std::io::Read as _;
use std::path::Path;

use super::*;
use crate::{Document, NoTransports};

const TEXT: &str = r#"
flow = []
[simulation]
duration = "10 s"
[[node]]
name = "here"
[[node]]
name = "there"
[[link]]
between = ["here", "there"]
delay = "20 ms"
rate = "1 Mbit/s"
loss = { model = "mask", file = "../traces/losses.txt" }
"#;

fn document(files: Files) -> Document<NoTransports> {
    Document::from_toml(TEXT).unwrap().with_files(files.relative_to("examples/scenarios"))
}

#[test]
fn a_name_leads_to_the_file_in_memory() {
    let files = Files::in_memory([("examples/traces/losses.txt", *b"0100")]);
    let loss = document(files).plan().unwrap().links[0].config.impairment.clone();
    let expected = whimbrel_netsim::Impairment::Mask { lost: vec![1], length: 4, repeats: false };
    assert_eq!(loss, expected);
}

/// The message as systems other than Windows have it.
fn slashes(error: &ScenarioError) -> String {
    error.to_string().replace('\\', "/")
}

#[test]
fn files_in_memory_are_all_there_is() {
    // On disk the manifest of this crate is there.
    let name = Path::new("Cargo.toml");
    assert!(Files::on_disk().open("file", name).is_ok());
    let files = Files::in_memory([("traces/./b/../a.txt", *b"x")]);
    let error = slashes(&files.open("file", name).err().unwrap());
    assert!(error.contains("(Cargo.toml: not one of the files available here: traces/a.txt)"), "{error}");
    let mut text = String::new();
    files.open("file", Path::new("traces/a.txt")).unwrap().read_to_string(&mut text).unwrap();
    assert_eq!(text, "x");
}

#[test]
fn a_missing_file_is_named_with_its_key() {
    let none: [(&str, [u8; 0]); 0] = [];
    let error = document(Files::in_memory(none)).plan().unwrap_err();
    assert_eq!(error.key, "link[0].loss.file");
    let expected =
        "expected a readable file (examples/scenarios/../traces/losses.txt: no file is available here)";
    assert!(slashes(&error).contains(expected), "{error}");
}
