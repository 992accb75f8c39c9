//! A shared secret, from which both ends derive the keys of both.

use core::fmt;

use aws_lc_rs::agreement::{ECDH_P256, PrivateKey};
use aws_lc_rs::encoding::{AsDer, EcPrivateKeyRfc5915Der};
use aws_lc_rs::hkdf::{HKDF_SHA256, KeyType, Salt};
use aws_lc_rs::signature::{ECDSA_P256_SHA256_ASN1_SIGNING, EcdsaKeyPair};
use base64ct::{Base64Unpadded, Encoding};
use rcgen::{KeyPair, PKCS_ECDSA_P256_SHA256};
use rustls_pki_types::PrivatePkcs8KeyDer;
use whimbrel_proto::Role;
use zeroize::Zeroizing;

use crate::{Identity, KeyError, Security, Trust};

/// Fewest bytes of a secret: 20 characters of base64 have 120 bits.
const LEAST: usize = 20;
const SALT: &[u8] = b"whimbrel: keys of both ends from a shared secret, 1";

/// A secret that both ends know.
///
/// Both ends derive a key pair for the client and one for the server from it (HKDF, RFC 5869), use one and
/// pin the other. That keeps forward secrecy, which the pre-shared keys of DTLS 1.2 lack: a secret that
/// becomes known later does not uncover earlier traffic.
///
/// Any client sees the server's public key, and can try secrets on it offline: a secret has to be random, not
/// a passphrase. Everyone who has it can pose as either end.
#[derive(Clone)]
pub struct SharedSecret(Zeroizing<Vec<u8>>);

impl SharedSecret {
    /// A secret, of any bytes.
    ///
    /// # Errors
    /// The secret has fewer than 20 bytes.
    pub fn new(secret: &[u8]) -> Result<Self, KeyError> {
        if secret.len() < LEAST {
            return Err(KeyError::ShortSecret(secret.len()));
        }
        Ok(Self(Zeroizing::new(secret.to_vec())))
    }

    /// The text of a new random secret of 256 bits, in base64.
    ///
    /// # Errors
    /// The system's random generator fails.
    pub fn generate() -> Result<Zeroizing<String>, KeyError> {
        let mut bytes = Zeroizing::new([0; 32]);
        aws_lc_rs::rand::fill(&mut bytes[..]).map_err(|_| KeyError::Entropy)?;
        Ok(Zeroizing::new(Base64Unpadded::encode_string(&bytes[..])))
    }

    /// The security of the end with that role: its own key, and trust in the other end's alone.
    pub fn security(&self, role: Role) -> Security {
        let other = if role == Role::Client { Role::Server } else { Role::Client };
        Security::new(self.identity(role), Trust::Pinned(vec![self.identity(other).fingerprint()]))
    }

    /// The identity of the end with that role.
    pub fn identity(&self, role: Role) -> Identity {
        let label: &[u8] = if role == Role::Client { b"client" } else { b"server" };
        let pseudorandom = Salt::new(HKDF_SHA256, SALT).extract(&self.0);
        // A candidate that is zero or not below the order of the curve is replaced by the next: one in 2^32
        // is.
        let identity = (0..=u8::MAX).find_map(|attempt| {
            let mut scalar = Zeroizing::new([0; 32]);
            let info = [label, &[attempt]];
            pseudorandom.expand(&info, ScalarLength).ok()?.fill(&mut scalar[..]).ok()?;
            identity_of(&scalar)
        });
        identity.expect("256 candidates are not all invalid")
    }
}

impl fmt::Debug for SharedSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SharedSecret")
    }
}

/// The length of a private key.
struct ScalarLength;

impl KeyType for ScalarLength {
    fn len(&self) -> usize {
        32
    }
}

/// The identity with that private key, if it is a valid one.
fn identity_of(scalar: &[u8; 32]) -> Option<Identity> {
    let key = PrivateKey::from_private_key(&ECDH_P256, scalar).ok()?;
    let der: EcPrivateKeyRfc5915Der<'_> = key.as_der().ok()?;
    let signing = EcdsaKeyPair::from_private_key_der(&ECDSA_P256_SHA256_ASN1_SIGNING, der.as_ref()).ok()?;
    let pkcs8 = signing.to_pkcs8v1().ok()?;
    let pkcs8 = PrivatePkcs8KeyDer::from(pkcs8.as_ref());
    let pair = KeyPair::from_pkcs8_der_and_sign_algo(&pkcs8, &PKCS_ECDSA_P256_SHA256).ok()?;
    Identity::self_signed(&pair).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_ends_derive_the_same_two_keys() {
        let secret = SharedSecret::new(b"0123456789abcdefghij").expect("long enough");
        let again = SharedSecret::new(b"0123456789abcdefghij").expect("long enough");
        let other = SharedSecret::new(b"0123456789abcdefghik").expect("long enough");
        let key = |secret: &SharedSecret, role| secret.identity(role).fingerprint();
        for role in [Role::Client, Role::Server] {
            assert_eq!(key(&secret, role), key(&again, role));
            assert_ne!(key(&secret, role), key(&other, role));
        }
        assert_ne!(key(&secret, Role::Client), key(&secret, Role::Server));
    }

    /// Changes of the derivation would separate versions: this is what the first one derives. Its public keys
    /// were computed from HKDF in Python, and by openssl.
    #[test]
    fn the_derivation_is_fixed() {
        let secret = SharedSecret::new(b"0123456789abcdefghij").expect("long enough");
        assert_eq!(secret.identity(Role::Client).fingerprint().to_string(), CLIENT);
        assert_eq!(secret.identity(Role::Server).fingerprint().to_string(), SERVER);
    }
    const CLIENT: &str = "SHA256:8GEcBZHz8DZkGti9okh3KgxT5DbHSdX8McYJtveK8pw";
    const SERVER: &str = "SHA256:l1ljn8bPX9whZUs3n88Z+R9lJ+7YuhHrvQ0ZbVE82OU";

    #[test]
    fn a_short_secret_is_refused_and_none_is_printed() {
        let error = SharedSecret::new(b"correct horse").expect_err("too short");
        assert_eq!(error, KeyError::ShortSecret(13));
        let secret = SharedSecret::new(&[b'x'; 40]).expect("long enough");
        assert!(!format!("{secret:?}").contains("xx"));
    }
}
