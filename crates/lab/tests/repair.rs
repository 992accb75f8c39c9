//! Repair in simulated networks: the layer of the sockets, and the frames that it saves.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::LazyLock;

use whimbrel_lab::record::{Table, csv};
use whimbrel_lab::{Document, Record, run};

/// The schedule of 25 frames of four packets in a second, written once: tests run at the same time.
static SCHEDULE: LazyLock<PathBuf> = LazyLock::new(|| {
    let mut schedule = String::from("time_s,size_bytes,frame,type\n");
    for frame in 0..25 {
        for _ in 0..4 {
            schedule.push_str(&format!("{:.2},900,{frame},P\n", f64::from(frame) * 0.04));
        }
    }
    let file = std::env::temp_dir().join(format!("whimbrel-frames-{}.csv", std::process::id()));
    std::fs::write(&file, schedule).expect("a temporary file");
    file
});

/// A flow of these frames over a link that loses.
fn text(loss: &str, repair: &str) -> String {
    format!(
        r#"
[simulation]
duration = "25 s"
warm_up = "4 s"
[[node]]
name = "a"
[[node]]
name = "b"
[[link]]
between = ["a", "b"]
rate = "20 Mbit/s"
delay = "20 ms"
{loss}
[[flow]]
name = "video"
from = "a"
to = "b"
transport = "dccp"
ccid = 3
classifier = "spike"
traffic = {{ kind = "video", schedule = '{}', repeat = true }}
{repair}
"#,
        SCHEDULE.display()
    )
}

fn record(text: &str) -> Record {
    let document = Document::from_toml(text).expect("a scenario");
    run(&document.plan().unwrap_or_else(|error| panic!("{error}\n{text}")), 1)
}

/// The same flow over UDP with a model.
fn udp(loss: &str, kind: &str, latency: &str) -> String {
    let repair = format!("repair = {{ latency = \"{latency}\", kind = \"{kind}\" }}");
    text(loss, &repair)
        .replace("transport = \"dccp\"", "transport = \"udp\"")
        .replace("ccid = 3\n", "")
        .replace("classifier = \"spike\"\n", "")
}

fn number(flows: &Table, name: &str) -> f64 {
    flows.number(name, 0).unwrap_or_else(|| panic!("no {name}"))
}

const LOSS: &str = "loss = { model = \"bernoulli\", rate = 0.03 }";

#[test]
fn repair_saves_the_frames_that_losses_take() {
    let plain = record(&text(LOSS, "repair = { latency = \"150 ms\", kind = \"none\" }"));
    let repaired = record(&text(LOSS, "repair = { latency = \"150 ms\" }"));
    let (plain, repaired) = (plain.table("flows").expect("flows"), repaired.table("flows").expect("flows"));
    // 20 seconds of the measured time are at least a second before the end.
    let frames = number(repaired, "frames");
    assert!((498.0..=501.0).contains(&frames), "{frames}");
    let share = |flows: &Table| number(flows, "frames_in_time") / number(flows, "frames");
    // Of frames of four packets 88 % are whole; of those with two rounds nearly all.
    assert!((0.82..0.93).contains(&share(plain)), "{}", share(plain));
    assert!(share(repaired) > 0.98, "{}", share(repaired));
    assert!(number(plain, "frozen_s") > 1.0 && number(plain, "freezes") > 30.0);
    assert!(number(repaired, "frozen_s") < 0.5, "{}", number(repaired, "frozen_s"));
    let overhead = number(repaired, "repair_overhead");
    assert!((0.03..0.12).contains(&overhead), "{overhead}");
    assert!((number(repaired, "repaired_datagrams") - 75.0).abs() < 40.0);
    assert_eq!(number(plain, "repair_overhead"), 0.0);
}

/// With an empty queue, the round-trip time is a hundredth of the one with a full queue. A sender that adopts
/// it at once fills the queue at twice the rate of the path: 104 losses. With a gain of a tenth for each
/// sample there are 26, but the estimate needs seconds after a fade. Single runs have 12 to 93, by the rate
/// offered: 68 on average.
#[test]
fn a_queue_that_empties_is_not_refilled_at_once() {
    let path = "rate = \"600 kbit/s\"\ndelay = \"100 us\"\nqueue = \"20 packets\"";
    let text = text("", "repair = { latency = \"120 ms\" }")
        .replace("rate = \"20 Mbit/s\"\ndelay = \"20 ms\"", path)
        .replace("kind = \"video\", schedule", "kind = \"cbr\", rate = \"OFFERED kbit/s\" }\n# schedule")
        .replace("classifier = \"spike\"", "classifier = \"standing\"")
        .replace("duration = \"25 s\"\nwarm_up = \"4 s\"", "duration = \"40 s\"\nwarm_up = \"10 s\"");
    let losses = |rate: u32| {
        let record = record(&text.replace("OFFERED", &rate.to_string()));
        number(record.table("flows").expect("flows"), "congestion_judged")
    };
    let rates = [1100, 1150, 1180, 1200, 1220, 1250, 1300];
    let mean = rates.map(losses).iter().sum::<f64>() / rates.len() as f64;
    assert!((50.0..85.0).contains(&mean), "{mean}");
}

#[test]
fn repair_costs_at_least_what_it_saves() {
    // 240 ms of round trip leave no time for repeats.
    for delay in ["20 ms", "120 ms"] {
        let text = text(LOSS, "repair = { latency = \"150 ms\" }\ndccp = { guard = false }")
            .replace("delay = \"20 ms\"", &format!("delay = \"{delay}\""))
            .replace("\"spike\"", "\"omniscient\"");
        let record = record(&text);
        let flows = record.table("flows").expect("flows");
        // Of 2100 datagrams in the measured time.
        let saved = number(flows, "repaired_datagrams") / 2100.0;
        let cost = number(flows, "repair_overhead");
        assert!(saved > 0.02 && cost > saved, "{delay}: {saved} saved at {cost}");
    }
}

/// Programs that compute from the packets, such as video quality, need to know what the viewer has got.
#[test]
fn the_table_of_packets_has_the_datagrams_that_repair_brought() {
    for text in [text(LOSS, "repair = { latency = \"150 ms\" }"), udp(LOSS, "wfb-ng", "150 ms")] {
        let record = record(&format!("{text}\n[record]\npackets = true\n"));
        let packets = record.table("packets").expect("packets");
        let (mut missing, mut brought) = (BTreeSet::new(), BTreeSet::new());
        for row in 0..packets.rows() {
            let tag = packets.number("tag", row).expect("a tag") as u64;
            match packets.text("fate", row).expect("a fate") {
                "wireless" => drop(missing.insert(tag)),
                "repaired" => {
                    assert!(brought.insert(tag), "{tag} twice");
                    assert!(packets.number("received_s", row).is_some_and(f64::is_finite));
                    assert!(packets.number("sent_s", row).is_none_or(f64::is_nan));
                }
                _ => {}
            }
        }
        // Of 3 % of some 2,500 datagrams nearly all.
        assert!(missing.len() > 40 && brought.is_subset(&missing), "{missing:?} {brought:?}");
        assert!(brought.len() * 10 > missing.len() * 8, "{} of {}", brought.len(), missing.len());
    }
}

#[test]
fn repair_is_above_encryption_and_follows_the_clock_of_its_end() {
    for details in ["encryption = \"dtls\"", "clock_drift_ppm = 500"] {
        let repair = format!("repair = {{ latency = \"150 ms\" }}\ndccp = {{ {details} }}");
        let record = record(&text(LOSS, &repair));
        let flows = record.table("flows").expect("flows");
        let share = number(flows, "frames_in_time") / number(flows, "frames");
        assert!(share > 0.98, "{details}: {share}");
        assert!((number(flows, "repaired_datagrams") - 75.0).abs() < 40.0, "{details}");
    }
}

/// Its short datagrams, which are the fastest, are seconds apart: delivery at a constant latency moves by a
/// part of a millisecond.
#[test]
fn whole_frames_are_in_time_whichever_datagram_was_the_fastest() {
    let clip = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/scenarios/clip.csv");
    for details in ["", "dccp = { encryption = \"dtls\" }"] {
        let text = text(LOSS, &format!("repair = {{ latency = \"150 ms\" }}\n{details}"));
        let record = record(&text.replace(&SCHEDULE.display().to_string(), clip));
        let flows = record.table("flows").expect("flows");
        let share = number(flows, "frames_in_time") / number(flows, "frames");
        assert!(share > 0.98, "{details}: {share}");
    }
}

/// The acknowledgements of the sender are lost with its data, and their causes are known as well.
#[test]
fn a_classifier_with_the_truth_counts_no_loss_of_a_radio() {
    let loss = "loss = { model = \"bernoulli\", rate = 0.08 }";
    let text = text(loss, "repair = { latency = \"150 ms\" }\ndccp = { guard = false }")
        .replace("classifier = \"spike\"", "classifier = \"omniscient\"");
    let record = record(&text);
    let flows = record.table("flows").expect("flows");
    assert!(number(flows, "lost_feedback") > 10.0);
    assert_eq!(number(flows, "loss_event_rate_mean"), 0.0);
    let share = number(flows, "frames_in_time") / number(flows, "frames");
    assert!(share > 0.98, "{share}");
}

/// Packets overtake each other by up to 60 ms. Repair orders them itself, so that being overtaken is no loss.
#[test]
fn reordering_is_no_loss_to_a_repaired_flow() {
    let reordered = "netem = { delay = \"30 ms\", jitter = \"30 ms\" }";
    let of = |keys: &str| {
        let repair = format!("repair = {{ latency = \"150 ms\", early = true }}\n{keys}");
        let record = record(&text(reordered, &repair));
        let flows = record.table("flows").expect("flows");
        ["loss_event_rate_mean", "frames_in_time", "frames"].map(|name| number(flows, name))
    };
    let [rate, in_time, frames] = of("");
    let [by_number, ..] = of("dccp = { loss_detection = \"ndupack\" }");
    assert!(in_time >= frames, "{in_time} of {frames}");
    assert!(rate < by_number / 4.0, "a loss event rate of {rate}, and {by_number} with losses by number");
}

#[test]
fn the_ends_of_a_repaired_flow_may_freeze() {
    let record = record(&text(LOSS, "repair = { latency = \"150 ms\" }\ndccp = { freeze = {} }"));
    let flows = record.table("flows").expect("flows");
    assert!(number(flows, "frames_in_time") > 0.98 * number(flows, "frames"));
}

#[test]
fn without_losses_repair_costs_its_headers_and_no_frame() {
    let record = record(&text("", "repair = { latency = \"150 ms\" }"));
    let flows = record.table("flows").expect("flows");
    assert_eq!(number(flows, "frames_in_time"), number(flows, "frames"));
    // 13 bytes of 900, and the parity that is sent before anything is known of the path.
    assert!(number(flows, "repair_overhead") < 0.03, "{}", number(flows, "repair_overhead"));
}

/// The rate falls below the rate of the video, and nothing is lost: overdue packets are late.
#[test]
fn where_the_rate_falls_nothing_is_repaired() {
    let dips = std::env::temp_dir().join(format!("whimbrel-dips-{}.csv", std::process::id()));
    std::fs::write(&dips, "time_s,rate_kbps\n0,3000\n3,150\n4,400\n5,3000\n8,500\n9,3000\n").expect("room");
    let link = format!(
        "queue = \"300 packets\"\nreverse = {{ rate = \"20 Mbit/s\" }}\ntrace = {{ file = '{}', format = \"rate\" }}",
        dips.display()
    );
    let over = |repair: &str| {
        let text = text(&link, repair).replace("rate = \"20 Mbit/s\"\n", "");
        let record = record(&text.replace("classifier = \"spike\"", "classifier = \"standing\""));
        record.table("flows").expect("flows").clone()
    };
    let without = over("repair = { latency = \"120 ms\", kind = \"none\" }");
    let with = over("repair = { latency = \"120 ms\" }");
    assert_eq!((number(&without, "lost_queue"), number(&with, "lost_queue")), (0.0, 0.0));
    let overhead = number(&with, "repair_overhead");
    assert!(overhead < 0.03, "{overhead}: headers alone are 0.017");
    let late = |flows: &Table| 1.0 - number(flows, "frames_in_time") / number(flows, "frames");
    assert!(late(&without) > 0.1, "the path is too good: {}", late(&without));
    assert!(late(&with) < late(&without) + 0.01, "{} {}", late(&with), late(&without));
}

#[test]
fn a_frame_with_a_short_datagram_is_whole() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("short.csv");
    std::fs::write(&file, "time_s,size_bytes,frame,type\n0,900,0,P\n0,7,0,P\n0.04,900,1,P\n")
        .expect("a file");
    for kind in ["whimbrel", "none"] {
        let text = text("", &format!("repair = {{ latency = \"150 ms\", kind = \"{kind}\" }}"));
        let record = record(&text.replace(&SCHEDULE.display().to_string(), &file.display().to_string()));
        let flows = record.table("flows").expect("flows");
        assert!(number(flows, "frames") > 400.0);
        assert_eq!(number(flows, "frames_in_time"), number(flows, "frames"), "{kind}");
    }
}

#[test]
fn a_run_with_repair_is_repeatable() {
    let text = text(LOSS, "repair = { latency = \"80 ms\", early = true }");
    let tables = || csv(record(&text).table("flows").expect("flows"));
    assert_eq!(tables(), tables());
}

#[test]
fn what_repair_does_not_do_is_refused() {
    for (loss, repair, expected) in [
        ("", "repair = { latency = \"150 ms\" }\ndccp = { reorder_delay = \"9 ms\" }", "dccp.reorder_delay"),
        ("", "repair = { latency = \"150 ms\", kind = \"srt\" }", "kind"),
        ("", "repair = { early = true }", "latency"),
    ] {
        let document = Document::from_toml(&text(loss, repair));
        let error = document.and_then(|document| document.plan().map(drop)).expect_err(repair).to_string();
        assert!(error.contains(expected), "{error}");
    }
    let bulk = text("", "repair = { latency = \"150 ms\" }");
    let start = bulk.find("traffic").expect("traffic");
    let end = start + bulk[start..].find('\n').expect("its end");
    let bulk = format!("{}traffic = \"bulk\"{}", &bulk[..start], &bulk[end..]);
    let error = Document::from_toml(&bulk).and_then(|document| document.plan().map(drop)).expect_err("bulk");
    assert!(error.to_string().contains("repair"), "{error}");
}

#[test]
fn each_model_saves_frames_at_its_cost() {
    // The share of frames in time, and the overhead with headers, at least and at most; of 3 % lost.
    for (kind, in_time, overhead) in [
        ("none", (0.82, 0.93), (0.0, 0.0)),
        ("srt", (0.99, 1.0), (0.04, 0.08)),
        ("rist", (0.99, 1.0), (0.04, 0.08)),
        ("nack", (0.99, 1.0), (0.04, 0.08)),
        ("hairpin", (0.99, 1.0), (0.04, 0.15)),
        ("tambur", (0.99, 1.0), (0.45, 0.56)),
        ("wfb-ng", (0.99, 1.0), (0.53, 0.56)),
        ("nack-fec", (0.99, 1.0), (0.26, 0.55)),
    ] {
        let record = record(&udp(LOSS, kind, "200 ms"));
        let flows = record.table("flows").expect("flows");
        let share = number(flows, "frames_in_time") / number(flows, "frames");
        assert!((in_time.0..=in_time.1).contains(&share), "{kind}: {share}");
        let found = number(flows, "repair_overhead");
        assert!((overhead.0..=overhead.1).contains(&found), "{kind}: {found}");
        assert_eq!(flows.text("scheme", 0), Some(if kind == "none" { "udp" } else { kind }));
        // 3 % of 2500 datagrams in the whole run.
        let (repaired, least) =
            (number(flows, "repaired_datagrams"), if kind == "none" { 0.0 } else { 45.0 });
        assert!((least..=least * 2.4).contains(&repaired), "{kind}: {repaired}");
    }
}

#[test]
fn models_are_repeatable_and_a_short_latency_leaves_them_no_round() {
    for kind in ["srt", "hairpin", "nack-fec"] {
        let tables = || csv(record(&udp(LOSS, kind, "100 ms")).table("flows").expect("flows"));
        assert_eq!(tables(), tables());
    }
    // With 40 ms of round-trip time, repeats come 40 ms after the gap is seen.
    let record = record(&udp(LOSS, "srt", "30 ms"));
    let flows = record.table("flows").expect("flows");
    assert!(number(flows, "frames_in_time") / number(flows, "frames") < 0.93);
}

#[test]
fn keys_of_other_transports_and_kinds_are_refused() {
    for (text, expected) in [
        (udp("", "whimbrel", "150 ms"), ["flow[0].repair.kind", "\"srt\""]),
        (
            text("", "repair = { latency = \"150 ms\", kind = \"rist\" }"),
            ["flow[0].repair.kind", "\"whimbrel\", \"external\", \"none\""],
        ),
        (
            udp("", "rist", "150 ms").replace("\"rist\"", "\"rist\", overhead = 0.25"),
            ["flow[0].repair.overhead", "srt"],
        ),
        (
            udp("", "srt", "150 ms").replace("\"srt\"", "\"srt\", overhead = 2.5"),
            ["flow[0].repair.overhead", "0.05 to 1"],
        ),
        (
            udp("", "rist", "150 ms").replace("\"rist\"", "\"rist\", early = true"),
            ["flow[0].repair.early", "whimbrel"],
        ),
        (
            udp("", "rist", "150 ms").replace("\"udp\"", "\"tcp\""),
            ["flow[0].repair", "\"dccp\" or \"udp\" or \"media\""],
        ),
        (media("gcc", "srt"), ["flow[0].repair.kind", "\"hairpin\" with this transport"]),
    ] {
        let document = Document::from_toml(&text);
        let error = document.and_then(|document| document.plan().map(drop)).expect_err(&text).to_string();
        assert!(expected.iter().all(|part| error.contains(part)), "{error}");
    }
}

/// A flow of an encoder whose rate a law sets.
fn media(law: &str, kind: &str) -> String {
    let start = "transport = \"media\"\ntraffic = \"bulk\"";
    let media =
        format!("media = {{ controller = \"{law}\", start_rate = \"2 Mbit/s\", max_rate = \"4 Mbit/s\" }}");
    let text = udp(LOSS, kind, "150 ms");
    let traffic = text.find("traffic").expect("traffic");
    let end = traffic + text[traffic..].find('\n').expect("its end");
    let text = format!("{}{media}{}", &text[..traffic], &text[end..]);
    text.replace("transport = \"udp\"", start)
}

#[test]
fn repair_of_media_is_paid_from_the_rate_of_the_law() {
    let run = |kind| {
        let record = record(&media("gcc", kind));
        let flows = record.table("flows").expect("flows");
        let of = |name: &str| number(flows, name);
        assert!((595.0..=601.0).contains(&of("frames")), "{kind}: {}", of("frames"));
        (of("frames_in_time") / of("frames"), of("repair_overhead"), of("goodput_bps"))
    };
    let (plain, none, rate) = run("none");
    assert!((0.6..0.85).contains(&plain) && none == 0.0, "{plain} {none}");
    let (asked, overhead, _) = run("nack");
    assert!(asked > 0.99 && (0.025..0.06).contains(&overhead), "{asked} {overhead}");
    // Parity takes its rate from the encoder.
    for kind in ["nack-fec", "tambur"] {
        let (coded, overhead, less) = run(kind);
        assert!(coded > 0.99 && (0.2..0.6).contains(&overhead), "{kind}: {coded} {overhead}");
        assert!(less * (1.0 + overhead) < rate * 1.05, "{kind}: {less} {rate} {overhead}");
    }
}

/// A path on which a call of WebRTC with the usual settings stood still for 17 to 29 of 50 s: no repeat
/// arrives in time, so that coded packets have to be paid from the allowed rate, and a loss that counts as
/// congestion takes it.
#[test]
fn the_picture_moves_on_a_path_that_is_longer_than_the_latency_and_loses_5_percent() {
    let clip = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/scenarios/clip.csv");
    let mut frozen = Vec::new();
    for loss in ["0.04", "0.05", "0.06"] {
        let loss = format!("loss = {{ model = \"bernoulli\", rate = {loss} }}");
        let text = text(&loss, "repair = { latency = \"150 ms\" }")
            .replace("delay = \"20 ms\"", "delay = \"120 ms\"")
            .replace("duration = \"25 s\"", "duration = \"51 s\"")
            .replace("warm_up = \"4 s\"", "warm_up = \"0 s\"")
            .replace("\"spike\"", "\"standing\"")
            .replace(&SCHEDULE.display().to_string(), clip);
        let plan = Document::from_toml(&text).expect("a scenario").plan().expect("a plan");
        frozen.extend((1..=6).map(|seed| {
            let record = run(&plan, seed);
            number(record.table("flows").expect("flows"), "frozen_s")
        }));
    }
    let mean = frozen.iter().sum::<f64>() / frozen.len() as f64;
    let many = frozen.iter().filter(|seconds| **seconds > 0.5).count();
    assert!(mean < 0.2 && many <= 1, "{frozen:?}");
}

/// Video of 1.3 Mbit/s on the same path, whole or as a relay divides it for an MTU of 1280 bytes: two packets
/// of a datagram, and datagrams of any size that pass undivided. One packet in 1,000 that counts leaves
/// 1.6 Mbit/s or less, and such a video with its repair needs 1.8.
#[test]
fn large_and_divided_datagrams_arrive_on_a_path_that_is_longer_than_the_latency() {
    let frames = |divided: bool| {
        let mut schedule = String::from("time_s,size_bytes,frame,type\n");
        for frame in 0..300 {
            let last = 100 + frame * 619 % 1_100;
            let sizes = match divided {
                true => [606; 8].to_vec(),
                false => [1_212; 4].to_vec(),
            };
            for size in sizes.into_iter().chain([last]) {
                schedule.push_str(&format!("{:.4},{size},{frame},P\n", f64::from(frame) / 30.0));
            }
        }
        schedule
    };
    for divided in [false, true] {
        let file = tempfile::Builder::new().suffix(".csv").tempfile().expect("a temporary file");
        std::fs::write(file.path(), frames(divided)).expect("a temporary file");
        let text = text("loss = { model = \"bernoulli\", rate = 0.05 }", "repair = { latency = \"150 ms\" }")
            .replace("rate = \"20 Mbit/s\"", "rate = \"4 Mbit/s\"\nqueue = \"50 packets\"")
            .replace("delay = \"20 ms\"", "delay = \"120 ms\"")
            .replace("\"spike\"", "\"standing\"")
            .replace(&SCHEDULE.display().to_string(), &file.path().display().to_string());
        let plan = Document::from_toml(&text).expect("a scenario").plan().expect("a plan");
        let frozen = [1, 2, 3].map(|seed| {
            let record = run(&plan, seed);
            number(record.table("flows").expect("flows"), "frozen_s")
        });
        assert!(frozen.iter().all(|seconds| *seconds < 0.3), "divided {divided}: {frozen:?}");
    }
}
