//! The radio medium: which stations sense and receive a transmission, and the cause of each loss.
//!
//! The driver passes each transmission with its [`Link`]s, the stations that it reaches with power and delay,
//! which a propagation model computes. The [`Medium`] reports to a [`Listener`] the edges of carrier sense,
//! receptions and errors at each station. The cost of a transmission is proportional to the number of its
//! links; buffers are reused.

mod arrivals;
mod on_air;
mod receiver;
mod reports;

use alloc::collections::BinaryHeap;
use alloc::vec::Vec;
use core::cmp::Reverse;

use whimbrel_units::{Duration, Instant};

use self::on_air::{Arrival, Due, OnAir};
use self::receiver::{Energy, NO_FRAME, Receiver};
use crate::StationIndex;
use crate::dcf::{ReceptionError, Sensed};
use crate::frame::Frame;

/// A station that a transmission reaches.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Link {
    /// Number of the station.
    pub station: StationIndex,
    /// Propagation delay in nanoseconds. Rounded up, so that the triangle inequality holds.
    pub delay: u32,
    /// Received power in watts.
    pub power: f32,
    /// `true` if noise or fading destroys the frame at this station, even without other frames on the air.
    pub is_corrupted: bool,
}

/// Rule that decides which of several overlapping frames is received.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum CaptureRule {
    /// ns-2: the first frame occupies the receiver, even one below the reception threshold. It survives each
    /// later frame that is weaker by the capture ratio, and is lost with it otherwise. Interference does not
    /// add up.
    FirstFrame,
    /// The receiver locks onto a decodable frame whose power is above the sum of all others by the capture
    /// ratio. The frame is lost when the sum rises too high.
    Interference {
        /// `true` if the receiver leaves a frame for a later one above everything else by the capture ratio.
        switches_to_stronger: bool,
    },
}

impl CaptureRule {
    const fn is_additive(self) -> bool {
        matches!(self, Self::Interference { .. })
    }
}

/// Thresholds of the stations' receivers.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct MediumConfig {
    /// Least power that makes the medium busy, in watts.
    pub carrier_sense_threshold: f32,
    /// Least power of a decodable frame, in watts.
    pub receive_threshold: f32,
    /// Ratio of powers at which the stronger frame is received.
    pub capture_ratio: f32,
    /// Treatment of overlapping frames.
    pub rule: CaptureRule,
}

impl MediumConfig {
    /// ns-2's WaveLAN card: 1.559e-11 W and 3.652e-10 W, which the two-ray model reaches at 550 m and 250 m;
    /// 10 dB.
    pub const fn ns2() -> Self {
        Self {
            carrier_sense_threshold: 1.559e-11,
            receive_threshold: 3.652e-10,
            capture_ratio: 10.0,
            rule: CaptureRule::FirstFrame,
        }
    }

    /// The same thresholds with additive interference.
    pub const fn additive() -> Self {
        Self { rule: CaptureRule::Interference { switches_to_stronger: false }, ..Self::ns2() }
    }
}

/// Cause of the loss of a frame at a station.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum ReceptionLoss {
    /// Another frame overlapped with too much power.
    Collision,
    /// The receiver was, or became, occupied with a stronger frame, which survived.
    Capture,
    /// The power was below the reception threshold.
    BelowThreshold,
    /// The station itself transmitted.
    HalfDuplex,
    /// Noise or fading ([`Link::is_corrupted`]).
    Noise,
    /// The station's radio left the channel ([`Medium::leave`]).
    OffChannel,
}

/// Receiver of the medium's reports.
pub trait Listener {
    /// Energy is sensed at a station.
    fn busy(&mut self, now: Instant, station: StationIndex);
    /// No more energy is sensed at a station.
    fn idle(&mut self, now: Instant, station: StationIndex);
    /// A station received a frame. Precedes the idle edge of the same instant.
    fn received(&mut self, now: Instant, station: StationIndex, frame: &Frame);
    /// A station's receiver reports an error. Precedes the idle edge of the same instant.
    fn error(&mut self, now: Instant, station: StationIndex, error: ReceptionError);
    /// A frame's energy ended at a station that did not receive it; `cause` is the truth, which a station
    /// cannot know.
    fn lost(&mut self, now: Instant, station: StationIndex, frame: &Frame, cause: ReceptionLoss) {
        let _ = (now, station, frame, cause);
    }

    /// Other frames have damaged a part of an A-MPDU that the station is receiving, from a time to another.
    /// Precedes the report that it was received, or lost.
    fn damaged(&mut self, station: StationIndex, frame: &Frame, part: (Instant, Instant)) {
        let _ = (station, frame, part);
    }

    /// A transmission has ended at all stations that it reached.
    fn ended(&mut self, now: Instant, frame: &Frame) {
        let _ = (now, frame);
    }

    /// The time before which the driver has nothing to do. The medium reports all arrivals of a transmission
    /// before that time in one call of [`Medium::handle_timeout`]. Asked anew after each report.
    fn limit(&self) -> Instant {
        Instant::ZERO
    }

    /// Precedes reports of a time later than that for which [`Medium::handle_timeout`] was called: it is
    /// `now`, the last of `steps` instants since the last call that were later than the one before. `steps`
    /// may be 0.
    fn advance(&mut self, now: Instant, steps: u64) {
        let _ = (now, steps);
    }

    /// Asked after an idle edge. `true` if the station is to receive a [summary](Self::sensed) instead of the
    /// following edges and errors, until it receives a frame or the driver calls [`Medium::attend`].
    fn is_passive(&self, station: StationIndex) -> bool {
        let _ = station;
        false
    }

    /// Asked when a passive station receives a frame. `true` if the frame is to be a part of the summary.
    fn overhears(&self, station: StationIndex, frame: &Frame) -> bool {
        let _ = (station, frame);
        false
    }

    /// Summarises the carrier sense and the frames of a passive station since its last notification. Called
    /// before the reception that ends the passive state.
    fn sensed(&mut self, station: StationIndex, sensed: &Sensed) {
        let _ = (station, sensed);
    }

    /// [`CaptureRule::FirstFrame`]: the receiver ignores a new frame of this time on the air for a stronger
    /// one.
    fn captured(&mut self, now: Instant, station: StationIndex, air_time: Duration) {
        let _ = (now, station, air_time);
    }
}

/// The medium of a number of stations.
#[derive(Clone, Debug)]
pub struct Medium {
    config: MediumConfig,
    receivers: Vec<Receiver>,
    /// [`CaptureRule::Interference`]: the energy at each station.
    energies: Vec<Energy>,
    slots: Vec<OnAir>,
    free: Vec<u32>,
    due: BinaryHeap<Reverse<Due>>,
    transmissions: u64,
    arrivals: u64,
}

impl Medium {
    /// A silent medium.
    pub fn new(config: MediumConfig, stations: usize) -> Self {
        Self {
            config,
            receivers: alloc::vec![Receiver::default(); stations],
            energies: alloc::vec![Energy::default(); stations],
            slots: Vec::new(),
            free: Vec::new(),
            due: BinaryHeap::new(),
            transmissions: 0,
            arrivals: 0,
        }
    }

    /// Adds a station and returns its number.
    pub fn add_station(&mut self) -> StationIndex {
        self.receivers.push(Receiver::default());
        self.energies.push(Energy::default());
        StationIndex::new(self.receivers.len() - 1)
    }

    /// Number of transmissions since the beginning.
    pub const fn transmissions(&self) -> u64 {
        self.transmissions
    }

    /// Number of stations that the transmissions since the beginning reached, summed over transmissions.
    pub const fn arrivals(&self) -> u64 {
        self.arrivals
    }

    /// A station begins to transmit a frame that reaches the stations of `links`, in any order. Links to
    /// stations that do not exist are ignored. A frame that the sender was receiving is lost. Returns `false`
    /// if no station is reached; otherwise [`Listener::ended`] follows.
    pub fn transmit(
        &mut self,
        now: Instant,
        station: StationIndex,
        frame: &Frame,
        links: impl Iterator<Item = Link>,
    ) -> bool {
        let slot = self.free_slot(now, station, frame);
        let stations = self.receivers.len();
        let arrivals = &mut self.slots[slot as usize].arrivals;
        let is_known = |link: &Link| link.station.index() < stations && link.station != station;
        arrivals.extend(links.filter(is_known).map(Arrival::new));
        arrivals.sort_unstable_by_key(Arrival::order);
        self.begin_transmission(now, station, slot)
    }

    /// The same with links to existing stations other than the sender, in the order of their delays and then
    /// of their stations.
    ///
    /// # Panics
    /// Later, if there is no such station.
    pub fn transmit_in_order(
        &mut self,
        now: Instant,
        station: StationIndex,
        frame: &Frame,
        links: &[Link],
    ) -> bool {
        let slot = self.free_slot(now, station, frame);
        let arrivals = &mut self.slots[slot as usize].arrivals;
        arrivals.extend(links.iter().map(|&link| Arrival::new(link)));
        debug_assert!(arrivals.is_sorted_by_key(Arrival::order), "the links are in order");
        self.begin_transmission(now, station, slot)
    }

    /// A slot for a transmission, still without arrivals.
    fn free_slot(&mut self, now: Instant, sender: StationIndex, frame: &Frame) -> u32 {
        self.transmissions += 1;
        if let Some(slot) = self.free.pop() {
            let on_air = &mut self.slots[slot as usize];
            (on_air.sender, on_air.frame, on_air.start) = (sender, *frame, now);
            (on_air.next_start, on_air.next_end) = (0, 0);
            on_air.arrivals.clear();
            return slot;
        }
        self.slots.push(OnAir {
            sender,
            is_in_use: false,
            frame: *frame,
            start: now,
            arrivals: Vec::new(),
            next_start: 0,
            next_end: 0,
        });
        self.slots.len() as u32 - 1
    }

    /// The transmission of a slot begins. Returns `true` if it reaches a station.
    fn begin_transmission(&mut self, now: Instant, station: StationIndex, slot: u32) -> bool {
        let on_air = &mut self.slots[slot as usize];
        let air_time = on_air.frame.air_time;
        self.arrivals += on_air.arrivals.len() as u64;
        if let Some(first) = on_air.arrivals.first() {
            let at = now + Duration::from_nanos(u64::from(first.link.delay));
            let number = self.transmissions;
            self.due.push(Reverse(Due { at, is_start: true, number, slot }));
            self.due.push(Reverse(Due { at: at + air_time, is_start: false, number, slot }));
        } else {
            self.free.push(slot);
        }
        let is_received = !on_air.arrivals.is_empty();
        on_air.is_in_use = is_received;
        self.begin_sending(station, now + air_time);
        is_received
    }

    /// Ends the passivity of a station. Returns the summary of the edges and errors that it was not notified
    /// of; `None` if it was not passive.
    #[inline]
    pub fn attend(&mut self, station: StationIndex) -> Option<Sensed> {
        self.receivers.get_mut(station.index())?.attend()
    }

    /// The radio of a station leaves its channel: what is on the air no longer concerns it. A station that
    /// was receiving loses the frame, and its carrier sense reports an idle medium. The driver then passes
    /// only transmissions on the station's new channel.
    pub fn leave(&mut self, now: Instant, station: StationIndex, listener: &mut impl Listener) {
        let Some(receiver) = self.receivers.get_mut(station.index()) else { return };
        if let Some(sensed) = receiver.attend() {
            listener.sensed(station, &sensed);
        }
        let was_busy = receiver.leave();
        self.energies[station.index()] = Energy::default();
        for on_air in self.slots.iter_mut().filter(|on_air| on_air.is_in_use) {
            let arrivals = on_air.arrivals.iter_mut();
            arrivals
                .filter(|arrival| arrival.link.station == station)
                .for_each(|arrival| arrival.abandon(&self.config));
        }
        if was_busy {
            listener.idle(now, station);
        }
    }

    /// The stations whose transmissions are on the air and reach others, each once per transmission.
    pub fn senders(&self) -> impl Iterator<Item = StationIndex> {
        self.slots.iter().filter(|on_air| on_air.is_in_use).map(|on_air| on_air.sender)
    }

    /// The radio of a station comes to a channel. `links` has the [senders](Self::senders) on that channel
    /// with their links to the station, which senses the rest of their frames and cannot receive them. The
    /// frame of a sender that reaches no other station is not sensed.
    pub fn enter(
        &mut self,
        now: Instant,
        station: StationIndex,
        links: &[(StationIndex, Link)],
        listener: &mut impl Listener,
    ) {
        let Some(receiver) = self.receivers.get_mut(station.index()) else { return };
        if let Some(sensed) = receiver.attend() {
            listener.sensed(station, &sensed);
        }
        let was_busy = receiver.is_sensing();
        for on_air in self.slots.iter_mut().filter(|on_air| on_air.is_in_use) {
            let Some(&(_, mut link)) = links.iter().find(|(sender, _)| *sender == on_air.sender) else {
                continue;
            };
            // Behind all arrivals that have begun, which end in the order of their delays.
            let position = on_air.next_start as usize;
            let before = position.checked_sub(1).map_or(0, |before| on_air.arrivals[before].link.delay);
            link.delay = link.delay.max(before);
            let end = on_air.start + on_air.frame.air_time + Duration::from_nanos(u64::from(link.delay));
            if end <= now || link.power < self.config.carrier_sense_threshold {
                continue;
            }
            receiver.sense();
            if self.config.rule.is_additive() {
                self.energies[station.index()].begin(link.power);
            }
            let overlap = Some(ReceptionLoss::OffChannel);
            on_air.arrivals.insert(position, Arrival { link, overlap, is_sensed: true, is_gone: false });
            on_air.next_start += 1;
        }
        if !was_busy && receiver.is_sensing() {
            listener.busy(now, station);
        }
    }

    /// The receiver of a station is off until `end`: the frame that it was receiving is lost.
    fn begin_sending(&mut self, station: StationIndex, end: Instant) {
        let Some(receiver) = self.receivers.get_mut(station.index()) else { return };
        receiver.sending_until = end;
        if receiver.locked_slot != NO_FRAME {
            let (slot, index) = (receiver.locked_slot, receiver.locked_index);
            let locked = &mut self.slots[slot as usize].arrivals[index as usize];
            locked.overlap = locked.loss(&self.config).or(Some(ReceptionLoss::HalfDuplex));
            if self.config.rule.is_additive() {
                receiver.unlock();
            }
        }
    }

    /// Time of the next report; `None` if nothing is on the air.
    pub fn poll_timeout(&self) -> Option<Instant> {
        self.due.peek().map(|Reverse(due)| due.at)
    }

    /// Reports everything that happens up to `now`.
    pub fn handle_timeout(&mut self, mut now: Instant, listener: &mut impl Listener) {
        while let Some(&Reverse(due)) = self.due.peek() {
            if due.at > now {
                return;
            }
            let next = if due.is_start {
                self.start_arrivals(due, &mut now, listener)
            } else {
                self.end_arrivals(due, &mut now, listener)
            };
            if let Some(next) = next {
                if let Some(mut top) = self.due.peek_mut() {
                    *top = Reverse(Due { at: next, ..due });
                }
            } else {
                self.due.pop();
            }
        }
    }
}

#[cfg(test)]
mod tests;
