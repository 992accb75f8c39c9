//! A network namespace for each test that needs one.

use std::process::{Command, Stdio};

use nix::sched::{CloneFlags, unshare};

/// Runs a system program in this thread's network; returns `true` if it succeeded.
pub(crate) fn run(line: &str) -> bool {
    let mut words = line.split_whitespace();
    let program = words.next().expect("a program");
    Command::new(program)
        .args(words)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success())
}

/// Gives this thread a network of its own, or prints the reason and returns `false`. If everything is
/// required and the privilege is there, a failure fails the test.
pub(crate) fn own_network() -> bool {
    let made = unshare(CloneFlags::CLONE_NEWNET);
    let ready = made.is_ok() && run("ip link set lo up");
    if !ready {
        let required = std::env::var("REQUIRE_ALL").is_ok_and(|value| value == "1");
        let is_root = rustix::process::geteuid().is_root();
        assert!(!(required && is_root), "no network of its own: {made:?}, or no ip program");
        eprintln!("skipped: needs root, network namespaces and the ip program ({made:?})");
    }
    ready
}

/// Runs a test on a runtime of this thread's, in a network of its own.
#[allow(dead_code, reason = "not every test has its runtime here")]
pub(crate) fn in_own_network(test: impl Future<Output = ()>) {
    if own_network() {
        tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime").block_on(test);
    }
}
