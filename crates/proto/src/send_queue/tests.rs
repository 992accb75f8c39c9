use super::*;

fn at(millis: u64) -> Instant {
    Instant::from_secs(1) + whimbrel_units::Duration::from_millis(millis)
}

fn sized(length: u32) -> Datagram {
    Datagram::new(Payload::Opaque { length, tag: 0 })
}

fn queue(overflow: OverflowPolicy) -> (SendQueue, VecDeque<Event>) {
    let config = SendQueueConfig { max_datagrams: 3, max_bytes: 1000, overflow };
    (SendQueue::new(config), VecDeque::new())
}

fn dropped(id: u64, reason: DropReason) -> Event {
    Event::DatagramDropped { id: DatagramId(id), reason }
}

#[test]
fn it_is_first_in_first_out() {
    let (mut queue, mut events) = queue(OverflowPolicy::Refuse);
    for n in 1..=3 {
        assert_eq!(queue.push(at(0), sized(n), &mut events), Ok(DatagramId(u64::from(n) - 1)));
    }
    assert_eq!((queue.len(), queue.bytes()), (3, 6));
    for n in 1..=3 {
        assert_eq!(queue.front_size(at(0), &mut events), Some(n));
        assert_eq!(queue.pop(&mut events).unwrap().payload.len(), n);
    }
    assert!(queue.is_empty());
    assert_eq!((queue.bytes(), queue.dropped(), events.len()), (0, 0, 0));
}

#[test]
fn a_full_queue_that_refuses_says_when_there_is_room() {
    let (mut queue, mut events) = queue(OverflowPolicy::Refuse);
    for _ in 0..3 {
        queue.push(at(0), sized(1), &mut events).unwrap();
    }
    assert_eq!(queue.push(at(0), sized(1), &mut events), Err(SendError::QueueFull));
    assert_eq!(queue.push(at(0), sized(1), &mut events), Err(SendError::QueueFull));
    queue.pop(&mut events);
    queue.pop(&mut events);
    assert_eq!(events, [Event::SendReady], "once");
}

#[test]
fn a_full_queue_for_live_media_drops_the_oldest() {
    let (mut queue, mut events) = queue(OverflowPolicy::DropOldest);
    for _ in 0..5 {
        queue.push(at(0), sized(1), &mut events).unwrap();
    }
    assert_eq!(events, [dropped(0, DropReason::QueueFull), dropped(1, DropReason::QueueFull)]);
    assert_eq!(queue.pop(&mut events).unwrap().id, DatagramId(2));
}

#[test]
fn what_is_stale_goes_before_what_is_oldest() {
    let (mut queue, mut events) = queue(OverflowPolicy::DropOldest);
    queue.push(at(0), sized(1), &mut events).unwrap();
    queue.push(at(0), sized(1).with_deadline(at(10)), &mut events).unwrap();
    queue.push(at(0), sized(1), &mut events).unwrap();
    queue.push(at(20), sized(1), &mut events).unwrap();
    assert_eq!(events, [dropped(1, DropReason::Expired)]);
    assert_eq!(queue.len(), 3);
}

#[test]
fn bytes_are_a_limit_too() {
    let (mut queue, mut events) = queue(OverflowPolicy::DropOldest);
    let error = SendError::TooLarge { size: 1001, limit: 1000 };
    assert_eq!(queue.push(at(0), sized(1001), &mut events), Err(error));
    queue.push(at(0), sized(600), &mut events).unwrap();
    queue.push(at(0), sized(400), &mut events).unwrap();
    assert!(events.is_empty());
    queue.push(at(0), sized(500), &mut events).unwrap();
    assert_eq!(events, [dropped(0, DropReason::QueueFull)]);
    assert_eq!(queue.bytes(), 900);
}

#[test]
fn a_datagram_is_stale_at_its_deadline() {
    let (mut queue, mut events) = queue(OverflowPolicy::Refuse);
    queue.push(at(0), sized(1).with_deadline(at(10)), &mut events).unwrap();
    assert_eq!(queue.front_size(at(9), &mut events), Some(1));
    assert_eq!(queue.front_size(at(10), &mut events), None);
    assert_eq!(events, [dropped(0, DropReason::Expired)]);
    assert_eq!(queue.dropped(), 1);
}

#[test]
fn the_next_deadline_is_the_earliest_wherever_it_stands() {
    let (mut queue, mut events) = queue(OverflowPolicy::Refuse);
    assert_eq!(queue.next_deadline(), Instant::FAR_FUTURE);
    queue.push(at(0), sized(1).with_deadline(at(30)), &mut events).unwrap();
    queue.push(at(0), sized(1), &mut events).unwrap();
    queue.push(at(0), sized(1).with_deadline(at(20)), &mut events).unwrap();
    assert_eq!(queue.next_deadline(), at(20));
    queue.expire(at(19), &mut events);
    assert_eq!(queue.len(), 3);
    queue.expire(at(20), &mut events);
    assert_eq!(events, [dropped(2, DropReason::Expired)]);
    assert_eq!(queue.next_deadline(), at(30));
    queue.pop(&mut events);
    assert_eq!(queue.next_deadline(), Instant::FAR_FUTURE);
}

#[test]
fn a_smaller_path_drops_what_no_longer_fits() {
    let (mut queue, mut events) = queue(OverflowPolicy::Refuse);
    for size in [100, 300, 200] {
        queue.push(at(0), sized(size), &mut events).unwrap();
    }
    queue.drop_larger_than(200, &mut events);
    assert_eq!(events, [dropped(1, DropReason::TooLarge)]);
    assert_eq!((queue.len(), queue.bytes()), (2, 300));
}
