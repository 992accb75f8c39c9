//! Reasons why a connection is not secured, or not any more.

use thiserror::Error;

use crate::Fingerprint;

/// Reason why a connection is not secured, or not any more.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[non_exhaustive]
pub enum SecurityError {
    /// The peer proved to have a key that is not trusted.
    #[error("the peer has the key {0}, which is not trusted")]
    UntrustedKey(Fingerprint),
    /// The peer's certificate is not valid, or no trusted authority has issued it.
    #[error("the peer's certificate is not trusted: {0}")]
    UntrustedCertificate(String),
    /// The handshake or a later record violates DTLS, or a proof of the peer is wrong.
    #[error("DTLS: {0}")]
    Protocol(String),
    /// The handshake was not complete in time.
    #[error("the DTLS handshake was not complete in time")]
    TimedOut,
    /// The first datagram of the peer is not DTLS.
    #[error("the peer does not use DTLS: is encryption off at the other end?")]
    NotDtls,
    /// The connection ended during the handshake.
    #[error("the peer ended the connection during the DTLS handshake: it may not trust this end's key")]
    EndedByPeer,
    /// The server ended the connection during the handshake because too many others were in progress. A later
    /// attempt may succeed.
    #[error("the server is busy with the handshakes of others")]
    Busy,
    /// Too many other handshakes were in progress.
    #[error("replaced by another connection before its DTLS handshake was complete")]
    Evicted,
}

/// Reason why a key, a certificate or a secret cannot be used.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[non_exhaustive]
pub enum KeyError {
    /// The text is no private key in PEM.
    #[error("expected a private key in PEM (PKCS #8): {0}")]
    Malformed(String),
    /// The kind of key is not supported.
    #[error("expected a key of the curve P-256 or P-384")]
    Unsupported,
    /// The text has no certificate in PEM.
    #[error("expected a certificate in PEM: {0}")]
    Certificate(String),
    /// Certificate and private key do not belong together.
    #[error("the certificate is not that of the private key")]
    Mismatch,
    /// A shared secret is too short.
    #[error("a shared secret has {0} bytes: expected 20 or more, from a random generator")]
    ShortSecret(usize),
    /// The system's random generator failed.
    #[error("the system's random generator failed")]
    Entropy,
}
