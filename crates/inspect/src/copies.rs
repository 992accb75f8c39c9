//! Packets that were captured more than once.
//!
//! A capture of several interfaces, of all interfaces of a router, or of the air has a packet wherever it
//! passes: when it comes in and when it goes out, on each hop, once more when the link layer repeats it. The
//! copies are recognized by what a packet does not change on its way: addresses, IPv4 identification, ports
//! and numbers. Each place where copies of a flow are seen is a *point*. Copies show the order of the points,
//! by their time to live or by their time, and a packet counts at the last point of its flow: there, a packet
//! that was lost between two points is missing. If the viewpoint is the sender's, it counts at the first.
//! Points without an order, such as the two paths of a flow that moves, count alike.
//!
//! Packets wait for a second of the capture, so that the order is known when the first of a flow counts.
//! Memory is bounded by the numbers of packets that wait, of packets that are recognized, and of flows.

use core::hash::{Hash, Hasher};
use std::collections::{BTreeMap, VecDeque};
use std::hash::DefaultHasher;

use whimbrel_units::{Duration, Instant};

use crate::ip::IpPacket;
use crate::segment::{AnySegment, Flow};

#[cfg(test)]
mod tests;

/// Time for which packets wait.
const HOLD: Duration = Duration::from_secs(1);
/// Maximum number of packets that wait, and of the bytes of their application data.
const MAX_HELD: usize = 1 << 14;
const MAX_HELD_BYTES: usize = 1 << 24;
/// Maximum number of packets whose copies are recognized, and the time after their first.
const MAX_KNOWN: usize = 1 << 16;
const KNOWN_FOR: Duration = Duration::from_secs(10);
/// Maximum number of packets that cannot be distinguished and are recognized nevertheless, by their order.
const MAX_ALIKE: usize = 64;
/// Maximum number of flows whose copies are recognized.
const MAX_ROUTES: usize = 1 << 14;
/// Maximum number of points of a flow.
const MAX_POINTS: usize = 16;
/// Maximum number of points at one place, which passes a packet on without a change.
const MAX_TIMES: u8 = 4;
/// A place is more than one point if at least one in so many packets is seen there once more. Fewer are
/// duplicates that the path has made.
const SHARE_OF_POINT: u64 = 4;
/// Packets of a flow that are distinguished, from which the packets that are seen once more are copies and
/// not packets alike.
const LEAST_PACKETS: u64 = 4;

/// The side of the path on which packets count.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum Viewpoint {
    /// At the last point of their flow: what arrived.
    #[default]
    Receiver,
    /// At the first point of their flow: what was sent.
    Sender,
}

/// A packet's constant part.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Identity {
    pub(crate) number: u64,
    /// `true` if no other packet of the flow is expected to have the same.
    pub(crate) is_unique: bool,
}

impl Identity {
    /// The identity of a packet; `content` adds what identifies it above IP.
    /// `is_numbered`: its protocol gives each packet another number.
    pub(crate) fn of(ip: &IpPacket<'_>, is_numbered: bool, content: impl FnOnce(&mut DefaultHasher)) -> Self {
        let mut hasher = DefaultHasher::new();
        (ip.source, ip.destination, ip.protocol, ip.identification).hash(&mut hasher);
        content(&mut hasher);
        Self { number: hasher.finish(), is_unique: ip.identification != 0 || is_numbered }
    }
}

/// Place and form of a captured packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Sighting {
    pub(crate) identity: Identity,
    pub(crate) interface: u32,
    /// Place at the interface.
    pub(crate) place: u64,
    pub(crate) ttl: u8,
    /// The link layer has repeated the frame.
    pub(crate) is_retry: bool,
}

/// A place of the capture that a flow passes, or passes again.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Point {
    place: (u32, u64),
    /// From 1; more if the place passes the packets several times.
    time: u8,
    /// Time to live of the latest packet.
    ttl: u8,
    sightings: u64,
}

/// The points of a flow, and their order.
#[derive(Clone, Debug, Default)]
struct Route {
    points: Vec<Point>,
    /// Number of packets that passed a point before another.
    before: BTreeMap<(usize, usize), u64>,
    /// Copies that do not count.
    elsewhere: u64,
}

impl Route {
    /// The index of a point; `None` if there are too many.
    fn point(&mut self, place: (u32, u64), time: u8) -> Option<usize> {
        let is_it = |point: &Point| point.place == place && point.time == time;
        if let Some(index) = self.points.iter().position(is_it) {
            return Some(index);
        }
        if self.points.len() >= MAX_POINTS {
            return None;
        }
        self.points.push(Point { place, time, ttl: 0, sightings: 0 });
        Some(self.points.len() - 1)
    }

    /// `true` if the point is one, and not a place where some packets are duplicates.
    fn is_real(&self, index: usize) -> bool {
        let Point { place, time, sightings, .. } = self.points[index];
        let first = self.points.iter().find(|point| point.place == place && point.time == 1);
        let is_share =
            |first: &Point| first.sightings >= LEAST_PACKETS && sightings * SHARE_OF_POINT >= first.sightings;
        time == 1 || first.is_some_and(is_share)
    }

    /// Records that a packet passed `earlier` and was then seen at `later`. The time to live decides: clocks
    /// of interfaces may differ.
    fn order(&mut self, earlier: usize, later: usize) {
        let (one, other) = (self.points[earlier].ttl, self.points[later].ttl);
        let pair = if one < other { (later, earlier) } else { (earlier, later) };
        *self.before.entry(pair).or_default() += 1;
    }

    /// `true` if packets count at the point.
    fn counts_at(&self, index: usize, viewpoint: Viewpoint) -> bool {
        self.is_end(index, viewpoint)
            // Without any end, the points have no order.
            || !(0..self.points.len()).any(|other| self.is_end(other, viewpoint))
    }

    fn is_end(&self, index: usize, viewpoint: Viewpoint) -> bool {
        let times = |from, to| self.before.get(&(from, to)).copied().unwrap_or(0);
        let is_passed = |other: usize| match viewpoint {
            Viewpoint::Receiver => times(index, other) > times(other, index),
            Viewpoint::Sender => times(other, index) > times(index, other),
        };
        self.is_real(index) && !(0..self.points.len()).any(|other| self.is_real(other) && is_passed(other))
    }
}

/// A packet that is recognized.
#[derive(Clone, Debug)]
struct Known {
    identity: u64,
    first_at: Instant,
    /// The points at which it was seen, one bit each.
    points: u16,
    copies: u32,
    has_counted: bool,
}

/// A packet that waits.
#[derive(Clone, Debug)]
struct Held {
    segment: AnySegment,
    /// Its flow, its point and its number among the known packets; `None` beyond the limits.
    place: Option<(Flow, usize, u64)>,
}

/// Recognizes packets that were captured more than once.
#[derive(Clone, Debug, Default)]
pub(crate) struct Copies {
    viewpoint: Viewpoint,
    line: VecDeque<Held>,
    line_bytes: usize,
    newest: Instant,
    /// Numbered from `first_known` on.
    known: VecDeque<Known>,
    first_known: u64,
    by_identity: BTreeMap<u64, VecDeque<u64>>,
    routes: BTreeMap<Flow, Route>,
    copies: u64,
}

impl Copies {
    pub(crate) fn new(viewpoint: Viewpoint) -> Self {
        Self { viewpoint, ..Self::default() }
    }

    /// Number of copies that did not count.
    pub(crate) fn copies(&self) -> u64 {
        self.copies
    }

    /// Number of copies of a flow that did not count, and the number of its points.
    pub(crate) fn of_flow(&self, flow: Flow) -> (u64, usize) {
        self.routes.get(&flow).map_or((0, 1), |route| {
            let points = (0..route.points.len()).filter(|index| route.is_real(*index)).count();
            (route.elsewhere, points)
        })
    }

    /// Processes a captured packet.
    pub(crate) fn push(&mut self, segment: AnySegment, sighting: &Sighting) {
        let (flow, at) = (segment.flow(), segment.at());
        self.newest = self.newest.max(at);
        self.forget(at);
        let mut segment = segment;
        let place = match self.recognize(flow, at, sighting) {
            Some(Recognized::Again) => return,
            Some(Recognized::At { point, number }) => {
                let known = &self.known[(number - self.first_known) as usize];
                segment.set_copy(known.copies, known.first_at);
                Some((flow, point, number))
            }
            None => None,
        };
        self.line_bytes += segment.held_bytes();
        self.line.push_back(Held { segment, place });
    }

    /// The next packet that counts and has waited long enough; with `is_end`, without waiting.
    pub(crate) fn pop(&mut self, is_end: bool) -> Option<AnySegment> {
        loop {
            let oldest = self.line.front()?;
            let is_due = is_end
                || self.newest.saturating_since(oldest.segment.at()) > HOLD
                || self.line.len() > MAX_HELD
                || self.line_bytes > MAX_HELD_BYTES;
            if !is_due {
                return None;
            }
            let Held { segment, place } = self.line.pop_front()?;
            self.line_bytes -= segment.held_bytes();
            let Some((flow, point, number)) = place else { return Some(segment) };
            if self.counts(flow, point, number) {
                return Some(segment);
            }
            self.copies += 1;
        }
    }

    fn counts(&mut self, flow: Flow, point: usize, number: u64) -> bool {
        let Some(route) = self.routes.get_mut(&flow) else { return true };
        // A duplicate counts as one.
        if !route.is_real(point) {
            return true;
        }
        let known = number.checked_sub(self.first_known).and_then(|at| self.known.get_mut(at as usize));
        let has_counted = known.as_ref().is_some_and(|known| known.has_counted);
        if has_counted || !route.counts_at(point, self.viewpoint) {
            route.elsewhere += 1;
            return false;
        }
        if let Some(known) = known {
            known.has_counted = true;
        }
        true
    }

    /// Forgets packets whose copies are not expected any more.
    fn forget(&mut self, at: Instant) {
        while self.known.front().is_some_and(|oldest| {
            self.known.len() >= MAX_KNOWN || at.saturating_since(oldest.first_at) > KNOWN_FOR
        }) {
            let Some(oldest) = self.known.pop_front() else { return };
            if let Some(numbers) = self.by_identity.get_mut(&oldest.identity) {
                if numbers.front() == Some(&self.first_known) {
                    numbers.pop_front();
                }
                if numbers.is_empty() {
                    self.by_identity.remove(&oldest.identity);
                }
            }
            self.first_known += 1;
        }
    }

    fn recognize(&mut self, flow: Flow, at: Instant, sighting: &Sighting) -> Option<Recognized> {
        if self.routes.len() >= MAX_ROUTES && !self.routes.contains_key(&flow) {
            return None;
        }
        let route = self.routes.entry(flow).or_default();
        let place = (sighting.interface, sighting.place);
        let numbers = self.by_identity.entry(sighting.identity.number).or_default();
        // The times at which a known packet has passed this place.
        let times = |known: &Known, route: &Route| {
            let here = route.points.iter().enumerate().filter(|(_, point)| point.place == place);
            here.filter(|(index, _)| known.points >> index & 1 == 1).count() as u8
        };
        let first_known = self.first_known;
        let index = |number: u64| (number - first_known) as usize;
        let newest = numbers.back().copied();
        if sighting.is_retry
            && let Some(number) = newest
            && times(&self.known[index(number)], route) > 0
        {
            self.known[index(number)].copies += 1;
            route.elsewhere += 1;
            self.copies += 1;
            return Some(Recognized::Again);
        }
        // The oldest that has not passed here: packets that are alike keep their order.
        let fresh = numbers.iter().copied().find(|number| times(&self.known[index(*number)], route) == 0);
        let again = newest
            .filter(|_| sighting.identity.is_unique)
            .filter(|number| (1..MAX_TIMES).contains(&times(&self.known[index(*number)], route)));
        let (number, time) = match (fresh, again) {
            (Some(number), _) => (number, 1),
            (None, Some(number)) => (number, times(&self.known[index(number)], route) + 1),
            (None, None) => {
                if numbers.len() >= MAX_ALIKE {
                    numbers.pop_front();
                }
                let number = self.first_known + self.known.len() as u64;
                let identity = sighting.identity.number;
                self.known.push_back(Known {
                    identity,
                    first_at: at,
                    points: 0,
                    copies: 0,
                    has_counted: false,
                });
                numbers.push_back(number);
                (number, 1)
            }
        };
        let point = route.point(place, time)?;
        route.points[point].sightings += 1;
        route.points[point].ttl = sighting.ttl;
        let known = &mut self.known[index(number)];
        for earlier in 0..route.points.len() {
            if known.points >> earlier & 1 == 1 {
                route.order(earlier, point);
            }
        }
        known.points |= 1 << point;
        known.copies += 1;
        known.first_at = known.first_at.min(at);
        Some(Recognized::At { point, number })
    }
}

/// A known packet.
enum Recognized {
    /// The link layer has repeated it.
    Again,
    /// The packet passed a point, with its number among the known packets.
    At { point: usize, number: u64 },
}
