//! Messages made by hand from the RFCs' figures.

use std::vec;

use super::*;

#[test]
fn a_picture_loss_indication_has_the_bytes_of_the_rfc() {
    let message = PictureLoss { sender: 0x0102_0304, media: 0x0506_0708 };
    let mut bytes = Vec::new();
    message.encode(&mut bytes);
    // RFC 4585, Sections 6.1 and 6.3.1: version 2, format 1, type 206, two words after the first.
    assert_eq!(bytes, [0x81, 206, 0, 2, 1, 2, 3, 4, 5, 6, 7, 8]);
    assert_eq!(PictureLoss::decode(&bytes), Ok(message));
    assert_eq!(PictureLoss::decode(&bytes[..11]), Err(RtcpError::Truncated));
    assert_eq!(FullIntraRequest::decode(&bytes), Err(RtcpError::Type));
}

#[test]
fn a_full_intra_request_has_the_bytes_of_the_rfc() {
    let message =
        FullIntraRequest { sender: 0x0102_0304, streams: vec![(0x0506_0708, 9), (0xa0b0_c0d0, 255)] };
    let mut bytes = Vec::new();
    message.encode(&mut bytes).expect("few streams");
    // RFC 5104, Section 4.3.1.1: no stream in the header, and two words for each.
    let expected = [
        0x84, 206, 0, 6, 1, 2, 3, 4, 0, 0, 0, 0, 5, 6, 7, 8, 9, 0, 0, 0, 0xa0, 0xb0, 0xc0, 0xd0, 255, 0, 0, 0,
    ];
    assert_eq!(bytes, expected);
    assert_eq!(FullIntraRequest::decode(&bytes), Ok(message));
    assert_eq!(PictureLoss::decode(&bytes), Err(RtcpError::Type));
    // A length that ends within an entry, and a message without one.
    assert_eq!(
        FullIntraRequest::decode(&[&[0x84, 206, 0, 5], &bytes[4..]].concat()),
        Err(RtcpError::Truncated)
    );
    assert_eq!(
        FullIntraRequest::decode(&[&[0x84, 206, 0, 2], &bytes[4..]].concat()),
        Err(RtcpError::Truncated)
    );
}
