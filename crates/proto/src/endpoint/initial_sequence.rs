//! Numbers that strangers cannot guess: initial sequence numbers and ports (RFC 4340, Section 7.2).

use core::net::{IpAddr, SocketAddr};

use whimbrel_units::Instant;
use whimbrel_wire::SeqNo;

#[cfg(test)]
mod tests;

/// One tick of the clock that moves initial sequence numbers on (RFC 4340, Section 7.2).
const TICK_NANOS: u64 = 4_000;

/// A secret, and the keyed hash that makes numbers of it.
///
/// Every pair of addresses and ports has a number space of its own, so that one connection's
/// numbers say nothing about another's (the scheme of RFC 6528, which obsoletes RFC 1948), and a
/// clock moves all of them, so that a new connection does not meet packets of an old one.
#[derive(Clone, Copy, Debug)]
pub(super) struct Secret([u64; 2]);

/// Addresses and ports of a connection.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) struct FourTuple {
    pub(super) remote: SocketAddr,
    pub(super) local_port: u16,
    pub(super) remote_port: u16,
}

impl Secret {
    pub(super) fn new(seed: u64) -> Self {
        // Two words out of one: the finaliser of SplitMix64.
        let mix = |word: u64| {
            let word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            let word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            word ^ (word >> 31)
        };
        const STEP: u64 = 0x9e37_79b9_7f4a_7c15;
        Self([mix(seed.wrapping_add(STEP)), mix(seed.wrapping_add(STEP.wrapping_mul(2)))])
    }
    /// The initial sequence number of a connection that starts now.
    pub(super) fn initial_sequence(&self, now: Instant, tuple: &FourTuple) -> SeqNo {
        let ticks = now.as_nanos() / TICK_NANOS;
        SeqNo::new(self.hash(tuple).wrapping_add(ticks))
    }
    /// A number to begin the `attempt`th search for a free port with.
    pub(super) fn port_offset(&self, attempt: u64) -> u64 {
        self.hash_words(&[attempt])
    }
    /// A seed for a hash table.
    pub(super) fn hash_seed(&self) -> u64 {
        self.hash_words(&[])
    }
    fn hash(&self, tuple: &FourTuple) -> u64 {
        let address = match tuple.remote.ip() {
            IpAddr::V4(ip) => u128::from(ip.to_bits()),
            IpAddr::V6(ip) => ip.to_bits(),
        };
        let ports = u64::from(tuple.remote.port()) << 32
            | u64::from(tuple.local_port) << 16
            | u64::from(tuple.remote_port);
        self.hash_words(&[(address >> 64) as u64, address as u64, ports])
    }
    /// SipHash-2-4 of whole words (Aumasson and Bernstein, 2012).
    fn hash_words(&self, words: &[u64]) -> u64 {
        let [k0, k1] = self.0;
        let mut state = SipState([
            k0 ^ 0x736f_6d65_7073_6575,
            k1 ^ 0x646f_7261_6e64_6f6d,
            k0 ^ 0x6c79_6765_6e65_7261,
            k1 ^ 0x7465_6462_7974_6573,
        ]);
        // The last word tells the length in bytes in its top byte.
        let last = (words.len() as u64 * 8) << 56;
        for word in words.iter().chain([&last]) {
            state.0[3] ^= word;
            state.rounds(2);
            state.0[0] ^= word;
        }
        state.0[2] ^= 0xff;
        state.rounds(4);
        state.0[0] ^ state.0[1] ^ state.0[2] ^ state.0[3]
    }
}

struct SipState([u64; 4]);

impl SipState {
    fn rounds(&mut self, count: usize) {
        let [v0, v1, v2, v3] = &mut self.0;
        for _ in 0..count {
            *v0 = v0.wrapping_add(*v1);
            *v1 = v1.rotate_left(13) ^ *v0;
            *v0 = v0.rotate_left(32);
            *v2 = v2.wrapping_add(*v3);
            *v3 = v3.rotate_left(16) ^ *v2;
            *v0 = v0.wrapping_add(*v3);
            *v3 = v3.rotate_left(21) ^ *v0;
            *v2 = v2.wrapping_add(*v1);
            *v1 = v1.rotate_left(17) ^ *v2;
            *v2 = v2.rotate_left(32);
        }
    }
}
