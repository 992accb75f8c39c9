//! Helpers of tests.

use crate::channel::Channel;

#[path = "../tests/support/random.rs"]
mod random;

pub(crate) use random::Random;

/// CRC-32 of the bytes.
pub(crate) fn crc32(bytes: impl IntoIterator<Item = u8>) -> u32 {
    let crc = crc::Crc::<u32>::new(&crc::CRC_32_ISO_HDLC);
    let mut digest = crc.digest();
    for byte in bytes {
        digest.update(&[byte]);
    }
    digest.finalize()
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
