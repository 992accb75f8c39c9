//! Receiver Estimated Maximum Bitrate: the RTCP message by which WebRTC's encoders and GStreamer's learn a rate
//! (draft-alvestrand-rmcat-remb-03, Section 2.2).

/// A message that limits the stream `media` to a rate in bit/s. `sender`: the SSRC of this end.
pub(super) fn message(sender: u32, media: u32, rate_bps: f64) -> [u8; 24] {
    // 18 bits of mantissa and 6 of exponent, rounded down.
    let mut mantissa =
        if rate_bps.is_finite() { rate_bps.clamp(0.0, 1e15) as u64 } else { 1_000_000_000_000_000 };
    let mut exponent = 0u32;
    while mantissa >= 1 << 18 {
        mantissa >>= 1;
        exponent += 1;
    }
    let rate = (1u32 << 24) | (exponent << 18) | mantissa as u32;
    let mut bytes = [0; 24];
    // Version 2, feedback message 15; payload-specific feedback; 5 words follow the first.
    bytes[..4].copy_from_slice(&[0x8f, 206, 0, 5]);
    bytes[4..8].copy_from_slice(&sender.to_be_bytes());
    bytes[12..16].copy_from_slice(b"REMB");
    bytes[16..20].copy_from_slice(&rate.to_be_bytes());
    bytes[20..].copy_from_slice(&media.to_be_bytes());
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Mantissa and exponent of a message.
    fn rate(bytes: &[u8; 24]) -> (u32, u32) {
        let word = u32::from_be_bytes([bytes[16], bytes[17], bytes[18], bytes[19]]);
        assert_eq!(word >> 24, 1, "one stream");
        (word & 0x3_ffff, (word >> 18) & 0x3f)
    }

    #[test]
    fn rates_have_a_mantissa_of_18_bits_and_are_never_rounded_up() {
        for (bps, expected) in [
            (0.0, (0, 0)),
            (262_143.0, (262_143, 0)),
            (262_144.0, (131_072, 1)),
            (1_000_000.0, (250_000, 2)),
            (2_500_001.0, (156_250, 4)),
        ] {
            assert_eq!(rate(&message(1, 2, bps)), expected, "{bps}");
        }
        let (mantissa, exponent) = rate(&message(1, 2, f64::INFINITY));
        assert!(f64::from(mantissa) * 2f64.powi(exponent as i32) > 9e14);
    }

    #[test]
    fn the_message_names_both_streams() {
        let bytes = message(0x01020304, 0x05060708, 1e6);
        assert_eq!(bytes[..12], [0x8f, 206, 0, 5, 1, 2, 3, 4, 0, 0, 0, 0]);
        assert_eq!(bytes[12..16], *b"REMB");
        assert_eq!(bytes[20..], [5, 6, 7, 8]);
    }
}
