//! What the handshake leaves behind: the secrets of the records that follow, and the numbers of messages.
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
/// Bytes of an acknowledgement before its record numbers, and of each (RFC 9147, Section 7).
pub(crate) const ACK_HEADER: usize = 2;
pub(crate) const ACKED_NUMBER: usize = 16;
/// Record numbers of an acknowledgement of a whole handshake: several transmissions of a flight with usual
/// certificates. It is shorter than any datagram of the flight.
const MOST_ACKED: usize = 32;
/// Labels of the first traffic secrets for data (RFC 8446, Section 7.1; RFC 9147, Section 5.9).
const CLIENT_LABEL: &[u8] = b"dtls13c ap traffic";
const SERVER_LABEL: &[u8] = b"dtls13s ap traffic";
/// Bytes of an `HkdfLabel` before its label.
const BEFORE_LABEL: usize = 3;

/// A secret from which the keys of one direction and epoch are derived.
pub(crate) type Secret = Zeroizing<[u8; SECRET]>;

/// What was observed of one session's handshake.
#[derive(Debug, Default)]
pub(crate) struct Observed {
    /// The first traffic secrets for data, of the client and of the server.
    pub(crate) client: Option<Secret>,
    pub(crate) server: Option<Secret>,
    /// `message_seq` that follows the last handshake message sent, and received.
    pub(crate) next_sent: u16,
    pub(crate) next_received: u16,
    /// The newest record numbers that were acknowledged, in their encoding. Each acknowledgement names new
    /// records only, and the peer needs all of them.
    pub(crate) acknowledged: Vec<u8>,
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
        let Some((content, kind)) = split_type(plaintext) else { return };
        CURRENT.with_borrow_mut(|current| {
            let Some(observed) = current else { return };
            match kind {
                HANDSHAKE => {
                    let next = if is_sent { &mut observed.next_sent } else { &mut observed.next_received };
                    for (number, _) in messages(content) {
                        *next = (*next).max(number.saturating_add(1));
                    }
                }
                ACK if is_sent => {
                    let all = &mut observed.acknowledged;
                    all.extend(content.get(ACK_HEADER..).unwrap_or_default());
                    all.drain(..all.len().saturating_sub(MOST_ACKED * ACKED_NUMBER));
                }
                _ => {}
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
        let [is_client, is_server] = [CLIENT_LABEL, SERVER_LABEL].map(|known| label.starts_with(known));
        if is_client || is_server {
            let secret = out[..size].try_into().ok().map(Zeroizing::new);
            CURRENT.with_borrow_mut(|current| {
                let Some(observed) = current else { return };
                *(if is_client { &mut observed.client } else { &mut observed.server }) = secret;
            });
        }
        Ok(size)
    }
}
