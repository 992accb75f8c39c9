//! Pipelines with the elements, on the loopback interface.

#[path = "all/control.rs"]
mod control;
#[path = "all/documents.rs"]
mod documents;
#[path = "../../crates/cli/tests/support/hostile_path.rs"]
#[allow(dead_code, reason = "the tests of other crates use more of it")]
mod hostile_path;
#[path = "all/interop.rs"]
mod interop;
#[path = "all/lifetime.rs"]
mod lifetime;
#[path = "all/streams.rs"]
mod streams;
#[path = "all/support.rs"]
mod support;
