use super::*;

fn bytes(bytes: u64) -> ByteCount {
    ByteCount::new(bytes)
}

#[test]
fn a_fixed_size_is_not_measured() {
    let mut meter = SegmentMeter::new(SegmentSize::Fixed(bytes(1460)));
    meter.on_sent(bytes(100));
    assert_eq!((meter.segment_size(), meter.largest(), meter.mean()), (bytes(1460), bytes(1460), bytes(100)));
}

#[test]
fn the_expected_size_applies_until_a_packet_is_sent() {
    let mut meter = SegmentMeter::new(SegmentSize::Average { expected: bytes(1000) });
    assert_eq!((meter.segment_size(), meter.largest()), (bytes(1000), bytes(1000)));
    meter.on_sent(bytes(200));
    meter.on_sent(bytes(300));
    assert_eq!((meter.segment_size(), meter.largest()), (bytes(250), bytes(300)));
}

#[test]
fn the_average_covers_four_loss_intervals() {
    let mut meter = SegmentMeter::new(SegmentSize::Average { expected: bytes(1) });
    for size in [900, 100, 200, 300] {
        meter.on_sent(bytes(size));
        meter.on_loss_event();
    }
    // The current interval is the fourth, so that the one of 900 is dropped: (100 + 200 + 300)/3.
    assert_eq!(meter.segment_size(), bytes(200));
    meter.on_sent(bytes(1000));
    assert_eq!(meter.segment_size(), bytes(400));
}

#[test]
fn empty_packets_do_not_make_the_size_zero() {
    let mut meter = SegmentMeter::new(SegmentSize::Average { expected: bytes(0) });
    meter.on_sent(bytes(0));
    assert_eq!((meter.segment_size(), meter.largest()), (bytes(1), bytes(1)));
}

/// 10,000 packets of 1200 bytes without any loss, and then 160 bytes.
#[test]
fn old_packets_lose_weight_without_any_loss() {
    let mut meter = SegmentMeter::new(SegmentSize::Average { expected: bytes(1) });
    let mut send = |size: u64, round_trips: usize| {
        for _ in 0..round_trips {
            (0..10).for_each(|_| _ = meter.on_sent(bytes(size)));
            meter.on_round_trip();
        }
        meter.segment_size()
    };
    assert_eq!(send(1200, 1000), bytes(1200));
    // 160 + 1040 (15/16)^n.
    assert_eq!(send(160, 10), bytes(705));
    assert_eq!(send(160, 40), bytes(201));
    assert_eq!(send(160, 150), bytes(160));
}
