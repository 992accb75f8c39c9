//! All tests of the crate in one program: a program for each file would take minutes to link.

// Before those that use its macros.
#[macro_use]
#[path = "support/topologies.rs"]
mod topologies;

mod account;
mod ad_hoc;
mod bbr;
mod capacity_accuracy;
mod capacity_inference;
mod captures;
mod captures_ax;
mod cases;
mod cells;
mod classifiers;
mod conservation;
mod dccp;
mod delay_aware;
mod delay_variation;
mod determinism;
mod disciplines;
#[cfg(feature = "dtls")]
mod dtls;
mod explicit;
mod explicit_rate;
mod explicit_rate_completion;
mod explicit_rate_figures;
mod explicit_rate_paths;
mod freezing;
mod groups;
mod handovers;
mod l4s;
mod law_ccids;
mod laws;
mod link_rate;
mod linux_tcp;
mod load_dependent;
#[path = "support/manet.rs"]
mod manet;
mod mp_dccp;
mod netem;
mod ns2;
mod ns2_chain;
mod ns2_manet;
mod ns2_xcp;
mod own_transport;
mod probe_frames;
#[path = "support/rates.rs"]
mod rates;
mod recorded_losses;
mod reordering;
mod repair;
mod replay;
mod rfc8867;
mod rfc8869;
mod roaming_ax;
mod routes;
mod scenarios;
#[path = "support/simulation.rs"]
mod simulation;
mod small_packets;
mod window_laws;
