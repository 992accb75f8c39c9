//! Unpredictable numbers: initial sequence numbers and ports (RFC 4340, Section 7.2).

use core::hash::Hasher;
use core::net::IpAddr;

use siphasher::sip::SipHasher24;
use siphasher::sip128::{Hasher128, SipHasher24 as SipHasher24x128};
use smallvec::SmallVec;
use whimbrel_units::Instant;
use whimbrel_wire::SeqNo;

use super::held::Address;

#[cfg(test)]
mod tests;

/// One tick of the clock that advances initial sequence numbers (RFC 4340, Section 7.2).
const TICK_NANOS: u64 = 4_000;

/// A secret, and the keyed hash that derives numbers from it.
///
/// Every pair of addresses and ports has its own number space, so that one connection's numbers reveal
/// nothing about another's (the scheme of RFC 6528, which obsoletes RFC 1948), and a clock advances all of
/// them, so that a new connection does not receive packets of an old one.
#[derive(Clone, Copy)]
pub struct Secret([u64; 2], Option<u64>);

/// Keeps the secret out of logs and panics.
impl core::fmt::Debug for Secret {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("Secret")
    }
}

/// Addresses and ports of a connection.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct FourTuple<A> {
    /// The peer's address, or the path.
    pub address: A,
    /// DCCP port of this end.
    pub local_port: u16,
    /// DCCP port of the peer.
    pub remote_port: u16,
}

impl<A: Address> FourTuple<A> {
    /// The addresses and ports as words; different tuples give different words.
    pub(super) fn words(&self) -> SmallVec<[u64; 12]> {
        let remote = self.address.remote();
        let [high, low] = address_words(remote.ip());
        let ports =
            u64::from(remote.port()) << 32 | u64::from(self.local_port) << 16 | u64::from(self.remote_port);
        // An IPv4 address takes as many words as an IPv6 address, but never the same.
        let mut words = SmallVec::from_slice(&[high, low, ports | u64::from(remote.is_ipv6()) << 48]);
        if let Some(local) = self.address.local() {
            words.extend(address_words(local.ip()));
            words.push(u64::from(local.port()) | u64::from(local.is_ipv6()) << 48);
        }
        words
    }
}

fn address_words(ip: IpAddr) -> [u64; 2] {
    let address = match ip {
        IpAddr::V4(ip) => u128::from(ip.to_bits()),
        IpAddr::V6(ip) => ip.to_bits(),
    };
    [(address >> 64) as u64, address as u64]
}

impl Secret {
    /// Derives a secret from 64 bits of entropy, with the finaliser of SplitMix64.
    pub(super) fn new(seed: u64) -> Self {
        let mix = |word: u64| {
            let word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            let word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            word ^ (word >> 31)
        };
        const STEP: u64 = 0x9e37_79b9_7f4a_7c15;
        Self([mix(seed.wrapping_add(STEP)), mix(seed.wrapping_add(STEP.wrapping_mul(2)))], None)
    }

    /// A secret of the first 16 of some unpredictable bytes.
    pub(super) fn from_bytes<const N: usize>(bytes: [u8; N]) -> Self {
        const { assert!(N >= 16) };
        let word = |at: usize| bytes[at..at + 8].iter().fold(0, |word, byte| word << 8 | u64::from(*byte));
        Self([word(0), word(8)], None)
    }

    /// The initial sequence number of a connection that starts now.
    pub(super) fn initial_sequence<A: Address>(&self, now: Instant, tuple: &FourTuple<A>) -> SeqNo {
        let ticks = now.as_nanos() / TICK_NANOS;
        let base = self.1.unwrap_or_else(|| self.hash_words(&tuple.words()));
        SeqNo::new(base.wrapping_add(ticks))
    }

    /// Sets the initial sequence numbers from now on to `base` plus the clock.
    pub(super) fn set_base(&mut self, base: u64) {
        self.1 = Some(base);
    }

    /// Start of the `attempt`th search for a free port.
    pub(super) fn port_offset(&self, attempt: u64) -> u64 {
        self.hash_words(&[attempt])
    }

    /// A number unique to the connection, for some purpose.
    pub(super) fn number<A: Address>(&self, purpose: u64, tuple: &FourTuple<A>, initial: SeqNo) -> u64 {
        let mut words = tuple.words();
        words.insert(0, purpose);
        words.push(initial.value());
        self.hash_words(&words)
    }

    /// A number for a connection with the peer that has that public key.
    pub(super) fn number_for_key<A: Address>(
        &self,
        purpose: u64,
        tuple: &FourTuple<A>,
        key: &[u8; 32],
    ) -> u64 {
        let mut words = tuple.words();
        words.insert(0, purpose);
        let hash = self.authenticate(&words, key);
        // Either half could be used.
        hash as u64
    }

    /// The `count`th challenge, to one side of two.
    pub(super) fn challenge(&self, purpose: u64, count: u64, side: u64) -> u64 {
        self.hash_words(&[purpose, count, side])
    }

    /// A seed for a hash table.
    pub(super) fn hash_seed(&self) -> u64 {
        self.hash_words(&[])
    }

    /// A number for an address, independent of the ports.
    pub(super) fn address_hash(&self, ip: IpAddr) -> u64 {
        let [high, low] = address_words(ip);
        self.hash_words(&[high, low, u64::from(ip.is_ipv6()), 0])
    }

    /// The secret of one purpose in one period of time; it reveals nothing about this one.
    pub(super) fn derive(&self, purpose: u64, period: u64) -> Self {
        let [k0, k1] = self.0;
        let mut hasher = SipHasher24x128::new_with_keys(k0, k1);
        hasher.write(&purpose.to_le_bytes());
        hasher.write(&period.to_le_bytes());
        let hash = hasher.finish128();
        Self([hash.h1, hash.h2], None)
    }

    /// An authenticator of `words` and `bytes`: 128 bits of SipHash-2-4, which is designed for that.
    pub(super) fn authenticate(&self, words: &[u64], bytes: &[u8]) -> u128 {
        let [k0, k1] = self.0;
        let mut hasher = SipHasher24x128::new_with_keys(k0, k1);
        for word in words {
            hasher.write(&word.to_le_bytes());
        }
        hasher.write(bytes);
        let hash = hasher.finish128();
        u128::from(hash.h1) << 64 | u128::from(hash.h2)
    }

    /// SipHash-2-4 of whole words (Aumasson and Bernstein, 2012).
    fn hash_words(&self, words: &[u64]) -> u64 {
        let [k0, k1] = self.0;
        let mut hasher = SipHasher24::new_with_keys(k0, k1);
        for word in words {
            hasher.write(&word.to_le_bytes());
        }
        hasher.finish()
    }
}
