//! Any bytes as an option area, with everything that reads an option's data.

use whimbrel_wire::{
    DccpOption, Packet, PacketType, Reset, SeqNo,
    option::{ack_vector, data_dropped, mobility::MobilityOption, tfrc},
};

/// The generic header of a Data packet with short sequence numbers.
const HEADER: [u8; 12] = [0x12, 0x34, 0x56, 0x78, 0, 0, 0, 0, 2 << 1, 0, 0, 9];
const LONGEST: usize = 1020 - HEADER.len();

/// One input.
///
/// # Panics
///
/// If the code under test is wrong.
pub fn check(data: &[u8]) {
    let area = &data[..data.len().min(LONGEST)];
    let mut bytes = [&HEADER[..], area].concat();
    bytes.resize(bytes.len().next_multiple_of(4), 0);
    bytes[4] = u8::try_from(bytes.len() / 4).expect("at most 1020 bytes");
    let packet = Packet::decode_slice(&bytes).expect("no option makes a packet invalid");
    assert_eq!(packet.header_len(), bytes.len());

    let mut written = Vec::new();
    packet.encode(&mut written).expect("what was read can be written");
    assert_eq!(written, bytes, "options keep their bytes");

    let ack = SeqNo::new(100);
    for run in ack_vector::runs(ack, &packet.options) {
        assert!((0..64).contains(&run.newest.distance_from(run.oldest)));
    }
    for run in data_dropped::runs(ack, &packet.options) {
        assert!((0..128).contains(&run.newest.distance_from(run.oldest)));
    }
    for option in &packet.options {
        check_option(option);
    }
}

fn check_option(option: &DccpOption) {
    assert_eq!(Reset::option_error(option).data[0], option.kind());
    assert!(!option.counts_on(PacketType::Listen));
    match option {
        DccpOption::Feature(feature) => {
            if let Some(number) = feature.as_number() {
                assert!(number < SeqNo::MODULUS);
            }
            assert_eq!(feature.as_confirmation().is_none(), feature.values.is_empty());
        }
        DccpOption::CcidSpecific { .. } => check_tfrc(option),
        DccpOption::Mobility { .. } => {
            if let Some(read) = MobilityOption::parse(option) {
                assert_eq!(&DccpOption::from(read), option);
            }
        }
        _ => {}
    }
}

/// Options that CCID 3 and 4 can read, they can write.
fn check_tfrc(option: &DccpOption) {
    use tfrc::TfrcOption;
    let written = match TfrcOption::parse(option) {
        None => return,
        Some(TfrcOption::RttEstimate(estimate)) => {
            let minimal = estimate.to_option();
            assert_eq!(TfrcOption::parse(&minimal), TfrcOption::parse(option));
            return;
        }
        Some(TfrcOption::Restoring(rule)) => Some(tfrc::restoring(rule)),
        Some(TfrcOption::Probing(rule)) => Some(tfrc::probing(rule)),
        Some(TfrcOption::Unfrozen) => Some(tfrc::unfrozen()),
        Some(TfrcOption::EcnCounts(counts)) => Some(counts.to_option()),
        Some(TfrcOption::LossEventRate(inverse)) => Some(tfrc::loss_event_rate(inverse)),
        Some(TfrcOption::ReceiveRate(rate)) => Some(tfrc::receive_rate(rate)),
        Some(TfrcOption::LossIntervals(read)) => tfrc::loss_intervals(read.skip_length, read.iter()).next(),
        Some(TfrcOption::DroppedPackets(read)) if read.iter().len() == 0 => return,
        Some(TfrcOption::DroppedPackets(read)) => tfrc::dropped_packets(read.iter()).next(),
    };
    assert_eq!(written.as_ref(), Some(option));
}
