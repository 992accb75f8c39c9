use super::*;

fn at(millis: u64) -> Instant {
    Instant::from_secs(100) + Duration::from_millis(millis)
}

fn millis(n: u64) -> Duration {
    Duration::from_millis(n)
}

#[test]
fn the_handshake_gives_a_sample_for_the_packet_that_was_answered() {
    let mut rtt = RoundTripTime::default();
    assert_eq!(rtt.or_default(), millis(200));
    rtt.on_handshake_sent(at(0), SeqNo::new(1));
    rtt.on_handshake_sent(at(200), SeqNo::new(2));
    rtt.on_handshake_answered(at(300), SeqNo::new(1));
    assert_eq!(rtt.best(), Some(millis(300)), "it answers the first, whatever was sent since");
    rtt.on_handshake_answered(at(310), SeqNo::new(2));
    assert_eq!(rtt.best(), Some(millis(300)), "one sample of the handshake");

    let mut rtt = RoundTripTime::default();
    for request in 0..1_000 {
        rtt.on_handshake_sent(at(1_000 * request), SeqNo::new(request));
    }
    rtt.on_handshake_answered(at(999_500), SeqNo::new(3));
    assert_eq!(rtt.best(), None, "only the last ones are kept");
}

#[test]
fn the_first_sample_after_the_handshake_replaces_its_round_trip_time() {
    let mut rtt = RoundTripTime::default();
    rtt.on_handshake_sent(at(0), SeqNo::new(1));
    rtt.on_handshake_answered(at(300), SeqNo::new(1));
    let mut sample = |sent: u64, millis: u64| {
        let DccpOption::Timestamp(timestamp) = rtt.timestamp(at(sent)) else { panic!() };
        rtt.on_timestamp_echo(at(sent + millis), timestamp, Elapsed::Absent);
        rtt.best()
    };
    assert_eq!(sample(300, 40), Some(millis(40)));
    // From then on with the gain of 1/8.
    assert_eq!(sample(400, 48), Some(millis(41)));
}

#[test]
fn an_echo_excludes_the_time_held_by_the_peer() {
    let (mut here, mut there) = (RoundTripTime::default(), RoundTripTime::default());
    let DccpOption::Timestamp(timestamp) = here.timestamp(at(0)) else { panic!() };
    let echo = |there: &mut RoundTripTime, now| {
        let mut options = Options::new();
        there.write_echo(now, &mut options);
        options.pop()
    };
    assert_eq!(echo(&mut there, at(30)), None);
    there.on_timestamp(at(30), timestamp);
    // 25 ms are 2500 units of 10 us.
    let expected = DccpOption::TimestampEcho { timestamp, elapsed: Elapsed::Short(2500) };
    assert_eq!(echo(&mut there, at(55)), Some(expected));
    assert_eq!(echo(&mut there, at(56)), None, "one echo for each Timestamp");
    assert_eq!(here.on_timestamp_echo(at(85), timestamp, Elapsed::Short(2500)), Some(millis(60)));
    assert_eq!(here.best(), Some(millis(60)));
}

#[test]
fn echoes_that_make_no_sense_are_no_samples() {
    let mut rtt = RoundTripTime::default();
    assert_eq!(rtt.on_timestamp_echo(at(50), 0, Elapsed::Absent), None, "nothing was sent");
    let DccpOption::Timestamp(timestamp) = rtt.timestamp(at(0)) else { panic!() };
    assert_eq!(rtt.on_timestamp_echo(at(50), timestamp, Elapsed::Short(5001)), None, "kept longer than away");
    assert_eq!(
        rtt.on_timestamp_echo(at(50), timestamp.wrapping_add(6000), Elapsed::Absent),
        None,
        "of the future"
    );
    assert_eq!(rtt.best(), None);
    assert_eq!(rtt.on_timestamp_echo(at(50), timestamp, Elapsed::Short(5000)), Some(Duration::ZERO));
}

#[test]
fn timestamps_wrap_every_twelve_hours() {
    let mut rtt = RoundTripTime::default();
    // 2^32 units of 10 us are 42949.67296 s.
    let before = Instant::from_nanos(42_949_672_960_000 - 20_000_000);
    let DccpOption::Timestamp(timestamp) = rtt.timestamp(before) else { panic!() };
    assert!(timestamp > u32::MAX - 3000);
    assert_eq!(rtt.on_timestamp_echo(before + millis(50), timestamp, Elapsed::Absent), Some(millis(50)));
}

#[test]
fn samples_are_smoothed_and_the_senders_estimate_is_taken_as_it_is() {
    let mut rtt = RoundTripTime::default();
    rtt.on_sample(at(0), millis(80));
    rtt.on_sample(at(0), millis(160));
    assert_eq!(rtt.best(), Some(millis(90)));
    rtt.on_sender_estimate(at(0), Some(millis(50)));
    rtt.on_sender_estimate(at(0), None);
    assert_eq!(rtt.best(), Some(millis(50)));
}

#[test]
fn a_timestamp_is_wanted_four_round_trip_times_after_the_last_measurement() {
    let mut rtt = RoundTripTime::default();
    assert!(rtt.needs_timestamp(at(0)));
    rtt.on_sample(at(0), millis(100));
    assert!(!rtt.needs_timestamp(at(399)));
    assert!(rtt.needs_timestamp(at(400)));
    rtt.timestamp(at(400));
    assert!(!rtt.needs_timestamp(at(799)), "one is under way");
    rtt.on_sender_estimate(at(500), Some(millis(100)));
    assert!(!rtt.needs_timestamp(at(899)));
    assert!(rtt.needs_timestamp(at(900)));
}

/// The longest Elapsed Time stands for all that are longer (RFC 4340, Section 13.2), so that nothing can be
/// taken from what the Timestamp says, not even where that happens to leave a likely time.
#[test]
fn an_echo_with_a_saturated_elapsed_time_is_no_sample() {
    let (mut here, mut there) = (RoundTripTime::default(), RoundTripTime::default());
    let DccpOption::Timestamp(timestamp) = here.timestamp(at(0)) else { panic!() };
    there.on_timestamp(at(30), timestamp);
    let day = Duration::from_secs(86_400);
    let mut options = Options::new();
    there.write_echo(at(30) + day, &mut options);
    let elapsed = Elapsed::Long(Elapsed::OVERFLOW);
    assert_eq!(options[..], [DccpOption::TimestampEcho { timestamp, elapsed }]);
    // 2^32 units less one after it left: what the field says, and a round trip of no time at all.
    let least = UNIT * u64::from(u32::MAX);
    for away in [day, least, least + millis(60), least * 2 + UNIT] {
        assert_eq!(here.on_timestamp_echo(at(0) + away, timestamp, elapsed), None, "{away:?}");
    }
    assert_eq!(here.best(), None);
}
