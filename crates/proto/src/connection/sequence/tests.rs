use PacketType::{Ack, Close, CloseReq, Data, Reset, Sync, SyncAck};

use super::*;

fn seq(n: u64) -> SeqNo {
    SeqNo::new(n)
}

/// GSS and GSR as given, both far from the beginning.
fn numbers(gss: u64, gsr: u64) -> SequenceNumbers {
    let mut numbers = SequenceNumbers::new(seq(gss).sub(100_000));
    numbers.start_receiving(seq(gsr).sub(100_000));
    numbers.gss = seq(gss);
    numbers.gsr = seq(gsr);
    numbers
}

#[test]
fn a_window_of_100_reaches_24_below_and_75_beyond_gsr() {
    // RFC 4340, Section 7.5.1: floor(W/4) = 25 numbers are at or below GSR, ceil(3W/4) = 75 above.
    let numbers = numbers(1000, 500);
    assert_eq!((numbers.swl(), numbers.swh()), (seq(476), seq(575)));
    assert_eq!((numbers.awl(), numbers.awh()), (seq(901), seq(1000)));
}

#[test]
fn an_odd_window_rounds_as_the_rfc_says() {
    let mut numbers = numbers(1000, 500);
    numbers.set_remote_window(33);
    assert_eq!((numbers.swl(), numbers.swh()), (seq(493), seq(525)));
    assert_eq!(numbers.swh().distance_from(numbers.swl()) + 1, 33);
    numbers.set_local_window(33);
    assert_eq!((numbers.awl(), numbers.awh()), (seq(968), seq(1000)));
}

#[test]
fn windows_do_not_reach_below_the_initial_numbers() {
    let mut numbers = SequenceNumbers::new(seq(1000));
    numbers.start_receiving(seq(500));
    assert_eq!(numbers.take_next(), seq(1000));
    assert_eq!(numbers.swl(), seq(500));
    assert_eq!(numbers.awl(), seq(1000));
    for _ in 0..150 {
        numbers.take_next();
    }
    assert_eq!(numbers.awl(), seq(1051));
    numbers.on_valid(Data, seq(520), None);
    assert_eq!(numbers.swl(), seq(500));
    numbers.on_valid(Data, seq(530), None);
    assert_eq!(numbers.swl(), seq(506));
}

#[test]
fn after_the_beginning_the_initial_numbers_bound_nothing() {
    // RFC 4340, Section 7.5.1: long connections wrap. ISR would lie inside the window here.
    let mut numbers = SequenceNumbers::new(seq(1000));
    numbers.start_receiving(seq(500));
    numbers.on_valid(Data, seq(500).add(MAX_SEQUENCE_WINDOW + 1), None);
    numbers.gsr = seq(505);
    assert_eq!(numbers.swl(), seq(481));
    numbers.gss = seq(1000).add(MAX_SEQUENCE_WINDOW);
    numbers.take_next();
    numbers.gss = seq(1010);
    assert_eq!(numbers.awl(), seq(911));
}

#[test]
fn windows_wrap_at_2_to_the_48() {
    let mut numbers = numbers(2, 3);
    assert_eq!((numbers.swl(), numbers.swh()), (seq(3).sub(24), seq(78)));
    assert!(numbers.is_valid(Data, seq(0).sub(21), None));
    assert!(!numbers.is_valid(Data, seq(0).sub(22), None));
    assert!(numbers.is_valid(Ack, seq(3), Some(seq(2).sub(99))));
    assert!(!numbers.is_valid(Ack, seq(3), Some(seq(2).sub(100))));
    numbers.on_valid(Data, seq(0).sub(1), None);
    assert_eq!(numbers.gsr(), seq(3), "a late packet does not move GSR back");
}

#[test]
fn data_and_acks_are_valid_within_both_windows() {
    let numbers = numbers(1000, 500);
    for (sequence, ack, valid) in [
        (476, 1000, true),
        (475, 1000, false),
        (575, 1000, true),
        (576, 1000, false),
        (500, 901, true),
        (500, 900, false),
        (500, 1001, false),
    ] {
        assert_eq!(numbers.is_valid(Ack, seq(sequence), Some(seq(ack))), valid, "{sequence} {ack}");
    }
    assert!(numbers.is_valid(Data, seq(476), None));
}

#[test]
fn packets_that_end_a_connection_must_be_new_and_acknowledge_no_less_than_before() {
    let mut numbers = numbers(1000, 500);
    numbers.on_valid(Ack, seq(500), Some(seq(950)));
    for packet_type in [CloseReq, Close, Reset] {
        for (sequence, ack, valid) in [
            (501, 950, true),
            (500, 950, false),
            (575, 1000, true),
            (576, 1000, false),
            (501, 949, false),
            (501, 1001, false),
        ] {
            let found = numbers.is_valid(packet_type, seq(sequence), Some(seq(ack)));
            assert_eq!(found, valid, "{packet_type:?} {sequence} {ack}");
        }
    }
}

#[test]
fn a_sync_does_not_move_gar() {
    let mut numbers = numbers(1000, 500);
    numbers.on_valid(Ack, seq(501), Some(seq(950)));
    numbers.on_valid(Sync, seq(502), Some(seq(999)));
    assert!(numbers.is_valid(Close, seq(503), Some(seq(950))));
    numbers.on_valid(SyncAck, seq(503), Some(seq(960)));
    assert!(!numbers.is_valid(Close, seq(504), Some(seq(959))));
}

#[test]
fn a_sync_may_be_any_number_beyond_unless_the_connection_is_active() {
    let numbers = numbers(1000, 500);
    assert!(numbers.is_valid_sync(seq(1_000_000), seq(1000), false));
    assert!(!numbers.is_valid_sync(seq(1_000_000), seq(1000), true));
    assert!(numbers.is_valid_sync(seq(575), seq(1000), true));
    assert!(!numbers.is_valid_sync(seq(475), seq(1000), false));
    assert!(!numbers.is_valid_sync(seq(1_000_000), seq(900), false), "its acknowledgement is always checked");
    assert!(!numbers.is_valid_sync(seq(1_000_000), seq(1001), false));
}

#[test]
fn nothing_can_be_acknowledged_before_anything_is_sent() {
    let mut numbers = SequenceNumbers::new(seq(1000));
    numbers.start_receiving(seq(500));
    for ack in [0, 998, 999, 1000, 1001] {
        assert!(!numbers.is_valid(Ack, seq(501), Some(seq(ack))));
        assert!(!numbers.is_valid(Close, seq(501), Some(seq(ack))));
    }
}

/// Sends `count` packets, one per `interval`, and returns what is asked for.
fn watch(count: u64, interval: Duration, rtt: Duration) -> Vec<u64> {
    let start = Instant::from_secs(1);
    let mut watch = WindowWatch::new(start, seq(0));
    (1..=count).filter_map(|n| watch.on_sent(start + interval * n, seq(n), 100, rtt)).collect()
}

#[test]
fn a_larger_window_is_wanted_once_a_fifth_of_it_takes_less_than_a_round_trip_time() {
    let rtt = Duration::from_millis(100);
    // 20 packets in 100 ms: five round-trip times' packets are just the window.
    assert_eq!(watch(100, Duration::from_millis(5), rtt), []);
    // 25 packets per round-trip time want 125; what is asked for is at least twice the window.
    assert_eq!(watch(20, Duration::from_millis(4), rtt), [200]);
    // 60 packets per round-trip time want 300.
    assert_eq!(watch(20, Duration::from_nanos(1_666_667), rtt), [299]);
    // A burst says little about the rate.
    assert_eq!(watch(20, Duration::ZERO, rtt), [400]);
}

#[test]
fn a_sync_for_an_overtaken_packet_measures_its_own_round_trip_time() {
    let mut numbers = SequenceNumbers::new(seq(0));
    (0..=200).for_each(|_| _ = numbers.take_next());
    numbers.on_valid(PacketType::Ack, seq(1), Some(seq(150)));
    // Five times the 60 packets that followed; within a factor of two to four of the present 100.
    assert_eq!(numbers.window_for_overtaken(seq(140)), Some(300));
    assert_eq!(numbers.window_for_overtaken(seq(110)), Some(400));
    // The window is large enough, or the packet was refused because those before it were lost.
    numbers.set_local_window(300);
    assert_eq!(numbers.window_for_overtaken(seq(140)), None);
    assert_eq!(numbers.window_for_overtaken(seq(150)), None);
    assert_eq!(numbers.window_for_overtaken(seq(180)), None);
}
