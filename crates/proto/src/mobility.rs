//! Secrets by which a server knows its client wherever that is: how both ends come by one, and how it is used.
//!
//! Each end has a pair of keys (X25519, RFC 7748), whose public half stands on its Request or Response beside a
//! number of its own. What both can compute of these, and nobody else who merely saw them, becomes the key
//! (HKDF with SHA-256, RFC 5869) of an authenticator (HMAC-SHA-256, RFC 2104, cut to 128 bits) that a client puts
//! on its packets while its address may be news. `docs/mobility.md` has the whole of it.

use core::fmt;
use std::sync::Arc;

use hkdf::Hkdf;
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;
use whimbrel_wire::option::mobility::{MobilityKey, Move};
use whimbrel_wire::{Packet, SeqNo};
use x25519_dalek::{PublicKey, StaticSecret};

#[cfg(test)]
mod tests;

/// Tells these keys from others that might be made of the same secret.
const PURPOSE: &[u8] = b"DCCP address change 1";

/// The secret half of an endpoint's pair of keys.
#[derive(Clone)]
pub struct MobilitySecret(Arc<Pair>);

struct Pair {
    secret: StaticSecret,
    public: [u8; 32],
}

impl fmt::Debug for MobilitySecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("MobilitySecret")
    }
}

impl MobilitySecret {
    /// A pair of keys of 32 bytes that nobody can guess.
    pub fn new(entropy: [u8; 32]) -> Self {
        let secret = StaticSecret::from(entropy);
        let public = PublicKey::from(&secret).to_bytes();
        Self(Arc::new(Pair { secret, public }))
    }
    /// This end's part of a connection's secret. `identifier`: a number that it has not used before.
    pub(crate) fn part(&self, identifier: u64) -> MobilityKey {
        MobilityKey { identifier, public: self.0.public }
    }
    /// The key of the connection whose ends sent these parts; `theirs` is the other end's. `None` where theirs would
    /// make the same secret with anybody's (RFC 7748, Section 6.1).
    pub(crate) fn agree(
        &self,
        client: &MobilityKey,
        server: &MobilityKey,
        theirs: &MobilityKey,
    ) -> Option<MoveKey> {
        let shared = self.0.secret.diffie_hellman(&PublicKey::from(theirs.public));
        if !shared.was_contributory() {
            return None;
        }
        let mut info = [0; 80];
        for (part, place) in [client, server].into_iter().zip(info.chunks_exact_mut(40)) {
            place[..8].copy_from_slice(&part.identifier.to_be_bytes());
            place[8..].copy_from_slice(&part.public);
        }
        let mut key = [0; 32];
        Hkdf::<Sha256>::new(Some(PURPOSE), shared.as_bytes()).expand(&info, &mut key).ok()?;
        Some(MoveKey(Hmac::new_from_slice(&key).ok()?))
    }
}

/// The key of one connection.
#[derive(Clone)]
pub(crate) struct MoveKey(Hmac<Sha256>);

impl fmt::Debug for MoveKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("MoveKey")
    }
}

impl MoveKey {
    /// The authenticator of a packet from the client that answers that challenge, if one. It covers whatever
    /// places the packet in the connection. Not its addresses: the client may not know its own.
    pub(crate) fn tag(&self, packet: &Packet, identifier: u64, echo: Option<u64>) -> u128 {
        let number = |number: SeqNo| number.value().to_be_bytes();
        let mut mac = self.0.clone();
        mac.update(&[packet.packet_type() as u8, u8::from(packet.ack().is_some()), u8::from(echo.is_some())]);
        mac.update(&number(packet.sequence));
        mac.update(&number(packet.ack().unwrap_or(SeqNo::ZERO)));
        mac.update(&packet.source_port.to_be_bytes());
        mac.update(&packet.destination_port.to_be_bytes());
        mac.update(&identifier.to_be_bytes());
        mac.update(&echo.unwrap_or(0).to_be_bytes());
        let whole: [u8; 32] = mac.finalize().into_bytes().into();
        whole.first_chunk().map_or(0, |first| u128::from_be_bytes(*first))
    }
    /// Whether whoever sent the packet has this key. Short numbers are never genuine.
    pub(crate) fn is_genuine(&self, packet: &Packet, moved: &Move) -> bool {
        // The difference as a whole, so that time does not tell how much of a guess is right.
        packet.extended && self.tag(packet, moved.identifier, moved.echo) ^ moved.tag == 0
    }
}
