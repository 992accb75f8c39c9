//! All tests of the crate in one program: a program for each file would take minutes to link.

mod capacity;
mod carry_recipe;
mod classify;
mod completion;
mod emulate;
mod emulate_cell;
mod emulate_interfaces;
#[path = "support/ends.rs"]
mod ends;
mod fit;
#[path = "support/hostile_path.rs"]
mod hostile_path;
mod inspect;
mod inspect_wireless;
mod live_page;
mod live_page_browser;
mod live_page_video;
mod local_sockets;
#[cfg(target_os = "linux")]
#[path = "../../net/tests/support/own_network.rs"]
mod own_network;
mod perf;
mod perf_attackers;
mod perf_extent;
mod perf_handover;
mod perf_receiving;
mod perf_repair;
mod perf_security;
mod pipe;
mod playground;
#[path = "support/processes.rs"]
mod processes;
mod qlog;
mod record;
mod relay;
mod relay_attackers;
mod relay_feedback;
mod relay_idle;
mod relay_ledger;
mod relay_paths;
mod relay_players;
mod relay_repair;
mod relay_streams;
mod relay_survival;
#[path = "support/relays.rs"]
mod relays;
mod run;
mod schedule;
#[path = "support/spans.rs"]
mod spans;
#[path = "support/relay.rs"]
mod support_relay;
