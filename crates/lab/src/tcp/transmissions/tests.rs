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
    board.detect(at(now), Some(Duration::from_millis(50)), false, 3, 100)
}

#[test]
fn data_are_in_flight_until_they_are_delivered_or_lost() {
    let mut board = ten();
    assert_eq!(board.pipe(), 1000);
    let news = board.on_ack(at(50), 200, &[range(500, 700)], 1000);
    assert_eq!((news.delivered, news.timed, board.pipe(), board.sacked()), (400, Some(at(6)), 600, 200));
    // The same again is no news.
    assert_eq!(board.on_ack(at(51), 200, &[range(500, 700)], 1000).delivered, 0);
    // What was received selectively is not delivered again.
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
