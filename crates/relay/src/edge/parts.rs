//! Datagrams that are larger than the path carries: divided into parts, and joined again.
//!
//! A part is a datagram of the connection whose header names a port from 64 on, which no end has: an end of
//! an earlier version discards it as one for an unknown port. The header of the flow is followed by the
//! number of the divided datagram, the number of the part, and the number of all parts.
//!
//! | byte | |
//! |---|---|
//! | 0 | the port's number, and 64; of bulk data 192, if the other end knows that |
//! | 1 | the flow's number |
//! | 2, 3 | the datagram's number |
//! | 4 | the part's number, from 0 on |
//! | 5 | the number of parts, 2 to 255 |
//!
//! Parts are of one size, or differ by a byte, and leave one behind the other. A datagram of which one is
//! lost is lost. An end's incomplete datagrams are limited in number, in bytes and in time, for
//! each peer and for all of them. Bulk data has as much time as it waits at the sender, because all else
//! leaves between its parts.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use bytes::{BufMut, Bytes, BytesMut};
use whimbrel_net::Mark;
use whimbrel_units::{Duration, Instant};

use super::carriage::Handed;
use super::report;
use super::stream::Lane;

#[cfg(test)]
mod tests;

/// Bytes of the header of a datagram of the connection, and of a part.
const FLOW: usize = 2;
const HEADER: usize = 6;
/// The marks of ports of parts, and of parts of bulk data. The header of a report is none.
const MARK: u8 = 0x40;
const BULK_MARK: u8 = 0xc0;
const MARKS: u8 = 0xc0;
const REPORT: u8 = report::HEADER.port;
/// Time in which all parts of bulk data have to arrive.
const BULK_TIME: Duration = Duration::from_secs(30);
/// The largest payload of a UDP datagram.
const LARGEST: usize = 65_507;
/// The most incomplete datagrams of a peer, and bytes of them.
const MAX_DATAGRAMS: usize = 32;
const MAX_BYTES: usize = 1 << 20;
/// The most bytes of the incomplete datagrams of all peers.
const MAX_BYTES_OF_ALL: usize = 64 << 20;
/// Bytes that a part takes besides its data.
const PART_OVERHEAD: usize = 64;
/// Times that a datagram is divided anew at once, as the path becomes narrower.
const MAX_DIVISIONS: usize = 4;
/// Datagrams that were complete of late, whose repeated parts are ignored.
const REMEMBERED: usize = 64;

/// `true` for a part.
pub(crate) fn is_part(datagram: &[u8]) -> bool {
    datagram.first().is_some_and(|port| port & MARK != 0 && *port != REPORT)
}

/// The division of a datagram, and the part to send next.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Division {
    mark: u8,
    number: u16,
    next: u8,
    count: u8,
}

impl Division {
    /// Divides a datagram of the connection into parts of at most `limit` bytes. `None` if 255 are too few.
    pub(crate) fn new(number: u16, datagram: &[u8], limit: usize, is_bulk: bool) -> Option<Self> {
        let is_bulk = is_bulk && datagram.first().is_some_and(|port| port | BULK_MARK != REPORT);
        let mark = if is_bulk { BULK_MARK } else { MARK };
        let room = limit.checked_sub(HEADER).filter(|room| *room > 0)?;
        let count = datagram.len().checked_sub(FLOW)?.div_ceil(room).max(2);
        Some(Self { mark, number, next: 0, count: u8::try_from(count).ok()? })
    }

    /// The next part of that datagram.
    pub(crate) fn part(&self, datagram: &[u8]) -> Bytes {
        let (flow, payload) = datagram.split_at(FLOW);
        let (next, count) = (usize::from(self.next), usize::from(self.count));
        let data = &payload[payload.len() * next / count..payload.len() * (next + 1) / count];
        let mut part = BytesMut::with_capacity(HEADER + data.len());
        part.put_slice(&[flow[0] | self.mark, flow[1]]);
        part.put_u16(self.number);
        part.put_slice(&[self.next, self.count]);
        part.put_slice(data);
        part.freeze()
    }

    /// The place of the next part in a frame, of which the datagram has that one.
    fn mark(&self, whole: Mark) -> Mark {
        let is_last = self.next + 1 == self.count;
        Mark { ends_frame: whole.ends_frame && is_last, count: None, ..whole }
    }

    /// The part was sent. Returns `true` if it was the last.
    pub(crate) fn advance(&mut self) -> bool {
        self.next += 1;
        self.next == self.count
    }
}

/// Hands datagrams to the transport, in parts where the path requires it.
#[derive(Debug, Default)]
pub(crate) struct Divider {
    number: u16,
    /// The other end knows parts of bulk data.
    knows_bulk: bool,
    /// By lane, the datagram of which parts wait for room in the transport. More urgent ones may leave in
    /// between.
    current: [Option<(Bytes, Division)>; Lane::ALL.len()],
}

impl Divider {
    /// The other end knows parts of bulk data.
    pub(crate) fn set_knows_bulk(&mut self) {
        self.knows_bulk = true;
    }

    /// Hands over a datagram of the connection that is worth sending until `deadline`. After
    /// [`Handed::Later`], the same datagram continues where it was interrupted. Parts have no deadline: the
    /// transport keeps or drops a datagram as a whole.
    ///
    /// # Errors
    /// Fails with an error of the transport.
    pub(crate) fn hand<E>(
        &mut self,
        lane: Lane,
        datagram: &Bytes,
        deadline: Instant,
        mark: Mark,
        mut transport: impl FnMut(Bytes, Option<Instant>, Mark) -> Result<Handed, E>,
    ) -> Result<Handed, E> {
        let is_same = |other: &Bytes| (other.as_ptr(), other.len()) == (datagram.as_ptr(), datagram.len());
        // Another one of its lane was given up.
        let interrupted = self.current[lane as usize].take().filter(|(other, _)| is_same(other));
        let mut division = interrupted.map(|(_, division)| division);
        for _ in 0..MAX_DIVISIONS {
            let refused = match &mut division {
                None => transport(datagram.clone(), Some(deadline), mark)?,
                Some(division) => loop {
                    match transport(division.part(datagram), None, division.mark(mark))? {
                        Handed::Accepted if division.advance() => break Handed::Accepted,
                        Handed::Accepted => {}
                        refused => break refused,
                    }
                },
            };
            match refused {
                Handed::Accepted => return Ok(Handed::Accepted),
                Handed::Later => {
                    self.current[lane as usize] = division.map(|division| (datagram.clone(), division));
                    return Ok(Handed::Later);
                }
                // The parts that were sent before the path became narrower are of no use.
                Handed::TooLarge(limit) => {
                    self.number = self.number.wrapping_add(1);
                    division =
                        Division::new(self.number, datagram, limit, self.knows_bulk && lane == Lane::Bulk);
                    if division.is_none() {
                        return Ok(Handed::TooLarge(limit));
                    }
                }
            }
        }
        Ok(Handed::Later)
    }
}

/// The room for incomplete datagrams that all peers share.
#[derive(Clone, Debug, Default)]
pub struct Room(Arc<AtomicUsize>);

impl Room {
    fn take(&self, bytes: usize) -> bool {
        let more = |used: usize| used.checked_add(bytes).filter(|used| *used <= MAX_BYTES_OF_ALL);
        self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more).is_ok()
    }

    fn give(&self, bytes: usize) {
        self.0.fetch_sub(bytes, Ordering::Relaxed);
    }
}

/// An incomplete datagram.
#[derive(Debug)]
struct Incomplete {
    /// The flow's header, and the datagram's number.
    key: [u8; 4],
    until: Instant,
    /// By number.
    parts: Box<[Option<Bytes>]>,
    missing: u8,
    /// Bytes of the data, and of memory.
    size: usize,
    cost: usize,
}

/// Joins the parts of a peer's datagrams.
#[derive(Debug)]
pub(crate) struct Joiner {
    /// In order of their first parts.
    incomplete: VecDeque<Incomplete>,
    cost: usize,
    room: Room,
    /// Time in which all parts have to arrive, except parts of bulk data.
    time: Duration,
    complete: VecDeque<[u8; 4]>,
}

impl Joiner {
    /// `time`: that in which all parts of a datagram have to arrive.
    pub(crate) fn new(time: Duration, room: Room) -> Self {
        let (incomplete, complete) = Default::default();
        Self { incomplete, cost: 0, room, time, complete }
    }

    /// Processes a [part](is_part). Returns the datagram of the connection that it completes.
    pub(crate) fn accept(&mut self, now: Instant, part: &[u8]) -> Option<Bytes> {
        self.expire(now);
        let (header, data) = part.split_first_chunk::<HEADER>()?;
        let &[port, flow, high, low, index, count] = header;
        let key = [port & !MARKS, flow, high, low];
        let until = now + if port & MARKS == BULK_MARK { self.time.max(BULK_TIME) } else { self.time };
        if count < 2 || index >= count || self.complete.contains(&key) {
            return None;
        }
        let known = self.incomplete.iter().position(|known| known.key == key);
        let place = match known {
            Some(place) if self.incomplete[place].parts.len() == usize::from(count) => place,
            // Another datagram of that number, or nonsense: the newer one counts.
            Some(place) => {
                self.lose(place);
                self.begin(until, key, count)?
            }
            None => self.begin(until, key, count)?,
        };
        if self.incomplete[place].parts[usize::from(index)].is_some() {
            return None;
        }
        if self.incomplete[place].size + data.len() > LARGEST || !self.fits(data.len(), place) {
            self.lose(self.incomplete.iter().position(|known| known.key == key)?);
            return None;
        }
        // Older ones may have made room.
        let place = self.incomplete.iter().position(|known| known.key == key)?;
        let known = &mut self.incomplete[place];
        known.parts[usize::from(index)] = Some(Bytes::copy_from_slice(data));
        known.missing -= 1;
        known.size += data.len();
        known.cost += data.len();
        self.cost += data.len();
        if known.missing > 0 {
            return None;
        }
        let done = self.take(place)?;
        if self.complete.len() == REMEMBERED {
            self.complete.pop_front();
        }
        self.complete.push_back(key);
        let mut datagram = BytesMut::with_capacity(FLOW + done.size);
        datagram.put_slice(&key[..FLOW]);
        done.parts.iter().flatten().for_each(|part| datagram.put_slice(part));
        Some(datagram.freeze())
    }

    /// Gives up what is not complete in time.
    pub(crate) fn expire(&mut self, now: Instant) {
        while let Some(old) = self.incomplete.iter().position(|each| each.until < now) {
            self.lose(old);
        }
    }

    /// Begins a datagram of `count` parts. Returns its place, or `None` if other peers leave no room.
    fn begin(&mut self, until: Instant, key: [u8; 4], count: u8) -> Option<usize> {
        if self.incomplete.len() == MAX_DATAGRAMS {
            self.lose(0);
        }
        let cost = usize::from(count) * PART_OVERHEAD;
        while self.cost + cost > MAX_BYTES {
            self.lose(0);
        }
        if !self.room.take(cost) {
            return None;
        }
        self.cost += cost;
        let parts = vec![None; usize::from(count)].into();
        self.incomplete.push_back(Incomplete { key, until, parts, missing: count, size: 0, cost });
        Some(self.incomplete.len() - 1)
    }

    /// Takes room for further bytes of a datagram, if necessary by dropping older ones.
    fn fits(&mut self, bytes: usize, mut place: usize) -> bool {
        while self.cost + bytes > MAX_BYTES && place > 0 {
            self.lose(0);
            place -= 1;
        }
        self.cost + bytes <= MAX_BYTES && self.room.take(bytes)
    }

    fn lose(&mut self, place: usize) {
        drop(self.take(place));
    }

    fn take(&mut self, place: usize) -> Option<Incomplete> {
        let taken = self.incomplete.remove(place)?;
        self.cost -= taken.cost;
        self.room.give(taken.cost);
        Some(taken)
    }
}

impl Drop for Joiner {
    fn drop(&mut self) {
        self.room.give(self.cost);
    }
}
