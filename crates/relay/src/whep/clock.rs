//! The clock of sessions of WebRTC.
#![allow(clippy::disallowed_types, reason = "str0m takes the system's instants")]

pub(super) use std::time::{Duration, Instant};

/// The time now.
pub(super) fn now() -> Instant {
    tokio::time::Instant::now().into_std()
}

/// Sleeps until then.
pub(super) async fn sleep_until(due: Instant) {
    tokio::time::sleep_until(due.into()).await;
}
