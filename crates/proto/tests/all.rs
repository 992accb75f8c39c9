//! All tests of the crate in one program: a program for each file would take minutes to link.

mod attackers;
mod ccid2;
#[path = "support/duo.rs"]
mod duo;
mod linux_captures;
mod linux_defects;
mod liveness;
mod lying_receiver;
#[path = "support/stream.rs"]
mod stream;
