//! Every scenario among the examples runs and gives the recorded results.
//!
//! `tests/golden/NAME.txt` holds the totals of a short run and a digest of each of its tables: a change of
//! results shows up as a change of a file. With `WHIMBREL_BLESS=1` the files are written anew; give the
//! reason in the changelog under "Changed results".

use std::fmt::Write as _;
use std::{env, fs};

use whimbrel_lab::record::{Column, Record, Table};
use whimbrel_lab::run;

use crate::simulation::{example, in_repository};

/// FNV-1a, 64 bits.
fn digest(text: &str) -> u64 {
    text.bytes()
        .fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3))
}

/// The values of a table by row, independently of the formats in which it is written.
fn values(table: &Table) -> String {
    let mut text = String::new();
    let names: Vec<&str> = table.columns().iter().map(|(name, _)| *name).collect();
    let _ = writeln!(text, "{}", names.join(","));
    for row in 0..table.rows() {
        let cells = table.columns().iter().map(|(_, column)| match column {
            Column::Float(values) if values[row].is_nan() => String::new(),
            Column::Float(values) => values[row].to_string(),
            Column::Integer(values) => values[row].to_string(),
            Column::Text(words) => words.categories()[words.codes()[row] as usize].clone(),
        });
        let _ = writeln!(text, "{}", cells.collect::<Vec<_>>().join(","));
    }
    text
}

/// The totals, for readers of a diff, and the digests.
fn summary(record: &Record) -> String {
    let mut text = String::new();
    let flows = record.table("flows").expect("every run has flows");
    for row in 0..flows.rows() {
        let number = |name: &str| flows.number(name, row).expect("a column of numbers");
        let _ = writeln!(
            text,
            "{}: sent {} received {} lost {} + {} goodput {:.0} bit/s rtt {:.6} s",
            flows.text("flow", row).unwrap_or_default(),
            number("sent_packets"),
            number("received_packets"),
            number("lost_queue"),
            number("lost_wireless"),
            number("goodput_bps"),
            number("rtt_mean_s"),
        );
    }
    for table in record.tables() {
        let _ = writeln!(text, "{}: {} rows, {:016x}", table.name(), table.rows(), digest(&values(table)));
    }
    text
}

/// Runs an example for a short time and compares.
fn check(name: &str, changes: &[(&str, &str)]) {
    let mut document = example(&format!("scenarios/{name}.toml"), changes);
    document.set("record", "{ interval = \"1 s\", packets = true, losses = true }").unwrap();
    let plan = document.plan().unwrap_or_else(|error| panic!("{error}"));
    let found = summary(&run(&plan, 1));
    let file = in_repository(&format!("tests/golden/{name}.txt"));
    if env::var_os("WHIMBREL_BLESS").is_some_and(|value| !value.is_empty()) {
        fs::write(&file, &found).unwrap();
        return;
    }
    let golden = fs::read_to_string(&file).unwrap_or_default();
    assert_eq!(found, golden, "the results of {name} changed; see the top of this test");
}

#[test]
fn the_wireless_backbone() {
    check("wb", &[("simulation.duration", "60 s")]);
}

#[test]
fn the_wireless_backbone_that_delivers_what_it_damages() {
    check("wb_explicit", &[("simulation.duration", "60 s")]);
}

#[test]
fn the_wireless_last_hop() {
    check("wlh", &[("simulation.duration", "60 s")]);
}

#[test]
fn the_dumbbell_of_tcp_and_tfrc() {
    check("dumbbell", &[("simulation.duration", "4 s"), ("simulation.warm_up", "1 s")]);
}

#[test]
fn the_dumbbell_of_tcp() {
    check("tcp_dumbbell", &[("simulation.duration", "4 s"), ("simulation.warm_up", "1 s")]);
}

#[test]
fn the_video() {
    check("video_wb", &[]);
}

#[test]
fn the_call() {
    check("call", &[]);
}

#[test]
fn the_encrypted_stream() {
    check("encrypted", &[("simulation.duration", "20 s")]);
}

#[test]
fn the_repaired_video() {
    check("repaired", &[("simulation.duration", "15 s")]);
}

#[test]
fn the_comparison_over_a_trace_of_losses() {
    check("compare", &[("simulation.duration", "40 s")]);
}

#[test]
fn the_comparison_over_a_trace_of_rates() {
    check("compare_rate", &[("simulation.duration", "40 s")]);
}

#[test]
fn the_call_over_a_radio() {
    check("radio", &[]);
}

#[test]
fn the_mobile_network() {
    check("lte", &[("simulation.duration", "20 s")]);
}

#[test]
fn the_drive_through_three_cells() {
    check("drive", &[]);
}

#[test]
fn the_walk_from_a_home_through_cells_into_a_cafe() {
    check("commute", &[]);
}

#[test]
fn a_profile_beside_a_cell() {
    check("profiles", &[]);
}

#[test]
fn the_contended_cell() {
    check("wifi_cell", &[("simulation.duration", "5 s")]);
}

#[test]
fn a_home_on_802_11ax() {
    check("home_ax", &[("simulation.duration", "2 s"), ("simulation.warm_up", "500 ms")]);
}

#[test]
fn the_mesh() {
    check("mesh", &[("simulation.duration", "15 s")]);
}

#[test]
fn vehicles_on_a_road() {
    check("vehicles", &[]);
}

#[test]
fn the_hand_off() {
    check("handoff", &[("flow.download.start", "20 s"), ("flow.download.stop", "40 s")]);
}

#[test]
fn tablets_that_lose_at_the_source() {
    check("confront", &[("simulation.duration", "25 s")]);
}

#[test]
fn the_video_whose_encoder_follows_gcc() {
    check("media", &[("simulation.duration", "30 s")]);
}

#[test]
fn the_video_under_scream_beside_a_download_with_prague() {
    check("scream_beside_prague", &[("simulation.duration", "4 s"), ("simulation.warm_up", "1 s")]);
}

#[test]
fn the_ad_hoc_network() {
    check("adhoc", &[("simulation.duration", "30 s")]);
}

#[test]
fn every_example_is_among_these_tests() {
    let source = include_str!("scenarios.rs");
    for entry in fs::read_dir(in_repository("examples/scenarios")).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|extension| extension == "toml") {
            let name = path.file_stem().unwrap().to_str().unwrap();
            assert!(source.contains(&format!("check(\"{name}\"")), "{name}.toml is not tested");
        }
    }
}

#[test]
fn xcp_at_a_bottleneck() {
    check("explicit_rate", &[("simulation.duration", "22 s")]);
}

#[test]
fn the_walk_with_two_radios() {
    check("two_radios", &[]);
}

#[test]
fn the_encrypted_walk_with_two_radios() {
    check("encrypted_radios", &[]);
}
