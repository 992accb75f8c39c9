//! The keys of one direction and epoch, and the records that they protect.

use core::fmt;

use aes::Aes128Enc;
use aes::cipher::{BlockCipherEncrypt, KeyInit};
use aws_lc_rs::aead::{self, Aad, LessSafeKey, Nonce, UnboundKey};
use aws_lc_rs::hmac;
use zeroize::Zeroizing;

use crate::observer::{SECRET, Secret};

/// Bytes of the header of the records that are sent: flags, 16 bits of the number, the length.
pub(super) const HEADER: usize = 5;
/// Bytes of an authentication tag.
pub(super) const TAG: usize = aead::MAX_TAG_LEN;
/// Bytes of the ciphertext from which the mask of a record number is made.
const SAMPLE: usize = 16;
/// The header's flags (RFC 9147, Section 4): the pattern, 16 bits of the number, a length.
const FLAGS: u8 = 0b0010_1100;
const HAS_CONNECTION_ID: u8 = 0b0001_0000;
const HAS_LONG_NUMBER: u8 = 0b0000_1000;
const HAS_LENGTH: u8 = 0b0000_0100;
const EPOCH: u8 = 0b0000_0011;
/// Records after which expanded keys are kept. Keys of connections that have not carried much, or that carry
/// data in one direction, have less: a server may have thousands of idle ones.
pub(super) const OFTEN: u8 = 16;

/// The keys of one direction and epoch: the secret, and what is derived from it while it is used.
pub(super) struct Keys {
    secret: Secret,
    uses: u8,
    expanded: Option<Box<Expanded>>,
}

/// Keys of TLS_AES_128_GCM_SHA256 (RFC 9147, Sections 4.2.3 and 5.9), ready for use.
struct Expanded {
    record: LessSafeKey,
    iv: [u8; aead::NONCE_LEN],
    number: Aes128Enc,
}

/// A record whose number is known, and that is not authentic yet.
struct Numbered<'a> {
    number: u64,
    header: &'a [u8],
    ciphertext: &'a [u8],
}

impl Keys {
    pub(super) fn new(secret: Secret) -> Self {
        Self { secret, uses: 0, expanded: None }
    }

    /// The keys of the next epoch (RFC 8446, Section 7.2).
    pub(super) fn next(&self) -> Self {
        Self::new(expand(&self.secret, b"traffic upd"))
    }

    /// A protected record with this plaintext, which ends with the content type.
    pub(super) fn seal(&mut self, epoch: u64, number: u64, plaintext: [&[u8]; 2]) -> Vec<u8> {
        let size = plaintext.iter().map(|part| part.len()).sum::<usize>() + TAG;
        let mut record = Vec::with_capacity(HEADER + size);
        record.push(FLAGS | epoch as u8 & EPOCH);
        record.extend((number as u16).to_be_bytes());
        record.extend((size as u16).to_be_bytes());
        plaintext.iter().for_each(|part| record.extend_from_slice(part));
        self.with_keys(|keys| {
            let (header, content) = record.split_at_mut(HEADER);
            let sealed =
                keys.record.seal_in_place_separate_tag(keys.nonce(number), Aad::from(header), content);
            record.extend_from_slice(sealed.expect("within the limits of the cipher").as_ref());
            keys.mask(&mut record, HEADER, 2);
        });
        record
    }

    /// The number and the plaintext of an authentic record. `expected`: the number that follows the highest
    /// one; `is_new`: whether a number is worth the decryption.
    pub(super) fn open(
        &mut self,
        record: &[u8],
        expected: u64,
        is_new: impl FnOnce(u64) -> bool,
    ) -> Option<(u64, Vec<u8>)> {
        self.with_keys(|keys| {
            let mut header = [0; HEADER];
            let record = keys.number(record, expected, &mut header)?;
            if !is_new(record.number) {
                return None;
            }
            let mut plaintext = record.ciphertext.to_vec();
            let nonce = keys.nonce(record.number);
            let size = keys.record.open_in_place(nonce, Aad::from(record.header), &mut plaintext).ok()?.len();
            plaintext.truncate(size);
            Some((record.number, plaintext))
        })
    }

    /// The number of a record that this end has sent.
    pub(super) fn number_of(&mut self, record: &[u8], expected: u64) -> Option<u64> {
        self.with_keys(|keys| Some(keys.number(record, expected, &mut [0; HEADER])?.number))
    }

    fn with_keys<T>(&mut self, process: impl FnOnce(&Expanded) -> T) -> T {
        if let Some(keys) = &self.expanded {
            return process(keys);
        }
        let keys = Box::new(Expanded::new(&self.secret));
        let result = process(&keys);
        self.uses += 1;
        if self.uses == OFTEN {
            self.expanded = Some(keys);
        }
        result
    }

    #[cfg(test)]
    pub(super) fn keeps_expanded(&self) -> bool {
        self.expanded.is_some()
    }
}

impl Expanded {
    fn new(secret: &Secret) -> Self {
        let key = expand::<16>(secret, b"key");
        let record = UnboundKey::new(&aead::AES_128_GCM, &*key).expect("a key of this length");
        let number = Aes128Enc::new_from_slice(&*expand::<16>(secret, b"sn")).expect("a key of this length");
        Self { record: LessSafeKey::new(record), iv: *expand(secret, b"iv"), number }
    }

    /// The number, exclusive-or the initialization vector (RFC 8446, Section 5.3).
    fn nonce(&self, number: u64) -> Nonce {
        let mut nonce = self.iv;
        nonce[4..].iter_mut().zip(number.to_be_bytes()).for_each(|(byte, part)| *byte ^= part);
        Nonce::assume_unique_for_key(nonce)
    }

    /// Adds or removes the protection of a record number of `size` bytes (RFC 9147, Section 4.2.3).
    fn mask(&self, record: &mut [u8], ciphertext_at: usize, size: usize) {
        let sample = record[ciphertext_at..ciphertext_at + SAMPLE].try_into().expect("as long as a tag");
        record[1..=size].iter_mut().zip(self.mask_of(sample)).for_each(|(byte, mask)| *byte ^= mask);
    }

    fn mask_of(&self, sample: [u8; SAMPLE]) -> [u8; SAMPLE] {
        let mut block = sample.into();
        self.number.encrypt_block(&mut block);
        block.into()
    }

    /// Reads the header of a record, and removes the protection of its number.
    fn number<'a>(
        &self,
        record: &'a [u8],
        expected: u64,
        header: &'a mut [u8; HEADER],
    ) -> Option<Numbered<'a>> {
        let flags = *record.first()?;
        if flags & HAS_CONNECTION_ID != 0 {
            return None;
        }
        let number_size = if flags & HAS_LONG_NUMBER != 0 { 2 } else { 1 };
        let header_size = 1 + number_size + if flags & HAS_LENGTH != 0 { 2 } else { 0 };
        let (clear, ciphertext) = record.split_at_checked(header_size)?;
        let sample = ciphertext.first_chunk().filter(|_| ciphertext.len() > TAG)?;
        let header = &mut header[..header_size];
        header.copy_from_slice(clear);
        let mask = self.mask_of(*sample);
        header[1..=number_size].iter_mut().zip(mask).for_each(|(byte, mask)| *byte ^= mask);
        let low = header[1..=number_size].iter().fold(0, |low, byte| low << 8 | u64::from(*byte));
        let number = nearest(low, 1 << (8 * number_size), expected);
        Some(Numbered { number, header, ciphertext })
    }
}

/// The number nearest to `expected` that has these low bits (RFC 9147, Section 4.2.2).
fn nearest(low: u64, modulus: u64, expected: u64) -> u64 {
    let behind = expected.wrapping_sub(low) % modulus;
    let ahead = (modulus - behind) % modulus;
    if behind != 0 && behind < ahead && expected >= behind { expected - behind } else { expected + ahead }
}

/// HKDF-Expand-Label of SHA-256 with an empty context, at most one block (RFC 8446, Section 7.1; RFC 9147,
/// Section 5.9).
fn expand<const SIZE: usize>(secret: &Secret, label: &[u8]) -> Zeroizing<[u8; SIZE]> {
    const { assert!(SIZE <= SECRET) };
    const PREFIX: &[u8] = b"dtls13";
    let mut context = hmac::Context::with_key(&hmac::Key::new(hmac::HMAC_SHA256, &**secret));
    context.update(&(SIZE as u16).to_be_bytes());
    context.update(&[(PREFIX.len() + label.len()) as u8]);
    context.update(PREFIX);
    context.update(label);
    context.update(&[0, 1]);
    let mut output = Zeroizing::new([0; SIZE]);
    output.copy_from_slice(&context.sign().as_ref()[..SIZE]);
    output
}

impl fmt::Debug for Keys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Without the secret.
        f.debug_struct("Keys").field("uses", &self.uses).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
