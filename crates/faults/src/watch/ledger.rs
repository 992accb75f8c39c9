//! Datagrams: each arrives once at most, as it was sent, and its outcome is reported to its sender.

use std::collections::{BTreeMap, BTreeSet};

use whimbrel_proto::DatagramId;
use whimbrel_wire::Payload;
use whimbrel_wire::option::data_dropped::DropCode;

use crate::plan::Side;
use crate::tally::Tally;

#[cfg(test)]
mod tests;

/// All datagrams of a trial, by the tag in their data.
#[derive(Debug, Default)]
pub(crate) struct Ledger {
    entries: Vec<Entry>,
    /// Deliveries of data never sent, or for a second time.
    wrong: u64,
    /// The client's address has changed.
    has_moved: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Entry {
    from: Side,
    /// The client's port, which identifies the connection.
    port: u16,
    size: usize,
    state: DatagramState,
    /// The receiver's connection that it arrived on.
    arrived: Option<u64>,
    /// The receiving application's report of it for its sender.
    discarded: Option<DropCode>,
    /// The report that the sender received.
    refused: Option<DropCode>,
}

/// The state reported to its sender.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum DatagramState {
    Unknown,
    Sent,
    Dropped,
}

/// The datagrams of one connection without a reported outcome, by identifier: their tags.
pub(crate) type Pending = BTreeMap<DatagramId, usize>;

impl Ledger {
    /// The client's address changes.
    pub(crate) fn on_move(&mut self) {
        self.has_moved = true;
    }

    /// The data of the next datagram.
    pub(crate) fn payload(&self, size: usize) -> Payload {
        Payload::Opaque { length: size as u32, tag: self.entries.len() as u64 }
    }

    /// A datagram was accepted. Returns its tag.
    pub(crate) fn taken(&mut self, from: Side, port: u16, size: usize) -> usize {
        self.entries.push(Entry {
            from,
            port,
            size,
            state: DatagramState::Unknown,
            arrived: None,
            discarded: None,
            refused: None,
        });
        self.entries.len() - 1
    }

    /// The outcome of a datagram was reported to the sender. Returns its tag.
    pub(crate) fn on_outcome(
        &mut self,
        pending: &mut Pending,
        id: DatagramId,
        state: DatagramState,
    ) -> usize {
        let Some(tag) = pending.remove(&id) else {
            panic!("{state:?} is reported for {id:?}, which was not sent or was reported before");
        };
        self.entries[tag].state = state;
        tag
    }

    /// The application has discarded a datagram, which is to be reported to its sender.
    pub(crate) fn discarded(&mut self, payload: &Payload, code: DropCode) {
        if let Some(entry) = tag(payload).and_then(|tag| self.entries.get_mut(tag)) {
            entry.discarded = Some(code);
        }
    }

    /// The sender received a report that the data of datagram `tag` did not reach the application.
    pub(crate) fn refused(&mut self, tag: usize, code: DropCode) {
        let before = self.entries[tag].refused.replace(code);
        assert!(before.is_none(), "datagram {tag} was reported as dropped twice: {before:?}, {code:?}");
    }

    /// A datagram was delivered at `to`, on its connection number `connection` with the client's `port`.
    /// `corrupted`: how many packets of the trial have had their data changed without a trace.
    pub(crate) fn delivered(
        &mut self,
        to: Side,
        (port, connection): (u16, u64),
        payload: &Payload,
        corrupted: u64,
        tally: &mut Tally,
    ) {
        tally.count("datagrams delivered");
        if let Err(wrong) = self.accept(to, (port, connection), payload, tally) {
            self.wrong += 1;
            assert!(self.wrong <= corrupted, "{wrong} at the {to:?} (port {port}): {payload:?}");
            tally.count("datagrams delivered after tampering");
        }
    }

    fn accept(
        &mut self,
        to: Side,
        (port, connection): (u16, u64),
        payload: &Payload,
        tally: &mut Tally,
    ) -> Result<(), &'static str> {
        let never_sent = "a datagram that was never sent was delivered";
        let tag = tag(payload).ok_or(never_sent)?;
        let entry = self.entries.get_mut(tag).ok_or(never_sent)?;
        let is_right = entry.from == to.other()
            && entry.port == port
            && *payload == Payload::Opaque { length: entry.size as u32, tag: tag as u64 };
        if !is_right {
            return Err("a datagram was changed or delivered elsewhere");
        }
        match entry.arrived.replace(connection) {
            None => Ok(()),
            // A server that has sent its Reset keeps no state (RFC 4340, Section 8.3). Until that has reached
            // the client, an old copy of its Request makes a new connection, on which old copies of its data
            // are valid data. A client that returns to the address of that Request sends to that connection
            // until its own has followed it there: then the older one receives the copies.
            Some(other)
                if to == Side::Server && (other < connection || (self.has_moved && other != connection)) =>
            {
                tally.count("datagrams delivered again, on a connection made by an old Request");
                Ok(())
            }
            Some(_) => Err("a datagram was delivered twice"),
        }
    }

    /// Ends the trial: no datagram may be without an outcome, and no dropped one may have arrived.
    /// `corrupted`: as for [`Ledger::delivered`]; a changed datagram can look like another.
    ///
    /// `made_again`: client ports for which an old Request made another connection at the server (RFC 4340,
    /// Section 8.3). Such a connection reports what it makes of old copies, whose data its predecessor has
    /// delivered.
    pub(crate) fn close(&mut self, corrupted: u64, made_again: &BTreeSet<u16>, tally: &mut Tally) {
        for (tag, entry) in self.entries.iter().enumerate() {
            let name = match (entry.state, entry.arrived.is_some()) {
                (DatagramState::Unknown, _) => {
                    panic!("no outcome was reported for datagram {tag}: {entry:?}")
                }
                (DatagramState::Dropped, true) => {
                    self.wrong += 1;
                    assert!(
                        self.wrong <= corrupted,
                        "datagram {tag} was reported as dropped, and arrived: {entry:?}"
                    );
                    "datagrams dropped by their sender, and seen all the same"
                }
                (DatagramState::Dropped, false) => "datagrams dropped by their sender",
                (DatagramState::Sent, true) => "datagrams sent, and arrived",
                (DatagramState::Sent, false) => "datagrams sent, and lost",
            };
            tally.count(name);
            match (entry.refused, entry.discarded) {
                (Some(reported), Some(discarded)) if reported == discarded => {
                    tally.count("datagrams discarded, and so reported")
                }
                (None, Some(_)) => tally.count("datagrams discarded, and not reported"),
                // One forged report can cover many datagrams.
                (Some(_), _)
                    if entry.arrived.is_some()
                        && entry.from == Side::Client
                        && made_again.contains(&entry.port) =>
                {
                    tally.count("datagrams reported as dropped by a connection made by an old Request");
                }
                (Some(_), _) if entry.arrived.is_some() => {
                    assert!(corrupted > 0, "another report for datagram {tag}: {entry:?}");
                    tally.count("datagrams reported as dropped by a forged packet");
                }
                _ => {}
            }
        }
    }
}

/// The number in a datagram's data.
fn tag(payload: &Payload) -> Option<usize> {
    let tag = match payload {
        Payload::Opaque { tag, .. } => *tag,
        Payload::Bytes(bytes) => u64::from_be_bytes(*bytes.first_chunk()?),
    };
    usize::try_from(tag).ok()
}
