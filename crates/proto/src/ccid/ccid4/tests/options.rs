//! The Dropped Packets option, and the nominal segment size.

use whimbrel_control::loss_detection::ArrivedPacket;
use whimbrel_control::tfrc::loss_history::HistoryConfig;
use whimbrel_control::tfrc::{ReceiverConfig, TfrcPacket, TfrcReceiver};
use whimbrel_wire::option::OptionBytes;

use super::*;
use crate::ccid::tfrc::small_packets::{drop_counts, dropped_packets, nominal_segment_size};
use crate::ccid::{Feedback, Mechanism, SenderMarks, SentPacket};

/// RFC 5622, Section 8.7.1: of packets 0 to 44, 10, 19, 20, 21, 23, 32 and 43 are lost; 43 is not known to
/// be. Its figure says that four packets of 19 to 23 are.
#[test]
fn the_example_of_the_rfc_is_written_as_it_says() {
    let history = HistoryConfig { first: Some(0), ..HistoryConfig::default() };
    let mut receiver =
        TfrcReceiver::new(Instant::ZERO, ReceiverConfig { history, ..ReceiverConfig::default() }, None);
    for sequence in (0..=44).filter(|sequence| ![10, 19, 20, 21, 23, 32, 43].contains(sequence)) {
        let arrival = ArrivedPacket::new(Instant::from_millis(sequence * 20), sequence);
        let sender_rtt = Some(Duration::from_millis(100));
        let packet = TfrcPacket { arrival, size: ByteCount::new(160), sent: None, sender_rtt };
        receiver.on_packet(arrival.at, &packet, None);
    }
    let options: Vec<DccpOption> = dropped_packets(receiver.interval_report()).collect();
    let data = [0, 0, 1, 0, 0, 4, 0, 0, 1, 0, 0, 0];
    assert_eq!(
        options,
        [DccpOption::CcidSpecific { kind: tfrc::DROPPED_PACKETS, data: OptionBytes::from_slice(&data) }]
    );
    assert_eq!(options[0].encoded_len(), 14);
    assert_eq!(drop_counts(&options).collect::<Vec<_>>(), [1, 4, 1, 0]);
}

/// RFC 4828, Section 3.
#[test]
fn a_path_with_a_small_mtu_lowers_the_nominal_size() {
    let small = SmallPackets::default();
    assert_eq!(nominal_segment_size(small, 500, 1400), ByteCount::new(500));
    assert_eq!(nominal_segment_size(small, 160, 160), ByteCount::new(1460), "the application's choice");
    assert_eq!(nominal_segment_size(small, 8000, 9000), ByteCount::new(1460));
}

#[test]
fn the_nominal_size_sets_the_initial_rate() {
    let rate = |limit: Option<usize>| {
        let config = config(TfrcConfig::default());
        let rtt = Some(Duration::from_millis(200));
        let next_sequence = SeqNo::new(1);
        let half = config.half_connection(Instant::ZERO, SIZE, rtt, next_sequence);
        let mut sender = mechanism().sender(&half);
        limit.inspect(|limit| sender.path_follower().unwrap().on_packet_size(Instant::ZERO, *limit));
        sender.snapshot().allowed_rate.unwrap().as_bytes_per_second()
    };
    assert_eq!(rate(None), 14_600.0 / 0.2);
    assert_eq!(rate(Some(500)), 5000.0 / 0.2);
}

/// RFC 5622, Section 8: of all its options, on a Data packet. (Only Data packets have no Acknowledgement
/// Number; a careless reader would take the options all the same.)
#[test]
fn on_data_packets_the_options_mean_nothing() {
    let config = config(TfrcConfig::default());
    let rtt = Some(Duration::from_millis(100));
    let next_sequence = SeqNo::new(1);
    let half = config.half_connection(Instant::ZERO, SIZE, rtt, next_sequence);
    let interval = |loss_length| tfrc::LossInterval {
        lossless_length: 5,
        loss_length,
        data_length: 5 + loss_length,
        ..tfrc::LossInterval::default()
    };
    let mut options = vec![tfrc::receive_rate(10_000), tfrc::loss_event_rate(10)];
    options.extend(tfrc::loss_intervals(0, [interval(5), interval(0)]));
    options.extend(tfrc::dropped_packets([2, 0]));
    let p = |packet_type| {
        let mut sender = mechanism().sender(&half);
        for n in 1..=15 {
            let packet = SentPacket {
                sequence: SeqNo::new(n),
                packet_type: PacketType::Data,
                payload: SIZE,
                more_queued: true,
            };
            let marks = SenderMarks { ccval: &mut 0, options: &mut whimbrel_wire::Options::new() };
            sender.on_sent(Instant::from_millis(10 * n), packet, marks);
        }
        let feedback = Feedback {
            ack: SeqNo::new(15),
            sequence: SeqNo::new(1),
            packet_type,
            options: &options,
            ack_vector: &[],
            data_dropped: &[],
            timestamp_rtt: None,
        };
        sender.on_feedback(Instant::from_millis(250), &feedback);
        sender.snapshot().loss_event_rate.unwrap()
    };
    assert_eq!(p(PacketType::Data), 0.0);
    assert!(p(PacketType::Ack) > 0.0);
}
