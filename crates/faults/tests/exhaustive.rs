//! All combinations of up to three packet faults while a connection opens, negotiates and closes.
//!
//! The protocol's own code is the model: two endpoints, and a network that at each step delivers the
//! oldest packet or, at the price of a fault, loses it, delivers it twice, lets the next overtake it, or
//! holds it until a timer fires. A run is the list of these choices; all lists are tried, depth first,
//! each by running the connection from its start. At the end of each everything must be over: both ends
//! have closed as their applications requested, and nothing waits at either.

use crate::world;

use whimbrel_proto::{Ccid, Config, ConnectionError};
use whimbrel_units::Duration;
use whimbrel_wire::ResetCode;
use world::{Closer, Outcome, Scenario, run};

/// The number of runs, and of those in which the connection failed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
struct Count {
    runs: usize,
    failed: usize,
}

/// All runs of a scenario with at most `faults` faults. Panics with the choices that repeat the first one
/// that breaks a law.
fn explore(scenario: &Scenario, faults: usize) -> Count {
    let mut choices: Vec<u8> = Vec::new();
    let mut count = Count::default();
    loop {
        let outcome = run(scenario, faults, &choices);
        count.runs += 1;
        count.failed += usize::from(check_outcome(scenario, &outcome));
        // The next list: the last choice with an alternative left takes it.
        let Some(last) = outcome.steps.iter().rposition(|step| step.taken + 1 < step.alternatives) else {
            return count;
        };
        choices = outcome.steps[..last].iter().map(|step| step.taken).collect();
        choices.push(outcome.steps[last].taken + 1);
    }
}

/// `true` if the connection failed in a way that the rules allow.
fn check_outcome(scenario: &Scenario, outcome: &Outcome) -> bool {
    let taken: Vec<u8> = outcome.steps.iter().map(|step| step.taken).collect();
    let context = || format!("{scenario:?}\nchoices {taken:?}\n{}", outcome.log.join("\n"));
    assert!(!outcome.is_endless, "it does not end\n{}", context());
    assert_eq!(outcome.left_over, 0, "something is left at an end\n{}", context());
    assert!(outcome.disagreement.is_none(), "{:?}\n{}", outcome.disagreement, context());
    let mut failed = false;
    for (end, errors) in ["client", "server"].into_iter().zip(&outcome.ends) {
        // A server may have had another connection, from a copy of the Request that arrived after the end.
        assert!(!errors.is_empty(), "the {end}'s connection never ended\n{}", context());
        let is_clean = matches!(errors[0], ConnectionError::ClosedLocally | ConnectionError::ClosedByPeer);
        assert!(is_clean || is_late_request(errors[0]), "the {end}'s: {}\n{}", errors[0], context());
        failed |= !is_clean;
    }
    let has_time = scenario.pause > Duration::ZERO;
    assert!(failed || !has_time || outcome.agreements > 0, "the ends never agreed\n{}", context());
    assert!(outcome.delivered <= 1, "the datagram arrived {} times\n{}", outcome.delivered, context());
    failed
}

/// RFC 4340 aborts a handshake in which a Request arrives after one that was sent later: it is
/// sequence-invalid and answered with a Sync (Section 7.5.4), to which a client in REQUEST answers Packet
/// Error (Section 8.3.1). A client that detects the end only by the server's answer to its next Request
/// receives "No Connection".
fn is_late_request(error: ConnectionError) -> bool {
    use ResetCode::{NoConnection, PacketError};
    matches!(error, ConnectionError::Reset(reset) if matches!(reset.code, PacketError | NoConnection))
}

/// With one fault nothing fails; with three, just the one run in which the first Request is held until
/// the second has overtaken it, and the Response to that one is lost. The search is exhaustive, so the
/// number is exact.
fn check(scenario: &Scenario) {
    assert_eq!(explore(scenario, 1).failed, 0);
    let Count { runs, failed } = explore(scenario, 3);
    assert!(runs > 1_000, "{runs}");
    assert_eq!(failed, 1, "of {runs}");
}

fn scenario(closer: Closer) -> Scenario {
    Scenario {
        closer,
        client: Config::default(),
        server: Config::default(),
        pause: Duration::ZERO,
        send: false,
    }
}

/// CCIDs in order of preference.
fn preferring(ccids: &[u8]) -> Config {
    let ccids: Vec<Ccid> = ccids.iter().map(|ccid| Ccid(*ccid)).collect();
    Config::default().sender_ccids(ccids.as_slice()).receiver_ccids(ccids.as_slice())
}

#[test]
fn a_client_may_close_with_any_faults() {
    check(&scenario(Closer::Client));
}

#[test]
fn a_server_may_send_close_req_with_any_faults() {
    check(&scenario(Closer::Server));
}

#[test]
fn a_server_may_keep_timewait_with_any_faults() {
    let mut scenario = scenario(Closer::Server);
    scenario.server.server_sends_close_request = false;
    check(&scenario);
}

#[test]
fn both_may_close_at_once_with_any_faults() {
    check(&scenario(Closer::Both));
}

#[test]
fn ends_that_prefer_other_ccids_agree_with_any_faults() {
    let scenario =
        Scenario { client: preferring(&[2, 3, 4]), server: preferring(&[4, 2]), ..scenario(Closer::Client) };
    // Long enough for three repetitions of a Change, each twice as late as the one before.
    let scenario = Scenario { pause: Duration::from_secs(20), ..scenario };
    check(&scenario);
}

#[test]
fn a_datagram_arrives_once_at_most_with_any_faults() {
    let scenario = Scenario { send: true, ..scenario(Closer::Client) };
    check(&scenario);
}
