//! The fuzz targets: functions of any bytes that panic if the code under test is wrong.
//!
//! `make fuzz` runs each under libFuzzer, guided by coverage, by a wrapper of one line (`fuzz/fuzz_targets`). That needs a
//! nightly compiler. `make test` needs none: it runs each target over its corpus and over mutations of that.

pub mod capture;
pub mod connection;
pub mod init_cookie;
pub mod mobility;
pub mod negotiation;
pub mod options;
pub mod packet;
pub mod udp_encapsulation;

/// A fuzz target.
pub type Target = fn(&[u8]);

/// All targets by name. Each has a wrapper and a corpus of that name below `fuzz`.
pub const TARGETS: [(&str, Target); 8] = [
    ("capture", capture::check),
    ("connection", connection::check),
    ("init_cookie", init_cookie::check),
    ("mobility", mobility::check),
    ("negotiation", negotiation::check),
    ("options", options::check),
    ("packet", packet::check),
    ("udp_encapsulation", udp_encapsulation::check),
];
