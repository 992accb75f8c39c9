//! The routing table of DSDV and its rules.

use alloc::vec::Vec;

use whimbrel_units::{Duration, Instant};

use super::{DsdvConfig, DsdvEntry};
use crate::routing::Address;

/// The length of a route in hops.
pub type Metric = u8;

/// The metric of a broken route.
pub const INFINITY: Metric = 250;

/// A route of the table.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Entry {
    pub(super) next_hop: Address,
    pub(super) metric: Metric,
    pub(super) sequence: u32,
    /// The route is not advertised before.
    advertise_at: Instant,
    /// The sequence number, the metric has changed since it was advertised.
    sequence_changed: bool,
    metric_changed: bool,
    last_advertised: Option<Metric>,
    /// Time of the last replacement of the route, time of the first route with this sequence number.
    changed_at: Instant,
    sequence_at: Instant,
    /// Average time from the first route with a sequence number to the best one.
    settling_time: Duration,
    /// An incremental update is due at this time because of this route.
    trigger_at: Option<Instant>,
    /// The neighbour that is this destination is lost at this time, unless it sends an update before.
    silence_at: Option<Instant>,
}

impl Entry {
    /// The entry of the node itself.
    pub(super) fn own(address: Address, sequence: u32, now: Instant) -> Self {
        Self {
            next_hop: address,
            metric: 0,
            sequence,
            advertise_at: Instant::ZERO,
            sequence_changed: true,
            metric_changed: false,
            last_advertised: None,
            changed_at: now,
            sequence_at: now,
            settling_time: Duration::ZERO,
            trigger_at: None,
            silence_at: None,
        }
    }

    /// A route to a neighbour that has not advertised itself; never advertised.
    pub(super) fn neighbour(config: &DsdvConfig, now: Instant, neighbour: Address) -> Self {
        Self {
            metric: 1,
            advertise_at: Instant::FAR_FUTURE,
            sequence_changed: false,
            settling_time: config.initial_settling_time,
            ..Self::own(neighbour, 0, now)
        }
    }

    /// A destination without a route that packets wait for. As in ns-2, a route to it replaces a broken one.
    pub(super) fn wanted(config: &DsdvConfig, now: Instant, destination: Address) -> Self {
        Self { metric: INFINITY, ..Self::neighbour(config, now, destination) }
    }

    pub(super) fn is_usable(&self) -> bool {
        self.metric < INFINITY
    }

    fn is_changed(&self, now: Instant) -> bool {
        (self.sequence_changed || self.metric_changed) && self.advertise_at <= now
    }
}

/// The effect of an advertised route.
pub(super) enum Decision {
    /// None: the route is not better.
    Ignore,
    /// The neighbour has an old report of a broken route, and this node a fresh route: it advertises that at
    /// once.
    Readvertise,
    /// The route replaces the present one. An incremental update is due at the time given.
    Adopt { entry: Entry, trigger: Option<Instant> },
}

/// Compares an advertised route (`metric` includes the hop to the neighbour) with the present one.
pub(super) fn decide(
    config: &DsdvConfig,
    now: Instant,
    known: Option<&Entry>,
    from: Address,
    metric: Metric,
    sequence: u32,
) -> Decision {
    let is_broken = metric >= INFINITY;
    if let Some(known) = known {
        if sequence < known.sequence {
            return if is_broken && known.is_usable() { Decision::Readvertise } else { Decision::Ignore };
        }
        if sequence == known.sequence && metric >= known.metric {
            return Decision::Ignore;
        }
    }
    let is_fresh = known.is_some_and(|known| sequence > known.sequence);
    // A fresh number ends the measurement of the settling time over the one before: from the first route with
    // that number to the best.
    let (settling_time, sequence_at) = match known {
        None => (config.initial_settling_time, now),
        Some(known) if is_fresh => {
            let measured = known.changed_at - known.sequence_at;
            let weight = config.settling_weight;
            (known.settling_time.mul_f64(weight) + measured.mul_f64(1.0 - weight), now)
        }
        Some(known) => (known.settling_time, known.sequence_at),
    };
    // A route in place of a broken one, or a broken one, is advertised at once.
    let replaces_usable = known.is_none_or(Entry::is_usable);
    let grew = known.is_some_and(|known| known.is_usable() && metric > known.metric);
    let settles = !is_broken && replaces_usable && (config.settles_all || grew);
    let advertise_at = if settles { now + settling_time.mul_f64(config.settling_factor) } else { now };
    let last_advertised = known.and_then(|known| known.last_advertised);
    let differs = last_advertised != Some(metric);
    let triggers = match known {
        None => !is_broken,
        Some(_) if is_fresh => {
            // ns-2 leaves fresh numbers to the next update; a route that broke, or is back, should not wait.
            let changes_state = known.is_some_and(Entry::is_usable) == is_broken;
            config.triggers_on_broken && changes_state
        }
        Some(_) => differs,
    };
    let entry = Entry {
        next_hop: from,
        metric,
        sequence,
        advertise_at,
        sequence_changed: is_fresh || known.is_some_and(|known| known.sequence_changed),
        metric_changed: match known {
            None => !is_broken,
            Some(_) => differs,
        },
        last_advertised,
        changed_at: now,
        sequence_at,
        settling_time,
        trigger_at: known.and_then(|known| known.trigger_at),
        silence_at: known.and_then(|known| known.silence_at),
    };
    Decision::Adopt { entry, trigger: triggers.then_some(advertise_at) }
}

/// The place of a destination's entry: its position, or that at which it would be.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place(Result<usize, usize>);

impl Place {
    /// The position of the entry, once there is one.
    pub(super) const fn position(self) -> usize {
        match self.0 {
            Ok(position) | Err(position) => position,
        }
    }
}

/// The routes of a node by destination. The timers of its entries are kept as their minima, which a change of
/// the table recomputes: reading them costs nothing.
#[derive(Clone, Default, Debug)]
pub(super) struct Table {
    /// In ascending order. Apart from the entries, so that a search touches little memory.
    destinations: Vec<Address>,
    entries: Vec<Entry>,
    next_trigger: Option<Instant>,
    next_silence: Option<Instant>,
}

impl Table {
    pub(super) fn get(&self, destination: Address) -> Option<&Entry> {
        self.position(destination).ok().map(|position| &self.entries[position])
    }

    fn get_mut(&mut self, destination: Address) -> Option<&mut Entry> {
        self.position(destination).ok().map(|position| &mut self.entries[position])
    }

    fn position(&self, destination: Address) -> Result<usize, usize> {
        self.destinations.binary_search(&destination)
    }

    /// The place of the entry for a destination, which is looked for from the position `next` on in steps
    /// that double: an update has its destinations in the order of a table.
    pub(super) fn place(&self, next: usize, destination: Address) -> Place {
        let rest = self.destinations.get(next..).unwrap_or_default();
        let mut end = 1;
        while rest.get(end - 1).is_some_and(|&known| known < destination) {
            end *= 2;
        }
        let (low, high) = (next + end / 2, (next + end).min(self.destinations.len()));
        let found = self.destinations.get(low..high).map(|part| part.binary_search(&destination));
        match found {
            Some(Ok(position)) => Place(Ok(low + position)),
            Some(Err(position)) if low + position > next => Place(Err(low + position)),
            // Before `next`.
            None | Some(Err(_)) => Place(self.position(destination)),
        }
    }

    /// The entry at a place.
    pub(super) fn at(&self, place: Place) -> Option<&Entry> {
        place.0.ok().map(|position| &self.entries[position])
    }

    /// Replaces the entry at a place, or inserts one.
    pub(super) fn insert_at(&mut self, place: Place, destination: Address, entry: Entry) {
        match place.0 {
            Ok(position) => self.entries[position] = entry,
            Err(position) => {
                self.destinations.insert(position, destination);
                self.entries.insert(position, entry);
            }
        }
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (Address, &Entry)> {
        self.destinations.iter().copied().zip(&self.entries)
    }

    pub(super) fn insert(&mut self, destination: Address, entry: Entry) {
        self.insert_at(Place(self.position(destination)), destination, entry);
    }

    /// Time of the next incremental update.
    pub(super) fn next_trigger(&self) -> Option<Instant> {
        self.next_trigger
    }

    /// The time at which the next neighbour is lost.
    pub(super) fn next_silence(&self) -> Option<Instant> {
        self.next_silence
    }

    /// Plans an incremental update for the entry at a place, in place of one planned before.
    pub(super) fn trigger(&mut self, place: Place, at: Instant) {
        let Some(entry) = self.entries.get_mut(place.position()) else { return };
        let replaced = entry.trigger_at.replace(at);
        if self.next_trigger.is_none_or(|next| at <= next) {
            self.next_trigger = Some(at);
        } else if replaced == self.next_trigger {
            self.renew_next_trigger();
        }
    }

    /// Advertises the route at a place in an incremental update at once.
    pub(super) fn readvertise(&mut self, now: Instant, place: Place) {
        if let Some(entry) = self.entries.get_mut(place.position()) {
            entry.advertise_at = now;
            entry.metric_changed = true;
        }
        self.trigger(place, now);
    }

    /// Moves the incremental updates due before `until` to that time.
    pub(super) fn postpone_triggers(&mut self, now: Instant, until: Instant) {
        // One of them stands for all: an update contains every change that may be advertised by then.
        let mut is_first = true;
        for entry in &mut self.entries {
            if entry.trigger_at.is_some_and(|at| at <= now || at < until) {
                entry.trigger_at = is_first.then_some(until);
                is_first = false;
            }
        }
        self.renew_next_trigger();
    }

    /// Clears the incremental updates due at `now`.
    pub(super) fn clear_triggers(&mut self, now: Instant) {
        for entry in &mut self.entries {
            if entry.trigger_at.is_some_and(|at| at <= now) {
                entry.trigger_at = None;
            }
        }
        self.renew_next_trigger();
    }

    fn renew_next_trigger(&mut self) {
        self.next_trigger = self.entries.iter().filter_map(|entry| entry.trigger_at).min();
    }

    fn renew_next_silence(&mut self) {
        self.next_silence = self.entries.iter().filter_map(|entry| entry.silence_at).min();
    }

    /// Number of routes with changes that may be advertised, and of all.
    pub(super) fn changes(&self, now: Instant) -> (usize, usize) {
        (self.entries.iter().filter(|entry| entry.is_changed(now)).count(), self.entries.len())
    }

    /// The entries of an update, which are marked as advertised.
    pub(super) fn advertise(&mut self, now: Instant, full: bool) -> Vec<DsdvEntry> {
        let mut advertised = Vec::new();
        for (&destination, entry) in self.destinations.iter().zip(&mut self.entries) {
            if if full { entry.advertise_at <= now } else { entry.is_changed(now) } {
                entry.last_advertised = Some(entry.metric);
                // A number need be advertised only once after it changes, a metric until the next full
                // update.
                entry.sequence_changed = false;
                entry.metric_changed &= !full;
                advertised.push(DsdvEntry { destination, metric: entry.metric, sequence: entry.sequence });
            }
        }
        advertised
    }

    /// Sets the time at which a neighbour is lost; `false` if there is no entry for it.
    pub(super) fn renew_neighbour(&mut self, neighbour: Address, at: Instant) -> bool {
        let Some(entry) = self.get_mut(neighbour) else { return false };
        let replaced = entry.silence_at.replace(at);
        if replaced.is_some() && replaced == self.next_silence {
            self.renew_next_silence();
        } else {
            self.next_silence = Some(self.next_silence.map_or(at, |next| next.min(at)));
        }
        true
    }

    /// No silence of this neighbour is awaited any more.
    pub(super) fn forget_neighbour(&mut self, neighbour: Address) {
        if let Some(entry) = self.get_mut(neighbour) {
            entry.silence_at = None;
            self.renew_next_silence();
        }
    }

    /// A neighbour that has been silent for its limit; it is forgotten.
    pub(super) fn silent_neighbour(&mut self, now: Instant) -> Option<Address> {
        if self.next_silence? > now {
            return None;
        }
        let is_silent = |entry: &Entry| entry.silence_at.is_some_and(|at| at <= now);
        let (neighbour, _) = self.iter().find(|(_, entry)| is_silent(entry))?;
        self.forget_neighbour(neighbour);
        Some(neighbour)
    }

    /// Marks the routes over a neighbour as broken, with odd numbers, to be advertised at once. Returns their
    /// destinations.
    pub(super) fn break_routes(&mut self, now: Instant, neighbour: Address) -> Vec<Address> {
        let mut broken = Vec::new();
        for (&destination, entry) in self.destinations.iter().zip(&mut self.entries) {
            if entry.next_hop == neighbour && entry.metric > 0 && entry.is_usable() {
                entry.metric = INFINITY;
                // The time of the change stays: an infinite metric is not the best of its number.
                // Numbers come from the network: the greatest must not overflow.
                entry.sequence = entry.sequence.saturating_add(1);
                entry.advertise_at = now;
                entry.metric_changed = true;
                entry.sequence_changed = true;
                entry.trigger_at = Some(now);
                broken.push(destination);
            }
        }
        self.renew_next_trigger();
        broken
    }
}

#[cfg(test)]
mod tests;
