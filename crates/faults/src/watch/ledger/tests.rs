use super::*;

/// A ledger with one datagram from the client's port 7.
fn sent() -> (Ledger, Payload) {
    let mut ledger = Ledger::default();
    let payload = ledger.payload(100);
    ledger.taken(Side::Client, 7, 100);
    (ledger, payload)
}

/// An old Request may make a new connection while its client closes and the server has removed the first.
#[test]
fn a_connection_made_anew_by_an_old_request_may_get_old_copies() {
    let (mut ledger, payload) = sent();
    for connection in [1, 2] {
        ledger.delivered(Side::Server, (7, connection), &payload, 0, &mut Tally::default());
    }
}

#[test]
#[should_panic(expected = "a datagram was delivered twice")]
fn one_connection_gets_a_datagram_once() {
    let (mut ledger, payload) = sent();
    for connection in [1, 1] {
        ledger.delivered(Side::Server, (7, connection), &payload, 0, &mut Tally::default());
    }
}

#[test]
#[should_panic(expected = "a datagram was delivered twice")]
fn an_older_connection_does_not_get_what_a_newer_one_got() {
    let (mut ledger, payload) = sent();
    for connection in [2, 1] {
        ledger.delivered(Side::Server, (7, connection), &payload, 0, &mut Tally::default());
    }
}

/// Only a client that moves can return to the address at which an old Request has made a newer connection.
#[test]
fn an_older_connection_may_get_old_copies_once_the_client_has_moved() {
    let (mut ledger, payload) = sent();
    ledger.on_move();
    for connection in [2, 1] {
        ledger.delivered(Side::Server, (7, connection), &payload, 0, &mut Tally::default());
    }
}
