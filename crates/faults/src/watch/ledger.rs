//! Datagrams: each arrives once at most, as it was sent, and its sender is told what became of it.

use std::collections::BTreeMap;

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
    /// Deliveries of what was never sent, or for a second time.
    wrong: u64,
    /// The client's address has changed.
    has_moved: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Entry {
    from: Side,
    /// The client's port, which names the connection.
    port: u16,
    size: usize,
    fate: Fate,
    /// The receiver's connection that it arrived on.
    arrived: Option<u64>,
    /// What the receiving application said of it that its sender shall hear.
    discarded: Option<DropCode>,
    /// What the sender heard.
    refused: Option<DropCode>,
}

/// What its sender was told.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Fate {
    Unknown,
    Sent,
    Dropped,
}

/// The datagrams of one connection whose sender waits to be told, by identifier: their tags.
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
    /// That datagram was taken. Its tag.
    pub(crate) fn taken(&mut self, from: Side, port: u16, size: usize) -> usize {
        self.entries.push(Entry {
            from,
            port,
            size,
            fate: Fate::Unknown,
            arrived: None,
            discarded: None,
            refused: None,
        });
        self.entries.len() - 1
    }
    /// The sender was told what became of a datagram. Its tag.
    pub(crate) fn told(&mut self, pending: &mut Pending, id: DatagramId, fate: Fate) -> usize {
        let Some(tag) = pending.remove(&id) else {
            panic!("{fate:?} is told of {id:?}, which was not handed over or was told of before");
        };
        self.entries[tag].fate = fate;
        tag
    }
    /// The application that got a datagram has no use for it, and its sender shall be told.
    pub(crate) fn discarded(&mut self, payload: &Payload, code: DropCode) {
        if let Some(entry) = tag(payload).and_then(|tag| self.entries.get_mut(tag)) {
            entry.discarded = Some(code);
        }
    }
    /// The sender was told that the data of datagram `tag` did not reach the application.
    pub(crate) fn refused(&mut self, tag: usize, code: DropCode) {
        let heard = self.entries[tag].refused.replace(code);
        assert!(heard.is_none(), "twice told that datagram {tag} was dropped: {heard:?}, {code:?}");
    }
    /// A datagram was delivered at `to`, on its connection number `connection` with the client's `port`. `corrupted`:
    /// how many packets of the trial have had their data changed without a trace.
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
            tally.count("datagrams delivered that somebody had tampered with");
        }
    }
    fn accept(
        &mut self,
        to: Side,
        (port, connection): (u16, u64),
        payload: &Payload,
        tally: &mut Tally,
    ) -> Result<(), &'static str> {
        let never_sent = "what was never sent was delivered";
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
            // A server that has sent its Reset keeps nothing (RFC 4340, Section 8.3). While that has not reached the client, an
            // old copy of its Request makes a connection anew, on which old copies of its data are data as well.
            // A client that comes back to the address of that Request sends to that connection until its own has followed it there:
            // then the older one gets the copies.
            Some(other)
                if to == Side::Server && (other < connection || (self.has_moved && other != connection)) =>
            {
                tally.count("datagrams delivered again, on a connection made by an old Request");
                Ok(())
            }
            Some(_) => Err("a datagram was delivered twice"),
        }
    }
    /// The trial is over: nothing may be left open, nor what was dropped have arrived.
    /// `corrupted`: as for [`Ledger::delivered`]; a changed datagram can look like another.
    pub(crate) fn close(&mut self, corrupted: u64, tally: &mut Tally) {
        for (tag, entry) in self.entries.iter().enumerate() {
            let name = match (entry.fate, entry.arrived.is_some()) {
                (Fate::Unknown, _) => panic!("nothing was told of datagram {tag}: {entry:?}"),
                (Fate::Dropped, true) => {
                    self.wrong += 1;
                    assert!(
                        self.wrong <= corrupted,
                        "datagram {tag} was told dropped, and arrived: {entry:?}"
                    );
                    "datagrams dropped by their sender, and seen all the same"
                }
                (Fate::Dropped, false) => "datagrams dropped by their sender",
                (Fate::Sent, true) => "datagrams sent, and arrived",
                (Fate::Sent, false) => "datagrams sent, and lost",
            };
            tally.count(name);
            match (entry.refused, entry.discarded) {
                (Some(told), Some(said)) if told == said => tally.count("datagrams discarded, and so told"),
                (None, Some(_)) => tally.count("datagrams discarded, and nothing told"),
                // One forged report can lie about many.
                (Some(_), _) if entry.arrived.is_some() => {
                    assert!(corrupted > 0, "of datagram {tag} something else was told: {entry:?}");
                    tally.count("datagrams that somebody else said were dropped");
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
