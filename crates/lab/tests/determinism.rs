//! The same plan and seed give the same bytes, on any thread and with any other runs at the same time.

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicUsize, Ordering};

use whimbrel_lab::record::{Record, csv};
use whimbrel_lab::runner::{Control, Interrupted, RunOutcome};
use whimbrel_lab::{Document, Plan, Run, run, run_many};

const SCENARIO: &str = concat!(
    pair!(
        r#"
name = "radio"
rate = "2 Mbit/s"
delay = "15 ms"
queue = "20 packets"
loss = { model = "gilbert-elliott", good_to_bad = 0.02, bad_to_good = 0.5 }
"#
    ),
    r#"
[simulation]
duration = "12 s"
warm_up = "2 s"
[[flow]]
name = "tfrc"
from = "a"
to = "b"
transport = "dccp"
start_jitter = "1 s"
[[flow]]
name = "window"
from = "a"
to = "b"
transport = "dccp"
ccid = 2
start_jitter = "1 s"
[[flow]]
name = "tcp"
from = "a"
to = "b"
transport = "tcp"
start_jitter = "1 s"
[[flow]]
name = "bursts"
from = "a"
to = "b"
transport = "udp"
traffic = { kind = "on-off", rate = "500 kbit/s" }
[[event]]
time = "6 s"
link = "radio"
up = false
[[event]]
time = "6.5 s"
link = "radio"
up = true
[record]
interval = "500 ms"
packets = true
losses = true
"#
);

fn plan() -> Plan {
    Document::from_toml(SCENARIO).unwrap().plan().unwrap()
}

fn bytes(record: &Record) -> String {
    record.tables().iter().map(csv).collect()
}

#[test]
fn a_run_repeats_itself_and_another_seed_does_not() {
    let plan = plan();
    let first = bytes(&run(&plan, 1));
    assert_eq!(first, bytes(&run(&plan, 1)));
    assert_ne!(first, bytes(&run(&plan, 2)));
    // Enough happened for that to mean something.
    assert!(first.lines().count() > 2_000, "{}", first.lines().count());
}

#[test]
fn threads_change_nothing() {
    let plan = plan();
    let seeds = [5, 3, 9, 1, 7];
    let alone: Vec<String> = seeds.iter().map(|seed| bytes(&run(&plan, *seed))).collect();
    for threads in [1, 2, 5] {
        let finished = AtomicUsize::new(0);
        let records = run_many(&plan, &seeds, threads, &Control::default(), |_| {
            finished.fetch_add(1, Ordering::Relaxed);
        })
        .unwrap();
        assert_eq!(records.iter().map(bytes).collect::<Vec<_>>(), alone, "{threads} threads");
        assert_eq!(finished.into_inner(), seeds.len());
    }
}

#[test]
fn an_interrupted_run_resumes_where_it_was() {
    let plan = plan();
    let mut run = Run::new(&plan, 1);
    let mut breaks = 0;
    while run.execute(|_| ControlFlow::Break(())) == RunOutcome::Interrupted {
        breaks += 1;
    }
    assert!(breaks >= 119, "{breaks}");
    assert_eq!(bytes(&run.into_record()), bytes(&whimbrel_lab::run(&plan, 1)));
}

#[test]
fn runs_can_be_interrupted() {
    let control = Control::default();
    control.interrupt();
    assert_eq!(run_many(&plan(), &[1, 2], 2, &control, |_| {}).unwrap_err(), Interrupted);
}
