//! All tests of the crate in one program: a program for each file would take minutes to link.

mod arrival_times;
mod dead_peers;
mod differentiation;
mod examples;
mod face;
mod freezing;
mod idle;
mod life;
mod link_monitor;
mod loopback;
mod memory;
mod mobility;
mod moving_handshake;
mod multipath;
mod multipath_listener;
mod multipath_routes;
mod multipath_streams;
mod native;
#[cfg(target_os = "linux")]
#[path = "support/own_network.rs"]
mod own_network;
mod packet_size;
mod path_mtu;
mod polled;
mod repair;
mod security;
mod streams;
mod timed_receiver;
