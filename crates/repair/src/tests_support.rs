//! What several tests need.

/// CRC-32 of the bytes.
pub(crate) fn crc32(bytes: impl IntoIterator<Item = u8>) -> u32 {
    let crc = crc::Crc::<u32>::new(&crc::CRC_32_ISO_HDLC);
    let mut digest = crc.digest();
    for byte in bytes {
        digest.update(&[byte]);
    }
    digest.finalize()
}
