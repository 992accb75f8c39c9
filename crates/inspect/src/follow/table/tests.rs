use super::*;

#[test]
fn rows_belong_to_their_intervals() {
    let start = Instant::from_millis(2500);
    let mut table = Table::new(start, Duration::from_secs(1));
    for (millis, bytes) in [(2500, 100), (3499, 25), (3500, 500), (6000, 125), (5000, 125)] {
        let row = table.row(Instant::from_millis(millis));
        row.datagrams += 1;
        row.bytes += bytes;
    }
    let rows = table.intervals(Instant::from_millis(500), Instant::from_millis(6000));
    let summary: Vec<_> = rows.iter().map(|row| (row.start_s, row.length_s, row.send_rate_bps)).collect();
    // The third interval is empty; a decreasing time stays in the last one; that one ends with the
    // connection.
    assert_eq!(summary, [(2.0, 1.0, 1000.0), (3.0, 1.0, 4000.0), (4.0, 1.0, 0.0), (5.0, 0.5, 4000.0)]);
}

#[test]
fn intervals_without_packets_are_one_row() {
    let mut table = Table::new(Instant::ZERO, Duration::from_secs(1));
    for second in [0, 7, 1_000_000] {
        table.row(Instant::from_secs(second)).packets += 1;
    }
    let rows = table.intervals(Instant::ZERO, Instant::from_secs(1_000_001));
    let summary: Vec<_> =
        rows.iter().map(|row| (row.start_s, row.length_s, row.packets, row.holes)).collect();
    let expected = [
        (0.0, 1.0, 1, Some(0)),
        (1.0, 6.0, 0, None),
        (7.0, 1.0, 1, Some(0)),
        (8.0, 999_992.0, 0, None),
        (1_000_000.0, 1.0, 1, Some(0)),
    ];
    assert_eq!(summary, expected);
}

#[test]
fn receive_rates_apply_to_the_time_they_cover() {
    let mut table = Table::new(Instant::ZERO, Duration::from_secs(1));
    let row = table.row(Instant::ZERO);
    row.add_receive_rate(1000, Duration::from_millis(900));
    row.add_receive_rate(11_000, Duration::from_millis(100));
    let goodput = table.intervals(Instant::ZERO, Instant::from_secs(1))[0].goodput_bps.unwrap();
    assert!((goodput - 16_000.0).abs() < 1e-6, "{goodput}");
}

#[test]
fn a_long_capture_gets_longer_intervals_without_loss_of_data() {
    let mut table = Table::new(Instant::ZERO, Duration::from_millis(1));
    let packets = 5 * MAX_ROWS as u64;
    for millis in 0..packets {
        table.row(Instant::from_millis(millis)).packets += 1;
    }
    assert!(table.rows.len() <= MAX_ROWS);
    assert_eq!(table.width(), Duration::from_millis(8));
    assert_eq!(table.rows.iter().map(|row| row.packets).sum::<u64>(), packets);
    // The maximum time adds one row.
    table.row(Instant::from_nanos(u64::MAX)).packets += 1;
    assert!(table.rows.len() <= MAX_ROWS);
}
