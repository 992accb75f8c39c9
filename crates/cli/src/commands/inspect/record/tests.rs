use std::io::{Cursor, Write};

use zip::ZipWriter;
use zip::write::SimpleFileOptions;

use super::*;

fn archive(members: &[(&str, &[u8])]) -> Cursor<Vec<u8>> {
    let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
    for (name, content) in members {
        writer.start_file(*name, SimpleFileOptions::default()).expect("a member");
        writer.write_all(content).expect("it is written");
    }
    writer.finish().expect("an archive")
}

const HEAD: &str = r#"{"key": "cell-1", "about": {"seed": 7, "scenario": {"title": "t"}}, "tables": [["flows", 2, [["flow", "<U3"], ["sent_packets", "<u8"],
    ["late", "|b1"], ["delay_mean_s", "<f8"]]], ["empty", 0, [["x", "<f8"]]]]}"#;

fn columns() -> Vec<u8> {
    let mut bytes = Vec::new();
    for letter in ['ü', 'p', '\0', 'b', 'c', 'd'] {
        bytes.extend(u32::from(letter).to_le_bytes());
    }
    for number in [5_u64, u64::MAX] {
        bytes.extend(number.to_le_bytes());
    }
    bytes.extend([0, 1]);
    for number in [0.25_f64, f64::NAN] {
        bytes.extend(number.to_le_bytes());
    }
    bytes
}

#[test]
fn a_record_has_the_tables_that_were_stored() {
    let stored =
        read(archive(&[("record.json", HEAD.as_bytes()), ("columns", &columns())])).expect("a record");
    assert_eq!(
        stored.json(),
        json!({ "key": "cell-1", "about": { "seed": 7, "scenario": { "title": "t" } }, "tables": {
            "flows": { "flow": ["üp", "bcd"], "sent_packets": [5, u64::MAX], "late": [0, 1], "delay_mean_s": [0.25, null] },
            "empty": { "x": [] },
        } })
    );
    let text = stored.text("a.record").expect("text");
    assert!(
        text.starts_with("a.record: run cell-1, scenario \"t\", seed 7\n")
            && text.contains("flows 2, empty 0"),
        "{text}"
    );
}

#[test]
fn a_damaged_record_is_refused_with_its_column() {
    let whole = columns();
    let short = &whole[..whole.len() - 1];
    let long = [&whole[..], &[0]].concat();
    let mut no_letter = whole.clone();
    no_letter[..4].copy_from_slice(&0xd800_u32.to_le_bytes());
    let huge = HEAD.replace("\"flows\", 2", "\"flows\", 4611686018427387904");
    let unknown = HEAD.replace("|b1", "<c16");
    for (head, content, expected) in [
        (HEAD, short, "column flows.delay_mean_s: 2 rows of 8 bytes: 15 are left"),
        (HEAD, &long, "`columns` has 1 bytes behind the last column"),
        (HEAD, &no_letter, "column flows.flow: a word has a number that is no character"),
        (&huge, &whole, "column flows.flow: 4611686018427387904 rows of 12 bytes: 58 are left"),
        (
            &unknown,
            &whole,
            "column flows.late: type \"<c16\": expected <f8, <u8, <i8, |b1, |u1 or <U with a number",
        ),
        ("{}", &whole, "`record.json`: missing field `key` at line 1 column 2"),
    ] {
        let error =
            read(archive(&[("record.json", head.as_bytes()), ("columns", content)])).expect_err("damaged");
        assert_eq!(format!("{error:#}"), expected);
    }
    let error = read(archive(&[("record.json", HEAD.as_bytes())])).expect_err("a member is missing");
    assert!(format!("{error:#}").starts_with("`columns`: "), "{error:#}");
}

#[test]
fn a_small_file_does_not_fill_the_memory() {
    let zeros = vec![0; 1 << 20];
    let bomb = archive(&[("record.json", HEAD.as_bytes()), ("columns", &zeros)]);
    assert!(bomb.get_ref().len() < 8_192);
    let error = read_within(bomb, 1 << 16).expect_err("refused").to_string();
    assert!(error.contains("`columns` has more than"), "{error}");
}
