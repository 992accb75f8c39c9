use bytes::Bytes;
use whimbrel_proto::{ConnectionError, DatagramId, DropReason, Event};
use whimbrel_units::Instant;
use whimbrel_wire::{Ecn, Payload, SeqNo};

use super::{Inbox, MAX_EVENTS, MAX_UNCLAIMED};
use crate::NetError;
use crate::mailbox::Wake;

fn datagram(n: u64) -> Event {
    let payload = Payload::Bytes(Bytes::copy_from_slice(&n.to_be_bytes()));
    Event::Datagram { payload, sequence: SeqNo::new(n), ecn: Ecn::NotEct }
}

fn claimed(limit: usize) -> Inbox {
    let mut inbox = Inbox::new(limit);
    inbox.claim();
    inbox
}

fn push(inbox: &mut Inbox, event: Event) -> Wake {
    let mut wake = Wake::default();
    inbox.push(event, Instant::ZERO, &mut wake);
    wake
}

#[test]
fn a_slow_reader_loses_the_oldest() {
    let mut inbox = claimed(3);
    for n in 0..5 {
        assert!(push(&mut inbox, datagram(n)).readable);
    }
    let mut unread = Vec::new();
    assert_eq!(inbox.pop_many(&mut unread, 2), 2);
    unread.extend(inbox.pop());
    let numbers: Vec<_> = unread.iter().map(|received| received.sequence.value()).collect();
    assert_eq!((numbers, inbox.overflowed), (vec![2, 3, 4], 2));
    assert_eq!(inbox.pop(), None);
}

#[test]
fn unread_events_take_bounded_room_and_the_newest_stay() {
    let mut inbox = claimed(1);
    let dropped = |n| Event::DatagramDropped { id: DatagramId(n), reason: DropReason::Expired };
    for n in 0..MAX_EVENTS as u64 + 10 {
        assert!(push(&mut inbox, dropped(n)).happened);
    }
    assert_eq!(inbox.pop_event(), Some(dropped(10)));
    assert_eq!(std::iter::from_fn(|| inbox.pop_event()).count(), MAX_EVENTS - 1);
}

#[test]
fn the_end_wakes_all_waiters_and_keeps_received_data() {
    let mut inbox = claimed(8);
    push(&mut inbox, datagram(1));
    assert!(inbox.end().is_none());
    let wake = push(&mut inbox, Event::Closed(ConnectionError::ClosedByPeer));
    assert!(wake.readable && wake.writable && wake.happened);
    assert!(inbox.pop().is_some());
    assert!(matches!(inbox.end(), Some(NetError::Connection(ConnectionError::ClosedByPeer))));
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
    let corrupt: Vec<_> = std::iter::from_fn(|| inbox.pop()).map(|received| received.corrupt).collect();
    assert_eq!(corrupt, [true, false]);
}

#[test]
fn little_is_kept_for_a_connection_not_yet_accepted() {
    let mut inbox = Inbox::new(4096);
    for n in 0..1_000 {
        push(&mut inbox, datagram(n));
    }
    assert_eq!(inbox.overflowed, 1_000 - MAX_UNCLAIMED as u64);
    inbox.claim();
    for n in 0..1_000 {
        push(&mut inbox, datagram(n));
    }
    assert_eq!(inbox.overflowed, 1_000 - MAX_UNCLAIMED as u64);
}
