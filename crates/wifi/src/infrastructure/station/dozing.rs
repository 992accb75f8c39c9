//! When a station dozes.

use whimbrel_units::{Duration, Instant};

use super::super::{ManagementMessage, ManagementTransmit, TrafficIndication};
use super::{Client, State};
use crate::Random;
use crate::edca::AccessCategory;

impl<R: Random + Clone> Client<R> {
    /// `true` if the radio is off to save power.
    pub fn is_dozing(&self) -> bool {
        self.power_save.as_ref().is_some_and(super::PowerSave::is_dozing)
    }

    /// `true` if frames of the station have the power management bit.
    pub fn announces_doze(&self) -> bool {
        self.power_save.as_ref().is_some_and(super::PowerSave::is_announced)
    }

    /// The station has a packet to send, and its radio is on from now on.
    pub fn handle_own_packet(&mut self, now: Instant, category: AccessCategory) {
        if let Some(power_save) = &mut self.power_save {
            power_save.handle_own_packet(now, category);
        }
    }

    /// A data frame of the access point arrived.
    pub fn handle_packet_of(&mut self, now: Instant, category: AccessCategory) {
        if let Some(power_save) = &mut self.power_save {
            power_save.handle_traffic(now, Some(category));
        }
    }

    /// The access point has ended a service period. `is_idle` if the MAC has nothing to send.
    pub fn handle_service_end(&mut self, now: Instant, is_idle: bool) {
        if let Some(power_save) = &mut self.power_save {
            power_save.handle_service_end(now, is_idle);
        }
    }

    /// A group frame of the access point arrived, behind which there are more or not.
    pub fn handle_group(&mut self, now: Instant, has_more: bool) {
        if let Some(power_save) = &mut self.power_save {
            power_save.handle_group(now, has_more);
        }
    }

    /// The MAC is done with a null frame. `is_idle` if it has nothing else to send.
    pub fn handle_null(&mut self, now: Instant, is_dozing: bool, is_acknowledged: bool, is_idle: bool) {
        if let Some(power_save) = self.power_save.as_mut().filter(|_| is_dozing) {
            power_save.handle_null(now, is_acknowledged, is_idle);
        }
    }

    /// A packet to or from the access point was exchanged.
    pub(super) fn handle_contact(&mut self, now: Instant) {
        self.last_contact = now;
        if let Some(power_save) = &mut self.power_save {
            power_save.handle_traffic(now, None);
        }
    }

    pub(super) fn begin_power_save(&mut self) {
        if let Some(power_save) = &mut self.power_save {
            power_save.begin();
        }
    }

    pub(super) fn end_power_save(&mut self) {
        if let Some(power_save) = &mut self.power_save {
            power_save.end();
        }
    }

    /// The map of a beacon of the access point.
    pub(super) fn handle_indication(
        &mut self,
        now: Instant,
        interval: Duration,
        indication: Option<&TrafficIndication>,
    ) {
        if let (Some(power_save), Some(indication)) = (&mut self.power_save, indication) {
            power_save.handle_beacon(now, interval, indication, self.id);
            self.send_null();
        }
    }

    pub(super) fn follow_power_save(&mut self, now: Instant) {
        if let Some(power_save) = &mut self.power_save {
            power_save.handle_timeout(now);
            self.send_null();
        }
    }

    fn send_null(&mut self) {
        if let (Some(power_save), State::Associated(point)) = (&mut self.power_save, self.state)
            && let Some(is_dozing) = power_save.poll_null()
        {
            let message = ManagementMessage::Null { is_dozing };
            self.outgoing.push_back(ManagementTransmit::new(point.address, message));
        }
    }

    /// The time at which a doze begins or ends.
    pub(super) fn wake_up(&self) -> Option<Instant> {
        self.power_save.as_ref().and_then(super::PowerSave::poll_timeout)
    }

    /// Beacons from one that the station listens to, to the next.
    pub(super) fn beacons_apart(&self) -> u64 {
        self.config.power_save.map_or(1, |power_save| u64::from(power_save.listen_interval))
    }
}
