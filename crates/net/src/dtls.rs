//! DTLS, as the rest of the crate sees it: `whimbrel-dtls`, or its absence.

#[cfg(not(feature = "dtls"))]
mod absent;

#[cfg(not(feature = "dtls"))]
pub use absent::{Fingerprint, Security, SecurityError};
#[cfg(not(feature = "dtls"))]
pub(crate) use absent::{Layer, LayerEvent, SharedSecret};
#[cfg(feature = "dtls")]
pub use whimbrel_dtls::{
    Authorities, Fingerprint, Identity, KeyError, ParseFingerprintError, Security, SecurityError,
    SharedSecret, Trust,
};
#[cfg(feature = "dtls")]
pub(crate) use whimbrel_dtls::{Layer, LayerEvent};

/// Room for data in a datagram of that size, below a record.
#[cfg(feature = "dtls")]
pub(crate) fn room(max_datagram: usize) -> usize {
    max_datagram.saturating_sub(whimbrel_dtls::RECORD_OVERHEAD)
}

/// Room for data in a datagram of that size: there are no records.
#[cfg(not(feature = "dtls"))]
pub(crate) fn room(max_datagram: usize) -> usize {
    max_datagram
}
