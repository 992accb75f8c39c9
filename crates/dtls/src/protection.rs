//! The records of an established session (RFC 9147, Section 4): protection, replays, changes of keys.
//!
//! The library performs the handshake. With its records, each one would move through several buffers, and
//! the state of the handshake would be kept. Here a record costs its encryption and one copy, and an idle
//! session keeps its secrets and windows.

mod keys;
mod update;
mod window;

use std::collections::VecDeque;

use bytes::Bytes;
use whimbrel_proto::Role;
use whimbrel_units::Instant;

use self::keys::Keys;
use self::update::{KEY_UPDATE, Update, key_update};
use self::window::Window;
use crate::observer::{ACK, ALERT, DATA, HANDSHAKE, MESSAGE_HEADER, Observed, messages, split_type};

#[cfg(test)]
pub(crate) use self::window::REACH;

/// Bytes by which a record is longer than its datagram: the header, the content type, the authentication tag.
pub const RECORD_OVERHEAD: usize = keys::HEADER + 1 + keys::TAG;
/// The epoch of the first data (RFC 9147, Section 6.1), and the last one of the handshake.
const FIRST_EPOCH: u64 = 3;
const HANDSHAKE_EPOCH: u64 = 2;
/// Records sealed with one key after which it changes, unless set, and at which it must have changed. AES-GCM
/// may have 2^24.5 full records (RFC 9147, Section 4.5.3).
const REKEY_AFTER: u64 = 1 << 23;
const LAST_NUMBER: u64 = 1 << 24;
/// Records that are not authentic after which a session has to end (RFC 9147, Section 4.5.3).
const MOST_FORGED: u64 = 1 << 36;
/// Bytes of an acknowledgement before its record numbers, and of each (RFC 9147, Section 7).
const ACK_HEADER: usize = 2;
const ACKED_NUMBER: usize = 16;
/// Descriptions of alerts that end nothing else (RFC 8446, Section 6.1).
const CLOSE_NOTIFY: u8 = 0;
const USER_CANCELED: u8 = 90;

/// An authentic record of the peer.
#[derive(Debug)]
pub(crate) struct Opened {
    epoch: u64,
    number: u64,
    pub(crate) kind: u8,
    pub(crate) content: Bytes,
}

/// Meaning of the peer's record for the session.
#[derive(PartialEq, Eq, Debug)]
pub(crate) enum Meaning {
    Data(Bytes),
    /// The peer sends no more.
    Closed,
    /// The peer has ended the session, with this description of an alert.
    Alert(u8),
    /// A record about keys or acknowledgements, which has been processed.
    Control,
    /// A record without effect.
    Nothing,
}

/// A reason to end the session.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Exhausted {
    /// The peer has not acknowledged new keys in time.
    Key,
    /// Too many forged records.
    Forged,
}

/// Protection of the records of one session.
#[derive(Debug)]
pub(crate) struct Protection {
    sending: Sending,
    receiving: Receiving,
    /// The peer's epoch before, whose records may be late.
    before: Option<Receiving>,
    /// New keys for sending that the peer has not acknowledged.
    update: Option<Update>,
    /// `message_seq` of this end's next handshake message, and of the peer's.
    next_message: u16,
    next_peer_message: u16,
    /// Records per key.
    rekey_after: u64,
    forged: u64,
    /// Keys with which a server opens a repetition of the client's last flight, to acknowledge it again: the
    /// first acknowledgement may be lost. They are kept until the client sends data.
    handshake: Option<Receiving>,
    /// Epoch and number of the peer's last record.
    closed_at: Option<(u64, u64)>,
}

#[derive(Debug)]
struct Sending {
    epoch: u64,
    keys: Keys,
    next: u64,
}

#[derive(Debug)]
struct Receiving {
    epoch: u64,
    keys: Keys,
    window: Window,
}

impl Protection {
    /// Protection with what a handshake left behind; `None` before its secrets are known. `rekey_after`:
    /// records per key, 2^23 unless set.
    pub(crate) fn new(observed: &Observed, role: Role, rekey_after: Option<u64>) -> Option<Self> {
        let [client, server] = [observed.client.clone()?, observed.server.clone()?];
        let (sending, receiving) = if role == Role::Client { (client, server) } else { (server, client) };
        Some(Self {
            sending: Sending { epoch: FIRST_EPOCH, keys: Keys::new(sending), next: 0 },
            receiving: Receiving::new(FIRST_EPOCH, Keys::new(receiving)),
            before: None,
            update: None,
            next_message: 0,
            next_peer_message: 0,
            rekey_after: rekey_after.unwrap_or(REKEY_AFTER).min(REKEY_AFTER),
            forged: 0,
            handshake: None,
            closed_at: None,
        })
    }

    /// Takes over from the library, which has protected records until now.
    pub(crate) fn take_over(&mut self, role: Role, observed: Observed) {
        self.next_message = observed.next_sent;
        self.next_peer_message = observed.next_received;
        let secret = observed.client_handshake.filter(|_| role == Role::Server);
        self.handshake = secret.map(|secret| Receiving::new(HANDSHAKE_EPOCH, Keys::new(secret)));
    }

    /// Notes a record that the library has protected: its number is used.
    pub(crate) fn note_sent(&mut self, record: &[u8]) {
        let Sending { epoch, keys, next } = &mut self.sending;
        if epoch_bits(record).is_some_and(|bits| u64::from(bits) == *epoch & 3)
            && let Some(number) = keys.number_of(record, *next)
        {
            *next = (*next).max(number + 1);
        }
    }

    /// A record with a datagram of the application. Records about keys, which go first, are added to
    /// `outgoing`.
    ///
    /// # Errors
    /// The key may not be used any more.
    pub(crate) fn seal(
        &mut self,
        now: Instant,
        data: &[u8],
        outgoing: &mut VecDeque<Bytes>,
    ) -> Result<Bytes, Exhausted> {
        if self.sending.next >= self.rekey_after && self.update.is_none() {
            self.begin_update(now, outgoing);
        }
        if self.sending.next >= LAST_NUMBER {
            return Err(Exhausted::Key);
        }
        Ok(self.sending.seal(data, DATA))
    }

    /// The record that ends what this end sends.
    pub(crate) fn close(&mut self) -> Bytes {
        // The level of alerts has no meaning any more; libraries send "warning" with this one.
        self.sending.seal(&[1, CLOSE_NOTIFY], ALERT)
    }

    /// Opens a record of the peer. `None` if it is not authentic, or has arrived before.
    pub(crate) fn open(&mut self, record: &[u8]) -> Option<Opened> {
        let bits = epoch_bits(record)?;
        let known = [Some(&mut self.receiving), self.before.as_mut()];
        let receiving = known.into_iter().flatten().find(|known| known.has(bits))?;
        let Receiving { epoch, keys, window } = receiving;
        let mut is_new = false;
        let opened = keys.open(record, window.next(), |number| {
            is_new = window.is_new(number);
            is_new
        });
        let Some((number, mut plaintext)) = opened else {
            self.forged += u64::from(is_new);
            return None;
        };
        window.add(number);
        let (content, kind) = split_type(&plaintext)?;
        let size = content.len();
        plaintext.truncate(size);
        Some(Opened { epoch: *epoch, number, kind, content: plaintext.into() })
    }

    /// Processes a record of the peer. Answers are added to `outgoing`.
    ///
    /// # Errors
    /// The session has to end.
    pub(crate) fn process(
        &mut self,
        now: Instant,
        record: &[u8],
        outgoing: &mut VecDeque<Bytes>,
    ) -> Result<Meaning, Exhausted> {
        let Some(opened) = self.open(record) else {
            if self.forged >= MOST_FORGED {
                return Err(Exhausted::Forged);
            }
            return Ok(Meaning::Nothing);
        };
        // The client has the acknowledgement of its handshake.
        self.handshake = None;
        // RFC 9147, Section 5.10: later records are no longer the peer's.
        if self.closed_at.is_some_and(|last| (opened.epoch, opened.number) > last) {
            return Ok(Meaning::Nothing);
        }
        Ok(match (opened.kind, &opened.content[..]) {
            (DATA, _) => Meaning::Data(opened.content),
            (HANDSHAKE, content) => {
                self.handle_messages(now, content, outgoing);
                self.acknowledge(opened.epoch, opened.number, outgoing);
                Meaning::Control
            }
            (ACK, content) => {
                self.handle_acknowledgement(content);
                Meaning::Control
            }
            (ALERT, [_, CLOSE_NOTIFY, ..]) => {
                self.closed_at = Some((opened.epoch, opened.number));
                Meaning::Closed
            }
            (ALERT, [_, description, ..]) if *description != USER_CANCELED => Meaning::Alert(*description),
            _ => Meaning::Nothing,
        })
    }

    /// Sends new keys again that are not acknowledged, if their time has come.
    pub(crate) fn handle_timeout(&mut self, now: Instant, outgoing: &mut VecDeque<Bytes>) {
        if let Some(update) = self.update.as_mut().filter(|update| update.due() <= now) {
            update.repeat(now, &mut self.sending, outgoing);
        }
    }

    /// The next time of [`Protection::handle_timeout`].
    pub(crate) fn poll_timeout(&self) -> Option<Instant> {
        self.update.as_ref().map(Update::due)
    }

    /// Begins the interval of retransmission anew.
    pub(crate) fn restart_timer(&mut self, now: Instant) {
        if let Some(update) = &mut self.update {
            update.restart(now);
        }
    }

    /// Handshake messages after the handshake: new keys of the peer. Others, which tickets are, need no
    /// answer but the acknowledgement.
    fn handle_messages(&mut self, now: Instant, content: &[u8], outgoing: &mut VecDeque<Bytes>) {
        for (number, message) in messages(content) {
            if message[0] != KEY_UPDATE || number < self.next_peer_message {
                continue;
            }
            let Some(is_requested) = message.get(MESSAGE_HEADER) else { continue };
            self.next_peer_message = number.saturating_add(1);
            let next = Receiving::new(self.receiving.epoch + 1, self.receiving.keys.next());
            self.before = Some(core::mem::replace(&mut self.receiving, next));
            if *is_requested == 1 && self.update.is_none() {
                self.begin_update(now, outgoing);
            }
        }
    }

    /// Acknowledges a record with handshake messages, a repeated one as well: the acknowledgement before may
    /// be lost.
    fn acknowledge(&mut self, epoch: u64, number: u64, outgoing: &mut VecDeque<Bytes>) {
        let numbers = [epoch, number].map(u64::to_be_bytes).concat();
        outgoing.push_back(self.sending.seal(&acknowledgement(&numbers), ACK));
    }

    /// Changes the keys for sending if the peer has the message about them.
    fn handle_acknowledgement(&mut self, content: &[u8]) {
        let numbers = content.get(ACK_HEADER..).unwrap_or_default().chunks_exact(ACKED_NUMBER);
        let mut numbers = numbers.map(|number| {
            let (epoch, number) = number.split_at(8);
            [epoch, number].map(|part| u64::from_be_bytes(part.try_into().expect("eight bytes")))
        });
        let is_acknowledged = self
            .update
            .as_ref()
            .is_some_and(|update| numbers.any(|[epoch, number]| update.was_sent_as(epoch, number)));
        if is_acknowledged {
            self.update = None;
            let Sending { epoch, keys, .. } = &self.sending;
            self.sending = Sending { epoch: epoch + 1, keys: keys.next(), next: 0 };
        }
    }

    fn begin_update(&mut self, now: Instant, outgoing: &mut VecDeque<Bytes>) {
        let mut update = Update::new(now, key_update(self.next_message));
        self.next_message = self.next_message.wrapping_add(1);
        update.send(&mut self.sending, outgoing);
        self.update = Some(update);
    }

    /// Acknowledges the records of a datagram by which a client repeats its last flight. A record has more
    /// bytes than its number in the acknowledgement. Returns `true` if there are some.
    pub(crate) fn acknowledge_flight<'a>(
        &mut self,
        records: impl Iterator<Item = &'a [u8]>,
        outgoing: &mut VecDeque<Bytes>,
    ) -> bool {
        let Some(Receiving { epoch, keys, window }) = &mut self.handshake else { return false };
        let mut numbers = Vec::new();
        for record in records.filter(|record| epoch_bits(record) == Some(HANDSHAKE_EPOCH as u8)) {
            // Processed records are acknowledged again: the first acknowledgement may be lost.
            let Some((number, plaintext)) = keys.open(record, window.next(), |_| true) else { continue };
            if window.is_new(number) {
                window.add(number);
            }
            if matches!(split_type(&plaintext), Some((_, HANDSHAKE))) {
                numbers.extend([*epoch, number].map(u64::to_be_bytes).concat());
            }
        }
        if !numbers.is_empty() {
            outgoing.push_back(self.sending.seal(&acknowledgement(&numbers), ACK));
        }
        !numbers.is_empty()
    }
}

impl Sending {
    fn seal(&mut self, content: &[u8], kind: u8) -> Bytes {
        let record = self.keys.seal(self.epoch, self.next, [content, &[kind]]);
        self.next += 1;
        record.into()
    }
}

impl Receiving {
    fn has(&self, epoch_bits: u8) -> bool {
        self.epoch & 3 == u64::from(epoch_bits)
    }

    fn new(epoch: u64, keys: Keys) -> Self {
        Self { epoch, keys, window: Window::default() }
    }
}

/// The content of an acknowledgement of records with these numbers.
fn acknowledgement(numbers: &[u8]) -> Vec<u8> {
    [&(numbers.len() as u16).to_be_bytes(), numbers].concat()
}

/// The low bits of the epoch of a protected record; `None` for others.
pub(crate) fn epoch_bits(record: &[u8]) -> Option<u8> {
    record.first().filter(|flags| **flags & 0xe0 == 0x20).map(|flags| flags & 3)
}

#[cfg(test)]
mod tests;
