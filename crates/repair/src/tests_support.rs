//! What several tests need.

use crate::channel::Channel;

/// CRC-32 of the bytes.
pub(crate) fn crc32(bytes: impl IntoIterator<Item = u8>) -> u32 {
    let crc = crc::Crc::<u32>::new(&crc::CRC_32_ISO_HDLC);
    let mut digest = crc.digest();
    for byte in bytes {
        digest.update(&[byte]);
    }
    digest.finalize()
}

/// Random numbers (SplitMix64).
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn word(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }
    /// A number from 0 to below 1.
    pub(crate) fn unit(&mut self) -> f64 {
        (self.word() >> 11) as f64 / (1_u64 << 53) as f64
    }
}

/// A channel that loses packets by chance.
pub(crate) struct Path {
    channel: Channel,
    is_bad: bool,
    random: Random,
}

impl Path {
    pub(crate) fn new(channel: Channel, seed: u64) -> Self {
        Self { channel, is_bad: false, random: Random(seed) }
    }
    pub(crate) fn draw(&mut self) -> f64 {
        self.random.unit()
    }
    /// The next packet is lost.
    pub(crate) fn loses(&mut self) -> bool {
        let (draw, Channel { to_bad, to_good, loss_good, loss_bad }) = (self.draw(), self.channel);
        self.is_bad = if self.is_bad { draw >= to_good } else { draw < to_bad };
        let loss = if self.is_bad { loss_bad } else { loss_good };
        self.draw() < loss
    }
}
