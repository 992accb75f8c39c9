//! Side by side with ns-3's LTE module (`libns3-dev`), where it is installed: `tests/ns3/lte.cc`.

extern crate std;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::string::{String, ToString};
use std::sync::OnceLock;
use std::vec::Vec;
use std::{eprintln, format, fs};

use super::{DOWN, NS3, shares_by};
use crate::amc::lte::{Direction, LteMcs};
use crate::amc::{Adaptation, McsTable, SelectionRule};
use crate::level::Decibels;
use crate::numerology::ResourceBlocks;
use crate::scheduler::Policy;

const MODULES: [&str; 9] = [
    "lte",
    "core",
    "network",
    "mobility",
    "spectrum",
    "propagation",
    "internet",
    "point-to-point",
    "applications",
];
/// Places at which ns-3's own test has terminals, in metres.
const PLACES: [f64; 5] = [0.0, 3_000.0, 6_000.0, 9_000.0, 15_000.0];

/// The program, built once, in a directory of its own, into which ns-3 writes files; `None` without ns-3.
pub(crate) fn program() -> Option<&'static Path> {
    static BUILT: OnceLock<Option<PathBuf>> = OnceLock::new();
    BUILT.get_or_init(build).as_deref()
}

fn build() -> Option<PathBuf> {
    if !Path::new("/usr/include/ns3/lte-module.h").exists() {
        assert!(std::env::var("REQUIRE_ALL").map_or(true, |value| value != "1"), "libns3-dev is missing");
        eprintln!("skipped: ns-3 is not installed (Debian: apt-get install libns3-dev)");
        return None;
    }
    let directory = std::env::current_exe().expect("this test").with_file_name("ns3-lte");
    fs::create_dir_all(&directory).expect("a directory");
    let path = directory.join("lte");
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/ns3/lte.cc");
    let libraries = MODULES.map(|module| format!("-lns3-{module}"));
    let built = Command::new("g++").args(["-std=c++17", source, "-o"]).arg(&path).args(libraries).output();
    let built = built.expect("g++ starts");
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
    Some(path)
}

/// The output of the program.
pub(crate) fn output(program: &Path, arguments: &[&str]) -> String {
    let mut command = Command::new(program);
    command.args(arguments).current_dir(program.parent().expect("a directory"));
    let output = command.output().expect("it runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("text")
}

/// Bytes per second of each terminal in ns-3.
fn theirs(program: &Path, scheduler: &str, metres: &[f64]) -> Vec<f64> {
    let places: Vec<String> = metres.iter().map(ToString::to_string).collect();
    let arguments: Vec<&str> =
        ["shares", scheduler].into_iter().chain(places.iter().map(String::as_str)).collect();
    let text = output(program, &arguments);
    let rates: Vec<f64> = text.lines().map(|line| line.parse().expect("a number")).collect();
    assert_eq!(rates.len(), metres.len(), "{text}");
    rates
}

/// The scheme at a distance: 30 dBm on 25 resource blocks of 2.12 GHz in free space, a noise figure of 9 dB.
fn scheme(metres: f64) -> u8 {
    let loss = 20.0 * libm::log10(4.0 * core::f64::consts::PI * metres.max(1.0) * 2.12e9 / 299_792_458.0);
    let noise = -174.0 + 10.0 * libm::log10(25.0 * 180e3) + 9.0;
    let table = LteMcs { direction: Direction::Down, table: McsTable::Qam64 };
    let adaptation = Adaptation::lte(SelectionRule::Ns3, table);
    let cqi = adaptation.cqi(Decibels(30.0 - loss - noise)).expect("in reach");
    adaptation.mcs(cqi).0
}

fn compare(program: &Path, metres: &[f64]) {
    let schemes: Vec<u8> = metres.iter().map(|metres| scheme(*metres)).collect();
    for (name, policy) in [("PfFfMacScheduler", NS3), ("RrFfMacScheduler", Policy::RoundRobin { least: 1 })] {
        // ns-3 compares users by a group of two.
        let ours = shares_by(policy, DOWN, Direction::Down, &schemes, ResourceBlocks(2));
        for (ours, theirs) in ours.iter().zip(theirs(program, name, metres)) {
            assert!((ours / theirs - 1.0).abs() < 0.01, "{name} {metres:?}: {ours}, ns-3 {theirs}");
        }
    }
}

#[test]
fn ns3_gives_equal_terminals_the_same_shares() {
    let Some(program) = program() else { return };
    for count in [1, 3, 6, 12] {
        compare(program, &std::vec![0.0; count]);
    }
}

#[test]
fn ns3_has_the_same_rates_over_distance_alone_and_together() {
    let Some(program) = program() else { return };
    for metres in PLACES {
        compare(program, &[metres]);
    }
    compare(program, &PLACES);
}
