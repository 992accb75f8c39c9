//! The part of the campaign that every build runs, and the reproducibility of failures.

use whimbrel_faults::multipath::JoinPhase;
use whimbrel_faults::{Campaign, Kind, run_multipath_trial, run_repair_trial, run_trial};

/// More than `make test` runs are for `make faults`.
const TRIALS: u64 = 400;

#[test]
fn no_trial_breaks_a_law() {
    let summary =
        Campaign { first: 1_000_000, trials: TRIALS, jobs: 2, kind: Kind::Endpoints }.run(|_, _| {});
    assert_eq!(summary.broken, []);
    // The trials have coverage: connections were established, by every CCID, and ended for many reasons.
    let tally = &summary.tally;
    let connected = tally.counts().filter(|(what, _)| what.contains("connected")).map(|(_, times)| times);
    assert!(connected.sum::<u64>() > TRIALS);
    let ends = tally.counts().filter(|(what, _)| what.contains("ended")).count();
    assert!(ends >= 20, "only {ends} ways to end");
    assert!(tally.times("path: sizes found out") >= 3, "{}", tally.times("path: sizes found out"));
    // Ends froze each other, and unfroze for every cause.
    for what in ["frozen", "unfrozen: Local"] {
        assert!(tally.times(what) > TRIALS / 4, "{what}: {}", tally.times(what));
    }
    for what in ["frozen by the other end", "unfrozen: Peer", "unfrozen: Limit"] {
        assert!(tally.times(what) > 0, "{what}");
    }
    // Clients moved, servers followed, and the final addresses were right.
    assert!(tally.times("path: a server followed its client") > TRIALS / 8);
    assert!(tally.times("path: the server has followed") >= 3);
    // The heap was watched, and its bound is near enough to mean something.
    assert!(tally.greatest("bytes of an endpoint on the heap") > 50_000);
    assert!(tally.greatest("percent of the bytes that an endpoint may take") >= 80);
    // Rates recovered where paths did.
    assert!(tally.times("rate: came back") > TRIALS / 40, "{}", tally.times("rate: came back"));
    let often = [
        "datagrams sent, and arrived",
        "datagrams sent, and lost",
        "datagrams discarded, and so reported",
        "path: forged",
        "path: too large",
        "sent: SyncAck",
    ];
    for what in often {
        assert!(tally.times(what) > TRIALS / 4, "{what}: {}", tally.times(what));
    }
}

#[test]
fn a_trial_is_reproduced_byte_for_byte() {
    for seed in [3, 77, 1234, 987_654_321] {
        let (once, again) = (run_trial(seed, true), run_trial(seed, true));
        assert!(once.capture.as_ref().is_some_and(|capture| capture.len() > 500), "seed {seed}");
        assert!(once == again, "seed {seed} differs from itself");
        // Recording does not change the packets.
        assert_eq!(run_trial(seed, false).digest, once.digest);
    }
    assert_ne!(run_trial(1, false).digest, run_trial(2, false).digest);
}

#[test]
fn no_multipath_trial_breaks_a_law() {
    let summary = Campaign { first: 1_000_000, trials: 300, jobs: 2, kind: Kind::Multipath }.run(|_, _| {});
    assert_eq!(summary.broken, []);
    let tally = &summary.tally;
    println!("{tally}");
    // Paths died at each packet of the handshake by which they join, and were used again.
    for phase in JoinPhase::ALL {
        let what = format!("a path died at its {}", phase.name());
        assert!(tally.times(&what) >= 10, "{what}: {}", tally.times(&what));
    }
    for what in [
        "healed",
        "subflows joined",
        "paths failed",
        "paths recovered",
        "path: forged",
        "path: bits flipped",
        "commands",
        "datagrams on clean paths",
    ] {
        assert!(tally.times(what) >= 20, "{what}: {}", tally.times(what));
    }
    assert!(tally.times("connected") > 250);
}

#[test]
fn a_multipath_trial_is_reproduced_byte_for_byte() {
    for seed in [3, 77] {
        let (once, again) = (run_multipath_trial(seed, true), run_multipath_trial(seed, true));
        assert!(once == again, "seed {seed} differs from itself");
        // An interface for each host, path and direction.
        let capture = once.capture.expect("a capture");
        for name in ["client path 0 out", "client path 1 in", "server path 0 in", "server path 1 out"] {
            assert!(capture.windows(name.len()).any(|bytes| bytes == name.as_bytes()), "no interface {name}");
        }
        assert!(capture.len() > 10_000, "{} bytes", capture.len());
        assert!(once.log.is_some_and(|log| log.contains("on path 1") && log.contains("closes")));
        // Recording does not change the packets.
        assert_eq!(run_multipath_trial(seed, false).digest, once.digest);
    }
}

#[test]
fn no_trial_of_repair_breaks_a_law() {
    let summary = Campaign { first: 1_000_000, trials: 150, jobs: 2, kind: Kind::Repair }.run(|_, _| {});
    assert_eq!(summary.broken, []);
    let tally = &summary.tally;
    println!("{tally}");
    for (what, least) in [
        ("connected", 150),
        ("datagrams delivered", 20_000),
        ("datagrams repeated", 500),
        ("datagrams repaired", 500),
        ("coded packets", 500),
        ("datagrams late", 10),
        ("datagrams dropped by their sender", 100),
        ("datagrams refused", 100),
        ("new starts asked for", 10),
        ("frames that no answer could reach", 100),
        ("path: cut off", 20),
        ("path: forged", 20),
    ] {
        assert!(tally.times(what) >= least, "{what}: {}", tally.times(what));
    }
}

#[test]
fn a_trial_of_repair_is_reproduced_byte_for_byte() {
    let (once, again) = (run_repair_trial(3, true), run_repair_trial(3, true));
    assert!(once == again && once.log.is_some_and(|log| log.len() > 1_000));
    assert_eq!(run_repair_trial(3, false).digest, once.digest);
}
