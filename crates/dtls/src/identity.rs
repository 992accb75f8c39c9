//! Private keys and certificates of this end.

use core::fmt;
use std::sync::Arc;

use rcgen::{
    CertificateParams, DistinguishedName, DnType, KeyPair, PKCS_ECDSA_P256_SHA256, PKCS_ECDSA_P384_SHA384,
    PublicKeyData,
};
use rustls_pki_types::CertificateDer;
use rustls_pki_types::pem::PemObject;
use zeroize::Zeroizing;

use crate::identity_key::IdentityKey;
use crate::{Fingerprint, KeyError};

/// The largest certificate of this end, in bytes: the library keeps twelve records of a flight for
/// repetitions.
const LARGEST_CERTIFICATE: usize = 3000;

/// A private key and a certificate for it, by which this end proves who it is.
#[derive(Clone)]
pub struct Identity {
    certificate: Arc<[u8]>,
    key: Arc<IdentityKey>,
    fingerprint: Fingerprint,
}

impl Identity {
    /// A new key of the curve P-256.
    ///
    /// # Errors
    /// The system's random generator fails.
    pub fn generate() -> Result<Self, KeyError> {
        Self::self_signed(&KeyPair::generate_for(&PKCS_ECDSA_P256_SHA256).map_err(|_| KeyError::Entropy)?)
    }

    /// The key in a PEM text (PKCS #8), with a certificate signed by itself.
    ///
    /// # Errors
    /// There is no key of the curve P-256 or P-384 in it.
    pub fn from_pem(key: &str) -> Result<Self, KeyError> {
        Self::self_signed(&read_key(key)?)
    }

    /// The key in a PEM text, with the certificate that an authority has issued for it, the first in
    /// `certificate`.
    ///
    /// # Errors
    /// One of the texts is malformed, they do not belong together, or the certificate has more than 3000
    /// bytes.
    pub fn from_pem_with_certificate(key: &str, certificate: &str) -> Result<Self, KeyError> {
        let key = read_key(key)?;
        let leaf = CertificateDer::from_pem_slice(certificate.as_bytes())
            .map_err(|error| KeyError::Certificate(format!("{error:?}")))?;
        if leaf.len() > LARGEST_CERTIFICATE {
            let size = leaf.len();
            return Err(KeyError::Certificate(format!(
                "{size} bytes exceed the limit of {LARGEST_CERTIFICATE}"
            )));
        }
        let identity = Self::new(&key, &leaf)?;
        let named = public_key(&leaf).map_err(KeyError::Certificate)?;
        if named == identity.fingerprint { Ok(identity) } else { Err(KeyError::Mismatch) }
    }

    /// The private key as PEM (PKCS #8), for a file that only its owner can read.
    pub fn to_pem(&self) -> Zeroizing<String> {
        let der = rustls_pki_types::PrivatePkcs8KeyDer::from(self.key.der());
        let key = KeyPair::try_from(&der).expect("it was made from such a key");
        Zeroizing::new(key.serialize_pem())
    }

    /// The fingerprint of the public key, which peers trust.
    pub fn fingerprint(&self) -> Fingerprint {
        self.fingerprint
    }

    /// The certificate (DER).
    pub(crate) fn certificate(&self) -> &[u8] {
        &self.certificate
    }

    /// The private key.
    pub(crate) fn key(&self) -> &Arc<IdentityKey> {
        &self.key
    }

    /// With a certificate that says no more than the public key: trust is in the fingerprint.
    pub(crate) fn self_signed(key: &KeyPair) -> Result<Self, KeyError> {
        let mut parameters = CertificateParams::default();
        parameters.distinguished_name = DistinguishedName::new();
        parameters.distinguished_name.push(DnType::CommonName, "whimbrel");
        // The least: sessions hold several copies of the certificate, and nothing looks at its number.
        parameters.serial_number = Some(1u64.into());
        let certificate = parameters.self_signed(key).map_err(|_| KeyError::Unsupported)?;
        Self::new(key, certificate.der())
    }

    fn new(key: &KeyPair, certificate: &[u8]) -> Result<Self, KeyError> {
        let fingerprint = Fingerprint::of_public_key(&key.subject_public_key_info());
        let key = IdentityKey::from_der(key.serialize_der()).ok_or(KeyError::Unsupported)?;
        Ok(Self { certificate: certificate.into(), key: Arc::new(key), fingerprint })
    }
}

impl fmt::Debug for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Without the private key.
        f.debug_tuple("Identity").field(&self.fingerprint).finish()
    }
}

fn read_key(pem: &str) -> Result<KeyPair, KeyError> {
    let key = KeyPair::from_pem(pem).map_err(|error| KeyError::Malformed(error.to_string()))?;
    let usable = [&PKCS_ECDSA_P256_SHA256, &PKCS_ECDSA_P384_SHA384];
    if usable.iter().any(|algorithm| key.is_compatible(algorithm)) {
        Ok(key)
    } else {
        Err(KeyError::Unsupported)
    }
}

/// The fingerprint of the public key in a certificate.
pub(crate) fn public_key(certificate: &[u8]) -> Result<Fingerprint, String> {
    let certificate = CertificateDer::from(certificate);
    let parsed = webpki::EndEntityCert::try_from(&certificate).map_err(|error| error.to_string())?;
    Ok(Fingerprint::of_public_key(&parsed.subject_public_key_info()))
}

#[cfg(test)]
mod tests;
