use super::*;

const SEGMENT: ByteCount = ByteCount::new(1000);

fn ms(ms: u64) -> Instant {
    Instant::from_millis(ms)
}

fn config() -> SenderConfig {
    SenderConfig { oscillation_damping: false, ..SenderConfig::default() }
}

/// A feedback on a packet sent 100 ms before `now`, without delay at the receiver.
fn feedback(now: u64, receive_rate: f64, p: f64) -> Feedback {
    Feedback {
        last_data_sent: ms(now - 100),
        delay: Duration::ZERO,
        receive_rate: DataRate::from_bytes_per_second(receive_rate),
        loss_event_rate: LossEventRate::new(p),
        new_loss_event: false,
    }
}

/// Sends all that is allowed until `end`, at most every millisecond; returns the number of packets.
fn send_until(sender: &mut TfrcSender, from: u64, end: u64) -> u64 {
    let mut sent = 0;
    for now in from..end {
        while sender.next_send_time() <= ms(now) {
            sender.on_sent(ms(now), SEGMENT);
            sent += 1;
            assert!(sent < 100_000);
        }
    }
    sent
}

#[test]
fn before_any_round_trip_a_packet_is_sent_per_second_and_the_timer_is_two_seconds() {
    let mut sender = TfrcSender::new(ms(0), config());
    assert_eq!(sender.nofeedback_deadline(), None);
    assert_eq!(send_until(&mut sender, 0, 2000), 2);
    assert_eq!(sender.nofeedback_deadline(), Some(ms(2000)));
    sender.on_nofeedback_timeout(ms(2000));
    // Half a packet per second, 2s/X = 4 s.
    assert_eq!(sender.nofeedback_deadline(), Some(ms(6000)));
    assert_eq!(sender.next_send_time(), ms(3000));
}

#[test]
fn small_first_packets_are_not_sent_more_often() {
    let mut sender = TfrcSender::new(ms(0), config());
    sender.on_sent(ms(0), ByteCount::new(10));
    assert_eq!(sender.next_send_time(), ms(1000));
}

/// The parameter sets of a video are sent first: 4 * 50 = 200 bytes per 100 ms. The next packet, of 1200
/// bytes, raises that to 4380 (RFC 5348, Section 4.2).
#[test]
fn the_initial_window_is_that_of_the_largest_packet_of_the_first_round_trip() {
    let mut sender = TfrcSender::new(ms(0), config());
    sender.on_round_trip_sample(ms(0), Duration::from_millis(100));
    sender.on_sent(ms(0), ByteCount::new(50));
    assert_eq!(sender.allowed_rate().as_bytes_per_second(), 2000.0);
    sender.on_sent(ms(25), ByteCount::new(1200));
    assert_eq!(sender.allowed_rate().as_bytes_per_second(), 43_800.0);
    let interval = sender.snapshot().inter_packet_interval.as_secs_f64();
    assert!((interval - 1200.0 / 43_800.0).abs() < 1e-6, "{interval}");
    // Once there is feedback, the receive rate determines X.
    sender.on_feedback(ms(101), &feedback(101, 5000.0, 0.1));
    let allowed = sender.allowed_rate();
    assert!(allowed.as_bytes_per_second() < 12_000.0, "{allowed}");
    sender.on_sent(ms(130), ByteCount::new(1400));
    assert_eq!(sender.allowed_rate(), allowed);
}

/// Without feedback for 4R, X is halved, and larger packets do not restore it.
#[test]
fn after_a_silence_a_larger_packet_does_not_raise_the_rate() {
    let mut sender = TfrcSender::new(ms(0), config());
    sender.on_round_trip_sample(ms(0), Duration::from_millis(100));
    sender.on_sent(ms(0), SEGMENT);
    sender.on_nofeedback_timeout(ms(400));
    let halved = sender.allowed_rate();
    assert_eq!(halved.as_bytes_per_second(), 20_000.0);
    sender.on_sent(ms(410), ByteCount::new(1400));
    assert_eq!(sender.allowed_rate(), halved);
}

#[test]
fn the_known_rate_of_the_path_persists_after_the_first_packet() {
    let mut sender = TfrcSender::new(ms(0), config());
    sender.on_round_trip_sample(ms(0), Duration::from_millis(100));
    sender.begin_at(DataRate::from_bytes_per_second(200_000.0));
    sender.on_sent(ms(0), SEGMENT);
    assert_eq!(sender.allowed_rate().as_bytes_per_second(), 200_000.0);
}

#[test]
fn the_first_feedback_brings_the_initial_window_per_round_trip() {
    let mut sender = TfrcSender::new(ms(0), config());
    sender.on_sent(ms(0), SEGMENT);
    sender.on_feedback(ms(100), &feedback(100, 0.0, 0.0));
    assert_eq!(sender.rtt(), Some(Duration::from_millis(100)));
    // 4 packets of 1000 bytes in 100 ms; 4R = 400 ms.
    assert_eq!(sender.snapshot().inter_packet_interval, Duration::from_millis(25));
    assert_eq!(sender.nofeedback_deadline(), Some(ms(500)));
}

#[test]
fn a_round_trip_time_from_the_handshake_does_the_same_without_waiting() {
    let mut sender = TfrcSender::new(ms(0), config());
    sender.on_round_trip_sample(ms(0), Duration::from_millis(100));
    sender.on_sent(ms(0), SEGMENT);
    assert_eq!(sender.snapshot().inter_packet_interval, Duration::from_millis(25));
    assert_eq!(sender.nofeedback_deadline(), Some(ms(400)));
    // A second one does not affect later measurements by feedback.
    sender.on_round_trip_sample(ms(1), Duration::from_millis(900));
    assert_eq!(sender.rtt(), Some(Duration::from_millis(100)));
}

#[test]
fn the_delay_at_the_receiver_is_not_in_the_round_trip() {
    let mut sender = TfrcSender::new(ms(0), config());
    sender.on_sent(ms(0), SEGMENT);
    let held = Feedback { delay: Duration::from_millis(30), ..feedback(100, 0.0, 0.0) };
    sender.on_feedback(ms(100), &held);
    assert_eq!(sender.rtt(), Some(Duration::from_millis(70)));
    let absurd = Feedback { delay: Duration::from_secs(30), ..feedback(200, 0.0, 0.0) };
    sender.on_feedback(ms(200), &absurd);
    assert_eq!(sender.rtt(), Some(Duration::from_millis(70)));
}

#[test]
fn a_first_feedback_that_reports_a_loss_is_processed() {
    let mut sender = TfrcSender::new(ms(0), config());
    sender.on_sent(ms(0), SEGMENT);
    sender.on_feedback(ms(100), &feedback(100, 0.0, 0.2));
    // X_Bps at p = 0.2: f = 1.8637, so 1/0.1/1.8637 packets per second.
    let packets = sender.allowed_rate().as_bytes_per_second() / 1000.0;
    assert!((packets - 5.366).abs() < 0.01, "{packets}");
}

#[test]
fn over_a_second_the_packets_sent_are_the_rate() {
    let mut sender = TfrcSender::new(ms(0), config());
    sender.on_sent(ms(0), SEGMENT);
    sender.on_feedback(ms(100), &feedback(100, 0.0, 0.0));
    send_until(&mut sender, 100, 200);
    sender.on_feedback(ms(200), &feedback(200, 500_000.0, 0.01));
    send_until(&mut sender, 200, 300);
    // 1000/0.1/0.0890216 = 112.33 kB/s.
    let sent = send_until(&mut sender, 300, 1300);
    assert!((112..=113).contains(&sent), "{sent}");
}

#[test]
fn a_growing_round_trip_slows_the_packets_but_not_the_rate() {
    let mut damped = TfrcSender::new(ms(0), SenderConfig { oscillation_damping: true, ..config() });
    damped.on_sent(ms(0), SEGMENT);
    damped.on_feedback(ms(100), &feedback(100, 0.0, 0.0));
    damped.on_feedback(ms(400), &Feedback { last_data_sent: ms(200), ..feedback(400, 0.0, 0.0) });
    let snapshot = damped.snapshot();
    // R_sqmean = 0.9 sqrt(0.1) + 0.1 sqrt(0.2), over sqrt(0.2): 0.7364.
    assert!((snapshot.instantaneous_rate / snapshot.allowed_rate - 0.7364).abs() < 1e-4);
}

#[test]
fn a_data_limited_sender_is_not_limited_by_its_receive_rate() {
    let mut sender = TfrcSender::new(ms(0), config());
    sender.on_sent(ms(0), SEGMENT);
    sender.on_feedback(ms(100), &feedback(100, 0.0, 0.0));
    for now in (200..1000).step_by(100) {
        // Full use of the allowance, reported as a receive rate of 200 kB/s, at p = 0.1 %.
        send_until(&mut sender, now - 100, now);
        sender.on_feedback(ms(now), &feedback(now, 200_000.0, 0.001));
    }
    let full = sender.allowed_rate();
    // Then a packet per 50 ms for a long time.
    for now in (1000..5000).step_by(100) {
        sender.on_sent(ms(now), SEGMENT);
        sender.on_sent(ms(now + 50), SEGMENT);
        sender.on_feedback(ms(now + 90), &feedback(now + 90, 20_000.0, 0.001));
    }
    assert_eq!(sender.allowed_rate(), full);
}

#[test]
fn a_sender_that_uses_its_allowance_is_limited_to_twice_the_receive_rate() {
    let mut sender = TfrcSender::new(ms(0), config());
    sender.on_sent(ms(0), SEGMENT);
    sender.on_feedback(ms(100), &feedback(100, 0.0, 0.0));
    for now in (200..1000).step_by(100) {
        send_until(&mut sender, now - 100, now);
        sender.on_feedback(ms(now), &feedback(now, 20_000.0, 0.001));
    }
    assert_eq!(sender.allowed_rate(), DataRate::from_bytes_per_second(40_000.0));
}

/// RFC 5348, Section 4.6: four packets of 1000 bytes per 100 ms, and the one that is due.
#[test]
fn a_burst_after_idling_is_a_round_trip_of_packets_and_no_more() {
    let mut sender = TfrcSender::new(ms(0), config());
    sender.on_sent(ms(0), SEGMENT);
    sender.on_feedback(ms(100), &feedback(100, 0.0, 0.0));
    assert_eq!(send_until(&mut sender, 60_000, 60_001), 5);
    assert_eq!(sender.next_send_time(), ms(60_025));
}

#[test]
fn an_idle_sender_stops_its_timer_at_the_floor_and_sets_it_with_the_next_packet() {
    let mut sender = TfrcSender::new(ms(0), config());
    sender.on_sent(ms(0), SEGMENT);
    sender.on_feedback(ms(100), &feedback(100, 0.0, 0.0));
    let initial = sender.allowed_rate();
    sender.on_nofeedback_timeout(ms(499));
    assert_eq!(sender.nofeedback_deadline(), Some(ms(500)), "an early call has no effect");
    sender.on_nofeedback_timeout(ms(500));
    assert_eq!((sender.allowed_rate(), sender.nofeedback_deadline()), (initial, None));
    sender.on_sent(ms(60_000), SEGMENT);
    assert_eq!(sender.nofeedback_deadline(), Some(ms(60_400)));
    sender.on_nofeedback_timeout(ms(60_400));
    assert_eq!(sender.allowed_rate(), initial / 2.0);
    assert_eq!(sender.snapshot().nofeedback_reductions, 1);
}

/// RFC 4828, Section 3 and RFC 5622, Section 5: with 120 bytes of data and 40 of headers, 3/4 of the rate of
/// the equation for 1460-byte segments is left, and packets are at least 10 ms apart.
fn small_sender() -> TfrcSender {
    TfrcSender::new(ms(0), SenderConfig { small_packets: Some(SmallPackets::default()), ..config() })
}

/// One packet per second, not one nominal segment in small pieces; and the timer runs for two packets (RFC
/// 4342, Section 5).
#[test]
fn without_a_round_trip_time_a_small_packet_is_sent_per_second() {
    let mut sender = small_sender();
    sender.on_sent(ms(0), ByteCount::new(160));
    assert_eq!(sender.next_send_time(), ms(1000));
    assert_eq!(sender.nofeedback_deadline(), Some(ms(2000)));
}

#[test]
fn small_packets_keep_their_distance_after_silence() {
    let mut sender = small_sender();
    sender.on_round_trip_sample(ms(0), Duration::from_millis(200));
    sender.on_sent(ms(0), ByteCount::new(160));
    // 4380 bytes per 200 ms allow a packet of 160 bytes each 7.3 ms.
    assert_eq!(sender.next_send_time(), ms(10));
    for now in [100, 115] {
        sender.on_sent(ms(now), ByteCount::new(160));
        assert_eq!(sender.next_send_time(), ms(now + 10));
    }
}

#[test]
fn small_packets_share_the_rate_of_large_ones() {
    let mut sender = small_sender();
    sender.on_sent(ms(0), ByteCount::new(120));
    sender.on_feedback(ms(100), &feedback(100, 0.0, 0.0));
    sender.on_feedback(ms(200), &feedback(200, 500_000.0, 0.2));
    // 1460/0.1/1.8637 * 0.75 = 5875 byte/s: a packet of 120 bytes every 20.4 ms.
    assert!((sender.allowed_rate().as_bytes_per_second() - 5875.0).abs() < 10.0);
    assert_eq!(sender.snapshot().inter_packet_interval.as_millis(), 20);
    sender.on_feedback(ms(300), &feedback(300, 500_000.0, 0.01));
    assert_eq!(sender.snapshot().inter_packet_interval, Duration::from_millis(10));
}

#[test]
fn a_maximum_set_later_applies_to_the_pacing() {
    let mut sender = TfrcSender::new(ms(0), config());
    sender.on_round_trip_sample(ms(0), Duration::from_millis(100));
    sender.expect_segment_size(ms(0), SEGMENT);
    assert_eq!(sender.snapshot().inter_packet_interval, Duration::from_millis(25));
    sender.set_max_rate(DataRate::from_bytes_per_second(10_000.0));
    assert_eq!(sender.snapshot().inter_packet_interval, Duration::from_millis(100));
}

/// A sender at 100 kB/s of 1000-byte packets, R = 100 ms, right after the report.
fn at_100_kilobytes() -> TfrcSender {
    let mut sender = TfrcSender::new(ms(0), config());
    sender.on_sent(ms(0), SEGMENT);
    for now in (100..=600).step_by(100) {
        send_until(&mut sender, now - 50, now);
        sender.on_feedback(ms(now), &feedback(now, 100_000.0, 0.01));
    }
    assert!(sender.allowed_rate().as_bytes_per_second() > 100_000.0);
    sender
}

/// RFC 4342, Section 5.2: X_drop = X_inrecv - 3 s/R = 70 kB/s, for a round-trip time.
#[test]
fn each_packet_dropped_by_a_receive_buffer_reduces_the_rate_for_a_round_trip() {
    let mut sender = at_100_kilobytes();
    let before = sender.allowed_rate();
    sender.on_receive_buffer_drops(ms(600), Duration::from_secs(1), 3);
    let rate = |sender: &TfrcSender| sender.allowed_rate().as_bytes_per_second();
    assert!((rate(&sender) - 70_000.0).abs() < 1.0, "{}", rate(&sender));
    sender.on_feedback(ms(650), &feedback(650, 100_000.0, 0.01));
    assert!((rate(&sender) - 70_000.0).abs() < 1.0, "{}", rate(&sender));
    sender.on_feedback(ms(700), &feedback(700, 100_000.0, 0.01));
    assert_eq!(sender.allowed_rate(), before);
}

#[test]
fn receive_buffer_drops_leave_a_packet_per_round_trip() {
    let mut sender = at_100_kilobytes();
    sender.on_receive_buffer_drops(ms(600), Duration::from_secs(1), 1000);
    let rate = sender.allowed_rate().as_bytes_per_second();
    assert!((rate - 10_000.0).abs() < 1.0, "{rate}");
}

#[test]
fn a_slow_receiver_limits_the_rate_to_its_receive_rate() {
    let mut sender = at_100_kilobytes();
    sender.on_slow_receiver(ms(600), Duration::from_secs(1));
    assert_eq!(sender.allowed_rate(), DataRate::from_bytes_per_second(100_000.0));
    sender.on_feedback(ms(650), &feedback(650, 100_000.0, 0.001));
    assert_eq!(sender.allowed_rate(), DataRate::from_bytes_per_second(100_000.0));
    sender.on_feedback(ms(700), &feedback(700, 100_000.0, 0.001));
    assert_eq!(sender.allowed_rate(), DataRate::from_bytes_per_second(200_000.0));
}

/// Data sent in a second with packets of `size` after many of 1200 bytes, which determine s; and the data
/// allowed.
fn sent_in_a_second(size: u64) -> (f64, f64) {
    let mut sender = TfrcSender::new(ms(0), config());
    sender.on_round_trip_sample(ms(0), Duration::from_millis(100));
    for now in 0..1000 {
        if sender.next_send_time() <= ms(now) {
            sender.on_sent(ms(now), ByteCount::new(1200));
        }
        if now >= 200 && now % 100 == 0 {
            sender.on_feedback(ms(now), &feedback(now, 100_000.0, 0.01));
        }
    }
    // The remainder of the previous round-trip time, for which a sender may catch up.
    for now in 1000..1100 {
        while sender.next_send_time() <= ms(now) {
            sender.on_sent(ms(now), ByteCount::new(size));
        }
    }
    let (mut sent, mut allowed) = (0.0, 0.0);
    for now in 1100..2100 {
        allowed += sender.allowed_rate().as_bytes_per_second() / 1000.0;
        while sender.next_send_time() <= ms(now) {
            sender.on_sent(ms(now), ByteCount::new(size));
            sent += size as f64;
        }
        if now % 100 == 0 {
            sender.on_feedback(ms(now), &feedback(now, 100_000.0, 0.01));
        }
    }
    (sent, allowed)
}

/// s follows slowly, and X is in bytes per second.
#[test]
fn packets_of_another_size_than_s_are_sent_at_the_allowed_rate() {
    for size in [40, 160, 600, 1200, 1400] {
        let (sent, allowed) = sent_in_a_second(size);
        let ratio = sent / allowed;
        assert!((0.97..1.03).contains(&ratio), "{size} bytes per packet: {ratio} of X");
    }
}

/// 220 bytes take longer than two packets of the 100 bytes that s was: a packet would be sent shortly before
/// the timer of 2s/X expires, and its feedback would arrive shortly after.
#[test]
fn the_nofeedback_timer_waits_for_packets_larger_than_s() {
    let mut sender = TfrcSender::new(ms(0), config());
    sender.on_round_trip_sample(ms(0), Duration::from_millis(10));
    let mut arrivals = alloc::collections::BTreeSet::new();
    let mut before = None;
    for now in 0..104_000 {
        let size = if now < 100_000 { 100 } else { 220 };
        if size == 220 && before.is_none() {
            before = Some(sender.snapshot());
        }
        if sender.next_send_time() <= ms(now) {
            sender.on_sent(ms(now), ByteCount::new(size));
            arrivals.insert(now + 10);
        }
        if arrivals.remove(&now) {
            // X = 2 X_recv = 1000 bytes per second.
            let feedback = Feedback { last_data_sent: ms(now - 10), ..feedback(now + 100, 500.0, 0.01) };
            sender.on_feedback(ms(now), &feedback);
        }
        sender.on_nofeedback_timeout(ms(now));
    }
    let (before, after) = (before.unwrap(), sender.snapshot());
    assert_eq!(after.nofeedback_reductions, before.nofeedback_reductions);
    assert!((999.0..1001.0).contains(&after.allowed_rate.as_bytes_per_second()), "{}", after.allowed_rate);
}

/// The receiving host is suspended for 20 s, with packets waiting for it. The first feedback after that is on
/// one of these; the next, on a packet sent after feedback resumed, shows if the path has changed.
#[test]
fn time_spent_waiting_for_a_stopped_receiver_is_not_round_trip_time() {
    for (later, expected) in [(100, 109), (1000, 199)] {
        let mut sender = TfrcSender::new(ms(0), config());
        sender.on_round_trip_sample(ms(0), Duration::from_millis(100));
        // The first samples replace the estimate.
        for now in [500, 1000, 1500, 2000] {
            send_until(&mut sender, now - 500, now);
            sender.on_feedback(ms(now), &feedback(now, 40_000.0, 0.01));
        }
        for now in 2000..22_000 {
            send_until(&mut sender, now, now + 1);
            sender.on_nofeedback_timeout(ms(now));
        }
        let waited = Feedback { last_data_sent: ms(2010), ..feedback(22_000, 40_000.0, 0.01) };
        sender.on_feedback(ms(22_000), &waited);
        assert_eq!(sender.rtt(), Some(Duration::from_millis(110)));
        sender.on_sent(ms(22_010), SEGMENT);
        let fresh = Feedback { last_data_sent: ms(22_010), ..feedback(22_010 + later, 40_000.0, 0.01) };
        sender.on_feedback(ms(22_010 + later), &fresh);
        assert_eq!(sender.rtt(), Some(Duration::from_millis(expected)));
    }
}

/// A silence begins with packets of 40 bytes, and X is halved until one of them takes seconds. A packet of
/// 1000 bytes then takes 2s/X, and not 25 times 40/X.
#[test]
fn a_large_packet_does_not_delay_the_next_probe_of_a_silence() {
    let mut sender = TfrcSender::new(ms(0), config());
    sender.on_round_trip_sample(ms(0), Duration::from_millis(10));
    let mut now = ms(0);
    while now < ms(10_000) {
        now = now.max(sender.next_send_time()).max(sender.nofeedback_deadline().unwrap_or(now));
        sender.on_nofeedback_timeout(now);
        sender.on_sent(now, ByteCount::new(40));
    }
    let small = sender.next_send_time() - now;
    assert!(small > Duration::from_secs(1), "{small}");
    now = now.max(sender.next_send_time());
    sender.on_sent(now, ByteCount::new(1000));
    let (large, average) = (sender.next_send_time() - now, sender.segment_size());
    assert!(average > ByteCount::new(40) && large <= small * 10, "{large} after {small}, s {average:?}");
    assert_eq!(large, average / sender.allowed_rate() * 2);
}

/// At the minimum rate, s/t_mbi, one packet of the size s is sent per t_mbi = 64 s (RFC 5348, Section 4.3). A
/// larger one takes no longer, and the nofeedback timer waits for two of them.
#[test]
fn the_next_packet_is_at_most_t_mbi_away_for_any_packet_size() {
    let mut sender = TfrcSender::new(ms(0), config());
    sender.on_round_trip_sample(ms(0), Duration::from_millis(100));
    let mut now = ms(0);
    while sender.allowed_rate() > ByteCount::new(40) / MAX_BACKOFF {
        now = now.max(sender.next_send_time()).max(sender.nofeedback_deadline().unwrap_or(now));
        sender.on_nofeedback_timeout(now);
        sender.on_sent(now, ByteCount::new(40));
        assert!(now < Instant::from_secs(10_000), "{:?}", sender.snapshot());
    }
    now = now.max(sender.next_send_time());
    sender.on_sent(now, ByteCount::new(1200));
    assert_eq!(sender.next_send_time(), now + MAX_BACKOFF);
    assert!(sender.nofeedback_deadline().is_none_or(|at| at <= now + MAX_BACKOFF * 2));
}
