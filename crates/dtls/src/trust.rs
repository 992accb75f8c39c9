//! Trust in keys of peers.

use rustls_pki_types::pem::PemObject;
use rustls_pki_types::{CertificateDer, ServerName, UnixTime};
use webpki::{EndEntityCert, KeyUsage, anchor_from_trusted_cert};
use whimbrel_proto::Role;

use crate::identity::public_key;
use crate::{Fingerprint, KeyError, SecurityError};

/// The peers that are accepted.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Trust {
    /// Peers with one of these keys.
    Pinned(Vec<Fingerprint>),
    /// Peers with a certificate of one of these authorities.
    Authorities(Authorities),
    /// Any peer, for a first contact: the application compares or stores the peer's key before it sends or
    /// believes anything. Without that an attacker on the path can pose as the peer.
    Any,
}

impl Trust {
    /// Checks a certificate of the peer with that role; returns the fingerprint of its key.
    pub(crate) fn check(
        &self,
        peer: Role,
        certificate: &[u8],
        today: UnixTime,
    ) -> Result<Fingerprint, SecurityError> {
        let fingerprint = public_key(certificate).map_err(SecurityError::UntrustedCertificate)?;
        match self {
            Self::Pinned(keys) if !keys.contains(&fingerprint) => {
                Err(SecurityError::UntrustedKey(fingerprint))
            }
            Self::Authorities(authorities) => {
                authorities.check(peer, certificate, today).map_err(SecurityError::UntrustedCertificate)?;
                Ok(fingerprint)
            }
            Self::Pinned(_) | Self::Any => Ok(fingerprint),
        }
    }
}

/// Certification authorities, and the name that they have to vouch for.
#[derive(Clone, Debug)]
pub struct Authorities {
    certificates: Vec<CertificateDer<'static>>,
    name: Option<ServerName<'static>>,
}

impl Authorities {
    /// The authorities in a PEM text. The peer sends its own certificate only: intermediate authorities
    /// belong in the text.
    ///
    /// # Errors
    /// There is no certificate of an authority in the text.
    pub fn from_pem(text: &str) -> Result<Self, KeyError> {
        let all: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(text.as_bytes()).collect();
        let certificates = all.map_err(|error| KeyError::Certificate(format!("{error:?}")))?;
        if certificates.is_empty() {
            return Err(KeyError::Certificate("there is none".into()));
        }
        for certificate in &certificates {
            anchor_from_trusted_cert(certificate)
                .map_err(|error| KeyError::Certificate(error.to_string()))?;
        }
        Ok(Self { certificates, name: None })
    }

    /// Accepts only certificates for that host: a DNS name or an IP address. Without a name, any certificate
    /// of the authorities is accepted.
    ///
    /// # Errors
    /// The text is neither.
    pub fn named(self, name: &str) -> Result<Self, KeyError> {
        let name = ServerName::try_from(name.to_owned())
            .map_err(|_| KeyError::Certificate(format!("{name}: expected a DNS name or an IP address")))?;
        Ok(Self { name: Some(name), ..self })
    }

    fn check(&self, peer: Role, certificate: &[u8], today: UnixTime) -> Result<(), String> {
        let certificate = CertificateDer::from(certificate);
        let leaf = EndEntityCert::try_from(&certificate).map_err(|error| error.to_string())?;
        let anchors: Result<Vec<_>, _> = self.certificates.iter().map(anchor_from_trusted_cert).collect();
        let anchors = anchors.map_err(|error| error.to_string())?;
        let usage = match peer {
            Role::Server => KeyUsage::server_auth(),
            Role::Client => KeyUsage::client_auth(),
        };
        leaf.verify_for_usage(webpki::ALL_VERIFICATION_ALGS, &anchors, &[], today, usage, None, None)
            .map_err(|error| error.to_string())?;
        match &self.name {
            Some(name) => leaf
                .verify_is_valid_for_subject_name(name)
                .map_err(|_| format!("it is not for {}", name.to_str())),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests;
