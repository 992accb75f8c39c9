//! The laws for media on the scenarios of RFC 8867: its "expected behavior" in numbers.

use crate::rates::jain;
use crate::simulation::{example, run_once};
use whimbrel_lab::record::{Column, Record};

const LAWS: [&str; 7] = ["gcc", "nada", "scream", "copa", "bbr", "delay-aware", "delay-aware-l4s"];

/// Without variation of delay, so that the numbers reflect only the queue.
fn simulate(name: &str, law: &str) -> Record {
    simulate_with(name, law, "0 s")
}

fn simulate_with(name: &str, law: &str, jitter: &str) -> Record {
    let changes = [("variables.law", law), ("variables.jitter", jitter)];
    run_once(&example(&format!("rfc8867/{name}"), &changes))
}

/// Mean goodput of a flow in bit/s between two times in seconds.
fn goodput(record: &Record, flow: &str, from: f64, to: f64) -> f64 {
    let table = record.table("intervals").unwrap();
    let Some(Column::Float(times)) = table.column("time_s") else { panic!("no times") };
    let rows = (0..table.rows()).filter(|&row| {
        table.text("flow", row) == Some(flow) && times[row] > from + 1e-6 && times[row] <= to + 1e-6
    });
    let values: Vec<f64> = rows.map(|row| table.number("goodput_bps", row).unwrap()).collect();
    assert!(!values.is_empty(), "{flow} from {from} to {to} s");
    values.iter().sum::<f64>() / values.len() as f64
}

/// Media of a link of `capacity` bit/s without the call's audio of 31.2 kbit/s on the link, at most the
/// encoder's 1.5 Mbit/s.
fn available(capacity: f64, videos: f64) -> f64 {
    ((capacity - videos * 31.2e3) / videos).min(1.5e6) * 1160.0 / 1200.0
}

/// Section 5.1: the flow converges to the capacity of each phase. Measured over its last 10 s.
#[test]
fn a_flow_follows_a_variable_capacity() {
    for law in LAWS {
        let record = simulate("5_1_variable_capacity.toml", law);
        for (end, capacity) in [(40.0, 1e6), (60.0, 2.5e6), (80.0, 0.6e6), (99.0, 1e6)] {
            let share = goodput(&record, "video", end - 10.0, end) / available(capacity, 1.0);
            assert!((0.7..1.01).contains(&share), "{law} until {end} s: {share}");
        }
    }
}

/// Section 5.2: two flows follow a variable capacity and share it. Measured over the last 10 s of each phase.
#[test]
fn two_flows_share_a_variable_capacity() {
    for law in LAWS {
        let record = simulate("5_2_multiple_flows.toml", law);
        for (end, capacity) in [(25.0, 4e6), (50.0, 2e6), (75.0, 3.5e6), (100.0, 1e6), (124.0, 2e6)] {
            let rates = ["video1", "video2"].map(|flow| goodput(&record, flow, end - 10.0, end));
            let share = rates.iter().sum::<f64>() / (2.0 * available(capacity, 2.0));
            assert!((0.7..1.01).contains(&share), "{law} until {end} s: {share}");
            assert!(jain(&rates) > 0.8, "{law} until {end} s: {rates:?}");
        }
    }
}

/// Section 5.3: media of both directions adapt, though their reports share the bottlenecks.
#[test]
fn flows_of_both_directions_adapt() {
    for law in LAWS {
        let record = simulate("5_3_congested_feedback.toml", law);
        for (flow, end, capacity) in [
            ("forward_video", 20.0, 2e6),
            ("forward_video", 40.0, 1e6),
            ("forward_video", 60.0, 0.5e6),
            ("forward_video", 99.0, 2e6),
            ("backward_video", 35.0, 2e6),
            ("backward_video", 70.0, 0.8e6),
            ("backward_video", 99.0, 2e6),
        ] {
            let share = goodput(&record, flow, end - 8.0, end) / available(capacity, 1.0);
            assert!((0.6..1.01).contains(&share), "{law}, {flow} until {end} s: {share}");
        }
    }
}

/// Section 5.4: three flows that start one after the other share the link at the end.
#[test]
fn flows_that_start_later_get_their_share() {
    for law in LAWS {
        let record = simulate("5_4_competing_flows.toml", law);
        let rates = ["video1", "video2", "video3"].map(|flow| goodput(&record, flow, 99.0, 119.0));
        assert!(jain(&rates) > 0.8, "{law}: {rates:?}");
    }
}

/// Section 5.5: five flows of different round-trip times. With RFC 8868's variation of delay, NADA's shares
/// are even. Without, a flow that starts among others takes their queue for part of its path (RFC 8698,
/// Section 5.1.1: the baseline is the least delay seen) and gets more: that depends on the order of the
/// starts, not on the round-trip times.
#[test]
fn nada_is_fair_to_round_trip_times_but_not_to_the_first() {
    let shares = |jitter: &str, starts: Option<[u32; 5]>| {
        let changes = [("variables.law", "nada"), ("variables.jitter", jitter)];
        let mut document = example("rfc8867/5_5_rtt_fairness.toml", &changes);
        for (number, start) in starts.iter().flatten().enumerate() {
            document.set(&format!("flow.video{}.start", number + 1), &format!("{start} s")).unwrap();
        }
        let record = run_once(&document);
        [1, 2, 3, 4, 5].map(|number| goodput(&record, &format!("video{number}"), 100.0, 299.0))
    };
    let (varied, together) = (shares("5 ms", None), shares("0 s", Some([0; 5])));
    assert!(jain(&varied) > 0.95 && jain(&together) > 0.98, "{varied:?}, {together:?}");
    let (ascending, descending) = (shares("0 s", None), shares("0 s", Some([40, 30, 20, 10, 0])));
    let greatest = |shares: &[f64; 5]| shares.iter().copied().fold(0.0, f64::max);
    assert_eq!(greatest(&ascending), ascending[4], "{ascending:?}");
    assert_eq!(greatest(&descending), descending[0], "{descending:?}");
    assert!(jain(&ascending) < 0.9 && jain(&descending) < 0.9, "{ascending:?}, {descending:?}");
}

/// Section 5.6: a download does not starve the media below the encoder's least rate.
#[test]
fn a_download_leaves_the_media_their_least_rate() {
    for law in LAWS {
        let record = simulate("5_6_long_tcp.toml", law);
        let rate = goodput(&record, "video", 40.0, 119.0);
        assert!(rate > 0.8 * 150e3 * 1160.0 / 1200.0, "{law}: {rate}");
        assert!(goodput(&record, "download", 40.0, 119.0) > 100e3, "{law}");
    }
}

/// Section 5.8: while one of three flows pauses, the others reach their greatest rate.
#[test]
fn a_pause_leaves_its_share_to_the_others() {
    for law in LAWS {
        let record = simulate("5_8_pause_and_resume.toml", law);
        for flow in ["video1", "video3"] {
            let share = goodput(&record, flow, 52.0, 60.0) / available(3.5e6, 2.0);
            assert!(share > 0.8, "{law}, {flow}: {share}");
        }
    }
}

/// Section 5.7: short downloads do not starve the media below the encoder's least rate, with RFC 8868's
/// variation of delay or without.
#[test]
fn short_downloads_leave_the_media_their_least_rate() {
    for law in LAWS {
        for jitter in ["0 s", "5 ms"] {
            let record = simulate_with("5_7_short_tcp.toml", law, jitter);
            let rates = ["video0", "video1"].map(|flow| goodput(&record, flow, 40.0, 299.0));
            assert!(rates.iter().all(|rate| *rate > 0.9 * 150e3 * 1160.0 / 1200.0), "{law}: {rates:?}");
            assert!(jain(&rates) > 0.9, "{law}: {rates:?}");
            // Ten browsers that load 40 kB in 10 s each.
            let browsers =
                ["busy0", "busy1", "idle0", "idle1", "idle2", "idle3", "idle4", "idle5", "idle6", "idle7"];
            let web: f64 = browsers.iter().map(|flow| goodput(&record, flow, 40.0, 299.0)).sum();
            assert!((0.8..1.2).contains(&(web / 320e3)), "{law}: {web}");
        }
    }
}

/// RFC 8868's variation of delay, 0 to 30 ms, is no queue for the delay-aware rate: all videos together keep
/// nine tenths of their rate, and their delay grows by the variation and the jitter that the estimate of the
/// queue leaves.
#[test]
fn variation_of_delay_does_not_reduce_the_delay_aware_rate() {
    for (name, videos) in [
        ("5_1_variable_capacity.toml", &["video"][..]),
        ("5_2_multiple_flows.toml", &["video1", "video2"]),
        ("5_4_competing_flows.toml", &["video1", "video2", "video3"]),
        ("5_8_pause_and_resume.toml", &["video1", "video2", "video3"]),
    ] {
        let [steady, varied] = ["0 s", "5 ms"].map(|jitter| {
            let record = simulate_with(name, "delay-aware", jitter);
            let flows = record.table("flows").unwrap();
            let of = |column| {
                let rows =
                    (0..flows.rows()).filter(|&row| videos.contains(&flows.text("flow", row).unwrap()));
                rows.map(|row| flows.number(column, row).unwrap()).collect::<Vec<f64>>()
            };
            let delay = of("delay_p95_s").into_iter().fold(0.0, f64::max);
            (of("goodput_bps").iter().sum::<f64>(), delay)
        });
        assert!(varied.0 > 0.9 * steady.0, "{name}: {} of {} bit/s", varied.0, steady.0);
        assert!(varied.1 < steady.1 + 0.030, "{name}: {} and {} s", varied.1, steady.1);
    }
}
