use whimbrel_units::{ByteCount, Duration, Instant};

use super::Stall;
use crate::media::{Feedback, SentPacket};

#[test]
fn bytes_in_flight_are_written_off_after_the_time_out_until_the_next_report() {
    let timeout = Duration::from_millis(500);
    let at = Instant::from_millis;
    let mut stall = Stall::default();
    assert_eq!(stall.deadline(timeout), None);
    stall.on_sent(&SentPacket {
        sequence: 0,
        sent_at: at(100),
        captured_at: at(100),
        size: ByteCount::new(1200),
        probe: None,
    });
    assert_eq!(stall.deadline(timeout), Some(at(600)));
    assert!(!stall.on_timer(at(599), timeout));
    assert!(stall.on_timer(at(600), timeout));
    assert_eq!((stall.written_off(), stall.in_flight(), stall.deadline(timeout)), (1200.0, 0.0, None));
    let in_flight = ByteCount::new(300);
    stall.on_feedback(&Feedback { now: at(700), packets: &[], rtt: None, in_flight });
    assert_eq!((stall.written_off(), stall.deadline(timeout)), (0.0, Some(at(1200))));
}
