//! Simulated ends, whose signatures can be repeated: RFC 6979 derives them from the key and the message.

use dimpl::crypto::{Buf, HashAlgorithm, KeyProvider, SignatureAlgorithm, SigningKey};
use dimpl::{CryptoError, CryptoOperation};
use p256::ecdsa::signature::Signer;
use p256::ecdsa::{DerSignature, SigningKey as EcdsaKey};
use p256::pkcs8::DecodePrivateKey;

use crate::identity_key::{IdentityKey, LentKeys};
use crate::{Identity, Security, Trust};

/// Keys and certificates of simulated ends: the same in each run.
const CLIENT: [&str; 2] = [include_str!("client.key.pem"), include_str!("client.crt.pem")];
const SERVER: [&str; 2] = [include_str!("server.key.pem"), include_str!("server.crt.pem")];

/// The security of two simulated ends, the client's first, which pin each other's key. **The keys are
/// public**: it protects nothing.
///
/// The same seeds and the same calls of the [`Layer`](crate::Layer) or [`Session`](crate::Session) give the
/// same records.
pub fn simulated(seeds: [u64; 2]) -> [Security; 2] {
    let identity = |[key, certificate]: [&str; 2]| {
        Identity::from_pem_with_certificate(key, certificate).expect("the keys belong to the certificates")
    };
    let (client, server) = (identity(CLIENT), identity(SERVER));
    let trust = |identity: &Identity| Trust::Pinned(vec![identity.fingerprint()]);
    let (of_client, of_server) = (trust(&server), trust(&client));
    [Security::new(client, of_client).seeded(seeds[0]), Security::new(server, of_server).seeded(seeds[1])]
}

/// ECDSA of the curve P-256 with nonces of RFC 6979; other keys sign as usual.
#[derive(Debug)]
pub(super) struct RepeatableKeys;

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
