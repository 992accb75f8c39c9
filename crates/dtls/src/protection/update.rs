//! New keys for sending, until the peer has acknowledged them (RFC 9147, Section 8).

use std::collections::VecDeque;

use bytes::Bytes;
use whimbrel_units::{Duration, Instant};

use super::Sending;
use crate::observer::{HANDSHAKE, MESSAGE_HEADER};

/// Type of the message (RFC 8446, Section 4.6.3).
pub(super) const KEY_UPDATE: u8 = 24;
/// First and longest interval between two retransmissions (RFC 9147, Section 5.8.2).
const FIRST_INTERVAL: Duration = Duration::from_secs(1);
const LONGEST_INTERVAL: Duration = Duration::from_secs(60);
/// Records whose acknowledgement is recognized: the last ones with the message.
const REMEMBERED: usize = 16;

type Message = [u8; MESSAGE_HEADER + 1];

/// A message about new keys that waits for its acknowledgement. Data goes on with the keys before.
#[derive(Debug)]
pub(super) struct Update {
    message: Message,
    /// Epochs and numbers of the records that carried it.
    sent: VecDeque<(u64, u64)>,
    interval: Duration,
    due: Instant,
}

/// The message, which does not ask the peer for new keys of its own.
pub(super) fn key_update(number: u16) -> Message {
    let [high, low] = number.to_be_bytes();
    [KEY_UPDATE, 0, 0, 1, high, low, 0, 0, 0, 0, 0, 1, 0]
}

impl Update {
    pub(super) fn new(now: Instant, message: Message) -> Self {
        Self { message, sent: VecDeque::new(), interval: FIRST_INTERVAL, due: now + FIRST_INTERVAL }
    }

    pub(super) fn due(&self) -> Instant {
        self.due
    }

    pub(super) fn was_sent_as(&self, epoch: u64, number: u64) -> bool {
        self.sent.contains(&(epoch, number))
    }

    pub(super) fn send(&mut self, sending: &mut Sending, outgoing: &mut VecDeque<Bytes>) {
        if self.sent.len() == REMEMBERED {
            self.sent.pop_front();
        }
        self.sent.push_back((sending.epoch, sending.next));
        outgoing.push_back(sending.seal(&self.message, HANDSHAKE));
    }

    /// Sends it again, and waits for twice as long.
    pub(super) fn repeat(&mut self, now: Instant, sending: &mut Sending, outgoing: &mut VecDeque<Bytes>) {
        self.interval = (self.interval * 2).min(LONGEST_INTERVAL);
        self.restart(now);
        self.send(sending, outgoing);
    }

    pub(super) fn restart(&mut self, now: Instant) {
        self.due = now + self.interval;
    }
}
