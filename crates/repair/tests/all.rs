//! All tests of the crate in one program: a program for each file would take minutes to link.

mod bounds;
mod hostile;
mod irregular;
mod mixes;
mod no_allocation;
mod no_allocation_ends;
mod queue;
#[path = "support/simulation.rs"]
mod simulation;
#[path = "support/table.rs"]
mod table;
