//! Keys by which a server recognizes its client at any address: their agreement and their use.
//!
//! Each end has a key pair (X25519, RFC 7748), of which the public key is sent on the Request or Response
//! with an identifier. The shared secret, which an eavesdropper cannot compute, yields the key (HKDF with
//! SHA-256, RFC 5869) of an authenticator (HMAC-SHA-256, RFC 2104, truncated to 128 bits) that a client adds
//! to its packets while its address may be new to the server. The scheme is described in `docs/mobility.md`.

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

/// HKDF info string: separates these keys from others derived from the same secret.
const PURPOSE: &[u8] = b"DCCP address change 1";

/// The private key of an endpoint.
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
    /// Creates a key pair from 32 bytes of unpredictable entropy.
    pub fn new(entropy: [u8; 32]) -> Self {
        let secret = StaticSecret::from(entropy);
        let public = PublicKey::from(&secret).to_bytes();
        Self(Arc::new(Pair { secret, public }))
    }

    /// This end's part of a connection's key agreement. `identifier`: a number not used before.
    pub(crate) fn part(&self, identifier: u64) -> MobilityKey {
        MobilityKey { identifier, public: self.0.public }
    }

    /// The key of the connection whose ends sent these parts; `theirs` is the peer's. `None` if theirs is a
    /// point of low order, for which the secret does not depend on the private key (RFC 7748, Section 6.1).
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
    /// The authenticator of a packet from the client that answers that challenge, if any. It covers every
    /// field that identifies the packet within the connection, but not its addresses: the client may not know
    /// its own.
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

    /// `true` if the sender of the packet has this key. Packets with short sequence numbers are never
    /// authentic.
    pub(crate) fn is_genuine(&self, packet: &Packet, moved: &Move) -> bool {
        // Compare the whole value, so that timing does not reveal the length of a correct prefix.
        packet.extended && self.tag(packet, moved.identifier, moved.echo) ^ moved.tag == 0
    }
}
