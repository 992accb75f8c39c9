//! Any bytes as a UDP datagram that carries DCCP: as they are, and with their checksum made right, for
//! no mutation finds that by itself.

use bytes::Bytes;
use whimbrel_wire::{
    checksum::{PseudoHeader, internet_checksum},
    udp_encapsulation::{DecapsulationError, HEADER_LEN, PROTOCOL, decapsulate, encapsulate},
};

const SOURCE: [u8; 4] = [192, 0, 2, 1];
const DESTINATION: [u8; 4] = [198, 51, 100, 2];

/// One input.
///
/// # Panics
///
/// If the code under test is wrong.
pub fn check(data: &[u8]) {
    read(data);
    if let Some(repaired) = repair(data) {
        assert_ne!(read(&repaired), Some(DecapsulationError::BadChecksum));
    }
}

/// Decodes the datagram; a decoded packet can be encoded and decodes to the same again.
fn read(datagram: &[u8]) -> Option<DecapsulationError> {
    let pseudo_header = PseudoHeader::v4(SOURCE.into(), DESTINATION.into());
    let (ports, packet) = match decapsulate(&Bytes::copy_from_slice(datagram), &pseudo_header) {
        Ok(read) => read,
        Err(error) => return Some(error),
    };
    let mut written = Vec::new();
    encapsulate(&packet, ports, &pseudo_header, &mut written).expect("what was read can be written");
    assert_eq!(written.len(), HEADER_LEN + packet.encoded_len());
    assert_eq!(decapsulate(&written.into(), &pseudo_header), Ok((ports, packet)));
    None
}

/// The datagram with the checksum that its UDP Length calls for, if that is possible.
fn repair(datagram: &[u8]) -> Option<Vec<u8>> {
    let length = datagram.get(4..6)?.try_into().ok().map(u16::from_be_bytes)?;
    let mut repaired = datagram.to_vec();
    let covered = repaired.get_mut(..length.into())?;
    covered.get_mut(6..8)?.fill(0);
    let pseudo_header = [&SOURCE[..], &DESTINATION, &[0, PROTOCOL], &length.to_be_bytes()].concat();
    let checksum = match internet_checksum(&[&pseudo_header, &*covered].concat()) {
        0 => 0xffff,
        checksum => checksum,
    };
    covered[6..8].copy_from_slice(&checksum.to_be_bytes());
    Some(repaired)
}
