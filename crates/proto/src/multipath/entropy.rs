//! Unpredictable numbers of one connection.

use core::fmt;

use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

/// A generator of unpredictable numbers: HMAC-SHA-256 of a counter, under a secret from the driver.
pub(super) struct Entropy {
    mac: Hmac<Sha256>,
    counter: u64,
}

impl fmt::Debug for Entropy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Entropy")
    }
}

impl Entropy {
    pub(super) fn new(secret: [u8; 32]) -> Self {
        Self { mac: keyed(&secret), counter: 0 }
    }
    /// 32 further bytes.
    pub(super) fn bytes(&mut self) -> [u8; 32] {
        let mut mac = self.mac.clone();
        mac.update(&self.counter.to_be_bytes());
        self.counter += 1;
        mac.finalize().into_bytes().into()
    }
    /// A further number.
    pub(super) fn number(&mut self) -> u64 {
        let [a, b, c, d, e, f, g, h, ..] = self.bytes();
        u64::from_be_bytes([a, b, c, d, e, f, g, h])
    }
    /// A further nonce or Connection Identifier.
    pub(super) fn word(&mut self) -> u32 {
        (self.number() >> 32) as u32
    }
}

/// HMAC-SHA-256 under that key.
pub(super) fn keyed(key: &[u8]) -> Hmac<Sha256> {
    // Keys of any length are valid (RFC 2104, Section 2): longer ones than a block are hashed.
    Hmac::new_from_slice(key).unwrap_or_else(|_| unreachable!("HMAC accepts keys of any length"))
}
