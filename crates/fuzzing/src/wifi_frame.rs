//! A captured 802.11 frame: radiotap header, MAC header, body, frame check sequence.

use whimbrel_wifi::frame::bytes::{Header, frame_check_sequence, has_valid_check_sequence};
use whimbrel_wifi::frame::radiotap::Radiotap;

/// One input.
///
/// # Panics
///
/// If the code under test is wrong.
pub fn check(data: &[u8]) {
    let frame = match Radiotap::parse(data) {
        Ok((radiotap, frame)) => {
            assert!(data.ends_with(frame));
            let mut bytes = Vec::new();
            radiotap.encode(&mut bytes);
            assert_eq!(Radiotap::parse(&bytes), Ok((radiotap, &[][..])));
            frame
        }
        // Without a radiotap header the bytes are tried as a frame.
        Err(_) => data,
    };
    let Ok((header, rest)) = Header::parse(frame) else { return };
    assert!(frame.ends_with(rest));
    let mut bytes = Vec::new();
    header.encode(&mut bytes);
    assert_eq!(bytes.len() + rest.len(), frame.len());
    if matches!(header, Header::Data(_) | Header::Management(_) | Header::Unknown { .. }) {
        assert!(frame.starts_with(&bytes));
    }
    bytes.extend_from_slice(rest);
    assert_eq!(Header::parse(&bytes), Ok((header, rest)));
    let _ = has_valid_check_sequence(frame);
    bytes.extend(frame_check_sequence(&bytes));
    assert!(has_valid_check_sequence(&bytes));
}
