use serde_json::json;

use super::*;

#[test]
fn a_quantity_of_zero_is_not_given_however_it_is_written() {
    let table = json!({ "number": 0.0, "spaced": "0 ms", "joined": "0ms", "share": "0%", "digits": "0.0 %", "some": "1ms", "word": "none" });
    let table = table.as_object().unwrap();
    for zero in ["number", "spaced", "joined", "share", "digits", "missing"] {
        assert!(!has(table, zero), "{zero}");
    }
    assert!(has(table, "some") && has(table, "word"));
}
