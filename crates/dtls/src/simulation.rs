//! Sessions for simulations: everything that an end draws comes from a seed, so that a run can be repeated byte by byte.
//!
//! The library takes its random fields and the jitter of its timers from a seed of its own. The two other sources are the key
//! exchange and the signatures, for which this module has replacements: private keys from a seed, and signatures that RFC 6979
//! derives from the key and the message. Anyone who knows the seed can read such a connection.

use std::cell::Cell;

use aws_lc_rs::agreement::{PrivateKey, UnparsedPublicKey, X25519, agree};
use aws_lc_rs::hmac;
use dimpl::crypto::{
    ActiveKeyExchange, Buf, CryptoProvider, HashAlgorithm, KeyProvider, NamedGroup, SignatureAlgorithm,
    SigningKey, SupportedKxGroup,
};
use dimpl::{CryptoError, CryptoOperation};
use p256::ecdsa::signature::Signer;
use p256::ecdsa::{DerSignature, SigningKey as EcdsaKey};
use p256::pkcs8::DecodePrivateKey;
use whimbrel_proto::Role;

use crate::identity_key::{IdentityKey, LentKeys};
use crate::{Identity, Security, Trust, provider as real};

/// Keys and certificates of simulated ends: the same in each run.
const CLIENT: [&str; 2] =
    [include_str!("simulation/client.key.pem"), include_str!("simulation/client.crt.pem")];
const SERVER: [&str; 2] =
    [include_str!("simulation/server.key.pem"), include_str!("simulation/server.crt.pem")];

/// The security of two simulated ends, the client's first, which pin each other's key. **The keys are public**: it
/// protects nothing.
///
/// The same seeds and the same calls of the [`Layer`](crate::Layer) or [`Session`](crate::Session) give the same records.
pub fn simulated(seeds: [u64; 2]) -> [Security; 2] {
    let identity = |[key, certificate]: [&str; 2]| {
        Identity::from_pem_with_certificate(key, certificate).expect("the keys belong to the certificates")
    };
    let (client, server) = (identity(CLIENT), identity(SERVER));
    let trust = |identity: &Identity| Trust::Pinned(vec![identity.fingerprint()]);
    let (of_client, of_server) = (trust(&server), trust(&client));
    [Security::new(client, of_client).seeded(seeds[0]), Security::new(server, of_server).seeded(seeds[1])]
}

/// Private keys for key exchanges, from a seed.
#[derive(Clone, Debug)]
pub(crate) struct SeededKeys {
    seed: u64,
    role: Role,
    drawn: u64,
}

thread_local! {
    /// The keys of the session whose library is being called: the library's interface has no place to pass them by.
    static LENT: Cell<Option<SeededKeys>> = const { Cell::new(None) };
}

impl SeededKeys {
    pub(crate) fn new(seed: u64, role: Role) -> Self {
        Self { seed, role, drawn: 0 }
    }
    /// Calls the library, whose key exchanges take their keys from `keys`, if there are any.
    pub(crate) fn lend<T>(keys: &mut Option<Self>, call: impl FnOnce() -> T) -> T {
        LENT.set(keys.take());
        let result = call();
        *keys = LENT.take();
        result
    }
    fn draw(&mut self) -> [u8; 32] {
        let role = u8::from(self.role == Role::Client);
        let mut key = [0; 32];
        let seed = hmac::Key::new(hmac::HMAC_SHA256, &self.seed.to_be_bytes());
        let tag = hmac::sign(&seed, &[&[role][..], &self.drawn.to_be_bytes()].concat());
        key.copy_from_slice(tag.as_ref());
        self.drawn += 1;
        key
    }
}

/// The library's cryptography with keys and signatures that can be repeated.
pub(crate) fn provider() -> CryptoProvider {
    CryptoProvider { kx_groups: &[&SeededX25519], key_provider: &RepeatableKeys, ..real::provider() }
}

/// X25519 with keys that the session lends.
#[derive(Debug)]
struct SeededX25519;

#[derive(Debug)]
struct Exchange {
    private: PrivateKey,
    public: Buf,
}

impl SupportedKxGroup for SeededX25519 {
    fn name(&self) -> NamedGroup {
        NamedGroup::X25519
    }

    fn start_exchange(&self, mut buf: Buf) -> Result<Box<dyn ActiveKeyExchange>, CryptoError> {
        let failed = CryptoError::OperationFailed(CryptoOperation::GenerateEphemeralKey);
        let mut lent = LENT.take();
        // The library tries the exchange before any session exists; those keys are not used.
        let key = lent.as_mut().map_or([1; 32], SeededKeys::draw);
        LENT.set(lent);
        let Ok(private) = PrivateKey::from_private_key(&X25519, &key) else { return Err(failed) };
        let Ok(public) = private.compute_public_key() else { return Err(failed) };
        buf.clear();
        buf.extend_from_slice(public.as_ref());
        Ok(Box::new(Exchange { private, public: buf }))
    }
}

impl ActiveKeyExchange for Exchange {
    fn pub_key(&self) -> &[u8] {
        &self.public
    }

    fn complete(self: Box<Self>, peer_pub: &[u8], out: &mut Buf) -> Result<(), CryptoError> {
        let peer = UnparsedPublicKey::new(&X25519, peer_pub);
        agree(&self.private, peer, CryptoError::InvalidPublicKey(NamedGroup::X25519), |secret| {
            out.clear();
            out.extend_from_slice(secret);
            Ok(())
        })
    }

    fn group(&self) -> NamedGroup {
        NamedGroup::X25519
    }
}

/// ECDSA of the curve P-256 with nonces of RFC 6979; other keys sign as usual.
#[derive(Debug)]
struct RepeatableKeys;

#[derive(Debug)]
struct RepeatableKey(EcdsaKey);

impl KeyProvider for RepeatableKeys {
    fn load_private_key(&self, encoded: &[u8]) -> Result<Box<dyn SigningKey>, CryptoError> {
        let lent = IdentityKey::lent();
        match lent.as_ref().map(|key| EcdsaKey::from_pkcs8_der(key.der())) {
            Some(Ok(key)) => Ok(Box::new(RepeatableKey(key))),
            _ => LentKeys.load_private_key(encoded),
        }
    }
}

impl SigningKey for RepeatableKey {
    fn sign(&mut self, data: &[u8], hash_alg: HashAlgorithm, out: &mut Buf) -> Result<(), CryptoError> {
        let key_hash = self.hash_algorithm();
        if hash_alg != key_hash {
            return Err(CryptoError::SigningKeyHashMismatch { key_hash, requested: hash_alg });
        }
        let signature: DerSignature =
            self.0.try_sign(data).map_err(|_| CryptoError::OperationFailed(CryptoOperation::Sign))?;
        out.clear();
        out.extend_from_slice(signature.as_bytes());
        Ok(())
    }

    fn algorithm(&self) -> SignatureAlgorithm {
        SignatureAlgorithm::ECDSA
    }

    fn hash_algorithm(&self) -> HashAlgorithm {
        HashAlgorithm::SHA256
    }

    fn supported_hash_algorithms(&self) -> &[HashAlgorithm] {
        &[HashAlgorithm::SHA256]
    }
}
