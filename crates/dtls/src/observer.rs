//! Results of a handshake: the secrets of the records that follow, and the numbers of messages.
//!
//! The library has no interface for any of this, but computes with our provider: the secrets are outputs of
//! HMAC whose input has their labels, and handshake messages are plaintexts of the record cipher.

use std::cell::RefCell;

use dimpl::CryptoError;
use dimpl::crypto::aws_lc_rs::default_provider;
use dimpl::crypto::{HashAlgorithm, HmacProvider};
use zeroize::Zeroizing;

/// Content types of records (RFC 9147, Section 4.1).
pub(crate) const ALERT: u8 = 21;
pub(crate) const HANDSHAKE: u8 = 22;
pub(crate) const DATA: u8 = 23;
pub(crate) const ACK: u8 = 26;
/// Bytes of a traffic secret: the output of SHA-256.
pub(crate) const SECRET: usize = 32;
/// Bytes of the header of a handshake message (RFC 9147, Section 5.2).
pub(crate) const MESSAGE_HEADER: usize = 12;
/// Labels of the traffic secrets (RFC 8446, Section 7.1; RFC 9147, Section 5.9): two for data, and the
/// client's for the handshake.
const CLIENT_LABEL: &[u8] = b"dtls13c ap traffic";
const SERVER_LABEL: &[u8] = b"dtls13s ap traffic";
const CLIENT_HANDSHAKE_LABEL: &[u8] = b"dtls13c hs traffic";
/// Bytes of an `HkdfLabel` before its label.
const BEFORE_LABEL: usize = 3;

/// A secret from which the keys of one direction and epoch are derived.
pub(crate) type Secret = Zeroizing<[u8; SECRET]>;

/// Observations of one session's handshake.
#[derive(Debug, Default)]
pub(crate) struct Observed {
    /// The first traffic secrets for data, of the client and of the server.
    pub(crate) client: Option<Secret>,
    pub(crate) server: Option<Secret>,
    /// The client's secret for the handshake.
    pub(crate) client_handshake: Option<Secret>,
    /// `message_seq` that follows the last handshake message sent, and received.
    pub(crate) next_sent: u16,
    pub(crate) next_received: u16,
}

thread_local! {
    /// The observations of the session whose library is being called.
    static CURRENT: RefCell<Option<Observed>> = const { RefCell::new(None) };
}

impl Observed {
    /// Calls the library and adds what is observed meanwhile.
    pub(crate) fn during<T>(&mut self, call: impl FnOnce() -> T) -> T {
        CURRENT.set(Some(core::mem::take(self)));
        let result = call();
        *self = CURRENT.take().unwrap_or_default();
        result
    }

    /// Notes the plaintext of a record that was sent or received: its content and the content type.
    pub(crate) fn note(plaintext: &[u8], is_sent: bool) {
        let Some((content, HANDSHAKE)) = split_type(plaintext) else { return };
        CURRENT.with_borrow_mut(|current| {
            let Some(observed) = current else { return };
            let next = if is_sent { &mut observed.next_sent } else { &mut observed.next_received };
            for (number, _) in messages(content) {
                *next = (*next).max(number.saturating_add(1));
            }
        });
    }
}

/// The content and the type of a record's plaintext, without its padding (RFC 9147, Section 4).
pub(crate) fn split_type(plaintext: &[u8]) -> Option<(&[u8], u8)> {
    let end = plaintext.iter().rposition(|byte| *byte != 0)?;
    Some((&plaintext[..end], plaintext[end]))
}

/// The handshake messages, or fragments of such, in a record: each one's `message_seq`, and its bytes.
pub(crate) fn messages(mut content: &[u8]) -> impl Iterator<Item = (u16, &[u8])> {
    std::iter::from_fn(move || {
        let header = content.get(..MESSAGE_HEADER)?;
        let length = u32::from_be_bytes([0, header[9], header[10], header[11]]) as usize;
        let (message, rest) = content.split_at_checked(MESSAGE_HEADER + length)?;
        content = rest;
        Some((u16::from_be_bytes([message[4], message[5]]), message))
    })
}

/// The library's HMAC, observed.
#[derive(Debug)]
pub(crate) struct ObservedHmac;

impl HmacProvider for ObservedHmac {
    fn hmac(
        &self,
        hash: HashAlgorithm,
        key: &[u8],
        data: &[u8],
        out: &mut [u8],
    ) -> Result<usize, CryptoError> {
        let size = default_provider().hmac_provider.hmac(hash, key, data, out)?;
        let label = data.get(BEFORE_LABEL..).unwrap_or_default();
        CURRENT.with_borrow_mut(|current| {
            let Some(Observed { client, server, client_handshake, .. }) = current else { return };
            let places =
                [(CLIENT_LABEL, client), (SERVER_LABEL, server), (CLIENT_HANDSHAKE_LABEL, client_handshake)];
            if let Some((_, place)) = places.into_iter().find(|(known, _)| label.starts_with(known)) {
                *place = out[..size].try_into().ok().map(Zeroizing::new);
            }
        });
        Ok(size)
    }
}
