//! Fate of the datagrams of each stream: the datagrams of a lane at a port.
//!
//! The relay counts a datagram for its stream once it has classified it: what was lost before (`unconnected`,
//! `kernel`, `overrun`) is in the accounts of the connection alone. After each [`Report`](super::Report) the
//! ends tell each other in a second one, of streams, what they have handed over and what has arrived. The
//! receiving end recognizes the lane of a datagram as the sending end does, and does not know what a user has
//! said of a port there: the sending end reports which streams are all that its port has.

use bytes::{Buf, BufMut, Bytes, BytesMut};
use serde::Serialize;
use whimbrel_units::Duration;

use super::{Ledger, Losses, Reason};
use crate::edge::flow::{Flow, HEADER as FLOW_HEADER};
use crate::edge::report;
use crate::edge::stream::Lane;

/// The most streams that have figures, in each direction.
const MOST: usize = 16;
/// The most that a report has of the other end's streams; the others follow in the next ones.
const MOST_ANSWERS: usize = 6;
/// Weight of the last datagram in the average wait.
const WEIGHT: f64 = 1.0 / 64.0;
/// Marks the lane of a stream that is all that its port has.
const WHOLE: u8 = 0x80;
/// The reasons for which a receiving end loses what has reached it, in the order of a report.
const RECEIVERS: [Reason; 3] = [Reason::UnknownFlow, Reason::Refused, Reason::Undeliverable];

/// The header of a report of streams. An end of an earlier version discards it.
pub(crate) const HEADER: Flow = Flow { port: report::HEADER.port, number: 2 };

/// The datagrams of a lane at a port.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct StreamId {
    pub(crate) port: u8,
    pub(crate) lane: Lane,
}

impl StreamId {
    /// The stream of a datagram of the connection.
    pub(crate) fn of(datagram: &[u8], lane: Lane) -> Self {
        Self { port: datagram.first().copied().unwrap_or_default(), lane }
    }
}

/// The direction of a stream.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Direction {
    /// From local programs.
    ToPeer,
    /// From programs of the peer.
    FromPeer,
}

impl Direction {
    /// Its name in all outputs for programs.
    pub const fn name(self) -> &'static str {
        match self {
            Self::ToPeer => "to_peer",
            Self::FromPeer => "from_peer",
        }
    }
}

/// The figures of a stream.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct StreamFigures {
    /// Sending direction.
    pub direction: Direction,
    /// The number of its port, from 0 on.
    pub port: u8,
    /// `command`, `newest`, `media` or `bulk`.
    pub lane: &'static str,
    /// Datagrams.
    pub sent: u64,
    /// Datagrams passed to the other end's programs.
    ///
    /// `None`: an end of an earlier version does not report it.
    pub delivered: Option<u64>,
    /// Datagrams that did not reach a program; `path` has all that did not reach the other end.
    pub lost: Losses,
    /// The average time in the sending end's queue, and half of the round trip, in seconds.
    pub delay_s: Option<f64>,
}

/// Arrivals of a stream, and later losses, by [`RECEIVERS`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
struct Reached {
    arrived: u64,
    lost: [u64; RECEIVERS.len()],
}

impl Reached {
    /// Of what a peer claims, not more than is possible.
    fn at_most(self, sent: u64) -> Self {
        let arrived = self.arrived.min(sent);
        let mut left = arrived;
        let lost = self.lost.map(|count| {
            let own = count.min(left);
            left -= own;
            own
        });
        Self { arrived, lost }
    }

    /// Adds it to a stream of which `of_sent` were sent by then. Returns those delivered.
    fn settle(&self, of_sent: u64, lost: &mut Losses) -> u64 {
        lost[Reason::Path] += of_sent.saturating_sub(self.arrived);
        RECEIVERS.iter().zip(self.lost).for_each(|(reason, count)| lost[*reason] += count);
        self.arrived - self.lost.iter().sum::<u64>()
    }
}

/// A stream of local programs.
#[derive(Clone, Copy, Debug)]
struct Own {
    id: StreamId,
    /// The port has no other one.
    is_whole: bool,
    sent: u64,
    lost_here: Losses,
    handed: u64,
    /// Average wait in seconds.
    wait: f64,
    /// The other end's report, and of how many.
    told: Option<(u64, Reached)>,
    /// Datagrams delivered in earlier connections.
    delivered_before: u64,
}

impl Own {
    fn settled(&self) -> (Losses, u64) {
        let mut lost = self.lost_here;
        let delivered = self.told.map_or(0, |(of_sent, reached)| reached.settle(of_sent, &mut lost));
        (lost, self.delivered_before + delivered)
    }

    /// The connection has ended: the fate of the others stays unknown.
    fn end(&mut self) {
        let (mut lost, delivered) = self.settled();
        lost[Reason::Ended] += self.sent.saturating_sub(delivered + lost.sum());
        (self.lost_here, self.delivered_before) = (lost, delivered);
        (self.handed, self.told) = (0, None);
    }
}

/// A stream of the peer's programs, as the peer has announced it.
#[derive(Clone, Copy, Debug)]
struct Announced {
    id: StreamId,
    is_whole: bool,
    /// The peer's number of datagrams, and what had arrived with it.
    sent: u64,
    then: Reached,
    wait: f64,
}

/// The streams of both directions.
#[derive(Debug, Default)]
pub(super) struct Streams {
    own: Vec<Own>,
    announced: Vec<Announced>,
    /// Arrivals, by the lane that this end has recognized.
    arrivals: Vec<(StreamId, Reached)>,
    /// The announced stream with which the next report begins.
    next: usize,
}

impl Streams {
    fn own(&mut self, id: StreamId) -> Option<&mut Own> {
        self.own.iter_mut().find(|own| own.id == id)
    }

    fn arrival(&mut self, id: StreamId) -> Option<&mut Reached> {
        match self.arrivals.iter().position(|(known, _)| *known == id) {
            Some(place) => Some(&mut self.arrivals[place].1),
            None if self.arrivals.len() < MOST => {
                self.arrivals.push((id, Reached::default()));
                self.arrivals.last_mut().map(|(_, reached)| reached)
            }
            None => None,
        }
    }

    fn reached(&self, id: StreamId, is_whole: bool) -> Reached {
        let is_its = |other: &StreamId| other.port == id.port && (is_whole || other.lane == id.lane);
        let mut sum = Reached::default();
        for (_, reached) in self.arrivals.iter().filter(|(other, _)| is_its(other)) {
            sum.arrived += reached.arrived;
            sum.lost.iter_mut().zip(reached.lost).for_each(|(sum, count)| *sum += count);
        }
        sum
    }

    /// Datagrams were lost before the transport had them.
    pub(super) fn lose(&mut self, id: StreamId, reason: Reason, count: u64) {
        if let Some(own) = self.own(id) {
            own.lost_here[reason] += count;
        }
    }

    /// Datagrams that had arrived for a port were lost. The system does not name the lane: the lane of which
    /// most was delivered is charged.
    pub(super) fn lose_arrived(&mut self, port: u8, reason: Reason, count: u64) {
        let Some(place) = RECEIVERS.iter().position(|other| *other == reason) else { return };
        let delivered = |reached: &Reached| reached.arrived - reached.lost.iter().sum::<u64>();
        let of_port = self.arrivals.iter_mut().filter(|(id, _)| id.port == port);
        if let Some((_, reached)) = of_port.max_by_key(|(_, reached)| delivered(reached)) {
            reached.lost[place] += count.min(delivered(reached));
        }
    }

    /// The connection has ended.
    pub(super) fn end_connection(&mut self) {
        self.own.iter_mut().for_each(Own::end);
        (self.announced, self.arrivals, self.next) = Default::default();
    }

    fn report(&mut self) -> Option<Bytes> {
        if self.own.is_empty() && self.announced.is_empty() {
            return None;
        }
        let mut bytes = BytesMut::with_capacity(FLOW_HEADER + 1 + MOST * 14 + MOST_ANSWERS * 42);
        bytes.put_slice(&[HEADER.port, HEADER.number, self.own.len() as u8]);
        for own in &self.own {
            let whole = if own.is_whole { WHOLE } else { 0 };
            bytes.put_slice(&[own.id.port, own.id.lane as u8 | whole]);
            bytes.put_u64(own.handed);
            bytes.put_u32((own.wait * 1e6) as u32);
        }
        for _ in 0..self.announced.len().min(MOST_ANSWERS) {
            self.next = (self.next + 1) % self.announced.len();
            let Announced { id, sent, then, .. } = self.announced[self.next];
            bytes.put_slice(&[id.port, id.lane as u8]);
            [sent, then.arrived].into_iter().chain(then.lost).for_each(|number| bytes.put_u64(number));
        }
        Some(bytes.freeze())
    }

    /// Takes the other end's report, without its header. Partial entries are left out.
    fn on_report(&mut self, mut bytes: Bytes) {
        let number = |bytes: &mut Bytes| bytes.try_get_u64().ok().map(|number| number.min(u64::MAX >> 8));
        let count = bytes.try_get_u8().unwrap_or(0);
        for _ in 0..count {
            let (Some((id, is_whole)), Some(sent), Ok(wait)) =
                (stream(&mut bytes), number(&mut bytes), bytes.try_get_u32())
            else {
                return;
            };
            let then = self.reached(id, is_whole).at_most(sent);
            let wait = f64::from(wait) / 1e6;
            let new = Announced { id, is_whole, sent, then, wait };
            match self.announced.iter().position(|known| known.id == id) {
                // One that another has overtaken changes nothing.
                Some(place) if sent < self.announced[place].sent => {}
                Some(place) => self.announced[place] = new,
                None if self.announced.len() < MOST => self.announced.push(new),
                None => {}
            }
        }
        while let (Some((id, _)), Some(of_sent), Some(arrived)) =
            (stream(&mut bytes), number(&mut bytes), number(&mut bytes))
        {
            let Some(lost) = RECEIVERS.map(|_| number(&mut bytes)).into_iter().collect::<Option<Vec<_>>>()
            else {
                return;
            };
            let reached = Reached { arrived, lost: std::array::from_fn(|place| lost[place]) };
            let Some(own) = self.own(id).filter(|own| of_sent <= own.handed) else { continue };
            if own.told.is_none_or(|(before, _)| of_sent >= before) {
                own.told = Some((of_sent, reached.at_most(of_sent)));
            }
        }
    }

    fn figures(&self, rtt: Option<Duration>) -> Vec<StreamFigures> {
        let half = rtt.map(|rtt| rtt.as_secs_f64() / 2.0);
        let own = self.own.iter().map(|own| {
            let (lost, delivered) = own.settled();
            let is_known = own.told.is_some() || own.handed == 0;
            StreamFigures {
                direction: Direction::ToPeer,
                port: own.id.port,
                lane: own.id.lane.name(),
                sent: own.sent,
                delivered: is_known.then_some(delivered),
                lost,
                delay_s: half.map(|half| own.wait + half),
            }
        });
        let announced = self.announced.iter().map(|known| {
            let now = self.reached(known.id, known.is_whole);
            let missing = known.sent - known.then.arrived;
            let mut lost = Losses::default();
            // New arrivals were sent since.
            let delivered = now.settle(now.arrived + missing, &mut lost);
            StreamFigures {
                direction: Direction::FromPeer,
                port: known.id.port,
                lane: known.id.lane.name(),
                sent: now.arrived + missing,
                delivered: Some(delivered),
                lost,
                delay_s: half.map(|half| known.wait + half),
            }
        });
        let mut all: Vec<_> = own.chain(announced).collect();
        all.sort_by_key(|it| (it.direction as u8, it.port));
        all
    }
}

/// Reads a stream, and whether its port has no other one.
fn stream(bytes: &mut Bytes) -> Option<(StreamId, bool)> {
    let (port, lane) = (bytes.try_get_u8().ok()?, bytes.try_get_u8().ok()?);
    let is_whole = lane & WHOLE != 0;
    Some((StreamId { port, lane: Lane::from_number(lane & !WHOLE)? }, is_whole))
}

impl Ledger {
    /// A datagram of a local program is one of that stream; `is_whole`: its port has no other one.
    pub(crate) fn on_classified(&self, id: StreamId, is_whole: bool) {
        let own = &mut self.lock().streams.own;
        match own.iter().position(|own| own.id == id) {
            Some(place) => own[place].sent += 1,
            None if own.len() < MOST => own.push(Own {
                id,
                is_whole,
                sent: 1,
                lost_here: Losses::default(),
                handed: 0,
                wait: 0.0,
                told: None,
                delivered_before: 0,
            }),
            None => {}
        }
    }

    /// The transport has accepted a datagram of a stream after that wait.
    pub(crate) fn on_handed_of(&self, id: StreamId, waited: Duration) {
        let mut books = self.lock();
        books.crossing.handed += 1;
        if let Some(own) = books.streams.own(id) {
            own.handed += 1;
            let weight = WEIGHT.max(1.0 / own.handed as f64);
            own.wait += (waited.as_secs_f64() - own.wait) * weight;
        }
    }

    /// A datagram of the peer's program has arrived, which this end takes for one of that stream.
    pub(crate) fn on_arrived_of(&self, id: StreamId) {
        let mut books = self.lock();
        books.crossing.arrived += 1;
        if let Some(reached) = books.streams.arrival(id) {
            reached.arrived += 1;
        }
    }

    /// The figures of the streams.
    pub(crate) fn streams(&self, rtt: Option<Duration>) -> Vec<StreamFigures> {
        self.lock().streams.figures(rtt)
    }

    /// The report of the streams for the other end, with its header; `None` if there is none.
    pub(crate) fn stream_report(&self) -> Option<Bytes> {
        self.lock().streams.report()
    }

    /// The other end's report, without its header, and the number of bytes with it.
    pub(crate) fn on_stream_report(&self, report: Bytes, bytes: usize) {
        let mut books = self.lock();
        books.crossing.report_bytes[1] += bytes as u64;
        books.streams.on_report(report);
    }
}

#[cfg(test)]
mod tests;
