//! One station's receiver: overlapping frames, capture, carrier sense.

use whimbrel_units::Instant;

use super::{CaptureRule, Listener, LossCause, Medium};
use crate::dcf::ReceptionError;

/// No frame occupies the receiver.
pub(super) const NO_FRAME: u32 = u32::MAX;

/// State of a station's receiver.
#[derive(Clone, Debug)]
pub(super) struct Receiver {
    pub(super) sending_until: Instant,
    /// The frame that occupies the receiver, and the place of this station in the list of its arrivals.
    pub(super) locked_slot: u32,
    pub(super) locked_index: u32,
    pub(super) locked_power: f32,
    /// Frames whose energy is sensed.
    sensed: u32,
    /// Sum of the powers of all frames on the air here, in watts, and their number.
    total_power: f64,
    overlapping: u32,
}

impl Default for Receiver {
    fn default() -> Self {
        Self {
            sending_until: Instant::ZERO,
            locked_slot: NO_FRAME,
            locked_index: 0,
            locked_power: 0.0,
            sensed: 0,
            total_power: 0.0,
            overlapping: 0,
        }
    }
}

impl Receiver {
    fn lock(&mut self, slot: u32, index: u32, power: f32) {
        self.locked_slot = slot;
        self.locked_index = index;
        self.locked_power = power;
    }

    pub(super) fn unlock(&mut self) {
        self.locked_slot = NO_FRAME;
    }

    fn is_locked_on(&self, slot: u32) -> bool {
        self.locked_slot == slot
    }

    /// `true` if the frame of this power stands out from all other frames on the air.
    fn stands_out(&self, power: f32, ratio: f32) -> bool {
        let power = f64::from(power);
        // With one frame alone the difference is exactly zero only without rounding.
        self.overlapping <= 1 || power >= f64::from(ratio) * (self.total_power - power)
    }
}

impl Medium {
    pub(super) fn start_arrival(
        &mut self,
        now: Instant,
        slot: u32,
        index: u32,
        listener: &mut impl Listener,
    ) {
        let link = self.slots[slot as usize].arrivals[index as usize].link;
        let is_sensed = link.power >= self.config.carrier_sense_threshold;
        let is_additive = matches!(self.config.rule, CaptureRule::Interference { .. });
        if !is_sensed && !is_additive {
            self.slots[slot as usize].arrivals[index as usize].loss = Some(LossCause::BelowThreshold);
            return;
        }
        let loss = match self.config.rule {
            CaptureRule::FirstFrame => self.overlap_first_frame(now, slot, index, listener),
            CaptureRule::Interference { switches_to_stronger } => {
                self.overlap_additive(now, slot, index, switches_to_stronger)
            }
        };
        // ns-2 does not sense a frame that the receiver ignores.
        let is_sensed = is_sensed && (is_additive || loss != Some(LossCause::Capture));
        let arrival = &mut self.slots[slot as usize].arrivals[index as usize];
        arrival.loss = loss.or(link.is_corrupted.then_some(LossCause::Noise));
        arrival.is_sensed = is_sensed;
        if is_sensed {
            let receiver = &mut self.receivers[link.station as usize];
            receiver.sensed += 1;
            if receiver.sensed == 1 {
                listener.busy(now, link.station);
            }
        }
    }

    /// [`CaptureRule::FirstFrame`]: returns the cause for which the new frame is lost.
    fn overlap_first_frame(
        &mut self,
        now: Instant,
        slot: u32,
        index: u32,
        listener: &mut impl Listener,
    ) -> Option<LossCause> {
        let link = self.slots[slot as usize].arrivals[index as usize].link;
        let receiver = &mut self.receivers[link.station as usize];
        if receiver.locked_slot == NO_FRAME {
            receiver.lock(slot, index, link.power);
            return if receiver.sending_until > now {
                Some(LossCause::HalfDuplex)
            } else {
                (link.power < self.config.receive_threshold).then_some(LossCause::BelowThreshold)
            };
        }
        if receiver.locked_power >= self.config.capture_ratio * link.power {
            listener.captured(now, link.station, self.slots[slot as usize].frame.air_time);
            return Some(LossCause::Capture);
        }
        let (locked_slot, locked_index) = (receiver.locked_slot, receiver.locked_index);
        let locked_end = self.end_of(locked_slot, locked_index);
        let locked = &mut self.slots[locked_slot as usize].arrivals[locked_index as usize];
        locked.loss = locked.loss.or(Some(LossCause::Collision));
        // The frame that lasts longest occupies the receiver.
        if self.end_of(slot, index) > locked_end {
            self.receivers[link.station as usize].lock(slot, index, link.power);
        }
        Some(LossCause::Collision)
    }

    /// [`CaptureRule::Interference`]: returns the cause for which the new frame is lost.
    fn overlap_additive(&mut self, now: Instant, slot: u32, index: u32, switches: bool) -> Option<LossCause> {
        let link = self.slots[slot as usize].arrivals[index as usize].link;
        let ratio = self.config.capture_ratio;
        let is_decodable = link.power >= self.config.receive_threshold;
        let receiver = &mut self.receivers[link.station as usize];
        receiver.overlapping += 1;
        receiver.total_power += f64::from(link.power);
        let stands_out = is_decodable && receiver.stands_out(link.power, ratio);
        if receiver.sending_until > now {
            return Some(LossCause::HalfDuplex);
        }
        if receiver.locked_slot == NO_FRAME {
            if stands_out {
                receiver.lock(slot, index, link.power);
                return None;
            }
            return Some(if is_decodable { LossCause::Collision } else { LossCause::BelowThreshold });
        }
        if receiver.stands_out(receiver.locked_power, ratio) {
            return Some(if is_decodable { LossCause::Capture } else { LossCause::BelowThreshold });
        }
        let (locked_slot, locked_index) = (receiver.locked_slot, receiver.locked_index);
        let takes_over = switches && stands_out;
        if takes_over {
            receiver.lock(slot, index, link.power);
        }
        let locked = &mut self.slots[locked_slot as usize].arrivals[locked_index as usize];
        let cause = if takes_over { LossCause::Capture } else { LossCause::Collision };
        locked.loss = locked.loss.or(Some(cause));
        if takes_over {
            return None;
        }
        Some(if is_decodable { LossCause::Collision } else { LossCause::BelowThreshold })
    }

    pub(super) fn end_arrival(&mut self, now: Instant, slot: u32, index: u32, listener: &mut impl Listener) {
        let on_air = &self.slots[slot as usize];
        let arrival = on_air.arrivals[index as usize];
        let station = arrival.link.station;
        let receiver = &mut self.receivers[station as usize];
        if receiver.overlapping > 0 {
            receiver.overlapping -= 1;
            receiver.total_power -= f64::from(arrival.link.power);
            if receiver.overlapping == 0 {
                // Discards what rounding left over.
                receiver.total_power = 0.0;
            }
        }
        if receiver.is_locked_on(slot) {
            receiver.unlock();
            match arrival.loss {
                None => listener.received(now, station, &on_air.frame),
                // ns-2: a frame that ends while the station still sends is discarded silently.
                Some(LossCause::HalfDuplex) if receiver.sending_until > now => {}
                Some(LossCause::BelowThreshold) => listener.error(now, station, ReceptionError::Undecodable),
                Some(_) => listener.error(now, station, ReceptionError::Corrupted),
            }
        }
        if let Some(cause) = arrival.loss {
            listener.lost(now, station, &on_air.frame, cause);
        }
        if arrival.is_sensed {
            receiver.sensed -= 1;
            if receiver.sensed == 0 {
                listener.idle(now, station);
            }
        }
    }

    fn end_of(&self, slot: u32, index: u32) -> Instant {
        let on_air = &self.slots[slot as usize];
        let delay = on_air.arrivals[index as usize].link.delay;
        on_air.start + on_air.frame.air_time + whimbrel_units::Duration::from_nanos(u64::from(delay))
    }
}
