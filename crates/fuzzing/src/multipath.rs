//! Any bytes as the data of a Multipath option.

use whimbrel_inspect::names::option_description;
use whimbrel_wire::option::multipath::MultipathOption;
use whimbrel_wire::{DccpOption, Packet};

/// The generic header of a Data packet with short sequence numbers.
const HEADER: [u8; 12] = [0x12, 0x34, 0x56, 0x78, 0, 0, 0, 0, 2 << 1, 0, 0, 9];
/// The most data of an option.
const LONGEST: usize = 253;

/// One input.
///
/// # Panics
///
/// If the code under test is wrong.
pub fn check(data: &[u8]) {
    let data = &data[..data.len().min(LONGEST)];
    let mut bytes = [&HEADER[..], &[46, 2 + data.len() as u8], data].concat();
    bytes.resize(bytes.len().next_multiple_of(4), 0);
    bytes[4] = (bytes.len() / 4) as u8;
    let packet = Packet::decode_slice(&bytes).expect("no option makes a packet invalid");
    let mut written = Vec::new();
    packet.encode(&mut written).expect("what was read can be written");
    assert_eq!(written, bytes, "options keep their bytes");
    let Some(option) = packet.options.first() else { return };
    assert!(!option_description(option).is_empty());
    let Some(read) = MultipathOption::parse(option) else {
        assert!(matches!(option, DccpOption::Unknown { kind: 46, .. }));
        return;
    };
    let again = DccpOption::from(read.clone());
    assert_eq!(again.encoded_len(), option.encoded_len());
    assert_eq!(
        MultipathOption::parse(&again),
        Some(read.clone()),
        "an option means the same when encoded again"
    );
    if let MultipathOption::Confirm(list) = read {
        assert!(list.iter().all(|(_, option)| MultipathOption::parse(&option).is_some()));
    }
}
