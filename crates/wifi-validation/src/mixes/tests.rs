use super::rows;

/// Twice the bars of the page, whose runs are longer. Of a class that seldom sends, few packets are counted.
#[test]
fn mixes_of_classes_share_the_medium_as_computed() {
    let rows = rows(60.0);
    assert!(rows.len() > 16);
    for row in rows {
        println!("{row:?}");
        let slack = if row.rate[1] < 1.0 { 5.0 } else { 2.0 };
        assert!(row.holds(slack), "{row:?}");
    }
}
