//! The private key of an identity, which its sessions share: one copy of it in memory, parsed once.

use core::fmt;
use std::cell::RefCell;
use std::sync::Arc;

use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::signature::{ECDSA_P256_SHA256_ASN1_SIGNING, ECDSA_P384_SHA384_ASN1_SIGNING, EcdsaKeyPair};
use dimpl::crypto::{Buf, HashAlgorithm, KeyProvider, SignatureAlgorithm, SigningKey};
use dimpl::{CryptoError, CryptoOperation};
use zeroize::Zeroizing;

/// A private key for ECDSA with the curve P-256 or P-384.
pub(crate) struct IdentityKey {
    pair: EcdsaKeyPair,
    hash: HashAlgorithm,
    der: Zeroizing<Vec<u8>>,
}

thread_local! {
    /// The key of the session that is being created: the library's interface has a place for its bytes only.
    static LENT: RefCell<Option<Arc<IdentityKey>>> = const { RefCell::new(None) };
}

impl IdentityKey {
    /// The key with this encoding (PKCS #8); `None` if it is not of one of the curves.
    pub(crate) fn from_der(der: Vec<u8>) -> Option<Self> {
        let der = Zeroizing::new(der);
        let curves = [
            (&ECDSA_P256_SHA256_ASN1_SIGNING, HashAlgorithm::SHA256),
            (&ECDSA_P384_SHA384_ASN1_SIGNING, HashAlgorithm::SHA384),
        ];
        let parsed = curves
            .into_iter()
            .find_map(|(curve, hash)| EcdsaKeyPair::from_pkcs8(curve, &der).ok().map(|pair| (pair, hash)));
        parsed.map(|(pair, hash)| Self { pair, hash, der })
    }

    /// Its encoding.
    pub(crate) fn der(&self) -> &[u8] {
        &self.der
    }

    /// Calls the library, whose [`KeyProvider`] finds this key.
    pub(crate) fn lend<T>(self: &Arc<Self>, call: impl FnOnce() -> T) -> T {
        LENT.set(Some(self.clone()));
        let result = call();
        LENT.take();
        result
    }

    /// The key that is lent at this time.
    pub(crate) fn lent() -> Option<Arc<Self>> {
        LENT.with_borrow(Clone::clone)
    }
}

impl fmt::Debug for IdentityKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("IdentityKey").finish_non_exhaustive()
    }
}

/// Keys that identities lend to the library.
#[derive(Debug)]
pub(crate) struct LentKeys;

impl KeyProvider for LentKeys {
    fn load_private_key(&self, _: &[u8]) -> Result<Box<dyn SigningKey>, CryptoError> {
        let key = IdentityKey::lent().ok_or(CryptoError::InvalidPrivateKey)?;
        Ok(Box::new(SharedKey(key)))
    }
}

#[derive(Debug)]
struct SharedKey(Arc<IdentityKey>);

impl SigningKey for SharedKey {
    fn sign(&mut self, data: &[u8], hash: HashAlgorithm, out: &mut Buf) -> Result<(), CryptoError> {
        if hash != self.0.hash {
            return Err(CryptoError::SigningKeyHashMismatch { key_hash: self.0.hash, requested: hash });
        }
        let signature = self.0.pair.sign(&SystemRandom::new(), data);
        let signature = signature.map_err(|_| CryptoError::OperationFailed(CryptoOperation::Sign))?;
        out.clear();
        out.extend_from_slice(signature.as_ref());
        Ok(())
    }

    fn algorithm(&self) -> SignatureAlgorithm {
        SignatureAlgorithm::ECDSA
    }

    fn hash_algorithm(&self) -> HashAlgorithm {
        self.0.hash
    }

    fn supported_hash_algorithms(&self) -> &[HashAlgorithm] {
        core::slice::from_ref(&self.0.hash)
    }
}
