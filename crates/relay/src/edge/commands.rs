//! Commands between two ends: numbered, and repeated until the other end has them.
//!
//! The header of a numbered command has the port's number and 128, which no end has, the flow's, and the
//! command's number in two bytes. The other end says in its [reports](super::report), one of which follows
//! each command soon, which numbers it has. A command is repeated after a time, and as soon as a later one is
//! known to have come (as RACK does it, RFC 8985): on a path that nearly fails, few times fit into the life
//! of a command. An end of an earlier version does not: it gets commands as other
//! datagrams, once. So does the other end those that are too large for the path.
//!
//! Commands are delivered in their order: "hold" after "continue" must not become "continue" because that was
//! lost and repeated.

use std::collections::{BTreeMap, VecDeque};

use bytes::{BufMut, Bytes, BytesMut};
use whimbrel_units::{Duration, Instant};

use super::flow::HEADER;
pub(crate) use received::Received;
use received::{BEFORE, BEFORE_EARLIER};

mod received;

/// Marks the port of a numbered command.
const MARK: u8 = 0x80;
const MARKS: u8 = 0xc0;
pub(crate) const NUMBER: usize = 2;
/// The most commands under way to an end, and to one of an earlier version; further ones wait. A list of a
/// thousand parameters takes 3 s at a round-trip time of 600 ms.
const MOST: usize = 224;
const MOST_EARLIER: usize = 32;
const _: () = assert!(MOST < BEFORE as usize && MOST_EARLIER < BEFORE_EARLIER as usize);
/// Time until a repeat, at least, and at most.
const FIRST: Duration = Duration::from_millis(300);
const LAST: Duration = Duration::from_secs(1);
/// Time for which a command waits for an earlier one. Its sender has given that up then.
const PATIENCE: Duration = Duration::from_secs(5);

/// `true` for a numbered command.
pub(crate) fn is_numbered(datagram: &[u8]) -> bool {
    datagram.first().is_some_and(|port| port & MARKS == MARK)
}

/// A command that the other end may not have.
#[derive(Debug)]
struct Command {
    number: u16,
    bytes: Bytes,
    deadline: Instant,
    /// When it was sent first, and last.
    sent: [Instant; 2],
    due: Instant,
    wait: Duration,
}

/// The commands of this end.
#[derive(Debug, Default)]
pub(crate) struct Outbox {
    next: u16,
    /// The most commands under way, and how many numbers the other end reports; `None` if it reports none.
    limits: Option<(usize, u16)>,
    under_way: VecDeque<Command>,
    /// The round-trip time when the newest was sent.
    rtt: Duration,
}

impl Outbox {
    /// `true` if no more may be under way now than these and `leaving` others.
    pub(crate) fn is_full(&self, leaving: u16) -> bool {
        let (most, before) = self.limits.unwrap_or((MOST_EARLIER, BEFORE_EARLIER));
        let next = self.next.wrapping_add(leaving);
        self.under_way.len() + usize::from(leaving) >= most
            || self.under_way.front().is_some_and(|oldest| next.wrapping_sub(oldest.number) >= before)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.under_way.is_empty()
    }

    /// The datagram of the connection with a number for a command, which is one as it is; `None` if it leaves
    /// like that. `leaving` others are about to leave before it.
    pub(crate) fn number(&self, command: &Bytes, leaving: u16) -> Option<Bytes> {
        if self.limits.is_none() || command.len() < HEADER {
            return None;
        }
        let mut bytes = BytesMut::with_capacity(command.len() + NUMBER);
        bytes.put_slice(&[command[0] | MARK, command[1]]);
        bytes.put_u16(self.next.wrapping_add(leaving));
        bytes.put_slice(&command[HEADER..]);
        Some(bytes.freeze())
    }

    /// The transport has accepted what [`Outbox::number`] has returned. Until `deadline` it is worth
    /// repeating.
    pub(crate) fn on_handed(&mut self, now: Instant, bytes: Bytes, deadline: Instant, rtt: Duration) {
        let wait = FIRST.max(rtt + rtt / 2);
        let (number, sent, due) = (self.next, [now; 2], now + wait);
        self.under_way.push_back(Command { number, bytes, deadline, sent, due, wait });
        self.rtt = rtt;
        self.next = self.next.wrapping_add(1);
    }

    /// The other end's report says this; `None`: nothing about commands. Returns `true` if commands came.
    pub(crate) fn on_report(&mut self, now: Instant, received: Option<Received>) -> bool {
        let Some(received) = received else { return false };
        let count = self.under_way.len();
        self.limits = Some(if received.is_whole() { (MOST, BEFORE) } else { (MOST_EARLIER, BEFORE_EARLIER) });
        let mut newest = Instant::ZERO;
        self.under_way.retain(|command| {
            let has_come = received.has(command.number);
            if has_come {
                // A repeat may have come, or the first.
                newest = newest.max(command.sent[0]);
            }
            !has_come
        });
        // By a quarter of a round-trip time, the path may have reordered them.
        for command in self.under_way.iter_mut().filter(|command| command.sent[1] + self.rtt / 4 < newest) {
            command.due = now;
        }
        self.under_way.len() < count
    }

    /// The command that is to be repeated now.
    pub(crate) fn due(&mut self, now: Instant) -> Option<Bytes> {
        self.under_way.retain(|command| command.deadline > now);
        self.under_way.iter().find(|command| command.due <= now).map(|command| command.bytes.clone())
    }

    /// The transport has accepted the repeat.
    pub(crate) fn on_repeated(&mut self, now: Instant) {
        if let Some(command) = self.under_way.iter_mut().find(|command| command.due <= now) {
            command.wait = (command.wait * 2).min(LAST.max(command.wait));
            (command.sent[1], command.due) = (now, now + command.wait);
        }
    }
}

/// The other end's commands that have come. Numbers are extended beyond 16 bits.
#[derive(Debug, Default)]
pub(crate) struct Inbox {
    newest: u64,
    received: Received,
    /// The number of the command that is delivered next.
    next: u64,
    /// Commands that wait for an earlier one, with their arrival times: fewer than [`BEFORE`].
    held: BTreeMap<u64, (Instant, Bytes)>,
}

impl Inbox {
    /// Takes a [numbered command](is_numbered). One that came before, or is none, is dropped.
    pub(crate) fn accept(&mut self, now: Instant, datagram: &[u8]) {
        let _ = self.try_accept(now, datagram);
    }

    fn try_accept(&mut self, now: Instant, datagram: &[u8]) -> Option<()> {
        let (header, payload) = datagram.split_first_chunk::<{ HEADER + NUMBER }>()?;
        let number = u16::from_be_bytes([header[2], header[3]]);
        let ahead = number.wrapping_sub(self.newest as u16).cast_signed();
        let number = self.newest.checked_add_signed(ahead.into())?;
        if !self.received.add(number as u16) {
            return None;
        }
        self.newest = self.newest.max(number);
        if number < self.next {
            // This command was given up before.
            return None;
        }
        let mut bytes = BytesMut::with_capacity(HEADER + payload.len());
        bytes.put_slice(&[header[0] & !MARK, header[1]]);
        bytes.put_slice(payload);
        self.held.insert(number, (now, bytes.freeze()));
        Some(())
    }

    /// The next command in their order, as the datagram of the connection that it would be without a number.
    pub(crate) fn poll(&mut self, now: Instant) -> Option<Bytes> {
        let (&number, &(since, _)) = self.held.first_key_value()?;
        if number != self.next && now < since + PATIENCE && self.held.len() < usize::from(BEFORE) {
            return None;
        }
        self.next = number + 1;
        self.held.pop_first().map(|(_, (_, bytes))| bytes)
    }

    /// State for a report.
    pub(crate) fn state(&self) -> Received {
        self.received
    }
}

#[cfg(test)]
mod tests;
