//! All tests of the crate in one program: a program for each file would take minutes to link.

mod bursts;
mod hostile_path;
mod soak;
#[path = "support/world.rs"]
mod world;
