use std::{vec, vec::Vec};

use proptest::prelude::*;

use super::*;

fn option(kind: u8, data: &[u8]) -> DccpOption {
    ccid_specific(kind, OptionBytes::from_slice(data))
}

/// RFC 4342, Section 8.6.2: the intervals L3 to L0, and the option's data.
const EXAMPLE: [LossInterval; 4] = [
    LossInterval { lossless_length: 10, nonce: true, loss_length: 1, data_length: 10 },
    LossInterval { lossless_length: 8, nonce: false, loss_length: 5, data_length: 10 },
    LossInterval { lossless_length: 8, nonce: false, loss_length: 1, data_length: 8 },
    LossInterval { lossless_length: 10, nonce: true, loss_length: 0, data_length: 15 },
];
const EXAMPLE_DATA: [u8; 37] = [
    2, 0, 0, 10, 128, 0, 1, 0, 0, 10, 0, 0, 8, 0, 0, 5, 0, 0, 10, 0, 0, 8, 0, 0, 1, 0, 0, 8, 0, 0, 10, 128,
    0, 0, 0, 0, 15,
];

#[test]
fn loss_intervals_match_the_example_of_the_rfc() {
    let written: Vec<DccpOption> = loss_intervals(2, EXAMPLE).collect();
    assert_eq!(written, [option(193, &EXAMPLE_DATA)]);
    let Some(TfrcOption::LossIntervals(read)) = TfrcOption::parse(&written[0]) else { panic!("not read") };
    assert_eq!(read.skip_length, 2);
    assert!(read.iter().eq(EXAMPLE));
    // L3 ends just before 43, and L0 begins with packet 0.
    let packets: u32 = read.iter().map(LossInterval::sequence_length).sum();
    assert_eq!(packets, 43);
}

#[test]
fn dropped_packets_match_the_example_of_the_rfc() {
    // RFC 5622, Section 8.7.1.
    let written: Vec<DccpOption> = dropped_packets([1, 4, 1, 0]).collect();
    assert_eq!(written, [option(195, &[0, 0, 1, 0, 0, 4, 0, 0, 1, 0, 0, 0])]);
    let Some(TfrcOption::DroppedPackets(read)) = TfrcOption::parse(&written[0]) else { panic!("not read") };
    assert!(read.iter().eq([1, 4, 1, 0]));
}

#[test]
fn rates_are_encoded_as_one_number() {
    assert_eq!(loss_event_rate(NO_LOSS_EVENT), option(192, &[255; 4]));
    assert_eq!(TfrcOption::parse(&loss_event_rate(100)), Some(TfrcOption::LossEventRate(100)));
    assert_eq!(receive_rate(0x0102_0304), option(194, &[1, 2, 3, 4]));
    assert_eq!(TfrcOption::parse(&receive_rate(7)), Some(TfrcOption::ReceiveRate(7)));
    // The limits of the fields are ordinary numbers, except for the maximum Loss Event Rate, which means
    // none.
    for end in [0, NO_LOSS_EVENT - 1, NO_LOSS_EVENT] {
        assert_eq!(TfrcOption::parse(&loss_event_rate(end)), Some(TfrcOption::LossEventRate(end)));
        assert_eq!(TfrcOption::parse(&receive_rate(end)), Some(TfrcOption::ReceiveRate(end)));
    }
}

#[test]
fn rtt_estimates_have_the_minimum_width() {
    for (estimate, data) in [
        (RttEstimate::None, &[0][..]),
        (RttEstimate::Micros(1), &[1]),
        (RttEstimate::Micros(255), &[255]),
        (RttEstimate::Micros(256), &[1, 0]),
        (RttEstimate::Micros(0x01_0000), &[1, 0, 0]),
        (RttEstimate::Micros(0xff_fffe), &[255, 255, 254]),
        (RttEstimate::Spike, &[255, 255, 255]),
    ] {
        assert_eq!(estimate.to_option(), option(128, data));
        assert_eq!(TfrcOption::parse(&option(128, data)), Some(TfrcOption::RttEstimate(estimate)));
    }
    let wide = option(128, &[0, 1, 0]);
    assert_eq!(TfrcOption::parse(&wide), Some(TfrcOption::RttEstimate(RttEstimate::Micros(256))));
}

#[test]
fn rtt_estimates_round_up() {
    assert_eq!(RttEstimate::from_nanos(0), RttEstimate::Micros(1));
    assert_eq!(RttEstimate::from_nanos(1_001), RttEstimate::Micros(2));
    assert_eq!(RttEstimate::from_nanos(16_777_214_000), RttEstimate::Micros(0xff_fffe));
    assert_eq!(RttEstimate::from_nanos(16_777_214_001), RttEstimate::Spike);
    assert_eq!(RttEstimate::Micros(2).nanos(), Some(2_000));
    assert_eq!(RttEstimate::Spike.nanos(), None);
}

#[test]
fn data_of_other_lengths_are_rejected() {
    let cases: [(u8, &[usize]); 5] =
        [(128, &[0, 4]), (192, &[0, 3, 5]), (193, &[0, 2, 9, 11]), (194, &[3, 5]), (195, &[1, 2, 4])];
    for (kind, lengths) in cases {
        for length in lengths {
            assert_eq!(TfrcOption::parse(&option(kind, &vec![0; *length])), None, "{kind} of {length}");
        }
    }
    assert_eq!(TfrcOption::parse(&option(196, &[])), None);
    assert_eq!(TfrcOption::parse(&DccpOption::SlowReceiver), None);
    // No interval yet: the receiver reports the skip length alone.
    assert!(matches!(TfrcOption::parse(&option(193, &[3])), Some(TfrcOption::LossIntervals(_))));
}

#[test]
fn long_lists_continue_in_another_option() {
    let interval = LossInterval { lossless_length: 5, ..LossInterval::default() };
    let lengths = |count| -> Vec<usize> {
        loss_intervals(3, core::iter::repeat_n(interval, count)).map(|option| option.encoded_len()).collect()
    };
    assert_eq!(lengths(0), [3]);
    assert_eq!(lengths(28), [255]);
    assert_eq!(lengths(29), [255, 12]);
    let options: Vec<DccpOption> = loss_intervals(3, core::iter::repeat_n(interval, 29)).collect();
    let Some(TfrcOption::LossIntervals(second)) = TfrcOption::parse(&options[1]) else { panic!("not read") };
    assert_eq!(second.skip_length, 0);
    let lengths: Vec<usize> = dropped_packets(0..85).map(|option| option.encoded_len()).collect();
    assert_eq!(lengths, [254, 5]);
}

#[test]
fn lengths_beyond_their_field_saturate() {
    let huge = LossInterval {
        lossless_length: u32::MAX,
        nonce: false,
        loss_length: u32::MAX,
        data_length: u32::MAX,
    };
    let options: Vec<DccpOption> = loss_intervals(0, [huge]).collect();
    assert_eq!(options, [option(193, &[0, 255, 255, 255, 127, 255, 255, 255, 255, 255])]);
    let options: Vec<DccpOption> = dropped_packets([u32::MAX, MAX_24 + 1, MAX_24, MAX_24 - 1, 0]).collect();
    assert_eq!(options[0].encoded_len(), 2 + 5 * 3);
    let Some(TfrcOption::DroppedPackets(read)) = TfrcOption::parse(&options[0]) else { panic!("not read") };
    assert!(read.iter().eq([MAX_24, MAX_24, MAX_24, MAX_24 - 1, 0]));
}

fn interval() -> impl Strategy<Value = LossInterval> {
    (0..1u32 << 24, any::<bool>(), 0..1u32 << 23, 0..1u32 << 24).prop_map(
        |(lossless_length, nonce, loss_length, data_length)| LossInterval {
            lossless_length,
            nonce,
            loss_length,
            data_length,
        },
    )
}

proptest! {
    #[test]
    fn loss_intervals_are_decoded_as_they_were_encoded(
        skip: u8,
        intervals in proptest::collection::vec(interval(), 0..100),
    ) {
        let mut read = Vec::new();
        for (index, option) in loss_intervals(skip, intervals.iter().copied()).enumerate() {
            let Some(TfrcOption::LossIntervals(part)) = TfrcOption::parse(&option) else {
                panic!("not read")
            };
            prop_assert_eq!(part.skip_length, if index == 0 { skip } else { 0 });
            read.extend(part.iter());
        }
        prop_assert_eq!(read, intervals);
    }
}

#[test]
fn the_freezing_options_are_decoded_as_encoded_and_not_otherwise() {
    for rule in [
        ProbeRule::Loss,
        ProbeRule::LossOneInterval,
        ProbeRule::ReceiveRate { rtt_micros: 0 },
        ProbeRule::ReceiveRate { rtt_micros: 7 },
        ProbeRule::Settle { rtt_micros: 0x012345 },
    ] {
        assert_eq!(TfrcOption::parse(&restoring(rule)), Some(TfrcOption::Restoring(rule)));
        assert_eq!(TfrcOption::parse(&probing(rule)), Some(TfrcOption::Probing(rule)));
    }
    assert_eq!(restoring(ProbeRule::Loss), option(184, &[]));
    assert_eq!(probing(ProbeRule::LossOneInterval), option(185, &[3]));
    assert_eq!(probing(ProbeRule::Settle { rtt_micros: 0x012345 }), option(185, &[2, 1, 0x23, 0x45]));
    assert_eq!(probing(ProbeRule::Settle { rtt_micros: u32::MAX }), option(185, &[2, 0xff, 0xff, 0xff]));
    assert_eq!(TfrcOption::parse(&unfrozen()), Some(TfrcOption::Unfrozen));
    assert_eq!(unfrozen(), option(248, &[]));
    for (kind, data) in
        [(184, &[0][..]), (185, &[4]), (185, &[1, 1]), (185, &[2]), (185, &[3, 0, 0, 1]), (248, &[0])]
    {
        assert_eq!(TfrcOption::parse(&option(kind, data)), None);
    }
}

#[test]
fn ecn_counts_are_two_numbers_of_24_bits() {
    let counts = EcnCounts { marked: 0x01_0203, received: 0x04_0506 };
    assert_eq!(counts.to_option(), option(249, &[1, 2, 3, 4, 5, 6]));
    assert_eq!(TfrcOption::parse(&counts.to_option()), Some(TfrcOption::EcnCounts(counts)));
    assert_eq!(EcnCounts { marked: 3, received: 12 }.share(), 0.25);
    assert_eq!(EcnCounts::default().share(), 0.0);
    let most = EcnCounts { marked: u32::MAX, received: u32::MAX }.to_option();
    assert_eq!(most, option(249, &[255; 6]));
    for data in [&[][..], &[0; 5], &[0; 7], &[0, 0, 2, 0, 0, 1]] {
        assert_eq!(TfrcOption::parse(&option(249, data)), None, "{data:?}");
    }
}

proptest! {
    #[test]
    fn ecn_counts_survive_any_bytes(data in proptest::collection::vec(any::<u8>(), 0..12)) {
        let option = option(ECN_COUNTS, &data);
        if let Some(TfrcOption::EcnCounts(counts)) = TfrcOption::parse(&option) {
            prop_assert!((0.0..=1.0).contains(&counts.share()));
            prop_assert_eq!(counts.to_option(), option);
        }
    }
}
