use super::*;
use crate::tests_support::File;

fn recorded(file: &File, port: Option<u16>) -> Option<LossRecording> {
    losses(file.bytes(), port).expect("a capture")
}

fn milliseconds(spans: &[(Duration, Duration)]) -> Vec<(u64, u64)> {
    spans.iter().map(|(from, to)| (from.as_millis(), to.as_millis())).collect()
}

#[test]
fn missing_numbers_are_losses_for_their_share_of_the_time() {
    let mut file = File::new();
    // Over the wrap of 16 bits: 65533, 65534, then 65535 to 2 are missing, then 3, 4; 5 comes after 6.
    for (ms, sequence) in [(0, 65_533), (20, 65_534), (120, 3), (140, 4), (180, 6), (185, 5), (185, 6)] {
        file.rtp(ms, 5004, 9, sequence);
    }
    let found = recorded(&file, None).expect("a stream");
    assert_eq!(found.stream, "RTP 192.0.2.1:4000 > 192.0.2.2:5004 ssrc 00000009");
    assert_eq!((found.streams, found.passed, found.lost), (1, 6, 4));
    assert_eq!(found.length, Duration::from_millis(185));
    // Four packets between 20 and 120 ms, 20 ms apart: from half a spacing before the first to half after the
    // last.
    assert_eq!(milliseconds(&found.spans), [(30, 110)]);
}

#[test]
fn the_largest_stream_counts_unless_a_port_is_named() {
    let mut file = File::new();
    for nth in 0..10u16 {
        file.rtp(u64::from(nth) * 20, 5004, 1, nth);
        if nth % 2 == 0 {
            file.rtp(u64::from(nth) * 20, 5006, 2, nth);
        }
    }
    // RTCP and other protocols are no streams.
    for nth in 0..30 {
        file.udp(nth, 5005, &[0x80, 200, 0, 1, 0, 0, 0, 1, 0, 0, 0, 0]);
        file.udp(nth, 53, &[0x12; 40]);
    }
    let largest = recorded(&file, None).expect("a stream");
    assert_eq!((largest.streams, largest.passed, largest.lost), (2, 10, 0));
    assert!(largest.spans.is_empty());
    let other = recorded(&file, Some(5006)).expect("a stream");
    assert_eq!((other.streams, other.passed, other.lost), (1, 5, 4));
    assert_eq!(milliseconds(&other.spans), [(10, 30), (50, 70), (90, 110), (130, 150)]);
    assert_eq!(recorded(&file, Some(53)), None);
}

#[test]
fn packets_captured_at_the_same_time_use_the_mean_spacing() {
    let mut file = File::new();
    for (ms, sequence) in [(0, 1), (40, 2), (40, 4), (80, 5)] {
        file.rtp(ms, 5004, 1, sequence);
    }
    let found = recorded(&file, None).expect("a stream");
    // 80 ms over five numbers.
    assert_eq!((found.lost, milliseconds(&found.spans)), (1, vec![(40, 56)]));
}

#[test]
fn a_file_without_packets_has_no_stream() {
    assert_eq!(recorded(&File::new(), None), None);
    assert!(losses(&b"time_s\n1\n"[..], None).is_err());
}
