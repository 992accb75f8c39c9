//! Two multipath endpoints with several scripted paths between them.

mod answering;
mod captures;
mod closing;
mod dialects;
mod failures;
mod handshake;
mod joins;
mod laws;
mod limits;
mod listening;
mod repaired;
mod schedulers;
mod signals;
mod vectors;
mod world;
