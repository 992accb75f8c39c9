//! Fingerprints of public keys.

use core::fmt;
use core::str::FromStr;

use aws_lc_rs::digest::{SHA256, digest};
use base64ct::{Base64Unpadded, Encoding};
use thiserror::Error;

/// Prefix of the text form, as ssh writes it.
const PREFIX: &str = "SHA256:";

/// The SHA-256 digest of a public key (its SubjectPublicKeyInfo, as in RFC 7469), which identifies its owner.
///
/// Written and read as `SHA256:` and 43 characters of base64. A certificate may be renewed under the same
/// key.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Fingerprint([u8; 32]);

impl Fingerprint {
    /// The fingerprint of a public key: the DER of its SubjectPublicKeyInfo.
    pub(crate) fn of_public_key(info: &[u8]) -> Self {
        let mut bytes = [0; 32];
        bytes.copy_from_slice(digest(&SHA256, info).as_ref());
        Self(bytes)
    }

    /// The digest.
    pub fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

impl fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{PREFIX}{}", Base64Unpadded::encode_string(&self.0))
    }
}

impl fmt::Debug for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// The text is no fingerprint.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
#[error("expected a fingerprint: SHA256: and 43 characters, as `whimbrel key show` prints it")]
pub struct ParseFingerprintError;

impl FromStr for Fingerprint {
    type Err = ParseFingerprintError;
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let digits = text.strip_prefix(PREFIX).ok_or(ParseFingerprintError)?;
        let mut bytes = [0; 32];
        let decoded = Base64Unpadded::decode(digits, &mut bytes).map_err(|_| ParseFingerprintError)?;
        if decoded.len() == 32 { Ok(Self(bytes)) } else { Err(ParseFingerprintError) }
    }
}

#[cfg(test)]
mod tests;
