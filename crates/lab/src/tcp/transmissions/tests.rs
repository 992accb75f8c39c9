use super::*;

fn at(milliseconds: u64) -> Instant {
    Instant::from_millis(milliseconds)
}

fn range(start: u64, end: u64) -> ByteRange {
    ByteRange::new(start, end)
}

/// Ten segments of 100 bytes, sent one after the other in each millisecond.
fn ten() -> Transmissions {
    let mut board = Transmissions::default();
    for number in 0..10 {
        board.push(range(number * 100, number * 100 + 100), at(number));
    }
    board
}

fn detect(board: &mut Transmissions, now: u64) -> (bool, Option<Instant>) {
    detect_with(board, now, 1)
}

fn detect_with(board: &mut Transmissions, now: u64, multiplier: u32) -> (bool, Option<Instant>) {
    let smoothed_rtt = Some(Duration::from_millis(50));
    board.detect(at(now), &Patience { smoothed_rtt, is_recovering: false, multiplier, enough: 300 })
}

#[test]
fn data_are_in_flight_until_they_are_delivered_or_lost() {
    let mut board = ten();
    assert_eq!(board.pipe(), 1000);
    let news = board.on_ack(at(50), 200, &[range(500, 700)], 1000);
    assert_eq!((news.delivered, news.timed, board.pipe(), board.sacked()), (400, Some(at(6)), 600, 200));
    // The same again is no news.
    assert_eq!(board.on_ack(at(51), 200, &[range(500, 700)], 1000).delivered, 0);
    // Data received selectively is not counted again.
    assert_eq!(board.on_ack(at(52), 700, &[], 1000).delivered, 300);
    assert_eq!((board.pipe(), board.sacked()), (300, 0));
}

#[test]
fn what_was_sent_before_the_newest_delivered_is_lost_after_the_window() {
    let mut board = ten();
    board.on_ack(at(54), 0, &[range(400, 500)], 1000);
    // Sent at 0, with a round-trip time of 50 ms and a window of a quarter of it.
    assert_eq!(detect(&mut board, 62), (false, Some(at(62) + Duration::from_micros(500))));
    assert_eq!(detect(&mut board, 63), (true, Some(at(63) + Duration::from_micros(500))));
    assert_eq!(board.next_lost(), Some(range(0, 100)));
    // Nothing that was sent later is ever lost by that.
    assert_eq!(detect(&mut board, 1000), (true, None));
    assert_eq!((board.pipe(), board.next_lost()), (500, Some(range(0, 100))));
}

#[test]
fn three_segments_received_above_end_the_window() {
    let mut board = ten();
    board.on_ack(at(54), 0, &[range(200, 500)], 1000);
    assert_eq!(detect(&mut board, 54), (true, None));
    assert_eq!(board.pipe(), 500);
}

#[test]
fn a_retransmission_is_lost_again() {
    let mut board = ten();
    board.on_ack(at(54), 0, &[range(200, 500)], 1000);
    detect(&mut board, 54);
    board.on_retransmitted(0, at(60));
    board.on_retransmitted(100, at(61));
    assert_eq!((board.pipe(), board.next_lost()), (700, None));
    board.on_ack(at(111), 0, &[range(100, 500)], 1000);
    assert!(detect(&mut board, 111).0);
    assert_eq!(board.next_lost(), Some(range(0, 100)));
}

/// An acknowledgement that comes too soon for the retransmission is of the original.
#[test]
fn an_early_acknowledgement_of_a_retransmission_shows_nothing() {
    let mut board = ten();
    board.on_ack(at(54), 0, &[range(200, 500)], 1000);
    detect(&mut board, 54);
    board.on_retransmitted(0, at(60));
    board.on_ack(at(62), 100, &[range(200, 500)], 1000);
    assert_eq!(detect(&mut board, 200), (false, None));
    assert_eq!(board.next_lost(), Some(range(100, 200)));
}

#[test]
fn a_partial_acknowledgement_cuts_a_segment() {
    let mut board = ten();
    assert_eq!(board.on_ack(at(50), 150, &[], 1000).delivered, 150);
    assert_eq!(board.pipe(), 850);
    board.on_timeout(at(55));
    assert_eq!(board.next_lost(), Some(range(150, 200)));
    assert_eq!(board.on_ack(at(60), 1000, &[], 1000).delivered, 850);
    assert_eq!((board.pipe(), board.next_lost()), (0, None));
}

/// RFC 8985, Section 6.2, Step 4: multiples of a quarter of the least round-trip time, up to SRTT.
#[test]
fn the_reordering_window_is_a_multiple_of_a_quarter_up_to_the_smoothed_round_trip_time() {
    // Sent at 0, 1 and 2, with a round-trip time of 40 ms.
    for (multiplier, window) in [(1, 10), (2, 20), (4, 40), (5, 50), (6, 50), (255, 50)] {
        let mut board = ten();
        board.on_ack(at(42), 0, &[range(200, 300)], 1000);
        assert_eq!(detect_with(&mut board, 43, multiplier), (false, Some(at(40 + window))), "{multiplier}");
    }
}

#[test]
fn what_is_no_longer_lost_is_in_flight_and_may_be_lost_later() {
    let mut board = ten();
    board.on_ack(at(54), 0, &[range(200, 500)], 1000);
    detect(&mut board, 54);
    board.on_retransmitted(0, at(60));
    assert_eq!((board.pipe(), board.retransmitted()), (600, 100));
    board.unmark_lost();
    assert_eq!((board.pipe(), board.next_lost(), board.retransmitted()), (700, None, 100));
    // Segment 1 is due as before; segment 0, sent again at 60, only when something sent later has arrived.
    assert!(detect(&mut board, 54).0);
    assert_eq!((board.next_lost(), board.pipe()), (Some(range(100, 200)), 600));
    board.on_ack(at(110), 0, &[range(100, 500)], 1000);
    assert_eq!((board.next_lost(), board.retransmitted()), (None, 100));
    board.on_ack(at(111), 1000, &[], 1000);
    assert_eq!((board.pipe(), board.retransmitted()), (0, 0));
}

#[test]
fn the_extent_of_reordering_reaches_to_the_highest_data_acknowledged() {
    let mut board = ten();
    assert_eq!(board.on_ack(at(50), 0, &[range(700, 800)], 1000).extent, 0);
    assert_eq!(board.on_ack(at(51), 0, &[range(200, 400), range(700, 800)], 1000).extent, 600);
}
