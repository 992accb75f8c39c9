use super::*;

fn ms(trace: &DelayTrace, time: u64) -> u64 {
    trace.at(Instant::from_millis(time)).as_millis()
}

#[test]
fn a_delay_holds_from_its_time_on_and_the_columns_are_named() {
    let recorded = "sent_s,delay_s,class\n-0.300000,0.090000,ping\n-0.200000,0.020000,ping\n\
        0.100000,0.020000,ping\n0.150000,0.005000,train\n0.200000,0.050000,load\n0.300000,0.010000,ping\n";
    let trace = DelayTrace::parse(recorded, false).unwrap();
    assert_eq!([0, 99, 100, 199, 200, 300, 9000].map(|at| ms(&trace, at)), [20, 20, 20, 20, 50, 10, 10]);
    assert_eq!(trace.least(), Duration::from_millis(10));
    let other_order = "delay_s, time_s\n0.02, 0.1\n0.05, 0.2\n0.01, 0.3\n";
    let other = DelayTrace::parse(other_order, false).unwrap();
    assert_eq!([0, 99, 200, 300].map(|at| ms(&other, at)), [20, 20, 50, 10]);
    assert_eq!(DelayTrace::parse("# seconds\n0.1,0.02\n\n0.2,0.05\n0.3,0.01\n", false), Ok(other));
}

#[test]
fn a_repeated_trace_starts_again_at_its_last_time() {
    let trace = DelayTrace::parse("0,0.02\n0.2,0.05\n0.3,0.01\n", true).unwrap();
    assert_eq!([0, 250, 300, 500, 550].map(|at| ms(&trace, at)), [20, 50, 20, 50, 50]);
}

#[test]
fn what_is_no_trace_names_the_line() {
    let error = |text: &str, repeats| DelayTrace::parse(text, repeats).unwrap_err().to_string();
    assert!(error("", false).contains("`delay_s`"));
    assert!(error("time,delay\n0,1\n", false).starts_with("line 1: expected columns `time_s`"));
    assert!(error("0,1\n1,-1\n", false).starts_with("line 2: expected a time and a delay"));
    assert!(error("0,1\n1\n", false).starts_with("line 2: expected a time and a delay"));
    assert!(error("1,1\n0.5,1\n", false).starts_with("line 2: expected a time not before"));
    assert!(error("0,1\n", true).contains("a last time above zero"));
}
