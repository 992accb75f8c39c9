use bytes::Bytes;
use whimbrel_proto::{DatagramId, DropReason};
use whimbrel_units::Instant;
use whimbrel_wire::{Ecn, SeqNo};

use super::{MAX_EVENTS, MAX_UNCLAIMED, Unread};
use crate::multipath::SubflowId;
use crate::{Event, Received};

fn datagram(number: u64) -> Received {
    let (sequence, subflow) = (SeqNo::new(number), SubflowId(0));
    let (payload, ecn, arrival) = (Bytes::new(), Ecn::NotEct, Instant::ZERO);
    Received { payload, sequence, subflow, packet: sequence, ecn, arrival, corrupt: false, repaired: false }
}

fn event(number: usize) -> Event {
    Event::DatagramDropped { id: DatagramId(number as u64), reason: DropReason::Expired }
}

#[test]
fn unread_events_take_bounded_room_and_the_newest_stay() {
    let mut unread = Unread::new(1);
    (0..MAX_EVENTS + 10).for_each(|number| unread.push_event(event(number)));
    assert_eq!(unread.pop_event(), Some(event(10)));
    assert_eq!(std::iter::from_fn(|| unread.pop_event()).count(), MAX_EVENTS - 1);
}

#[test]
fn little_is_kept_for_a_connection_not_yet_accepted() {
    let mut unread = Unread::new(4096);
    (0..1_000).for_each(|number| unread.push(datagram(number)));
    assert_eq!(unread.overflowed(), 1_000 - MAX_UNCLAIMED as u64);
    unread.claim();
    (0..1_000).for_each(|number| unread.push(datagram(number)));
    assert_eq!(unread.overflowed(), 1_000 - MAX_UNCLAIMED as u64);
}
