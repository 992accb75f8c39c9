//! The CRC of the Data Checksum option (RFC 4340, Section 9.3).

use crc::{CRC_32_ISCSI, Crc, Digest, Table};

use crate::Payload;

#[cfg(test)]
mod tests;

static CRC_32C: Crc<u32, Table<16>> = Crc::<u32, Table<16>>::new(&CRC_32_ISCSI);

/// The value of the Data Checksum option for this application data: the CRC-32c of SCTP.
///
/// SCTP sends the bytes of the CRC in the opposite order to the usual one, and the algorithm of RFC 3309
/// (Appendix) swaps them for that purpose; the same is done here, as options are in network order.
pub fn data_checksum(data: &[u8]) -> u32 {
    CRC_32C.checksum(data).swap_bytes()
}

impl Payload {
    /// The value of the Data Checksum option for this payload.
    pub fn data_checksum(&self) -> u32 {
        match self {
            Self::Bytes(bytes) => data_checksum(bytes),
            Self::Opaque { length, tag } => {
                let mut digest = CRC_32C.digest();
                let tag = tag.to_be_bytes();
                let (head, zeros) = Self::opaque_parts(*length, &tag);
                digest.update(head);
                update_with_zeros(&mut digest, zeros);
                digest.finalize().swap_bytes()
            }
        }
    }
}

fn update_with_zeros(digest: &mut Digest<'_, u32, Table<16>>, mut zeros: usize) {
    const BLOCK: [u8; 256] = [0; 256];
    while zeros > 0 {
        let taken = zeros.min(BLOCK.len());
        digest.update(&BLOCK[..taken]);
        zeros -= taken;
    }
}
