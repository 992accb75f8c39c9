//! Unpredictable numbers of one connection.

use core::fmt;

use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

/// A generator of unpredictable numbers: HMAC-SHA-256 of a counter, under a secret from the driver.
pub struct Entropy {
    mac: Hmac<Sha256>,
    counter: u64,
}

impl fmt::Debug for Entropy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Entropy")
    }
}

impl Entropy {
    pub(crate) fn new(secret: [u8; 32]) -> Self {
        Self { mac: keyed(&secret), counter: 0 }
    }

    /// 32 further bytes.
    pub(crate) fn bytes(&mut self) -> [u8; 32] {
        let mut mac = self.mac.clone();
        mac.update(&self.counter.to_be_bytes());
        self.counter += 1;
        mac.finalize().into_bytes().into()
    }

    /// The bytes that belong to these words and bytes: the same at each call, and none of the further ones.
    pub(crate) fn derive(&self, words: &[u64], bytes: &[u8]) -> [u8; 32] {
        let mut mac = self.mac.clone();
        // The input of a further one has 8 bytes.
        mac.update(&(words.len() as u64).to_be_bytes());
        words.iter().for_each(|word| mac.update(&word.to_be_bytes()));
        mac.update(bytes);
        mac.finalize().into_bytes().into()
    }

    /// A further number.
    pub(crate) fn number(&mut self) -> u64 {
        let [a, b, c, d, e, f, g, h, ..] = self.bytes();
        u64::from_be_bytes([a, b, c, d, e, f, g, h])
    }

    /// A further nonce or Connection Identifier.
    pub(crate) fn word(&mut self) -> u32 {
        (self.number() >> 32) as u32
    }
}

/// HMAC-SHA-256 under that key.
pub(crate) fn keyed(key: &[u8]) -> Hmac<Sha256> {
    // Keys of any length are valid (RFC 2104, Section 2): longer ones than a block are hashed.
    Hmac::new_from_slice(key).unwrap_or_else(|_| unreachable!("HMAC accepts keys of any length"))
}
