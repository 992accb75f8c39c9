//! Saturated senders under ns-2's rules, compared with figures that ns-2.35 itself produced.

use whimbrel_wifi::validation::ns2;

#[test]
fn throughput_agrees_with_ns2() {
    let rows = ns2::rows();
    assert_eq!(rows.len(), 16);
    for row in rows {
        assert!(row.holds(), "{row:?}");
    }
}
