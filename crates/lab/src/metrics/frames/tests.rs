use super::*;

fn at(milliseconds: u64) -> Instant {
    Instant::from_millis(milliseconds)
}

#[test]
fn frames_count_when_they_are_whole_in_time_and_a_gap_is_a_freeze() {
    let mut meter = FrameMeter::new(at(100), at(1_000), Duration::from_millis(50));
    let mut deliver = |frame: u64, indices: &[u32], delay: u64| {
        let captured = at(100 + frame * 40);
        for index in indices {
            meter.on_arrival(captured + Duration::from_millis(20), captured);
            let now = captured + Duration::from_millis(delay);
            meter.on_delivery(
                now,
                captured,
                FramePart { frame, index: *index, count: 2, is_key: frame == 0 },
            );
        }
    };
    deliver(0, &[0, 1], 70);
    deliver(1, &[0], 70);
    // Late by more than the latency and the tolerance of 10 ms.
    deliver(2, &[0, 1], 81);
    deliver(3, &[0, 1], 70);
    deliver(4, &[0, 1], 80);
    // Outside the time that counts.
    deliver(30, &[0, 1], 70);
    let summary = meter.summary();
    assert_eq!((summary.in_time, &summary.freezes[..]), (3, &[Duration::from_millis(80)][..]));
    // Frames 3 and 4 refer to 2 and so to 1.
    assert_eq!(summary.decodable, 1);
    assert_eq!(
        (summary.frozen(), summary.freeze(0.95)),
        (Duration::from_millis(80), Duration::from_millis(80))
    );
}

#[test]
fn frames_can_be_decoded_again_from_the_next_key_frame_on() {
    let mut meter = FrameMeter::new(at(0), at(10_000), Duration::from_millis(50));
    for frame in [0, 1, 3, 4, 5, 6] {
        let captured = at(frame * 40);
        meter.on_arrival(captured, captured);
        meter.on_delivery(
            captured,
            captured,
            FramePart { frame, index: 0, count: 1, is_key: frame % 5 == 0 },
        );
    }
    let summary = meter.summary();
    assert_eq!((summary.in_time, summary.decodable), (6, 4));
}
