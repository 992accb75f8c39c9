use alloc::vec;

use proptest::prelude::*;

use super::*;

/// Written by hand from Figure 1 of RFC 8888.
const REPORT: [u8; 24] = [
    0x8b, 205, 0, 5, // version 2, FMT 11, PT 205, 6 words
    0, 0, 0, 1, // SSRC of the sender
    0, 0, 0, 2, // SSRC of the stream
    0xff, 0xff, 0, 1, // begin_seq, num_reports
    0xe2, 0, 0, 0, // received, CE, half a second; padding
    0, 1, 0x80, 0, // 1.5 s
];

#[test]
fn bytes_are_those_of_the_rfcs_figure() {
    let report = CongestionFeedback {
        sender: 1,
        streams: vec![StreamReport {
            ssrc: 2,
            first: 0xffff,
            metrics: vec![PacketMetric::received(Ecn::Ce, 512)],
        }],
        timestamp: 0x1_8000,
    };
    let mut bytes = Vec::new();
    report.encode(&mut bytes).expect("a short report");
    assert_eq!(bytes, REPORT);
    assert_eq!(CongestionFeedback::decode(&REPORT), Ok(report));
}

#[test]
fn offsets_beyond_the_range_have_their_own_code() {
    assert_eq!(PacketMetric::received(Ecn::NotEct, 0x1ffd).offset(), Some(ArrivalOffset::Before(0x1ffd)));
    assert_eq!(PacketMetric::received(Ecn::NotEct, 0x1ffe).offset(), Some(ArrivalOffset::OverRange));
    assert_eq!(PacketMetric::received(Ecn::Ect1, u64::MAX).offset(), Some(ArrivalOffset::OverRange));
    assert_eq!(PacketMetric(0xffff).offset(), Some(ArrivalOffset::Unavailable));
    assert_eq!(PacketMetric::NOT_RECEIVED.offset(), None);
}

#[test]
fn each_fault_has_its_error() {
    let decode = |change: &dyn Fn(&mut Vec<u8>)| {
        let mut bytes = REPORT.to_vec();
        change(&mut bytes);
        CongestionFeedback::decode(&bytes)
    };
    assert_eq!(decode(&|bytes| bytes[0] = 0x4b), Err(FeedbackError::Version));
    assert_eq!(decode(&|bytes| bytes[0] = 0x8f), Err(FeedbackError::Type));
    assert_eq!(decode(&|bytes| bytes[1] = 206), Err(FeedbackError::Type));
    assert_eq!(decode(&|bytes| bytes.truncate(23)), Err(FeedbackError::Truncated));
    // More metric blocks than the packet holds, and more than a report may have.
    assert_eq!(decode(&|bytes| bytes[15] = 3), Err(FeedbackError::Truncated));
    assert_eq!(decode(&|bytes| bytes[14] = 0x7f), Err(FeedbackError::TooLong));
    // Padding of a length that no padding has.
    assert_eq!(decode(&|bytes| bytes[0] |= 0x20), Err(FeedbackError::Padding));
    for length in 0..REPORT.len() {
        assert!(CongestionFeedback::decode(&REPORT[..length]).is_err(), "{length} bytes");
    }
}

#[test]
fn padding_at_the_end_is_left_out() {
    let mut bytes = REPORT.to_vec();
    bytes[0] |= 0x20;
    bytes[3] += 1;
    bytes.extend([0, 0, 0, 4]);
    assert_eq!(CongestionFeedback::decode(&bytes), CongestionFeedback::decode(&REPORT));
}

proptest! {
    #[test]
    fn a_report_survives_the_wire(
        sender: u32,
        timestamp: u32,
        streams in prop::collection::vec((any::<u32>(), any::<u16>(), prop::collection::vec(any::<(bool, u8, u16)>(), 0..40)), 0..4),
    ) {
        let metric = |(received, ecn, offset): (bool, u8, u16)| match received {
            true => PacketMetric::received(Ecn::from_bits(ecn), u64::from(offset)),
            false => PacketMetric::NOT_RECEIVED,
        };
        let streams = streams.into_iter().map(|(ssrc, first, metrics)| StreamReport {
            ssrc, first, metrics: metrics.into_iter().map(metric).collect(),
        });
        let report = CongestionFeedback { sender, streams: streams.collect(), timestamp };
        let mut bytes = Vec::new();
        report.encode(&mut bytes).expect("a short report");
        prop_assert_eq!(bytes.len(), report.encoded_len());
        prop_assert_eq!(CongestionFeedback::decode(&bytes), Ok(report));
    }

    #[test]
    fn any_bytes_are_decoded_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let mut framed = alloc::vec![0x8b, 205, 0, (bytes.len() / 4) as u8];
        framed.extend(&bytes);
        for bytes in [&bytes, &framed] {
            if let Ok(report) = CongestionFeedback::decode(bytes) {
                let mut again = Vec::new();
                report.encode(&mut again).expect("it was as long");
                prop_assert_eq!(CongestionFeedback::decode(&again), Ok(report));
            }
        }
    }
}
