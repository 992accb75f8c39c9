//! Power save mode of a client (IEEE Std 802.11-2020, 11.2.3), with the dynamic of Linux.
//!
//! A client that had no traffic for a time sends a null frame with the power management bit, and dozes when
//! it is acknowledged. It wakes up for beacons. If one names the client in its traffic indication map, a null
//! frame without the bit asks for the packets that the access point has kept, and the client stays awake
//! until the next pause. It wakes up at once for packets of its own.

use whimbrel_units::{Duration, Instant};

use super::{TrafficIndication, Uapsd};
use crate::edca::AccessCategory;

/// Parameters of a client that saves power.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PowerSaveConfig {
    /// Time without traffic after which the client dozes.
    pub timeout: Duration,
    /// A dozing client wakes up for each beacon whose number is a multiple of this, and before group frames.
    pub listen_interval: u16,
    /// Categories in which own frames trigger the delivery of kept packets. Packets in them do not keep the
    /// client awake.
    pub uapsd: Uapsd,
}

impl Default for PowerSaveConfig {
    /// The values of Linux (`ieee80211_recalc_ps`): 100 ms, and every beacon.
    fn default() -> Self {
        Self { timeout: Duration::from_millis(100), listen_interval: 1, uapsd: Uapsd::default() }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum State {
    /// Without an access point.
    Off,
    /// Until a pause of the traffic ends at this instant; `None` until the beacons are known.
    Awake(Option<Instant>),
    /// The access point is to learn that the client dozes.
    Announcing,
    /// The radio is off until this instant.
    Dozing(Instant),
    /// The radio is on for a service period, until its end or this instant.
    Served(Instant),
    /// The radio is on for a beacon, and for the group frames after it.
    Listening,
}

/// State of a client's radio.
#[derive(Clone, Debug)]
pub(super) struct PowerSave {
    config: PowerSaveConfig,
    state: State,
    /// Target time of the last beacon received, interval, and period of group frames.
    beacons: Option<(Instant, Duration, u8)>,
    /// A null frame to be sent, with its power management bit.
    null: Option<bool>,
}

impl PowerSave {
    pub(super) const fn new(config: PowerSaveConfig) -> Self {
        Self { config, state: State::Off, beacons: None, null: None }
    }

    /// The client has an access point.
    pub(super) fn begin(&mut self) {
        (self.state, self.beacons, self.null) = (State::Awake(None), None, None);
    }

    /// The client has left its access point.
    pub(super) fn end(&mut self) {
        (self.state, self.null) = (State::Off, None);
    }

    /// `true` if the radio is off.
    pub(super) const fn is_dozing(&self) -> bool {
        matches!(self.state, State::Dozing(_))
    }

    /// `true` if frames of the client have the power management bit: the access point goes on to keep packets
    /// for it.
    pub(super) const fn is_announced(&self) -> bool {
        matches!(self.state, State::Dozing(_) | State::Listening | State::Served(_))
    }

    /// The client sends, or has received a packet; of a known category, or of any.
    pub(super) fn handle_traffic(&mut self, now: Instant, category: Option<AccessCategory>) {
        let is_delivered = match category {
            Some(category) => self.config.uapsd.contains(category),
            None => !self.config.uapsd.is_empty(),
        };
        if let State::Awake(Some(until)) = &mut self.state
            && !is_delivered
        {
            *until = now + self.config.timeout;
        }
    }

    /// The client has a packet to send. Frames without the power management bit inform
    /// the access point that it is awake. With the bit, in some categories, they trigger a service period.
    pub(super) fn handle_own_packet(&mut self, now: Instant, category: AccessCategory) {
        let until = now + self.config.timeout;
        if self.is_announced() {
            let is_trigger = self.config.uapsd.contains(category);
            self.state = if is_trigger { State::Served(until) } else { State::Awake(Some(until)) };
        }
        self.handle_traffic(now, Some(category));
    }

    /// The access point has ended a service period. `is_idle` if the MAC has nothing to send: else its next
    /// frame triggers another one.
    pub(super) fn handle_service_end(&mut self, now: Instant, is_idle: bool) {
        if matches!(self.state, State::Served(_)) && is_idle {
            self.doze(now);
        }
    }

    /// A group frame arrived, behind which there are more or not.
    pub(super) fn handle_group(&mut self, now: Instant, has_more: bool) {
        if self.state == State::Listening && !has_more {
            self.doze(now);
        }
    }

    /// The MAC is done with the null frame that announces that the client dozes. `is_idle` if the MAC has
    /// nothing else to send.
    pub(super) fn handle_null(&mut self, now: Instant, is_acknowledged: bool, is_idle: bool) {
        if self.state != State::Announcing {
            return;
        }
        if is_acknowledged && is_idle {
            self.doze(now);
        } else {
            self.state = State::Awake(Some(now + self.config.timeout));
        }
    }

    /// A beacon of the access point arrived. The client is the station of this association identifier.
    pub(super) fn handle_beacon(
        &mut self,
        now: Instant,
        interval: Duration,
        indication: &TrafficIndication,
        id: u16,
    ) {
        self.beacons = Some((indication.due, interval, indication.period));
        let has_packets = indication.names(id);
        match self.state {
            State::Awake(None) => self.state = State::Awake(Some(now + self.config.timeout)),
            State::Listening | State::Served(_) if has_packets => {
                self.state = State::Awake(Some(now + self.config.timeout));
            }
            State::Served(_) if indication.announces_group() => self.state = State::Listening,
            State::Listening if indication.announces_group() => return,
            State::Listening => return self.doze(now),
            _ => {}
        }
        if has_packets && matches!(self.state, State::Awake(_)) {
            self.null = Some(false);
        }
    }

    /// The radio is off until the next beacon that the client listens to.
    fn doze(&mut self, now: Instant) {
        let Some((due, interval, period)) = self.beacons else { return };
        let number = |at: Instant| (at - Instant::ZERO).as_nanos() / interval.as_nanos();
        let (listen, period) = (u64::from(self.config.listen_interval), u64::from(period));
        let mut next = due + interval * ((now.saturating_since(due)).as_nanos() / interval.as_nanos() + 1);
        while number(next) % listen != 0 && number(next) % period != 0 {
            next += interval;
        }
        self.state = State::Dozing(next);
    }

    /// Processes the deadline.
    pub(super) fn handle_timeout(&mut self, now: Instant) {
        match self.state {
            State::Awake(Some(until)) if until <= now => {
                self.state = State::Announcing;
                self.null = Some(true);
            }
            State::Dozing(until) if until <= now => self.state = State::Listening,
            // The trigger was lost.
            State::Served(until) if until <= now => self.doze(now),
            _ => {}
        }
    }

    /// The next deadline.
    pub(super) const fn poll_timeout(&self) -> Option<Instant> {
        match self.state {
            State::Awake(until) => until,
            State::Dozing(until) | State::Served(until) => Some(until),
            _ => None,
        }
    }

    /// The null frame to be sent: whether its power management bit is set.
    pub(super) fn poll_null(&mut self) -> Option<bool> {
        self.null.take()
    }
}

#[cfg(test)]
mod tests;
