//! DCCP flows in the simulator, through scenarios.

use std::ops::ControlFlow;

use whimbrel_lab::Run;
use whimbrel_lab::record::Table;
use whimbrel_lab::transport::FlowAgent;
use whimbrel_proto::State;

use crate::simulation;
use simulation::{document, number, simulate};

const PATH: &str = concat!(
    pair!(
        r#"
name = "path"
rate = "1 Mbit/s"
delay = "20 ms"
queue = "20 packets"
"#
    ),
    r#"
[simulation]
duration = "30 s"
[[flow]]
name = "flow"
from = "a"
to = "b"
transport = "dccp"
packet_size = "762 B"
dccp = { rtt_estimate = false }
[record]
packets = true
"#
);

/// The numbers of a column whose row passes.
fn column(table: &Table, name: &str, wanted: impl Fn(usize) -> bool) -> Vec<f64> {
    (0..table.rows()).filter(|row| wanted(*row)).map(|row| table.number(name, row).unwrap()).collect()
}

/// The states of the two ends when the run has ended.
fn final_states(changes: &[(&str, &str)]) -> [State; 2] {
    let plan = document(PATH, changes).plan().unwrap();
    let mut run = Run::new(&plan, 1);
    run.execute(|_| ControlFlow::Continue(()));
    run.flows()[0].map(|end| match run.simulator().agent(end) {
        FlowAgent::Dccp(agent) => agent.snapshot().expect("a connection").state,
        other => panic!("{other:?}"),
    })
}

#[test]
fn a_lossless_link_is_filled_by_either_congestion_control() {
    for ccid in ["2", "3"] {
        let record = simulate(PATH, &[("flow.flow.ccid", ccid), ("simulation.warm_up", "10 s")]);
        let share = number(&record, "throughput_bps") / 1e6;
        // A packet counts when its last bit leaves, so that 20 s can have one more than they carry.
        assert!((0.93..=1.0 + 762.0 * 8.0 / 20e6).contains(&share), "CCID {ccid}: {share}");
    }
}

#[test]
fn full_packets_have_the_size_asked_for() {
    let sizes = |changes: &[(&str, &str)]| {
        let record = simulate(PATH, changes);
        let packets = record.table("packets").unwrap();
        let mut sizes = column(packets, "size_bytes", |_| true);
        sizes.sort_by(f64::total_cmp);
        sizes[sizes.len() / 2]
    };
    assert_eq!(sizes(&[]), 762.0);
    assert_eq!(sizes(&[("flow.flow.dccp.udp_encapsulation", "true")]), 762.0);
    // The payload as asked for, 16 bytes of DCCP, 8 of UDP, 20 of IP.
    let payload = [
        ("flow[0]", r#"{ name = "flow", from = "a", to = "b", transport = "dccp", payload = "700 B" }"#),
        ("flow.flow.dccp", "{ udp_encapsulation = true, rtt_estimate = false }"),
    ];
    assert_eq!(sizes(&payload), 744.0);
}

#[test]
fn a_flow_starts_and_stops_when_it_should() {
    let record = simulate(PATH, &[("flow.flow.start", "5 s"), ("flow.flow.stop", "12 s")]);
    let packets = record.table("packets").unwrap();
    let sent = column(packets, "sent_s", |_| true);
    let first = sent.iter().copied().fold(f64::INFINITY, f64::min);
    let last = sent.iter().copied().fold(0.0, f64::max);
    // The handshake takes a round trip of 41 ms; what waits at the stop is still sent.
    assert!((5.04..5.05).contains(&first), "{first}");
    assert!((11.9..12.1).contains(&last), "{last}");
}

#[test]
fn a_flow_that_has_stopped_is_closed() {
    // The client, whose peer closes last, waits in TIMEWAIT; the server removes the connection.
    assert_eq!(final_states(&[("flow.flow.stop", "5 s")]), [State::TimeWait, State::Closed]);
    let cbr = r#"{ kind = "cbr", rate = "64 kbit/s" }"#;
    assert_eq!(
        final_states(&[("flow.flow.stop", "5 s"), ("flow.flow.traffic", cbr)]),
        [State::TimeWait, State::Closed]
    );
    assert_eq!(final_states(&[]), [State::Open, State::Open]);
}

#[test]
fn datagrams_are_followed_by_their_tags() {
    let cbr = r#"{ kind = "cbr", rate = "200 kbit/s" }"#;
    let record = simulate(PATH, &[("flow.flow.traffic", cbr)]);
    let packets = record.table("packets").unwrap();
    let tags = column(packets, "tag", |_| true);
    // 200 kbit/s of 762-byte packets for 30 s, but for those in transit at the end.
    assert!((982..=985).contains(&tags.len()), "{}", tags.len());
    assert!(tags.iter().enumerate().all(|(position, tag)| *tag == position as f64));
    let sequences = column(packets, "sequence", |_| true);
    assert!(sequences.windows(2).all(|pair| pair[1] > pair[0]));
}

#[test]
fn stale_datagrams_are_given_up_and_marked() {
    let directory = tempfile::tempdir().unwrap();
    let schedule = directory.path().join("clip.csv");
    // Ten datagrams every 50 ms are twice what the link carries.
    let lines: String = (0..400)
        .flat_map(|frame| (0..10).map(move |_| frame))
        .fold("time_s,size_bytes,frame,type\n".to_owned(), |text, frame| {
            format!("{text}{},1000,{frame},P\n", f64::from(frame) * 0.05)
        });
    std::fs::write(&schedule, lines).unwrap();
    let video = format!(r#"{{ kind = "video", schedule = '{}', playout = "150 ms" }}"#, schedule.display());
    let record = simulate(PATH, &[("flow.flow.traffic", &video), ("flow[0].dccp.send_queue", "1000")]);
    let packets = record.table("packets").unwrap();
    let of = |fate: &str| column(packets, "tag", |row| packets.text("fate", row) == Some(fate));
    let (received, expired, lost) = (of("received"), of("expired"), of("queue"));
    assert_eq!(received.len() + expired.len() + lost.len(), 4000);
    assert_eq!(expired.len() as f64, number(&record, "expired_datagrams"));
    assert!(received.len() > 1500 && expired.len() > 1500, "{} {}", received.len(), expired.len());
    let mut all: Vec<f64> = [received, expired, lost].concat();
    all.sort_by(f64::total_cmp);
    assert!(all.iter().enumerate().all(|(position, tag)| *tag == position as f64));
    // Sent datagrams left within their playout delay.
    for row in 0..packets.rows() {
        let arisen = (packets.number("tag", row).unwrap() / 10.0).floor() * 0.05;
        let sent = packets.number("sent_s", row).unwrap();
        assert!(sent.is_nan() || sent <= arisen + 0.15 + 1e-9, "{sent} {arisen}");
    }
}

#[test]
fn marks_take_the_place_of_losses() {
    for ccid in ["2", "3"] {
        let marked = simulate(
            PATH,
            &[("link.path.mark_at", "5"), ("flow.flow.ccid", ccid), ("simulation.warm_up", "5 s")],
        );
        assert!(number(&marked, "marked_packets") > 0.0, "CCID {ccid}");
        assert_eq!(number(&marked, "lost_queue"), 0.0, "CCID {ccid}");
        let deaf = simulate(
            PATH,
            &[
                ("link.path.mark_at", "5"),
                ("flow.flow.ccid", ccid),
                ("flow.flow.dccp.ecn", "false"),
                ("simulation.warm_up", "5 s"),
            ],
        );
        assert_eq!(number(&deaf, "marked_packets"), 0.0, "CCID {ccid}");
        assert!(number(&deaf, "lost_queue") > 0.0, "CCID {ccid}");
    }
}

#[test]
fn a_receiver_that_classifies_losses_is_not_slowed_by_the_radio() {
    let loss = r#"{ model = "run-length", rate = 0.078, runs = [0.7, 0.25, 0.05] }"#;
    let common = [("link.path.loss", loss), ("simulation.duration", "120 s"), ("simulation.warm_up", "20 s")];
    let unaware = simulate(PATH, &common);
    let knowing = simulate(
        PATH,
        &[common.as_slice(), &[("flow.flow.classifier", "omniscient"), ("flow.flow.dccp.guard", "false")]]
            .concat(),
    );
    assert!(number(&knowing, "throughput_bps") > 0.97e6, "{}", number(&knowing, "throughput_bps"));
    assert!(number(&unaware, "throughput_bps") < 0.7e6, "{}", number(&unaware, "throughput_bps"));
    assert_eq!(number(&knowing, "wireless_misclassified"), 0.0);
    assert_eq!(number(&unaware, "wireless_misclassified"), number(&unaware, "lost_wireless"));
}

#[test]
fn an_outage_is_survived() {
    let events = r#"[{ time = "10 s", link = "path", up = false, when_down = "drop-all" }, { time = "12 s", link = "path", up = true }]"#;
    for ccid in ["2", "3"] {
        let record =
            simulate(PATH, &[("event", events), ("record.interval", "1 s"), ("flow.flow.ccid", ccid)]);
        let intervals = record.table("intervals").unwrap();
        let goodput = column(intervals, "goodput_bps", |_| true);
        assert_eq!(goodput[11], 0.0, "CCID {ccid}");
        assert!(goodput[25..].iter().all(|rate| *rate > 5e5), "CCID {ccid}: {goodput:?}");
        assert!(number(&record, "lost_down") > 0.0);
    }
}

/// A radio that wakes up: the first packets take 300 ms there and back, later ones 40 ms. A video of 1.3
/// Mbit/s follows.
const WAKING_RADIO: &str = r#"
[simulation]
duration = "1 s"
[[node]]
name = "camera"
[[node]]
name = "viewer"
[[link]]
name = "radio"
between = ["camera", "viewer"]
rate = "4 Mbit/s"
delay = "150 ms"
queue = "50 packets"
[[event]]
time = "0.35 s"
link = "radio"
delay = "20 ms"
[[flow]]
name = "video"
from = "camera"
to = "viewer"
transport = "dccp"
packet_size = "1200 B"
traffic = { kind = "cbr", rate = "1300 kbit/s" }
"#;

/// The first second has what the camera produces in it, but for the 60 ms before its end that are on the way.
/// CCID 4 sends at most one packet per 10 ms (RFC 4828, Section 3), so that it only comes close to 100
/// packets per second from the first feedback on, after 0.45 s.
#[test]
fn a_slow_handshake_does_not_slow_the_first_second_of_a_stream() {
    for (ccid, least) in
        [("2", 0.93 * 1300e3), ("3", 0.93 * 1300e3), ("4", 0.95 * 0.55 * 100.0 * 1164.0 * 8.0)]
    {
        let rate = number(&simulate(WAKING_RADIO, &[("flow.video.ccid", ccid)]), "throughput_bps");
        assert!(rate > least, "CCID {ccid}: {rate} bit/s");
    }
}
