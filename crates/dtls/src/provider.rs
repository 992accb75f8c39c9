//! The cryptography of the DTLS library: AWS-LC's, with a cheaper cipher for records.
//!
//! The library's interface has no key for record numbers that lasts: it passes the bytes of the key with each
//! record. AWS-LC expands an AES key for both directions with each use of a block cipher, which costs more
//! than the mask; here it is expanded for encryption alone.

use core::fmt;
use std::sync::LazyLock;

use aes::Aes128Enc;
use aes::cipher::{BlockCipherEncrypt, KeyInit};
use aws_lc_rs::aead;
use dimpl::crypto::aws_lc_rs::default_provider;
use dimpl::crypto::{
    Aad, Buf, Cipher, CryptoProvider, Dtls13CipherSuite, HashAlgorithm, Nonce, SupportedDtls13CipherSuite,
    TmpBuf,
};
use dimpl::{CryptoError, CryptoOperation};
use zeroize::Zeroizing;

use crate::identity_key::LentKeys;

/// Bytes of a key, and of an authentication tag.
const KEY: usize = 16;
const TAG: usize = 16;
/// Records of a cipher after which its expanded key is kept. Those of handshakes, and of connections that
/// have not carried much, have less.
const OFTEN: u8 = 16;

/// The library's cryptography.
pub(crate) fn provider() -> CryptoProvider {
    CryptoProvider { key_provider: &LentKeys, dtls13_cipher_suites: &SUITES, ..default_provider() }
}

/// The library's cipher suites, with AES-128-GCM replaced.
static SUITES: LazyLock<Vec<&'static dyn SupportedDtls13CipherSuite>> = LazyLock::new(|| {
    let known = default_provider().dtls13_cipher_suites.iter();
    let replaced = Dtls13CipherSuite::AES_128_GCM_SHA256;
    known.map(|suite| if suite.suite() == replaced { &Aes128Gcm as _ } else { *suite }).collect()
});

/// TLS_AES_128_GCM_SHA256.
#[derive(Debug)]
struct Aes128Gcm;

impl SupportedDtls13CipherSuite for Aes128Gcm {
    fn suite(&self) -> Dtls13CipherSuite {
        Dtls13CipherSuite::AES_128_GCM_SHA256
    }
    fn hash_algorithm(&self) -> HashAlgorithm {
        HashAlgorithm::SHA256
    }
    fn key_len(&self) -> usize {
        KEY
    }
    fn iv_len(&self) -> usize {
        aead::NONCE_LEN
    }
    fn tag_len(&self) -> usize {
        TAG
    }
    fn create_cipher(&self, key: &[u8]) -> Result<Box<dyn Cipher>, CryptoError> {
        let Ok(key) = <[u8; KEY]>::try_from(key) else {
            return Err(CryptoError::OperationFailed(CryptoOperation::CreateCipher));
        };
        Ok(Box::new(RecordCipher { key: Zeroizing::new(key), uses: 0, expanded: None }))
    }
    fn encrypt_sn(&self, sn_key: &[u8], sample: &[u8; 16]) -> [u8; 16] {
        let key = Aes128Enc::new_from_slice(sn_key).expect("a key of this suite");
        let mut mask = (*sample).into();
        key.encrypt_block(&mut mask);
        mask.into()
    }
}

/// AES-128-GCM with one key. The expanded key, 600 bytes, exists while it is used, and lasts in ciphers that
/// are used often: a server may have thousands of connections that are idle, each with four ciphers.
struct RecordCipher {
    key: Zeroizing<[u8; KEY]>,
    uses: u8,
    expanded: Option<aead::LessSafeKey>,
}

impl RecordCipher {
    /// Calls `process` with the expanded key.
    fn with_key<T>(
        &mut self,
        process: impl FnOnce(&aead::LessSafeKey) -> Result<T, CryptoOperation>,
    ) -> Result<T, CryptoError> {
        let failed = CryptoError::OperationFailed;
        if let Some(key) = &self.expanded {
            return process(key).map_err(failed);
        }
        let unbound = aead::UnboundKey::new(&aead::AES_128_GCM, &*self.key);
        let key = aead::LessSafeKey::new(unbound.map_err(|_| failed(CryptoOperation::CreateCipher))?);
        let result = process(&key).map_err(failed);
        self.uses += 1;
        if self.uses == OFTEN {
            self.expanded = Some(key);
        }
        result
    }
}

impl Cipher for RecordCipher {
    fn encrypt(&mut self, plaintext: &mut Buf, aad: Aad, nonce: Nonce) -> Result<(), CryptoError> {
        let (nonce, aad) = (aead::Nonce::assume_unique_for_key(nonce.0), aead::Aad::from(&aad[..]));
        let tag = self.with_key(|key| {
            key.seal_in_place_separate_tag(nonce, aad, plaintext).map_err(|_| CryptoOperation::Encrypt)
        })?;
        plaintext.extend_from_slice(tag.as_ref());
        Ok(())
    }

    fn decrypt(&mut self, ciphertext: &mut TmpBuf<'_>, aad: Aad, nonce: Nonce) -> Result<(), CryptoError> {
        let (nonce, aad) = (aead::Nonce::assume_unique_for_key(nonce.0), aead::Aad::from(&aad[..]));
        let size = self.with_key(|key| {
            let opened = key.open_in_place(nonce, aad, ciphertext.as_mut());
            opened.map(|plaintext| plaintext.len()).map_err(|_| CryptoOperation::Decrypt)
        })?;
        ciphertext.truncate(size);
        Ok(())
    }
}

impl fmt::Debug for RecordCipher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Without the key.
        f.debug_struct("RecordCipher").field("uses", &self.uses).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
