//! One station's receiver: overlapping frames, capture, carrier sense.

use whimbrel_units::{Duration, Instant};

use super::{Arrival, CaptureRule, Link, Listener, LossCause, Medium, Place};
use crate::dcf::{ReceptionError, Sensed};
use crate::frame::Frame;

/// No frame occupies the receiver.
pub(super) const NO_FRAME: u32 = u32::MAX;

/// State of a station's receiver.
#[derive(Clone, Debug)]
pub(super) struct Receiver {
    pub(super) sending_until: Instant,
    /// The frame that occupies the receiver, and the place of this station in the list of its arrivals.
    pub(super) locked_slot: u32,
    pub(super) locked_index: u32,
    /// Frames whose energy is sensed.
    sensed: u32,
    /// Sum of the powers of all frames on the air here, in watts, and their number.
    total_power: f64,
    overlapping: u32,
    /// The edges of carrier sense and the errors are summed up instead of being reported.
    is_passive: bool,
    summary: Sensed,
}

impl Default for Receiver {
    fn default() -> Self {
        Self {
            sending_until: Instant::ZERO,
            locked_slot: NO_FRAME,
            locked_index: 0,
            sensed: 0,
            total_power: 0.0,
            overlapping: 0,
            is_passive: false,
            summary: Sensed::default(),
        }
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
    pub(super) fn sense(&mut self, power: f32, is_additive: bool) {
        self.sensed += 1;
        if is_additive {
            self.overlapping += 1;
            self.total_power += f64::from(power);
        }
    }

    /// The station leaves the channel. Returns `true` if its carrier sense reported energy.
    pub(super) fn leave(&mut self) -> bool {
        let was_busy = self.sensed > 0;
        *self = Self { sending_until: self.sending_until, ..Self::default() };
        was_busy
    }

    /// `true` if the frame of this power stands out from all other frames on the air.
    fn stands_out(&self, power: f32, ratio: f32) -> bool {
        let power = f64::from(power);
        // With one frame alone the difference is exactly zero only without rounding.
        self.overlapping <= 1 || power >= f64::from(ratio) * (self.total_power - power)
    }
}

impl Receiver {
    /// From now on, the station is notified of edges and errors again. Returns the summary of those that it was not notified
    /// of; `None` if it was not passive.
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

    #[inline]
    pub(super) fn end_arrival(
        &mut self,
        now: Instant,
        slot: u32,
        arrival: &Arrival,
        frame: &Frame,
        listener: &mut impl Listener,
    ) {
        let station = arrival.link.station;
        if arrival.is_gone {
            return listener.lost(now, station, frame, arrival.loss.unwrap_or(LossCause::OffChannel));
        }
        if self.overlapping > 0 {
            self.overlapping -= 1;
            self.total_power -= f64::from(arrival.link.power);
            if self.overlapping == 0 {
                // Discards what rounding left over.
                self.total_power = 0.0;
            }
        }
        let is_locked = self.locked_slot == slot;
        if is_locked {
            self.unlock();
        }
        if let Some(cause) = arrival.loss {
            // ns-2: a frame that ends while the station still sends is discarded silently.
            let is_silent = cause == LossCause::HalfDuplex && self.sending_until > now;
            if is_locked && !is_silent {
                let is_weak = cause == LossCause::BelowThreshold;
                let error = if is_weak { ReceptionError::Undecodable } else { ReceptionError::Corrupted };
                if self.is_passive {
                    self.summary.error(now, error);
                } else {
                    listener.error(now, station, error);
                }
            }
            listener.lost(now, station, frame, cause);
        } else if is_locked {
            self.end_reception(now, station, frame, listener);
        }
        if arrival.is_sensed {
            self.sensed -= 1;
            if self.sensed == 0 {
                if self.is_passive {
                    self.summary.idle(now);
                } else {
                    listener.idle(now, station);
                    if listener.is_passive(station) {
                        self.is_passive = true;
                        self.summary = Sensed::default();
                    }
                }
            }
        }
    }

    #[inline]
    fn end_reception(&mut self, now: Instant, station: u32, frame: &Frame, listener: &mut impl Listener) {
        if self.is_passive {
            if listener.overhears(station, frame) {
                return self.summary.received(now, frame.nav);
            }
            if let Some(sensed) = self.attend() {
                listener.sensed(station, &sensed);
            }
        }
        listener.received(now, station, frame);
    }
}

impl Medium {
    /// A frame begins at a station. Most find a receiver that nothing occupies.
    #[inline]
    pub(super) fn start_arrival(
        &mut self,
        now: Instant,
        place: Place,
        arrival: &mut Arrival,
        air_time: Duration,
        listener: &mut impl Listener,
    ) {
        let link = arrival.link;
        let receiver = &mut self.receivers[link.station as usize];
        let is_simple = receiver.locked_slot == NO_FRAME
            && self.config.rule == CaptureRule::FirstFrame
            && link.power >= self.config.carrier_sense_threshold
            && !arrival.is_gone;
        if !is_simple {
            return self.start_overlapping(now, place, arrival, air_time, listener);
        }
        receiver.lock(place);
        arrival.loss = if receiver.sending_until > now {
            Some(LossCause::HalfDuplex)
        } else if link.power < self.config.receive_threshold {
            Some(LossCause::BelowThreshold)
        } else if link.is_corrupted {
            Some(LossCause::Noise)
        } else {
            None
        };
        arrival.is_sensed = true;
        receiver.sensed += 1;
        if receiver.sensed == 1 && !receiver.is_passive {
            listener.busy(now, link.station);
        }
    }

    #[inline(never)]
    fn start_overlapping(
        &mut self,
        now: Instant,
        place: Place,
        arrival: &mut Arrival,
        air_time: Duration,
        listener: &mut impl Listener,
    ) {
        let link = arrival.link;
        if arrival.is_gone {
            return;
        }
        let is_sensed = link.power >= self.config.carrier_sense_threshold;
        let is_additive = matches!(self.config.rule, CaptureRule::Interference { .. });
        if !is_sensed && !is_additive {
            arrival.loss = Some(LossCause::BelowThreshold);
            return;
        }
        let loss = match self.config.rule {
            CaptureRule::FirstFrame => self.overlap_first_frame(now, place, link, air_time),
            CaptureRule::Interference { switches_to_stronger } => {
                self.overlap_additive(now, place, link, switches_to_stronger)
            }
        };
        arrival.loss = if loss.is_none() && link.is_corrupted { Some(LossCause::Noise) } else { loss };
        let receiver = &mut self.receivers[link.station as usize];
        if loss == Some(LossCause::Capture) && !is_additive {
            // ns-2 does not sense a frame that the receiver ignores.
            if receiver.is_passive {
                receiver.summary.captured(now, air_time);
            } else {
                listener.captured(now, link.station, air_time);
            }
        } else if is_sensed {
            arrival.is_sensed = true;
            receiver.sensed += 1;
            if receiver.sensed == 1 && !receiver.is_passive {
                listener.busy(now, link.station);
            }
        }
    }

    /// [`CaptureRule::FirstFrame`]: returns the cause for which the new frame is lost.
    fn overlap_first_frame(
        &mut self,
        now: Instant,
        place: Place,
        link: Link,
        air_time: Duration,
    ) -> Option<LossCause> {
        let receiver = &mut self.receivers[link.station as usize];
        let on_air = &mut self.slots[receiver.locked_slot as usize];
        let locked = &mut on_air.arrivals[receiver.locked_index as usize];
        if locked.link.power >= self.config.capture_ratio * link.power {
            return Some(LossCause::Capture);
        }
        locked.loss = locked.loss.or(Some(LossCause::Collision));
        let locked_delay = Duration::from_nanos(u64::from(locked.link.delay));
        // The frame that lasts longest occupies the receiver.
        if now + air_time > on_air.start + on_air.frame.air_time + locked_delay {
            receiver.lock(place);
        }
        Some(LossCause::Collision)
    }

    /// [`CaptureRule::Interference`]: returns the cause for which the new frame is lost.
    fn overlap_additive(
        &mut self,
        now: Instant,
        place: Place,
        link: Link,
        switches: bool,
    ) -> Option<LossCause> {
        let ratio = self.config.capture_ratio;
        let is_decodable = link.power >= self.config.receive_threshold;
        let receiver = &mut self.receivers[link.station as usize];
        receiver.overlapping += 1;
        receiver.total_power += f64::from(link.power);
        if receiver.sending_until > now {
            return Some(LossCause::HalfDuplex);
        }
        let stands_out = is_decodable && receiver.stands_out(link.power, ratio);
        if receiver.locked_slot == NO_FRAME {
            if stands_out {
                receiver.lock(place);
                return None;
            }
            return Some(if is_decodable { LossCause::Collision } else { LossCause::BelowThreshold });
        }
        let locked = &mut self.slots[receiver.locked_slot as usize].arrivals[receiver.locked_index as usize];
        if receiver.stands_out(locked.link.power, ratio) {
            return Some(if is_decodable { LossCause::Capture } else { LossCause::BelowThreshold });
        }
        let takes_over = switches && stands_out;
        let cause = if takes_over { LossCause::Capture } else { LossCause::Collision };
        locked.loss = locked.loss.or(Some(cause));
        if takes_over {
            receiver.lock(place);
            return None;
        }
        Some(if is_decodable { LossCause::Collision } else { LossCause::BelowThreshold })
    }
}
