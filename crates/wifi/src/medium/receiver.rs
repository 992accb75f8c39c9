//! One station's receiver: overlapping frames, capture, carrier sense.

use alloc::vec::Vec;

use whimbrel_units::{Duration, Instant};

use super::on_air::{Arrival, Place};
use super::reports::Reports;
use super::{CaptureRule, Listener, Medium, MediumConfig, ReceptionLoss};
use crate::StationIndex;
use crate::dcf::{ReceptionError, Sensed};
use crate::frame::Frame;

/// No frame occupies the receiver.
pub(super) const NO_FRAME: u32 = u32::MAX;

/// State of a station's receiver: one cache line, as most arrivals need no more of a station.
#[derive(Clone, Debug)]
#[repr(align(64))]
pub(super) struct Receiver {
    pub(super) sending_until: Instant,
    /// The frame that occupies the receiver, and the place of this station in the list of its arrivals.
    pub(super) locked_slot: u32,
    pub(super) locked_index: u32,
    /// Frames whose energy is sensed.
    sensed: u32,
    /// The edges of carrier sense and the errors are summed up instead of being reported.
    is_passive: bool,
    summary: Sensed,
}

const _: () = assert!(size_of::<Receiver>() == 64, "a receiver fits into a cache line");

impl Default for Receiver {
    fn default() -> Self {
        Self {
            sending_until: Instant::ZERO,
            locked_slot: NO_FRAME,
            locked_index: 0,
            sensed: 0,
            is_passive: false,
            summary: Sensed::default(),
        }
    }
}

/// All frames on the air at a station.
#[derive(Clone, Default, Debug)]
pub(super) struct Energy {
    /// Sum of the powers in watts.
    total: f64,
    frames: u32,
    /// The parts of the A-MPDU that occupies the receiver that others have damaged, in order; the last one
    /// may still last.
    damage: Vec<(Instant, Instant)>,
    /// The A-MPDU's power.
    damaged_power: f32,
}

impl Energy {
    pub(super) fn begin(&mut self, power: f32) {
        self.frames += 1;
        self.total += f64::from(power);
    }

    /// From now on, others damage the A-MPDU of this power.
    fn begin_damage(&mut self, now: Instant, power: f32) {
        self.damaged_power = power;
        if self.damage.last().is_none_or(|&(_, until)| until != Instant::FAR_FUTURE) {
            self.damage.push((now, Instant::FAR_FUTURE));
        }
    }

    /// A frame's energy has ended, after which an A-MPDU may stand out again.
    pub(super) fn end_damage(&mut self, now: Instant, ratio: f32) {
        let stands_out = self.is_exceeded_by(self.damaged_power, ratio);
        if let Some((_, until)) =
            self.damage.last_mut().filter(|part| part.1 == Instant::FAR_FUTURE && stands_out)
        {
            *until = now;
        }
    }

    /// The damaged parts of the A-MPDU that ends.
    pub(super) fn damage(&self) -> &[(Instant, Instant)] {
        &self.damage
    }

    pub(super) fn end(&mut self, power: f32) {
        self.frames = self.frames.saturating_sub(1);
        self.total -= f64::from(power);
        if self.frames == 0 {
            // Discards what rounding left over.
            self.total = 0.0;
        }
    }

    /// `true` if the frame of this power stands out from all other frames on the air.
    fn is_exceeded_by(&self, power: f32, ratio: f32) -> bool {
        let power = f64::from(power);
        // With one frame alone the difference is exactly zero only without rounding.
        self.frames <= 1 || power >= f64::from(ratio) * (self.total - power)
    }
}

impl Receiver {
    fn lock(&mut self, place: Place) {
        self.locked_slot = place.slot;
        self.locked_index = place.index;
    }

    pub(super) fn unlock(&mut self) {
        self.locked_slot = NO_FRAME;
    }

    pub(super) const fn is_sensing(&self) -> bool {
        self.sensed > 0
    }

    /// A frame is on the air whose beginning the station has missed.
    pub(super) const fn sense(&mut self) {
        self.sensed += 1;
    }

    /// The station leaves the channel. Returns `true` if its carrier sense reported energy.
    pub(super) fn leave(&mut self) -> bool {
        let was_busy = self.sensed > 0;
        *self = Self { sending_until: self.sending_until, ..Self::default() };
        was_busy
    }
}

impl Receiver {
    /// From now on, the station is notified of edges and errors again. Returns the summary of those that it
    /// was not notified of; `None` if it was not passive.
    #[inline]
    pub(super) fn attend(&mut self) -> Option<Sensed> {
        if !self.is_passive {
            return None;
        }
        self.is_passive = false;
        let mut sensed = self.summary;
        sensed.is_busy = self.sensed > 0;
        Some(sensed)
    }

    /// A frame begins at a passive station at which nothing is on the air and whose own last frame had ended
    /// before the frame began. Returns `false`, and does nothing, in all other cases.
    /// [`CaptureRule::FirstFrame`] only.
    #[inline(always)]
    pub(super) fn begin_passively(
        &mut self,
        place: Place,
        arrival: &mut Arrival,
        start: Instant,
        carrier_sense_threshold: f32,
    ) -> bool {
        let is_simple = self.locked_slot == NO_FRAME
            && self.is_passive
            && self.sensed == 0
            && self.sending_until <= start
            && arrival.link.power >= carrier_sense_threshold
            && !arrival.is_gone;
        if is_simple {
            self.lock(place);
            self.sensed = 1;
            arrival.is_sensed = true;
        }
        is_simple
    }

    /// The frame that occupies a passive station's receiver ends, and no other is sensed. Returns `false`,
    /// and does nothing, in all other cases. [`CaptureRule::FirstFrame`] only.
    #[inline(always)]
    pub(super) fn end_passively<L: Listener>(
        &mut self,
        slot: u32,
        arrival: &Arrival,
        frame: &Frame,
        config: &MediumConfig,
        reports: &mut Reports<'_, L>,
    ) -> bool {
        if self.locked_slot != slot || !self.is_passive || self.sensed != 1 || !arrival.is_sensed {
            return false;
        }
        let at = reports.at(arrival.link.delay);
        match arrival.loss(config) {
            None if reports.overhears(arrival.link.station, frame) => self.summary.received(at, frame.nav),
            // The frame is for this station.
            None => return false,
            Some(ReceptionLoss::BelowThreshold) => {
                self.summary.error(at, ReceptionError::Undecodable);
                reports.lost(at, arrival.link.station, frame, ReceptionLoss::BelowThreshold);
            }
            Some(ReceptionLoss::HalfDuplex) => return false,
            Some(cause) => {
                self.summary.error(at, ReceptionError::Corrupted);
                reports.lost(at, arrival.link.station, frame, cause);
            }
        }
        self.unlock();
        self.sensed = 0;
        self.summary.idle(at);
        true
    }

    #[inline]
    pub(super) fn end_arrival<L: Listener>(
        &mut self,
        slot: u32,
        arrival: &Arrival,
        frame: &Frame,
        config: &MediumConfig,
        reports: &mut Reports<'_, L>,
    ) {
        let (now, station) = (reports.at(arrival.link.delay), arrival.link.station);
        if arrival.is_gone {
            return reports.lost(now, station, frame, arrival.overlap.unwrap_or(ReceptionLoss::OffChannel));
        }
        let is_locked = self.locked_slot == slot;
        if is_locked {
            self.unlock();
        }
        if let Some(cause) = arrival.loss(config) {
            // ns-2: a frame that ends while the station still sends is discarded silently.
            let is_silent = cause == ReceptionLoss::HalfDuplex && self.sending_until > now;
            if is_locked && !is_silent {
                let is_weak = cause == ReceptionLoss::BelowThreshold;
                let error = if is_weak { ReceptionError::Undecodable } else { ReceptionError::Corrupted };
                if self.is_passive {
                    self.summary.error(now, error);
                } else {
                    reports.error(now, station, error);
                }
            }
            reports.lost(now, station, frame, cause);
        } else if is_locked {
            self.end_reception(now, station, frame, reports);
        }
        if arrival.is_sensed {
            self.sensed -= 1;
            if self.sensed == 0 {
                if self.is_passive {
                    self.summary.idle(now);
                } else if reports.idle(now, station) {
                    self.is_passive = true;
                    self.summary = Sensed::default();
                }
            }
        }
    }

    #[inline(always)]
    fn end_reception<L: Listener>(
        &mut self,
        now: Instant,
        station: StationIndex,
        frame: &Frame,
        reports: &mut Reports<'_, L>,
    ) {
        if self.is_passive && reports.overhears(station, frame) {
            return self.summary.received(now, frame.nav);
        }
        let sensed = self.attend();
        reports.received(now, station, frame, sensed.as_ref());
    }
}

impl Medium {
    /// A frame begins at a station. Most find a receiver that nothing occupies.
    #[inline]
    pub(super) fn start_arrival<L: Listener>(
        &mut self,
        place: Place,
        arrival: &mut Arrival,
        air_time: Duration,
        reports: &mut Reports<'_, L>,
    ) {
        let now = reports.at(arrival.link.delay);
        let receiver = &mut self.receivers[arrival.link.station.index()];
        let is_simple = receiver.locked_slot == NO_FRAME
            && self.config.rule == CaptureRule::FirstFrame
            && arrival.link.power >= self.config.carrier_sense_threshold
            && !arrival.is_gone;
        if !is_simple {
            return self.start_overlapping(now, place, arrival, air_time, reports);
        }
        receiver.lock(place);
        if receiver.sending_until > now {
            arrival.overlap = Some(ReceptionLoss::HalfDuplex);
        }
        arrival.is_sensed = true;
        receiver.sensed += 1;
        if receiver.sensed == 1 && !receiver.is_passive {
            reports.busy(now, arrival.link.station);
        }
    }

    #[inline(never)]
    fn start_overlapping<L: Listener>(
        &mut self,
        now: Instant,
        place: Place,
        arrival: &mut Arrival,
        air_time: Duration,
        reports: &mut Reports<'_, L>,
    ) {
        if arrival.is_gone {
            return;
        }
        let is_additive = self.config.rule.is_additive();
        let is_sensed = arrival.link.power >= self.config.carrier_sense_threshold;
        if !is_sensed && !is_additive {
            arrival.overlap = Some(ReceptionLoss::BelowThreshold);
            return;
        }
        let loss = match self.config.rule {
            CaptureRule::FirstFrame => self.overlap_first_frame(now, place, arrival, air_time),
            CaptureRule::Interference { switches_to_stronger } => {
                self.overlap_additive(now, place, arrival, switches_to_stronger)
            }
        };
        arrival.overlap = loss;
        let receiver = &mut self.receivers[arrival.link.station.index()];
        if loss == Some(ReceptionLoss::Capture) && !is_additive {
            // ns-2 does not sense a frame that the receiver ignores.
            if receiver.is_passive {
                receiver.summary.captured(now, air_time);
            } else {
                reports.captured(now, arrival.link.station, air_time);
            }
        } else if is_sensed {
            arrival.is_sensed = true;
            receiver.sensed += 1;
            if receiver.sensed == 1 && !receiver.is_passive {
                reports.busy(now, arrival.link.station);
            }
        }
    }

    /// [`CaptureRule::FirstFrame`]: returns the cause for which the new frame is lost.
    fn overlap_first_frame(
        &mut self,
        now: Instant,
        place: Place,
        arrival: &Arrival,
        air_time: Duration,
    ) -> Option<ReceptionLoss> {
        let receiver = &mut self.receivers[arrival.link.station.index()];
        let on_air = &mut self.slots[receiver.locked_slot as usize];
        let locked = &mut on_air.arrivals[receiver.locked_index as usize];
        if locked.link.power >= self.config.capture_ratio * arrival.link.power {
            return Some(ReceptionLoss::Capture);
        }
        locked.overlap = locked.loss(&self.config).or(Some(ReceptionLoss::Collision));
        let locked_delay = Duration::from_nanos(u64::from(locked.link.delay));
        // The frame that lasts longest occupies the receiver.
        if now + air_time > on_air.start + on_air.frame.air_time + locked_delay {
            receiver.lock(place);
        }
        Some(ReceptionLoss::Collision)
    }

    /// [`CaptureRule::Interference`]: returns the cause for which the new frame is lost.
    fn overlap_additive(
        &mut self,
        now: Instant,
        place: Place,
        arrival: &Arrival,
        switches: bool,
    ) -> Option<ReceptionLoss> {
        let ratio = self.config.capture_ratio;
        let is_decodable = arrival.link.power >= self.config.receive_threshold;
        let receiver = &mut self.receivers[arrival.link.station.index()];
        let energy = &mut self.energies[arrival.link.station.index()];
        energy.begin(arrival.link.power);
        if receiver.sending_until > now {
            return Some(ReceptionLoss::HalfDuplex);
        }
        let stands_out = is_decodable && energy.is_exceeded_by(arrival.link.power, ratio);
        if receiver.locked_slot == NO_FRAME {
            if stands_out {
                receiver.lock(place);
                energy.damage.clear();
                return None;
            }
            return Some(if is_decodable { ReceptionLoss::Collision } else { ReceptionLoss::BelowThreshold });
        }
        let on_air = &mut self.slots[receiver.locked_slot as usize];
        let preamble = on_air.preamble_end();
        let locked = &mut on_air.arrivals[receiver.locked_index as usize];
        if energy.is_exceeded_by(locked.link.power, ratio) {
            return Some(if is_decodable { ReceptionLoss::Capture } else { ReceptionLoss::BelowThreshold });
        }
        let takes_over = switches && stands_out;
        if !takes_over
            && let Some(preamble) = preamble
            && now >= preamble + Duration::from_nanos(u64::from(locked.link.delay))
        {
            // Only the MPDUs under the other frame are lost.
            energy.begin_damage(now, locked.link.power);
            return Some(if is_decodable { ReceptionLoss::Collision } else { ReceptionLoss::BelowThreshold });
        }
        let cause = if takes_over { ReceptionLoss::Capture } else { ReceptionLoss::Collision };
        locked.overlap = locked.loss(&self.config).or(Some(cause));
        if takes_over {
            receiver.lock(place);
            energy.damage.clear();
            return None;
        }
        Some(if is_decodable { ReceptionLoss::Collision } else { ReceptionLoss::BelowThreshold })
    }
}
