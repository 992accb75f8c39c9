use super::*;

fn cursor(text: &str, length: Option<Duration>, repeats: bool) -> LossCursor {
    LossCursor::new(LossTrace::parse(text, length, repeats).expect("a trace"))
}

/// Lost packets of those that leave every `spacing` milliseconds from 0.
fn lost(cursor: &mut LossCursor, spacing: u64, packets: u64) -> Vec<u64> {
    (0..packets).filter(|packet| cursor.loses(Instant::from_millis(packet * spacing))).collect()
}

fn complaint(text: &str) -> String {
    LossTrace::parse(text, None, false).expect_err("no trace").to_string()
}

#[test]
fn a_faster_flow_loses_as_long_and_more_packets_in_intervals() {
    let text = "from_s,to_s\n0.010,0.030\n0.1,0.101\n";
    assert_eq!(lost(&mut cursor(text, None, false), 10, 20), [1, 2, 10]);
    // 10 to 29 ms at a packet each millisecond, and one more.
    assert_eq!(lost(&mut cursor(text, None, false), 1, 200), (10..30).chain([100]).collect::<Vec<_>>());
    // An interval in which no packet leaves takes none.
    assert_eq!(lost(&mut cursor("0.011,0.019", None, false), 10, 20), [0u64; 0]);
}

#[test]
fn a_time_takes_the_next_packet_and_one_only() {
    let text = "time_s\n0.0105\n0.0500\n0.0500\n0.051\n";
    assert_eq!(lost(&mut cursor(text, None, false), 10, 20), [2, 5, 6]);
    assert_eq!(lost(&mut cursor(text, None, false), 1, 200), [11, 50, 51]);
    // Both have passed before the second packet leaves.
    assert_eq!(lost(&mut cursor(text, None, false), 100, 3), [1]);
}

#[test]
fn a_trace_repeats_after_its_length() {
    let length = Some(Duration::from_millis(100));
    assert_eq!(lost(&mut cursor("0.01\n0.05", length, true), 10, 31), [1, 5, 11, 15, 21, 25]);
    assert_eq!(lost(&mut cursor("0.01,0.03", length, true), 10, 31), [1, 2, 11, 12, 21, 22]);
    // After a pause of several lengths it is where it would have been.
    let mut paused = cursor("0.01,0.03", length, true);
    assert!(!paused.loses(Instant::from_millis(5)));
    assert!(!paused.loses(Instant::from_millis(1_005)));
    assert!(paused.loses(Instant::from_millis(1_010)));
    let mut times = cursor("0.01\n0.05", length, true);
    assert!(times.loses(Instant::from_millis(60)));
    // Times have passed in between, and take a packet.
    assert!(times.loses(Instant::from_millis(305)));
    assert!(!times.loses(Instant::from_millis(306)));
    assert_eq!(times.exceeded(), None);
}

#[test]
fn the_first_packet_behind_the_end_is_reported() {
    let mut trace = cursor("0.01,0.03", None, false);
    lost(&mut trace, 10, 3);
    assert_eq!(trace.exceeded(), None);
    assert!(!trace.loses(Instant::from_millis(41)));
    assert!(!trace.loses(Instant::from_millis(51)));
    assert_eq!(trace.exceeded(), Some(Instant::from_millis(41)));
    // A length that goes on after the last loss is part of what is known.
    let mut longer = cursor("0.01,0.03", Some(Duration::from_millis(50)), false);
    longer.loses(Instant::from_millis(41));
    assert_eq!(longer.exceeded(), None);
    longer.loses(Instant::from_millis(50));
    assert_eq!(longer.exceeded(), Some(Instant::from_millis(50)));
}

#[test]
fn a_table_of_losses_is_a_trace() {
    let text = "time_s,flow,sequence,cause\n# noted\n0.01,call,5,wireless\n\n0.02,call,6,wireless\n";
    assert_eq!(lost(&mut cursor(text, None, false), 10, 5), [1, 2]);
}

#[test]
fn what_is_no_trace_is_named_by_its_line() {
    assert!(complaint("time_s\n1\nsoon\n").contains("line 3: expected a time in seconds, found `soon`"));
    assert!(complaint("1\n0.5").contains("line 2"));
    assert!(complaint("1,2\n3").contains("line 2: expected two times"));
    assert!(complaint("1,1").contains("ends after it begins"));
    assert!(complaint("1,2\n1.5,3").contains("line 2"));
    assert!(complaint("-1").contains("line 1"));
    assert!(complaint("when,why\n1,2").contains("`from_s` and `to_s`"));
    assert!(complaint("# nothing\n").contains("time_s"));
    let repeated = LossTrace::parse("1", None, true).expect_err("no length").to_string();
    assert!(repeated.contains("a length"), "{repeated}");
    let short =
        LossTrace::parse("1", Some(Duration::from_millis(900)), false).expect_err("short").to_string();
    assert!(short.contains("covers all losses"), "{short}");
}
