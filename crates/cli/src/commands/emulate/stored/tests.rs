use std::io::Read;

use whimbrel_lab::Document;
use whimbrel_lab::runner::run;

use super::*;

fn record() -> Record {
    let text = r#"
        [simulation]
        duration = "2 s"
        [[node]]
        name = "a"
        [[node]]
        name = "b"
        [[link]]
        between = ["a", "b"]
        rate = "1 Mbit/s"
        delay = "1 ms"
        [[flow]]
        name = "größe"
        from = "a"
        to = "b"
        transport = "tcp"
        [[flow]]
        name = "upload"
        from = "b"
        to = "a"
        transport = "tcp"
        background = true
    "#;
    let plan = Document::from_toml(text).and_then(|document| document.plan()).expect("a plan");
    run(&plan, 1)
}

fn stored<'a>(seed: u64, changes: &'a [String]) -> Stored<'a> {
    Stored { group: "two", title: "Two nodes", seed, changes, summary: json!({ "exit_code": 0 }) }
}

/// The flows, and another one with the numbers of the first.
fn with_answers(flows: &Table) -> Table {
    let columns = flows.columns().iter().map(|(name, column)| {
        let longer = match column {
            Column::Float(values) => Column::Float(values.iter().copied().chain([values[0]]).collect()),
            Column::Integer(values) => Column::Integer(values.iter().copied().chain([values[0]]).collect()),
            Column::Text(words) if *name == "flow" => Column::Text(words.iter().chain(["b>a"]).collect()),
            Column::Text(words) => Column::Text(words.iter().chain(words.iter().take(1)).collect()),
        };
        (*name, longer)
    });
    Table::from_columns(flows.name(), columns.collect())
}

fn plan_in(directory: &Path) -> Plan {
    let text = fs::read(directory.join("two/records/emulation.plan.json")).expect("a plan");
    serde_json::from_slice(&text).expect("the plan's JSON")
}

#[test]
fn other_seeds_are_repetitions_and_other_settings_start_anew() {
    let directory = tempfile::tempdir().expect("a directory");
    let record = record();
    for seed in [3, 1, 3] {
        stored(seed, &[]).write(directory.path(), &record).expect("it is written");
    }
    let plan = plan_in(directory.path());
    assert_eq!((&plan.cells[0].seeds[..], plan.seed), (&[1, 3][..], 1));
    assert_eq!(plan.cells[0].keys, ["emulation-1", "emulation-3"]);
    assert_eq!(plan.details.flows, ["größe"], "flows in the background are not compared");

    // Programs that answer in one run only: the run counts, the flow of the answers does not.
    let mut answered = record.clone().into_tables();
    answered
        .iter_mut()
        .filter(|table| table.name() == "flows")
        .for_each(|table| *table = with_answers(table));
    stored(4, &[]).write(directory.path(), &answered.into_iter().collect()).expect("it is written");
    let plan = plan_in(directory.path());
    assert_eq!((&plan.cells[0].seeds[..], plan.details.flows), (&[1, 3, 4][..], vec!["größe".to_owned()]));

    stored(2, &["link.rate = 2 Mbit/s".to_owned()]).write(directory.path(), &record).expect("it is written");
    let plan = plan_in(directory.path());
    assert_eq!((&plan.cells[0].seeds[..], plan.cells[0].row.as_str()), (&[2][..], "2 Mbit/s"));
    let mut names: Vec<_> = fs::read_dir(directory.path().join("two/records"))
        .expect("a directory")
        .map(|entry| entry.expect("an entry").file_name().into_string().expect("a name"))
        .collect();
    names.sort();
    // None that is partial.
    assert_eq!(
        names,
        [
            "emulation-1.record",
            "emulation-2.record",
            "emulation-3.record",
            "emulation-4.record",
            "emulation.plan.json"
        ]
    );
}

#[test]
fn an_archive_holds_the_columns_in_the_order_of_its_head() {
    let record = record();
    let bytes = archive(&record, "emulation-7", &json!({})).expect("an archive");
    assert_eq!(bytes, archive(&record, "emulation-7", &json!({})).expect("an archive"), "the same bytes");
    let mut archive = zip::ZipArchive::new(Cursor::new(bytes)).expect("a zip file");
    let mut content = |name: &str| {
        let mut content = Vec::new();
        archive.by_name(name).expect("a member").read_to_end(&mut content).expect("it is read");
        content
    };
    let head: Value = serde_json::from_slice(&content("record.json")).expect("JSON");
    let columns = content("columns");
    assert_eq!(head["key"], "emulation-7");
    let (mut at, mut seen) = (0, 0);
    for table in head["tables"].as_array().expect("tables") {
        let rows = table[1].as_u64().expect("a number") as usize;
        for column in table[2].as_array().expect("columns") {
            let kind = column[1].as_str().expect("a type");
            let size = match kind {
                "<f8" | "<u8" => 8,
                text => {
                    4 * text.strip_prefix("<U").and_then(|width| width.parse::<usize>().ok()).expect(text)
                }
            };
            let values = &columns[at..at + rows * size];
            if (table[0].as_str(), column[0].as_str()) == (Some("flows"), Some("flow")) {
                let words: Vec<u8> =
                    ["größe\0", "upload"].concat().chars().flat_map(|c| u32::from(c).to_le_bytes()).collect();
                assert_eq!((kind, values), ("<U6", &words[..]));
                seen += 1;
            }
            if (table[0].as_str(), column[0].as_str()) == (Some("flows"), Some("background")) {
                assert_eq!(values, [0_u64.to_le_bytes(), 1_u64.to_le_bytes()].concat());
                seen += 1;
            }
            at += rows * size;
        }
    }
    assert_eq!((seen, at), (2, columns.len()));
}
