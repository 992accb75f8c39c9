//! The Ack Ratio, acknowledgements of acknowledgements, and Elapsed Time.

use super::*;

#[test]
fn the_elapsed_time_of_an_acknowledgement_is_not_in_the_round_trip_time() {
    let mut script = Script { sender: sender_of(1_000, None, &ccid2(None)), ..Script::new() };
    assert_eq!(script.sender.snapshot().rtt, None);
    script.fill(0);
    let elapsed = |units| DccpOption::ElapsedTime(Elapsed::from_units(units));
    // 150 ms later, of which 120 ms were waiting.
    script.acknowledge(
        150,
        2,
        &[(1, PacketArrival::Received), (2, PacketArrival::Received)],
        &[elapsed(12_000)],
    );
    assert_eq!(script.sender.snapshot().rtt, Some(millis(30)));
    // Once per window of data, which ends with packet 4.
    script.acknowledge(900, 4, &[(3, PacketArrival::Received), (4, PacketArrival::Received)], &[]);
    assert_eq!(script.sender.snapshot().rtt, Some(millis(30)));
    // An impossible time is ignored.
    script.fill(1_000);
    script.acknowledge(1_030, 5, &[(5, PacketArrival::Received)], &[elapsed(1_000_000)]);
    assert_eq!(script.sender.snapshot().rtt, Some(millis(30)));
}

/// A peer acknowledges packets without data only when it has something to send itself, and then without
/// Elapsed Time.
#[test]
fn the_wait_for_an_acknowledgement_of_an_acknowledgement_is_no_round_trip_time() {
    let mut script = Script { sender: sender_of(1_000, None, &ccid2(None)), ..Script::new() };
    let data = script.fill(0);
    script.send_packet(10, PacketType::Ack, false);
    // The data was lost; the peer sends again after a while.
    script.acknowledge(5_000, data + 1, &[(data + 1, PacketArrival::Received)], &[]);
    assert_eq!(script.sender.snapshot().rtt, None);
}

/// RFC 4341, Section 6.1.2, though every other acknowledgement is lost and windows pass in less than a
/// round-trip time.
#[test]
fn a_new_ack_ratio_is_requested_once_per_round_trip() {
    let mut script = Script::new();
    let (start, _) = script.grow_to(64);
    let mut asked = Vec::new();
    for now in start + 1..start + 400 {
        let oldest = script.next - u64::from(script.pipe());
        script.ack += now % 2;
        script.arrived(now, oldest..oldest + 8);
        while let Some(request) = script.sender.poll_feature_request(at(now)) {
            asked.push((now, request.value));
            script.sender.on_feature(at(now), ACK_RATIO, request.value);
        }
        script.fill(now);
    }
    assert!(asked.len() > 1 && asked.last().unwrap().1 > 2, "{asked:?}");
    let rtt = script.sender.snapshot().rtt.unwrap().as_millis();
    assert!(asked.windows(2).all(|pair| pair[1].0 - pair[0].0 >= rtt.min(100)), "{asked:?} with {rtt} ms");
}

#[test]
fn the_receivers_vectors_are_acknowledged_once_per_window() {
    let mut script = Script::new();
    let wants = |script: &Script| script.sender.needs_ack_of_ack(at(0));
    script.fill(0);
    assert!(!wants(&script), "nothing to acknowledge yet");
    script.arrived(100, [1, 2]);
    // The window is five; four were sent since the last acknowledgement of this end.
    assert!(wants(&script));
    script.send_packet(100, PacketType::DataAck, true);
    assert!(!wants(&script));
    script.fill(100);
    script.arrived(101, [3, 4]);
    for _ in 0..3 {
        assert!(!wants(&script));
        script.send_packet(101, PacketType::Data, true);
    }
    assert_eq!(script.cwnd(), 6);
    assert!(wants(&script));
    // Any packet with an acknowledgement number will do.
    script.send_packet(102, PacketType::Ack, true);
    assert!(!wants(&script));
}

#[test]
fn large_windows_acknowledge_every_128th_packet() {
    let mut script = Script::new();
    script.sender.on_feature(at(0), FeatureNumber::SequenceWindow, 10_000);
    let (now, first) = script.grow_to(400);
    script.send_packet(now, PacketType::DataAck, true);
    script.arrived(now + 100, first..first + 200);
    for _ in 0..127 {
        assert!(!script.sender.needs_ack_of_ack(at(now + 100)));
        script.send_packet(now + 100, PacketType::Data, true);
    }
    assert!(script.sender.needs_ack_of_ack(at(now + 100)));
}

#[test]
fn an_acknowledgement_without_a_vector_acknowledges_its_number() {
    let mut script = Script::new();
    script.fill(0);
    let mut feedback = Feedback {
        ack: seq(2),
        sequence: seq(1),
        packet_type: PacketType::SyncAck,
        options: &[],
        ack_vector: &[],
        data_dropped: &[],
        timestamp_rtt: None,
    };
    // The number of a Sync or SyncAck has another meaning.
    script.sender.on_feedback(at(90), &feedback);
    assert_eq!(script.pipe(), 4);
    feedback.packet_type = PacketType::Ack;
    script.sender.on_feedback(at(100), &feedback);
    assert_eq!(script.pipe(), 3);
    // When the vector comes, a mark still counts, and the packet is not taken from the pipe again.
    script.acknowledge(101, 2, &[(1, PacketArrival::Received), (2, PacketArrival::Marked)], &[]);
    assert_eq!((script.pipe(), script.cwnd(), script.sender.snapshot().marked), (2, 2, 1));
}

/// The time of the last acknowledgement says nothing about the time of the call.
#[test]
fn a_request_that_waits_for_a_round_trip_time_needs_no_further_acknowledgement() {
    let mut script = Script::new();
    let (start, _) = script.grow_to(64);
    let mut first: Option<(u64, u64)> = None;
    for now in start + 1.. {
        if first.is_some_and(|(first, rtt)| now >= first + rtt / 2) {
            break;
        }
        let oldest = script.next - u64::from(script.pipe());
        script.ack += now % 2;
        script.arrived(now, oldest..oldest + 8);
        if first.is_none()
            && let Some(request) = script.sender.poll_feature_request(at(now))
        {
            first = Some((now, script.sender.rtt().expect("it was measured").as_millis()));
            script.sender.on_feature(at(now), ACK_RATIO, request.value);
        }
        script.fill(now);
    }
    let (first, rtt) = first.expect("half of the acknowledgements are lost");
    assert_eq!(script.sender.poll_feature_request(at(first + rtt / 2)), None, "{first} {rtt}");
    assert!(script.sender.poll_feature_request(at(first + rtt + 1)).is_some(), "{first} {rtt}");
}
