//! An ideal shared medium: one transmission at a time, received without errors by all stations in range.

use std::collections::VecDeque;

use whimbrel_units::{ByteCount, DataRate, Duration, Instant};
use whimbrel_wifi::mobility::Position;

use super::{Medium, MediumIo, MediumLoss, Observation, TakenPacket};
use crate::StationIndex;

/// The speed of light in metres per second.
const SPEED_OF_LIGHT: f64 = 299_792_458.0;

/// A medium without collisions and errors.
///
/// Stations transmit in the order in which their packets were queued, one at a time. A transmission takes the
/// packet's size at the medium's rate; each station in range receives it that time and the propagation delay
/// later. The next transmission starts when the last one has ended at the sender. A packet for a next hop out
/// of range is lost.
#[derive(Debug)]
pub struct IdealMedium {
    rate: DataRate,
    range: f64,
    pub(crate) places: Vec<Position>,
    /// Stations in the order of their turns to transmit, one for each packet that waits.
    turns: VecDeque<StationIndex>,
    transmission: Option<Transmission>,
    /// Transmissions that have ended at the sender and not at all receivers.
    in_flight: Vec<InFlight>,
}

#[derive(Debug)]
struct Transmission {
    frame: TakenPacket,
    start: Instant,
    end: Instant,
}

#[derive(Debug)]
struct InFlight {
    frame: TakenPacket,
    /// Time and station of each reception, in the order of time.
    receptions: VecDeque<(Instant, StationIndex)>,
}

impl IdealMedium {
    /// A medium of that rate, without stations. `places` are the stations', in the order of their addition;
    /// two stations that are at most `range` metres apart receive each other.
    pub fn new(rate: DataRate, range: f64, places: Vec<Position>) -> Self {
        Self { rate, range, places, turns: VecDeque::new(), transmission: None, in_flight: Vec::new() }
    }

    fn is_in_range(&self, from: StationIndex, to: StationIndex) -> bool {
        from != to && self.places[from.index()].distance(self.places[to.index()]) <= self.range
    }

    fn propagation(&self, from: StationIndex, to: StationIndex) -> Duration {
        Duration::from_secs_f64(self.places[from.index()].distance(self.places[to.index()]) / SPEED_OF_LIGHT)
    }

    /// Begins the next transmission, if none is in progress.
    fn begin(&mut self, now: Instant, io: &mut MediumIo<'_>) {
        while self.transmission.is_none()
            && let Some(station) = self.turns.pop_front()
        {
            // The discipline may have dropped the packet that this turn was for.
            let Some(frame) = io.take(station) else { continue };
            let end = now + ByteCount::new(u64::from(frame.size)) / self.rate;
            self.transmission = Some(Transmission { frame, start: now, end });
        }
    }

    /// The transmission has ended at the sender.
    fn end(&mut self, io: &mut MediumIo<'_>) {
        let Some(Transmission { frame, start, end }) = self.transmission.take() else { return };
        let sender = frame.sender;
        let in_range = |to: &StationIndex| self.is_in_range(sender, *to);
        let receivers: Vec<StationIndex> = match frame.receiver {
            Some(to) => Some(to).filter(in_range).into_iter().collect(),
            None => (0..io.stations()).map(StationIndex::new).filter(in_range).collect(),
        };
        let report = io.report(&frame, 1, end - start);
        if frame.receiver.is_some() && receivers.is_empty() {
            io.observe(sender, Observation::Failed(report));
            return io.lose(frame, MediumLoss::OutOfRange);
        }
        io.observe(sender, Observation::Sent(report));
        let mut receptions: Vec<(Instant, StationIndex)> =
            receivers.into_iter().map(|to| (end + self.propagation(sender, to), to)).collect();
        receptions.sort_unstable();
        if receptions.is_empty() {
            io.release(frame);
        } else {
            self.in_flight.push(InFlight { frame, receptions: receptions.into() });
        }
    }

    /// The transmission that is received next, with the time.
    fn next_reception(&self) -> Option<(Instant, usize)> {
        let firsts = self.in_flight.iter().enumerate();
        firsts.filter_map(|(index, flight)| Some((flight.receptions.front()?.0, index))).min()
    }

    /// A station has received a packet.
    fn receive(&mut self, index: usize, io: &mut MediumIo<'_>) {
        let flight = &mut self.in_flight[index];
        let Some((_, station)) = flight.receptions.pop_front() else { return };
        let is_broadcast = flight.frame.receiver.is_none();
        if is_broadcast {
            io.deliver_copy(&flight.frame, station);
        }
        if flight.receptions.is_empty() {
            let InFlight { frame, .. } = self.in_flight.remove(index);
            if is_broadcast { io.release(frame) } else { io.deliver(frame, station) }
        }
    }
}

impl Medium for IdealMedium {
    fn handle_station(&mut self, station: StationIndex) {
        assert!(station.index() < self.places.len(), "the medium has {} places", self.places.len());
    }

    fn handle_backlog(&mut self, now: Instant, station: StationIndex, io: &mut MediumIo<'_>) {
        self.turns.push_back(station);
        self.begin(now, io);
    }

    fn handle_timeout(&mut self, now: Instant, io: &mut MediumIo<'_>) {
        loop {
            let end = self.transmission.as_ref().map(|transmission| transmission.end);
            match self.next_reception() {
                Some((at, index)) if at <= now && end.is_none_or(|end| at < end) => self.receive(index, io),
                _ if end.is_some_and(|end| end <= now) => {
                    self.end(io);
                    self.begin(now, io);
                }
                _ => return,
            }
        }
    }

    fn poll_timeout(&self) -> Option<Instant> {
        let end = self.transmission.as_ref().map(|transmission| transmission.end);
        let reception = self.next_reception().map(|(at, _)| at);
        [end, reception].into_iter().flatten().min()
    }

    fn reaches(&self, _: Instant, from: StationIndex, to: StationIndex) -> bool {
        self.is_in_range(from, to)
    }
}
