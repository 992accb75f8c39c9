//! Two multipath endpoints with several scripted paths between them.

mod closing;
mod failures;
mod handshake;
mod joins;
mod laws;
mod schedulers;
mod signals;
mod vectors;
mod world;
