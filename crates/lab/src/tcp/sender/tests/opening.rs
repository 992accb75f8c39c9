use super::*;

fn handshake() -> Script {
    let mut config = Script::rfc(Variant::Sack, 4);
    config.handshake = true;
    Script::new(config)
}

fn syn_ack() -> Segment {
    Segment { window: 60_000, flags: Flags::SYN | Flags::ACK, ..Segment::default() }
}

#[test]
fn data_waits_for_the_answer_to_the_syn() {
    let mut script = handshake();
    let syn = script.sender.poll_transmit(script.now).expect("a SYN");
    assert!(syn.flags.contains(Flags::SYN | Flags::SACK_PERMITTED));
    assert_eq!((syn.length, syn.mss), (0, 1000));
    script.sends_nothing();
    script.wait(80).receive(&syn_ack());
    script.sends(0..4);
    // The SYN gave the first round-trip time.
    assert_eq!(script.sender.snapshot().smoothed_rtt, Some(Duration::from_millis(80)));
}

#[test]
fn a_syn_waits_for_data() {
    let mut config = Script::rfc(Variant::Sack, 4);
    config.handshake = true;
    let mut script = Script::idle(config);
    script.sends_nothing();
    assert_eq!(script.sender.poll_timeout(), None);
    script.sender.send(1);
    assert!(script.sender.poll_transmit(script.now).expect("a SYN").flags.contains(Flags::SYN));
}

#[test]
fn a_lost_syn_costs_the_initial_window_and_three_seconds_of_timeout() {
    let mut script = handshake();
    script.sender.poll_transmit(script.now);
    script.timeout();
    assert_eq!(script.now, Instant::from_secs(1));
    assert!(script.sender.poll_transmit(script.now).expect("another SYN").flags.contains(Flags::SYN));
    assert_eq!(script.sender.poll_timeout(), Some(Instant::from_secs(3)));
    script.wait(80).receive(&syn_ack());
    script.sends([0]);
    let snapshot = script.sender.snapshot();
    assert_eq!((snapshot.rto, snapshot.smoothed_rtt), (Duration::from_secs(3), None));
}

#[test]
fn a_second_answer_to_the_syn_changes_nothing() {
    let mut script = handshake();
    script.sender.poll_transmit(script.now);
    script.receive(&syn_ack());
    script.sends(0..4);
    let before = script.sender.snapshot();
    script.receive(&syn_ack());
    script.sends_nothing();
    assert_eq!(script.sender.snapshot(), before);
}
