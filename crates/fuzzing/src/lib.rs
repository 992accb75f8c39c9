//! The fuzz targets: functions of any bytes that panic if the code under test is wrong.
//!
//! `make fuzz` runs each under libFuzzer, guided by coverage, by a wrapper of one line
//! (`fuzz/fuzz_targets`). That needs a nightly compiler. `make test` needs none: it runs each target over its
//! corpus and over mutations of that.

pub mod air;
pub mod aodv;
pub mod capture;
pub mod congestion_feedback;
pub mod connection;
pub mod dsdv;
pub mod dtls;
pub mod emulated_packet;
pub mod init_cookie;
pub mod mobility;
pub mod multipath;
pub mod negotiation;
pub mod options;
pub mod packet;
pub mod positions;
pub mod repair;
mod routing;
pub mod rtp;
pub mod setdest;
pub mod udp_encapsulation;
pub mod wifi_frame;

/// A fuzz target.
pub type Target = fn(&[u8]);

/// All targets by name. Each has a wrapper and a corpus of that name below `fuzz`.
pub const TARGETS: &[(&str, Target)] = &[
    ("air", air::check),
    ("aodv", aodv::check),
    ("capture", capture::check),
    ("congestion_feedback", congestion_feedback::check),
    ("connection", connection::check),
    ("dsdv", dsdv::check),
    ("dtls", dtls::check),
    ("emulated_packet", emulated_packet::check),
    ("init_cookie", init_cookie::check),
    ("mobility", mobility::check),
    ("multipath", multipath::check),
    ("negotiation", negotiation::check),
    ("options", options::check),
    ("packet", packet::check),
    ("positions", positions::check),
    ("repair", repair::check),
    ("rtp", rtp::check),
    ("setdest", setdest::check),
    ("udp_encapsulation", udp_encapsulation::check),
    ("wifi_frame", wifi_frame::check),
];
