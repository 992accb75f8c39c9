use bytes::Bytes;
use whimbrel_proto::{Connection, ConnectionError, ConnectionHandle, Endpoint, EndpointConfig, Event};
use whimbrel_units::Instant;
use whimbrel_wire::{Ecn, Payload, SeqNo};

use super::Inbox;
use crate::NetError;
use crate::kind::Kind;
use crate::waiters::Wake;

fn datagram(n: u64) -> Event {
    let payload = Payload::Bytes(Bytes::copy_from_slice(&n.to_be_bytes()));
    Event::Datagram { payload, sequence: SeqNo::new(n), ecn: Ecn::NotEct, repaired: false }
}

fn claimed(limit: usize) -> Inbox {
    let mut inbox = Inbox::new(limit);
    inbox.unread.claim();
    inbox
}

fn push(inbox: &mut Inbox, event: Event) -> Wake {
    let mut wake = Wake::default();
    let endpoint = Endpoint::new(EndpointConfig::default(), 1);
    let meaning = <Connection as Kind>::meaning(&endpoint, ConnectionHandle(0), event, Instant::ZERO);
    inbox.push(meaning, &mut wake);
    wake
}

#[test]
fn a_slow_reader_loses_the_oldest() {
    let mut inbox = claimed(3);
    for n in 0..5 {
        assert!(push(&mut inbox, datagram(n)).readable);
    }
    let mut unread = Vec::new();
    assert_eq!(inbox.unread.pop_many(&mut unread, 2), 2);
    unread.extend(inbox.unread.pop());
    let numbers: Vec<_> = unread.iter().map(|received| received.sequence.value()).collect();
    assert_eq!((numbers, inbox.unread.overflowed()), (vec![2, 3, 4], 2));
    assert_eq!(inbox.unread.pop(), None);
}

#[test]
fn the_end_wakes_all_waiters_and_keeps_received_data() {
    let mut inbox = claimed(8);
    push(&mut inbox, datagram(1));
    assert!(inbox.unread.end().is_none());
    let wake = push(&mut inbox, Event::Closed(ConnectionError::ClosedByPeer));
    assert!(wake.readable && wake.writable && wake.happened);
    assert!(inbox.unread.pop().is_some());
    assert!(matches!(inbox.unread.end(), Some(NetError::Connection(ConnectionError::ClosedByPeer))));
}

#[test]
fn room_in_the_send_queue_wakes_writers_only() {
    let wake = push(&mut claimed(8), Event::SendReady);
    assert!(wake.writable && !wake.readable && !wake.happened);
}

#[test]
fn corrupt_data_are_read_with_a_flag() {
    let mut inbox = claimed(8);
    let payload = Payload::Bytes(Bytes::from_static(b"x"));
    push(&mut inbox, Event::CorruptDatagram { payload, sequence: SeqNo::new(1), ecn: Ecn::NotEct });
    push(&mut inbox, datagram(2));
    let corrupt: Vec<_> =
        std::iter::from_fn(|| inbox.unread.pop()).map(|received| received.corrupt).collect();
    assert_eq!(corrupt, [true, false]);
}
