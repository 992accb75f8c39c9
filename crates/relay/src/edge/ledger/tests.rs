//! Accounts of single connections. The carriage's tests check the accounts of both ends in a campaign.

use super::*;

#[test]
fn reasons_have_names_of_their_own_in_every_output() {
    let names: std::collections::BTreeSet<_> = Reason::ALL.iter().map(|reason| reason.name()).collect();
    assert_eq!(names.len(), REASONS);
    let mut losses = Losses::default();
    (1..).zip(Reason::ALL).for_each(|(n, reason)| losses[*reason] = n);
    let json = serde_json::to_value(losses).expect("numbers");
    for (reason, count) in losses.all() {
        assert_eq!(json[reason.name()], count);
    }
    assert_eq!(losses.sum(), (1..=REASONS as u64).sum::<u64>());
}

#[test]
fn an_end_without_reports_leaves_what_congestion_control_has_noticed() {
    let ledger = Ledger::default();
    for _ in 0..10 {
        ledger.on_sent();
        ledger.on_handed();
    }
    ledger.observe(Observed { withdrawn: 1, lost_of_own: 3, lost_of_peer: 2, ..Observed::default() });
    (0..5).for_each(|_| ledger.on_arrived());
    let sums = ledger.sums();
    let [stale, path] = [Reason::Stale, Reason::Path].map(|reason| sums.to_peer.lost[reason]);
    assert_eq!((sums.to_peer.delivered, stale, path, sums.to_peer.under_way()), (6, 1, 3, 0));
    assert_eq!((sums.from_peer.sent, sums.from_peer.delivered), (7, 5));
    assert!(!ledger.has_reports());
}

#[test]
fn a_report_of_more_than_was_sent_is_none() {
    let ledger = Ledger::default();
    (0..3).for_each(|_| ledger.on_handed());
    let mut lost = Losses::default();
    lost[Reason::Refused] = 9;
    for report in [
        Report { of_sent: 4, arrived: 4, ..Report::default() },
        Report { of_sent: 3, arrived: 3, lost, ..Report::default() },
    ] {
        ledger.on_report(report, 0);
        assert!(!ledger.has_reports());
    }
    // A number that cannot be counted is shown, and nothing overflows.
    for _ in 0..300 {
        ledger.on_report(Report { sent: u64::MAX >> 8, of_sent: 0, ..Report::default() }, 0);
        ledger.end_connection(0);
    }
    assert!(ledger.sums().from_peer.sent > 1 << 60);
}

/// A late refusal belongs to the connection before, if more is refused than has arrived in this one.
#[test]
fn a_late_refusal_is_counted_where_the_datagram_was() {
    let ledger = Ledger::default();
    (0..3).for_each(|_| ledger.on_arrived());
    ledger.end_connection(0);
    ledger.on_arrived();
    ledger.lose_arrived(0, Reason::Refused, 2);
    let from_peer = ledger.sums().from_peer;
    assert_eq!((from_peer.sent, from_peer.delivered, from_peer.lost[Reason::Refused]), (4, 2, 2));
    // More than there ever were are none.
    ledger.lose_arrived(0, Reason::Refused, 9);
    let from_peer = ledger.sums().from_peer;
    assert_eq!((from_peer.sent, from_peer.delivered, from_peer.lost[Reason::Refused]), (4, 0, 4));
}

/// Datagrams dropped for a narrower path are not lost on it, at either end.
#[test]
fn datagrams_that_became_too_large_are_told_from_those_that_the_path_lost() {
    let ledger = Ledger::default();
    (0..10).for_each(|_| ledger.on_sent());
    (0..10).for_each(|_| ledger.on_handed());
    ledger.observe(Observed { narrowed: 2, lost_of_own: 1, ..Observed::default() });
    let to_peer = ledger.sums().to_peer;
    let lost = |it: &Account| [Reason::TooLarge, Reason::Path].map(|reason| it.lost[reason]);
    assert_eq!((to_peer.delivered, lost(&to_peer)), (7, [2, 1]));
    ledger.on_report(Report { of_sent: 10, arrived: 5, ..Report::default() }, 0);
    let to_peer = ledger.sums().to_peer;
    assert_eq!((to_peer.delivered, lost(&to_peer)), (5, [2, 3]));
    let other = Ledger::default();
    (0..5).for_each(|_| other.on_arrived());
    other.on_report(Report { sent: 10, narrowed: 2, ..Report::default() }, 0);
    let from_peer = other.sums().from_peer;
    assert_eq!((from_peer.delivered, lost(&from_peer)), (5, [2, 3]));
}
