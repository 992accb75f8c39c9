use super::*;

fn marked(count: u32) -> Script {
    let mut config = Script::rfc(Variant::NewReno, count);
    config.ecn = EcnMode::Classic;
    let mut script = Script::fill(config, count);
    script.flags = Flags::ACK | Flags::ECE;
    script
}

#[test]
fn new_data_is_ecn_capable_and_a_retransmission_is_not() {
    let mut config = Script::rfc(Variant::NewReno, 5);
    config.ecn = EcnMode::Classic;
    let mut script = Script::new(config);
    let first = script.sender.poll_transmit(script.now).expect("data");
    assert!(first.flags.contains(Flags::ECT));
    script.sends(1..5).ack(0).ack(0).ack(0);
    let again = script.sender.poll_transmit(script.now).expect("a retransmission");
    assert_eq!((again.seq, again.flags.contains(Flags::ECT)), (0, false));
}

#[test]
fn a_window_of_data_is_cut_once_however_many_marks_it_has() {
    let mut script = marked(10);
    script.ack(1).ack(2).ack(3).sends_nothing();
    let snapshot = script.sender.snapshot();
    assert_eq!((snapshot.cwnd, snapshot.ssthresh, snapshot.congestion_marks), (5.0, 5.0, 1));
    // The first new data signals it to the receiver, and no later segment.
    script.ack(6);
    assert!(script.sender.poll_transmit(script.now).expect("new data").flags.contains(Flags::CWR));
    script.ack(7);
    assert!(!script.sender.poll_transmit(script.now).expect("more").flags.contains(Flags::CWR));
    // The receiver echoes the mark up to the segment before the one with CWR.
    script.ack(10);
    assert_eq!(script.sender.snapshot().congestion_marks, 1);
    // Data sent since the cut may be marked again.
    script.ack(11);
    assert_eq!(script.sender.snapshot().congestion_marks, 2);
}

#[test]
fn an_echo_does_not_open_the_window() {
    let mut script = marked(10);
    script.ack(1).ack(2);
    assert_eq!(script.sender.snapshot().cwnd, 5.0);
    script.flags = Flags::ACK;
    script.ack(3);
    assert_eq!(script.sender.snapshot().cwnd, 5.2);
}

#[test]
fn a_mark_and_a_loss_in_one_window_cut_it_once() {
    let mut script = marked(10);
    script.ack(1);
    script.flags = Flags::ACK;
    script.ack(1).ack(1).ack(1).sends([1]);
    let snapshot = script.sender.snapshot();
    assert_eq!((snapshot.ssthresh, snapshot.fast_retransmits), (5.0, 1));
}

#[test]
fn a_window_of_one_segment_waits_for_the_timer() {
    let mut script = marked(1);
    script.ack(1).sends_nothing();
    let resumes = script.sender.poll_timeout().expect("a deadline");
    assert_eq!(resumes - script.now, script.sender.snapshot().rto);
    script.timeout().sends([1]);
    assert_eq!(script.sender.snapshot().timeouts, 0);
}

#[test]
fn any_cut_is_announced_to_the_receiver() {
    let mut config = Script::rfc(Variant::NewReno, 10);
    config.ecn = EcnMode::Classic;
    let mut script = Script::fill(config, 10);
    script.ack(0).ack(0).ack(0).sends([0]).wait(100).ack(10);
    assert!(script.sender.poll_transmit(script.now).expect("new data").flags.contains(Flags::CWR));
}
