use std::fs;

use super::*;

fn table() -> Table {
    let mut table = Table::new("sample");
    table.words("flow", ["a", "b", "a"].into_iter());
    table.floats("rate_bps", [0.1, f64::NAN, 1e21].into_iter());
    table.integers("packets", [0, u64::MAX, 7].into_iter());
    table
}

#[test]
fn csv_reads_back_as_the_same_values() {
    let text = csv(&table());
    assert_eq!(text, "flow,rate_bps,packets\na,0.1,0\nb,NaN,18446744073709551615\na,1e21,7\n");
    // Readers infer the type of a column from its first rows: whole numbers are real ones all the same.
    let mut whole = Table::new("whole");
    whole.floats("x", [3.0, -0.0, 1e16, f64::INFINITY].into_iter());
    assert_eq!(csv(&whole), "x\n3.0\n-0.0\n1e16\ninf\n");
    let value = 2.0f64 / 3.0 * 1e6;
    let mut table = Table::new("one");
    table.floats("x", [value].into_iter());
    let line = csv(&table).lines().nth(1).unwrap().to_owned();
    assert_eq!(line.parse::<f64>().unwrap().to_bits(), value.to_bits());
}

#[test]
fn words_are_held_once_each() {
    let table = table();
    let Some(Column::Text(words)) = table.column("flow") else { panic!("no words") };
    assert_eq!(
        (words.categories(), words.codes()),
        (["a".to_owned(), "b".to_owned()].as_slice(), [0, 1, 0].as_slice())
    );
    assert_eq!(words.iter().collect::<Vec<_>>(), ["a", "b", "a"]);
    assert_eq!((table.rows(), table.number("packets", 2), table.number("flow", 0)), (3, Some(7.0), None));
}

#[test]
fn files_appear_complete_or_not_at_all() {
    let directory = tempfile::tempdir().unwrap();
    let out = directory.path().join("deep/out");
    let mut record = Record::default();
    record.add(table());
    record.write_csv(&out).unwrap();
    record.write_csv(&out).unwrap();
    let names: Vec<String> =
        fs::read_dir(&out).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    assert_eq!(names, ["sample.csv"]);
    assert_eq!(fs::read_to_string(out.join("sample.csv")).unwrap(), csv(&table()));
}
