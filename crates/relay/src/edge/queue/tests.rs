//! Tests of the choice of the datagrams that are dropped.

use whimbrel_rtp::FrameId;

use super::*;

fn ms(n: u64) -> Instant {
    Instant::from_millis(n)
}

fn part(number: u32, disposable: bool, arrived: Instant) -> Waiting {
    let frame = Frame { flow: 0, id: FrameId { source: 1, number } };
    Waiting {
        bytes: Bytes::from(vec![number as u8; 1000]),
        kind: Kind::Part { frame, disposable },
        mark: Mark::SINGLE,
        arrived,
    }
}

fn of(kind: Kind, arrived: Instant) -> Waiting {
    Waiting { bytes: Bytes::from_static(&[0; 100]), kind, mark: Mark::SINGLE, arrived }
}

fn queue() -> Queue {
    Queue::new(Duration::from_millis(200))
}

/// Drops: datagrams of all streams, and frames.
fn dropped(queue: &mut Queue) -> (Losses, u64) {
    let (mut drops, mut losses) = (Drops::default(), Losses::default());
    queue.take_drops(&mut drops);
    drops.datagrams.iter().for_each(|(_, each)| losses += *each);
    (losses, drops.frames)
}

/// Drops: as stale, as disposable, for lack of room; and the frames of it.
fn drops(queue: &mut Queue) -> [u64; 4] {
    let (datagrams, frames) = dropped(queue);
    [datagrams[Reason::Stale], datagrams[Reason::Disposable], datagrams[Reason::Overflow], frames]
}

/// The numbers of the frames' packets that are left.
fn rest(queue: &mut Queue, now: Instant) -> Vec<u32> {
    std::iter::from_fn(|| queue.pop(now))
        .filter_map(|waiting| match waiting.kind {
            Kind::Part { frame, .. } => Some(frame.id.number),
            _ => None,
        })
        .collect()
}

#[test]
fn a_stale_frame_is_dropped_whole_even_what_arrives_later() {
    let mut queue = queue();
    queue.push(part(1, false, ms(0)));
    queue.push(part(1, false, ms(150)));
    queue.push(part(2, false, ms(160)));
    assert_eq!(queue.pop(ms(250)).map(|waiting| waiting.bytes[0]), Some(2));
    queue.push(part(1, false, ms(260)));
    queue.push(part(2, false, ms(260)));
    assert_eq!(rest(&mut queue, ms(270)), [2]);
    assert_eq!(drops(&mut queue), [3, 0, 0, 1]);
    assert_eq!((queue.bytes(), queue.len()), (0, 0));
}

#[test]
fn parameter_sets_outlive_the_frames_around_them() {
    let mut queue = queue();
    queue.push(part(1, false, ms(0)));
    queue.push(of(Kind::Essential, ms(1)));
    queue.push(of(Kind::Other, ms(2)));
    let left = queue.pop(ms(1_000)).expect("the parameter sets");
    assert_eq!((left.kind, queue.deadline(&left)), (Kind::Essential, ms(5_001)));
    assert!(queue.pop(ms(1_000)).is_none());
    assert_eq!(drops(&mut queue), [2, 0, 0, 1]);
    queue.push(of(Kind::Essential, ms(0)));
    assert!(queue.pop(ms(6_000)).is_none(), "not for ever");
}

#[test]
fn frames_without_references_go_first_if_the_rate_is_short() {
    let mut queue = queue();
    for (number, disposable) in [(1, true), (2, false), (3, true), (3, true), (4, false), (5, true)] {
        queue.push(part(number, disposable, ms(0)));
    }
    // 6000 bytes at 1 Mbit/s: 48 ms.
    queue.set_rate(Some(DataRate::from_megabits_per_second(1.0)));
    queue.relieve();
    assert_eq!(queue.len(), 6);
    // The first has been begun; the others have 100 ms at 300 kbit/s: 3750 bytes.
    assert_eq!(queue.pop(ms(1)).map(|waiting| waiting.bytes[0]), Some(1));
    queue.set_rate(Some(DataRate::from_kilobits_per_second(300.0)));
    queue.push(part(1, true, ms(1)));
    assert_eq!(drops(&mut queue), [0, 3, 0, 2]);
    assert_eq!(rest(&mut queue, ms(2)), [2, 4, 1]);
}

#[test]
fn a_frame_that_cannot_be_sent_in_time_is_not_begun_and_one_that_was_is_finished() {
    let mut queue = queue();
    queue.set_rate(Some(DataRate::from_kilobits_per_second(160.0)));
    // The first frame of all would be begun.
    queue.push(part(0, false, ms(0)));
    assert_eq!(rest(&mut queue, ms(0)), [0]);
    // Five packets take 250 ms at 20 kB/s, three 150 ms.
    for number in [1, 1, 1, 1, 1, 2, 2, 2] {
        queue.push(part(number, false, ms(0)));
    }
    let second = queue.pop(ms(10)).expect("the second frame");
    assert_eq!((second.bytes[0], drops(&mut queue)), (2, [5, 0, 0, 1]));
    // The rest of it has more time, but not for ever.
    assert_eq!(queue.pop(ms(250)).map(|waiting| waiting.bytes[0]), Some(2));
    assert_eq!(queue.pop(ms(400)), None);
    assert_eq!(drops(&mut queue), [1, 0, 0, 1]);
    // The only frame is sent in any case, as the rate grows with data only.
    queue.set_rate(Some(DataRate::from_bits_per_second(1000.0)));
    queue.push(part(3, true, ms(400)));
    assert_eq!(queue.pop(ms(401)).map(|waiting| waiting.bytes[0]), Some(3));
}

#[test]
fn what_could_not_be_sent_keeps_its_place() {
    let mut queue = queue();
    queue.push(part(1, false, ms(0)));
    queue.push(part(2, false, ms(0)));
    let first = queue.pop(ms(1)).expect("one");
    queue.put_back(first);
    assert_eq!(queue.bytes(), 2000);
    assert_eq!(queue.age(ms(30)), Duration::from_millis(30));
    assert_eq!(rest(&mut queue, ms(1)), [1, 2]);
}

#[test]
fn memory_is_bounded_and_the_oldest_frames_make_room() {
    let mut queue = queue();
    queue.push(of(Kind::Essential, ms(0)));
    for n in 0..10_000 {
        queue.push(part(n, false, ms(0)));
        assert!(queue.len() <= MAX_DATAGRAMS && queue.bytes() <= MAX_BYTES);
    }
    assert_eq!(queue.pop(ms(1)).map(|waiting| waiting.kind), Some(Kind::Essential));
    let left = rest(&mut queue, ms(1));
    assert_eq!(left.last(), Some(&9_999));
    let [stale, _, overflow, frames] = drops(&mut queue);
    assert_eq!((left.len() as u64 + overflow, stale, frames), (10_000, 0, overflow));
}

fn of_stream(source: u32, number: u32, size: usize, arrived: Instant) -> Waiting {
    let kind = Kind::Part { frame: Frame { flow: 0, id: FrameId { source, number } }, disposable: false };
    Waiting { bytes: Bytes::from(vec![source as u8; size]), kind, mark: Mark::SINGLE, arrived }
}

#[test]
fn a_frame_that_was_begun_is_finished_though_packets_of_other_streams_come_between() {
    let mut queue = queue();
    queue.set_rate(Some(DataRate::from_kilobits_per_second(400.0)));
    // Video of 9 packets, 180 ms at 50 kB/s, then audio, then the rest of the frame and the next one.
    for _ in 0..6 {
        queue.push(of_stream(1, 1, 1000, ms(0)));
    }
    assert_eq!(queue.pop(ms(1)).map(|waiting| waiting.bytes[0]), Some(1));
    queue.push(of_stream(2, 7, 100, ms(2)));
    for _ in 0..5 {
        assert!(queue.pop(ms(100)).is_some());
    }
    assert_eq!(queue.pop(ms(120)).map(|waiting| waiting.bytes[0]), Some(2), "audio");
    for _ in 0..3 {
        queue.push(of_stream(1, 1, 1000, ms(150)));
    }
    queue.push(of_stream(1, 2, 5000, ms(190)));
    let rest: Vec<_> = std::iter::from_fn(|| queue.pop(ms(330))).map(|waiting| waiting.bytes.len()).collect();
    assert_eq!((&rest[..3], drops(&mut queue)), (&[1000; 3][..], [0; 4]), "{rest:?}");
}

#[test]
fn large_frames_do_not_give_way_to_another_stream_for_ever() {
    let mut queue = queue();
    queue.set_rate(Some(DataRate::from_kilobits_per_second(40.0)));
    // A frame that takes 2 s at that rate, followed by audio.
    for _ in 0..10 {
        queue.push(of_stream(1, 1, 1000, ms(0)));
    }
    queue.push(of_stream(2, 7, 100, ms(1)));
    assert_eq!(queue.pop(ms(10)).map(|waiting| waiting.bytes.len()), Some(1000));
}

#[test]
fn a_frame_of_which_no_packet_was_sent_is_not_begun() {
    let mut queue = queue();
    queue.push(of_stream(1, 1, 100, ms(0)));
    let first = queue.pop(ms(1)).expect("one");
    assert_eq!(queue.deadline(&first), ms(400));
    queue.put_back(first.clone());
    assert_eq!(queue.deadline(&first), ms(200));
    // A second packet of a frame that was begun is put back as such.
    queue.push(of_stream(1, 1, 100, ms(0)));
    assert!(queue.pop(ms(1)).is_some());
    let second = queue.pop(ms(1)).expect("the second");
    queue.put_back(second.clone());
    assert_eq!(queue.deadline(&second), ms(400));
}

#[test]
fn a_frame_larger_than_the_queue_is_dropped_whole() {
    let mut queue = queue();
    for _ in 0..MAX_BYTES / 1000 + 100 {
        queue.push(of_stream(1, 1, 1000, ms(0)));
    }
    assert_eq!((queue.len(), queue.bytes(), drops(&mut queue)[3]), (0, 0, 1));
    queue.shrink();
    assert!(queue.waiting.capacity() <= KEPT);
}

/// A frame of a group of `length`.
fn in_group(number: u32, length: u32, arrived: Instant) -> Waiting {
    let role = if number.is_multiple_of(length) { FrameRole::Start } else { FrameRole::Inner };
    Waiting { mark: Mark { role, ..Mark::SINGLE }, ..part(number, false, arrived) }
}

#[test]
fn the_rest_of_a_group_goes_with_a_frame_that_is_dropped() {
    let mut queue = queue();
    for number in 0..6 {
        queue.push(in_group(number, 5, ms(u64::from(number))));
    }
    assert_eq!(rest(&mut queue, ms(5)), [0, 1, 2, 3, 4, 5]);
    for number in 6..12 {
        queue.push(in_group(number, 5, ms(u64::from(number))));
    }
    // Frame 6 is stale: 7 to 9 refer to it, 10 does not.
    assert_eq!(rest(&mut queue, ms(206)), [10, 11]);
    let (lost, frames) = dropped(&mut queue);
    assert_eq!((lost[Reason::Stale], lost[Reason::Undecodable], frames), (1, 3, 4));
    // Later arrivals are dropped as well, up to the next key frame.
    queue.push(in_group(12, 5, ms(210)));
    queue.push(in_group(13, 5, ms(220)));
    assert_eq!(rest(&mut queue, ms(411)), [] as [u32; 0]);
    for number in 14..17 {
        queue.push(in_group(number, 5, ms(412)));
    }
    assert_eq!(rest(&mut queue, ms(413)), [15, 16]);
    let (lost, frames) = dropped(&mut queue);
    assert_eq!((lost[Reason::Stale], lost[Reason::Undecodable], frames), (1, 2, 3));
}

#[test]
fn a_free_path_is_not_left_silent_for_the_rest_of_a_group() {
    let mut queue = queue();
    queue.set_budget(Some(Duration::from_millis(120)));
    for number in 0..41 {
        queue.push(in_group(number, 20, ms(0)));
    }
    rest(&mut queue, ms(0));
    queue.push(in_group(41, 20, ms(10)));
    assert_eq!(rest(&mut queue, ms(200)), [] as [u32; 0], "41 is stale, and others refer to it");
    assert_eq!(queue.take_start(), None, "the path may be dead");
    // One at a time, each with all of its packets.
    for number in [42, 42, 43] {
        queue.push(in_group(number, 20, ms(210)));
    }
    assert_eq!(rest(&mut queue, ms(210)), [42, 42]);
    assert!(queue.take_start().is_some(), "a key frame would arrive");
    queue.push(in_group(44, 20, ms(220)));
    assert_eq!(rest(&mut queue, ms(220)), [44]);
    // A queue on the path takes a quarter of the time and more.
    queue.set_budget(Some(Duration::from_millis(89)));
    queue.push(in_group(45, 20, ms(230)));
    queue.set_budget(Some(Duration::from_millis(90)));
    (46..60).for_each(|number| {
        queue.push(in_group(number, 20, ms(240)));
        queue.pop(ms(240));
    });
    queue.push(in_group(60, 20, ms(250)));
    assert_eq!(rest(&mut queue, ms(250)), [60]);
    assert_eq!(queue.take_start(), None, "once for each group");
    // 43, 45, and the last three before the key frame.
    assert_eq!(dropped(&mut queue).0[Reason::Undecodable], 5);
    queue.push(in_group(61, 20, ms(300)));
    assert_eq!(rest(&mut queue, ms(600)), [] as [u32; 0]);
    queue.push(in_group(62, 20, ms(610)));
    assert!(queue.take_start().is_some(), "another group");
    (63..80).for_each(|number| {
        queue.push(in_group(number, 20, ms(620)));
        queue.pop(ms(620));
    });
    queue.push(in_group(80, 20, ms(700)));
    assert_eq!(rest(&mut queue, ms(1000)), [] as [u32; 0]);
    queue.push(in_group(81, 20, ms(1010)));
    assert!(queue.take_start().is_some(), "a key frame was dropped");
}

#[test]
fn a_key_frame_that_waits_needs_no_other() {
    let mut queue = queue();
    queue.set_budget(Some(Duration::from_millis(120)));
    for number in 0..46 {
        queue.push(in_group(number, 20, ms(0)));
    }
    rest(&mut queue, ms(0));
    queue.push(in_group(46, 20, ms(10)));
    queue.push(in_group(60, 20, ms(100)));
    assert_eq!(rest(&mut queue, ms(150)), [60], "46 is stale");
    queue.push(in_group(61, 20, ms(160)));
    assert_eq!(queue.take_start(), None);
}

#[test]
fn groups_that_do_not_end_and_key_frames_drop_nothing_else() {
    let mut queue = queue();
    for number in 0..10 {
        queue.push(in_group(number, 1_000, ms(u64::from(number))));
    }
    assert_eq!(rest(&mut queue, ms(203)), [4, 5, 6, 7, 8, 9]);
    let mut queue = self::queue();
    for number in 0..6 {
        queue.push(in_group(number, 5, ms(0)));
    }
    rest(&mut queue, ms(0));
    (10..12).for_each(|number| queue.push(in_group(number, 5, ms(u64::from(number) * 10))));
    assert_eq!(rest(&mut queue, ms(305)), [11]);
    // After twice the length of the group before, no key frame is expected any more.
    (12..40).for_each(|number| queue.push(in_group(number + 1_001, 1_000, ms(u64::from(number) * 10))));
    assert_eq!(rest(&mut queue, ms(325)).len(), 27);
}

#[test]
fn no_frame_is_begun_that_the_peer_would_not_deliver_in_time() {
    let mut queue = queue();
    queue.set_budget(Some(Duration::from_millis(120)));
    queue.push(part(1, false, ms(0)));
    queue.push(part(1, false, ms(1)));
    queue.push(part(2, false, ms(100)));
    assert_eq!(queue.pop(ms(119)).map(|waiting| waiting.bytes[0]), Some(1));
    // The rest of a frame has more time.
    assert_eq!(rest(&mut queue, ms(219)), [1, 2]);
    queue.push(part(3, false, ms(300)));
    assert_eq!(rest(&mut queue, ms(421)), [] as [u32; 0]);
    assert_eq!(drops(&mut queue), [1, 0, 0, 1]);
}

#[test]
fn a_frame_is_sent_after_a_pause_although_the_rate_is_too_low() {
    let mut queue = queue();
    queue.set_rate(Some(DataRate::from_kilobits_per_second(16.0)));
    // 1000 bytes take 500 ms: no frame fits. The first of all is sent, and the only one that is left.
    (0..3).for_each(|number| queue.push(part(number, false, ms(0))));
    assert_eq!(rest(&mut queue, ms(0)), [0, 2]);
    (3..5).for_each(|number| queue.push(part(number, false, ms(20))));
    assert_eq!(rest(&mut queue, ms(20)), [4]);
    // Nothing was taken for longer than a frame may wait. Unsendable parts were not taken.
    (5..7).for_each(|number| queue.push(part(number, false, ms(290))));
    let refused = queue.pop(ms(290)).expect("the first frame after the pause");
    queue.put_back(refused);
    assert_eq!(rest(&mut queue, ms(300)), [5, 6]);
}
