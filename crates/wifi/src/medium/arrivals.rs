//! The arrivals of a transmission, one station after the other.

use whimbrel_units::{Duration, Instant};

use super::on_air::{Due, OnAir, Place};
use super::reports::Reports;
use super::{CaptureRule, Listener, Medium};

impl Medium {
    /// Begins the arrivals of one instant, and of later ones as long as nothing else happens before. Returns
    /// the time of the next ones.
    pub(super) fn start_arrivals(
        &mut self,
        due: Due,
        now: &mut Instant,
        listener: &mut impl Listener,
    ) -> Option<Instant> {
        let until = self.first_until(due);
        let on_air = &mut self.slots[due.slot as usize];
        let (start, air_time, first) = (on_air.start, on_air.frame.air_time, on_air.next_start);
        // Taken out, so that the loop may change the state of other frames.
        let mut arrivals = core::mem::take(&mut on_air.arrivals);
        let has_short_way = self.has_short_way();
        let threshold = self.config.carrier_sense_threshold;
        let mut reports = Reports::new(listener, start, *now, until);
        let mut clock = reports.clock;
        let mut next = None;
        let mut place = Place { slot: due.slot, index: first };
        for arrival in &mut arrivals[first as usize..] {
            if !clock.reach(arrival.link.delay) {
                next = Some(reports.at(arrival.link.delay));
                break;
            }
            let receiver = &mut self.receivers[arrival.link.station.index()];
            if !(has_short_way && receiver.begin_passively(place, arrival, start, threshold)) {
                reports.clock = clock;
                self.start_arrival(place, arrival, air_time, &mut reports);
                clock = reports.clock;
            }
            place.index += 1;
        }
        reports.clock = clock;
        *now = reports.end();
        let on_air = &mut self.slots[due.slot as usize];
        on_air.arrivals = arrivals;
        on_air.next_start = place.index;
        next
    }

    /// Ends the arrivals of one instant, and of later ones as long as nothing else happens before. Returns
    /// the time of the next ones.
    pub(super) fn end_arrivals(
        &mut self,
        due: Due,
        now: &mut Instant,
        listener: &mut impl Listener,
    ) -> Option<Instant> {
        let until = self.first_until(due);
        let has_short_way = self.has_short_way();
        let is_additive = self.config.rule.is_additive();
        let Self { config, slots, receivers, energies, free, .. } = self;
        let OnAir { frame, start, arrivals, next_end, is_in_use, .. } = &mut slots[due.slot as usize];
        let mut reports = Reports::new(listener, *start + frame.air_time, *now, until);
        let mut clock = reports.clock;
        let mut next = None;
        let first = *next_end;
        for arrival in &arrivals[first as usize..] {
            if !clock.reach(arrival.link.delay) {
                next = Some(reports.at(arrival.link.delay));
                break;
            }
            *next_end += 1;
            let receiver = &mut receivers[arrival.link.station.index()];
            if has_short_way && receiver.end_passively(due.slot, arrival, frame, config, &mut reports) {
                continue;
            }
            if is_additive && !arrival.is_gone {
                let energy = &mut energies[arrival.link.station.index()];
                energy.end(arrival.link.power);
                if !energy.damage().is_empty() {
                    let at = reports.at(arrival.link.delay);
                    energy.end_damage(at, config.capture_ratio);
                    if receiver.locked_slot == due.slot {
                        let station = arrival.link.station;
                        energy.damage().iter().for_each(|&part| reports.damaged(station, frame, part));
                    }
                }
            }
            reports.clock = clock;
            receiver.end_arrival(due.slot, arrival, frame, config, &mut reports);
            clock = reports.clock;
        }
        reports.clock = clock;
        *now = reports.end();
        if next.is_none() {
            *is_in_use = false;
            free.push(due.slot);
            listener.ended(*now, frame);
        }
        next
    }

    /// The time before which the first entry remains the first one, if its time grows.
    fn first_until(&self, first: Due) -> Instant {
        let others = self.due.as_slice().iter().skip(1).take(2);
        let Some(second) = others.map(|&core::cmp::Reverse(due)| due).min() else {
            return Instant::FAR_FUTURE;
        };
        let is_before = Due { at: second.at, ..first } < second;
        if is_before { second.at + Duration::from_nanos(1) } else { second.at }
    }

    /// `true` if passive receivers need no account of the energy.
    fn has_short_way(&self) -> bool {
        self.config.rule == CaptureRule::FirstFrame
    }
}
