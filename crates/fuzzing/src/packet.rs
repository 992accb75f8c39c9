//! Any bytes as a DCCP packet: decoding never panics, and a decoded packet can be encoded and decodes to
//! the same again.

use bytes::Bytes;
use whimbrel_wire::{
    Packet,
    checksum::{self, PseudoHeader},
};

/// One input.
///
/// # Panics
///
/// If the code under test is wrong.
pub fn check(data: &[u8]) {
    let pseudo_header = PseudoHeader::v4([192, 0, 2, 1].into(), [198, 51, 100, 2].into());
    let decoded = Packet::decode_slice(data);
    assert_eq!(Packet::decode(&Bytes::copy_from_slice(data)), decoded);
    let packet = match decoded {
        Ok(packet) => packet,
        Err(error) => {
            assert!(error.offset <= data.len());
            return;
        }
    };
    let mut written = Vec::new();
    packet.encode_with_checksum(&pseudo_header, &mut written).expect("what was read can be written");
    assert_eq!(written.len(), data.len());
    assert_eq!(written.len(), packet.encoded_len());
    assert_eq!(written[packet.header_len()..], data[packet.header_len()..]);
    assert!(checksum::verify(&written, &pseudo_header));
    assert_eq!(Packet::decode_slice(&written).as_ref(), Ok(&packet));
}
