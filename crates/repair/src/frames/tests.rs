use super::*;

const PATIENCE: Duration = Duration::from_millis(150);

fn ms(n: u64) -> Instant {
    Instant::from_millis(n)
}

/// The frames of a stream, from that number on.
fn group(groups: &mut Groups, stream: u64, first: u32, roles: &[Role]) {
    for (number, &role) in (0..).zip(roles) {
        let frame = StreamFrame { stream, number: first.wrapping_add(number) };
        groups.on_packet(frame, role);
        // A further packet of it is none of another frame.
        groups.on_packet(frame, role);
    }
}

fn lose(groups: &mut Groups, stream: u64, number: u32) {
    groups.on_lost(StreamFrame { stream, number }, Role::Inner);
}

#[test]
fn a_new_start_is_asked_for_once_until_more_is_missing() {
    let mut groups = Groups::default();
    group(&mut groups, 7, u32::MAX - 1, &[Role::Start, Role::Inner, Role::Disposable, Role::Inner]);
    groups.on_lost(StreamFrame { stream: 7, number: 0 }, Role::Disposable);
    assert_eq!(groups.poll_start(ms(0), PATIENCE), None, "no other refers to it");
    lose(&mut groups, 7, u32::MAX);
    assert_eq!(groups.start_due(PATIENCE), Some(Instant::ZERO));
    assert_eq!((groups.poll_start(ms(0), PATIENCE), groups.poll_start(ms(0), PATIENCE)), (Some(7), None));
    assert_eq!((groups.poll_start(ms(1_000), PATIENCE), groups.start_due(PATIENCE)), (None, None));
    // Without an answer, what is lost later is another reason.
    lose(&mut groups, 7, 1);
    assert_eq!(groups.poll_start(ms(1_000), PATIENCE), Some(7));
    group(&mut groups, 7, 2, &[Role::Start, Role::Inner]);
    // Reported again, late.
    lose(&mut groups, 7, u32::MAX);
    assert_eq!(groups.poll_start(ms(2_000), PATIENCE), None);
}

/// The answer is lost at once, and nothing else afterwards.
#[test]
fn a_start_that_is_lost_is_asked_for_again_when_there_was_time_for_it() {
    let mut groups = Groups::default();
    group(&mut groups, 0, 0, &[Role::Start, Role::Inner]);
    lose(&mut groups, 0, 1);
    assert_eq!(groups.poll_start(ms(10), PATIENCE), Some(0));
    group(&mut groups, 0, 2, &[Role::Start, Role::Inner]);
    lose(&mut groups, 0, 2);
    assert_eq!((groups.poll_start(ms(20), PATIENCE), groups.start_due(PATIENCE)), (None, Some(ms(160))));
    assert_eq!(groups.poll_start(ms(160), PATIENCE), Some(0));
    // A start that comes by itself in the meantime is the answer.
    lose(&mut groups, 0, 3);
    group(&mut groups, 0, 4, &[Role::Start]);
    assert_eq!((groups.poll_start(ms(500), PATIENCE), groups.start_due(PATIENCE)), (None, None));
}

#[test]
fn the_start_of_one_stream_is_none_of_another() {
    let mut groups = Groups::default();
    group(&mut groups, 1, 0, &[Role::Start, Role::Inner]);
    group(&mut groups, 2, 2, &[Role::Start, Role::Inner]);
    lose(&mut groups, 1, 1);
    group(&mut groups, 2, 4, &[Role::Start]);
    assert_eq!((groups.poll_start(ms(0), PATIENCE), groups.poll_start(ms(0), PATIENCE)), (Some(1), None));
    lose(&mut groups, 3, 1);
    assert_eq!(groups.poll_start(ms(0), PATIENCE), None, "an unknown stream");
    // Many streams: the oldest are forgotten.
    (10..10 + MAX_STREAMS as u64).for_each(|stream| group(&mut groups, stream, 0, &[Role::Start]));
    assert_eq!(groups.0.len(), MAX_STREAMS);
    lose(&mut groups, 1, 1);
    assert_eq!(groups.poll_start(ms(1_000), PATIENCE), None);
}

#[test]
fn the_rest_of_a_broken_group_is_of_no_use_while_key_frames_are_regular() {
    let mut groups = Groups::default();
    let inner =
        |groups: &mut Groups, number| groups.on_packet(StreamFrame { stream: 0, number }, Role::Inner);
    group(&mut groups, 0, 0, &[Role::Start, Role::Inner, Role::Inner]);
    assert!(!groups.is_regular(0), "one group is no rule");
    group(&mut groups, 0, 3, &[Role::Start]);
    assert!(groups.is_regular(0) && !groups.is_far_from_start(0) && !groups.is_regular(1));
    groups.break_newest(0);
    assert!((4..9).all(|number| !inner(&mut groups, number)));
    // Longer than twice the group before.
    assert!(inner(&mut groups, 9) && !groups.is_regular(0));
    group(&mut groups, 0, 10, &[Role::Start, Role::Inner]);
    assert!(groups.is_far_from_start(0));
    groups.break_newest(0);
    assert!(!inner(&mut groups, 12));
    group(&mut groups, 0, 13, &[Role::Start]);
    assert!(inner(&mut groups, 14));
}

#[test]
fn recent_frames_are_known_by_their_number_across_all_streams() {
    let mut recent = Recent::default();
    assert_eq!(recent.find(0), None);
    for n in 0..70_000_u32 {
        let (stream, role) = (u64::from(n % 3), if n % 2 == 0 { Role::Start } else { Role::Inner });
        assert_eq!(recent.push(stream, role), n as u16);
    }
    let newest = (69_999_u32 % 65_536) as u16;
    let frame = StreamFrame { stream: 69_999 % 3, number: u32::from(newest) << 16 };
    assert_eq!(recent.find(newest), Some((frame, Role::Inner)));
    let oldest = newest - (REMEMBERED as u16 - 1);
    assert!(recent.find(oldest).is_some());
    assert_eq!((recent.find(oldest - 1), recent.find(newest + 1)), (None, None));
}
