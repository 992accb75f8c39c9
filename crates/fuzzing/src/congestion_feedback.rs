//! Congestion control feedback of media: any bytes are a report that survives the wire, or an error.

use whimbrel_wire::congestion_feedback::CongestionFeedback;

/// Decodes `data`; a report must be the same after encoding and decoding, and not larger than the bytes it
/// came from.
///
/// # Panics
/// If it is not.
pub fn check(data: &[u8]) {
    let Ok(report) = CongestionFeedback::decode(data) else { return };
    let mut bytes = Vec::new();
    report.encode(&mut bytes).expect("it was decoded from no fewer bytes");
    assert!(bytes.len() <= data.len(), "{} bytes from {}", bytes.len(), data.len());
    assert_eq!(CongestionFeedback::decode(&bytes), Ok(report));
}
