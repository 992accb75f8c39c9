//! The cryptography of the DTLS library: AWS-LC's, whose secrets and messages are observed.

use core::fmt;

use aes::Aes128Enc;
use aes::cipher::{BlockCipherEncrypt, KeyInit};
use aws_lc_rs::aead;
use dimpl::crypto::aws_lc_rs::default_provider;
use dimpl::crypto::{
    Aad, Buf, Cipher, CryptoProvider, Dtls13CipherSuite, HashAlgorithm, Nonce, SupportedDtls13CipherSuite,
    TmpBuf,
};
use dimpl::{CryptoError, CryptoOperation};

use crate::identity_key::LentKeys;
use crate::observer::{Observed, ObservedHmac};

/// Bytes of a key, and of an authentication tag.
const KEY: usize = 16;
const TAG: usize = 16;

/// The library's cryptography.
pub(crate) fn provider() -> CryptoProvider {
    CryptoProvider {
        key_provider: &LentKeys,
        hmac_provider: &ObservedHmac,
        dtls13_cipher_suites: &[&Aes128Gcm],
        ..default_provider()
    }
}

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
        let key = aead::UnboundKey::new(&aead::AES_128_GCM, key);
        let key = key.map_err(|_| CryptoError::OperationFailed(CryptoOperation::CreateCipher))?;
        Ok(Box::new(RecordCipher(aead::LessSafeKey::new(key))))
    }

    fn encrypt_sn(&self, sn_key: &[u8], sample: &[u8; 16]) -> [u8; 16] {
        let key = Aes128Enc::new_from_slice(sn_key).expect("a key of this suite");
        let mut mask = (*sample).into();
        key.encrypt_block(&mut mask);
        mask.into()
    }
}

/// AES-128-GCM with one key, for the records of a handshake.
struct RecordCipher(aead::LessSafeKey);

impl Cipher for RecordCipher {
    fn encrypt(&mut self, plaintext: &mut Buf, aad: Aad, nonce: Nonce) -> Result<(), CryptoError> {
        Observed::note(plaintext, true);
        let (nonce, aad) = (aead::Nonce::assume_unique_for_key(nonce.0), aead::Aad::from(&aad[..]));
        let tag = self.0.seal_in_place_separate_tag(nonce, aad, plaintext);
        let tag = tag.map_err(|_| CryptoError::OperationFailed(CryptoOperation::Encrypt))?;
        plaintext.extend_from_slice(tag.as_ref());
        Ok(())
    }

    fn decrypt(&mut self, ciphertext: &mut TmpBuf<'_>, aad: Aad, nonce: Nonce) -> Result<(), CryptoError> {
        let (nonce, aad) = (aead::Nonce::assume_unique_for_key(nonce.0), aead::Aad::from(&aad[..]));
        let opened = self.0.open_in_place(nonce, aad, ciphertext.as_mut());
        let plaintext = opened.map_err(|_| CryptoError::OperationFailed(CryptoOperation::Decrypt))?;
        Observed::note(plaintext, false);
        let size = plaintext.len();
        ciphertext.truncate(size);
        Ok(())
    }
}

impl fmt::Debug for RecordCipher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Without the key.
        f.debug_struct("RecordCipher").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
