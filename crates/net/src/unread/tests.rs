use super::{MAX_EVENTS, MAX_UNCLAIMED, Unread};
use crate::feedback::Delivered;

impl Delivered for usize {
    type Packet = usize;

    fn packet(&self) -> usize {
        *self
    }
}

#[test]
fn unread_events_take_bounded_room_and_the_newest_stay() {
    let mut unread = Unread::<usize, usize>::new(1);
    (0..MAX_EVENTS + 10).for_each(|event| unread.push_event(event));
    assert_eq!(unread.pop_event(), Some(10));
    assert_eq!(std::iter::from_fn(|| unread.pop_event()).count(), MAX_EVENTS - 1);
}

#[test]
fn little_is_kept_for_a_connection_not_yet_accepted() {
    let mut unread = Unread::<usize, ()>::new(4096);
    (0..1_000).for_each(|datagram| unread.push(datagram));
    assert_eq!(unread.overflowed(), 1_000 - MAX_UNCLAIMED as u64);
    unread.claim();
    (0..1_000).for_each(|datagram| unread.push(datagram));
    assert_eq!(unread.overflowed(), 1_000 - MAX_UNCLAIMED as u64);
}
