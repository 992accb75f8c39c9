//! The management of an access point.

use alloc::collections::{BTreeMap, BTreeSet, VecDeque};

use whimbrel_units::{Duration, Instant};

use super::{
    Announcement, ErpInformation, ManagementMessage, ManagementTransmit, Ssid, Status, TrafficIndication,
    Uapsd,
};
use crate::frame::MacAddress;
use crate::phy::Rate;

/// Time after which an access point drops an answer that it has not sent. Stations wait for a few tens of
/// milliseconds for answers, and a frame to one that has gone to another channel takes all retries.
const ANSWER_LIFETIME: Duration = Duration::from_micros(102_400);

/// Parameters of an [`AccessPoint`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AccessPointConfig {
    /// The access point's address (BSSID).
    pub address: MacAddress,
    /// The network.
    pub ssid: Ssid,
    /// The channel.
    pub channel: u8,
    /// Interval between beacons.
    pub beacon_interval: Duration,
    /// Time of the first beacon.
    pub first_beacon: Instant,
    /// Greatest number of associated stations.
    pub max_stations: usize,
    /// Rate of unicast data frames from and to the associated stations; `None` for the rate of their MACs.
    pub data_rate: Option<Rate>,
    /// `true` if the access point announces whether stations are associated that cannot decode OFDM frames.
    pub announces_erp: bool,
    /// Beacons from one before group frames (DTIM) to the next; `None` if no client saves power.
    pub dtim_period: Option<u8>,
    /// Packets that are kept for each dozing station, and for groups, in each category.
    pub power_save_buffer: usize,
    /// The least time for which a packet is kept: two listen intervals of its station may be longer.
    pub power_save_lifetime: Duration,
}

impl AccessPointConfig {
    /// An access point with beacons every 100 time units (102.4 ms) and up to 2007 stations, as many as there
    /// are association identifiers.
    pub const fn new(address: MacAddress, ssid: Ssid, channel: u8) -> Self {
        Self {
            address,
            ssid,
            channel,
            beacon_interval: Duration::from_micros(102_400),
            first_beacon: Instant::ZERO,
            max_stations: 2_007,
            data_rate: None,
            announces_erp: false,
            dtim_period: None,
            // `STA_MAX_TX_BUFFER` of Linux.
            power_save_buffer: 64,
            // `STA_TX_BUFFER_EXPIRE` of Linux.
            power_save_lifetime: Duration::from_secs(10),
        }
    }
}

/// A change at an access point.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AccessPointEvent {
    /// A station is associated: its frames are accepted and forwarded.
    Associated {
        /// The station.
        station: MacAddress,
        /// The access point of its association before, if it named one.
        previous: Option<MacAddress>,
    },
    /// A station is no longer associated.
    Left {
        /// The station.
        station: MacAddress,
    },
    /// An associated station dozes from now on, or no longer.
    Dozes {
        /// The station.
        station: MacAddress,
        /// `true` if it dozes.
        is_dozing: bool,
    },
    /// Frames of the access point and its stations need protection from now on, or no longer: the first
    /// station that cannot decode OFDM frames is associated, or the last one has left. Only with
    /// [`AccessPointConfig::announces_erp`].
    Protection {
        /// `true` if they need it.
        is_needed: bool,
    },
}

/// An associated station.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Member {
    /// The association identifier.
    id: u16,
    /// Beacons from one that it listens to, while it dozes, to the next.
    listen_interval: u16,
    /// Categories in which its frames trigger the delivery of kept packets.
    uapsd: Uapsd,
}

/// The management of an access point: beacons, probe responses, authentication, association.
#[derive(Clone, Debug)]
pub struct AccessPoint {
    config: AccessPointConfig,
    next_beacon: Instant,
    /// The authenticated stations, and those that are associated.
    stations: BTreeMap<MacAddress, Option<Member>>,
    /// The associated stations that cannot decode OFDM frames.
    non_erp: BTreeSet<MacAddress>,
    /// The associated stations that doze, and whether packets are kept for them.
    dozing: BTreeMap<MacAddress, bool>,
    /// Group frames are kept.
    has_group: bool,
    outgoing: VecDeque<ManagementTransmit>,
    events: VecDeque<AccessPointEvent>,
}

impl AccessPoint {
    /// An access point without stations.
    pub fn new(config: AccessPointConfig) -> Self {
        Self {
            config,
            next_beacon: config.first_beacon,
            stations: BTreeMap::new(),
            non_erp: BTreeSet::new(),
            dozing: BTreeMap::new(),
            has_group: false,
            outgoing: VecDeque::new(),
            events: VecDeque::new(),
        }
    }

    /// The parameters.
    pub const fn config(&self) -> &AccessPointConfig {
        &self.config
    }

    /// `true` if the station is associated.
    pub fn is_associated(&self, station: MacAddress) -> bool {
        matches!(self.stations.get(&station), Some(Some(_)))
    }

    /// The associated stations, in the order of their addresses.
    pub fn associated(&self) -> impl Iterator<Item = MacAddress> {
        self.stations.iter().filter(|(_, id)| id.is_some()).map(|(&station, _)| station)
    }

    /// A message arrived from a station.
    pub fn handle_packet(&mut self, now: Instant, from: MacAddress, message: &ManagementMessage) {
        match *message {
            ManagementMessage::ProbeRequest { ssid } if ssid.is_none_or(|ssid| ssid == self.config.ssid) => {
                self.answer(now, from, ManagementMessage::ProbeResponse(self.announcement()));
            }
            ManagementMessage::AuthenticationRequest => {
                // A station that authenticates anew has lost its association.
                self.leave(from);
                // Not associated stations take no more room than associated ones.
                let is_full = self.stations.len() >= 2 * self.config.max_stations.max(1)
                    && !self.stations.contains_key(&from);
                if !is_full {
                    self.stations.insert(from, None);
                }
                let status = if is_full { Status::TooManyStations } else { Status::Success };
                self.answer(now, from, ManagementMessage::AuthenticationResponse(status));
            }
            ManagementMessage::AssociationRequest { ssid, previous, is_erp, listen_interval, uapsd }
                if ssid == self.config.ssid =>
            {
                self.associate(now, from, previous, is_erp, (listen_interval, uapsd));
            }
            ManagementMessage::AssociationRequest { .. } => {
                let message = ManagementMessage::AssociationResponse { status: Status::Failure, id: 0 };
                self.answer(now, from, message);
            }
            ManagementMessage::Null { is_dozing } => self.handle_power_management(from, is_dozing),
            ManagementMessage::Disassociation => self.leave(from),
            ManagementMessage::Deauthentication => {
                self.leave(from);
                self.stations.remove(&from);
            }
            _ => {}
        }
    }

    fn associate(
        &mut self,
        now: Instant,
        station: MacAddress,
        previous: Option<MacAddress>,
        is_erp: bool,
        (listen_interval, uapsd): (u16, Uapsd),
    ) {
        let Some(&state) = self.stations.get(&station) else {
            // Class 2 frame of a station that is not authenticated (section 11.3).
            return self.answer(now, station, ManagementMessage::Deauthentication);
        };
        let is_taken = |id: u16| self.stations.values().flatten().any(|other| other.id == id);
        let free = || (1..=2_007u16).find(|&id| !is_taken(id));
        let has_room = self.associated().count() < self.config.max_stations;
        // A repeated request gets the identifier that it has.
        let id = state.map(|member| member.id).or_else(|| if has_room { free() } else { None });
        let Some(id) = id else {
            let message = ManagementMessage::AssociationResponse { status: Status::TooManyStations, id: 0 };
            return self.answer(now, station, message);
        };
        self.stations.insert(station, Some(Member { id, listen_interval, uapsd }));
        if state.is_none() {
            self.events.push_back(AccessPointEvent::Associated { station, previous });
        }
        self.note_erp(station, is_erp);
        self.answer(now, station, ManagementMessage::AssociationResponse { status: Status::Success, id });
    }

    /// The station is associated with another access point, as the distribution system reports.
    pub fn handle_moved(&mut self, station: MacAddress) {
        self.leave(station);
        self.stations.remove(&station);
    }

    /// The access point is switched off or on: it forgets its stations and what it was about to send. The
    /// next beacon is due at the next multiple of the interval; the driver does not ask for it while the
    /// access point is off.
    pub fn restart(&mut self, now: Instant) {
        self.outgoing.clear();
        if self.next_beacon < now {
            self.next_beacon = self.beacon_after(now);
        }
        while let Some((&station, _)) = self.stations.first_key_value() {
            self.leave(station);
            self.stations.remove(&station);
        }
    }

    /// A data frame arrived from a station. Returns `true` if the frame is accepted: the station is
    /// associated. Another station is notified that it is not (class 3 frame, section 11.3).
    pub fn handle_data(&mut self, from: MacAddress) -> bool {
        match self.stations.get(&from) {
            Some(Some(_)) => return true,
            Some(None) => self.send(from, ManagementMessage::Disassociation),
            None => self.send(from, ManagementMessage::Deauthentication),
        }
        false
    }

    /// A frame arrived from a station with this power management bit.
    pub fn handle_power_management(&mut self, station: MacAddress, is_dozing: bool) {
        let is_changed = self.is_associated(station)
            && if is_dozing {
                self.dozing.insert(station, false).is_none()
            } else {
                self.dozing.remove(&station).is_some()
            };
        if is_changed {
            self.events.push_back(AccessPointEvent::Dozes { station, is_dozing });
        }
    }

    /// The stations that doze, as far as the access point knows.
    pub fn dozing(&self) -> impl Iterator<Item = MacAddress> {
        self.dozing.keys().copied()
    }

    /// `true` if a station dozes, as far as the access point knows.
    pub fn is_dozing(&self, station: MacAddress) -> bool {
        self.dozing.contains_key(&station)
    }

    /// Packets for a dozing station are kept, or not.
    pub fn keep_for(&mut self, station: MacAddress, is_kept: bool) {
        if let Some(kept) = self.dozing.get_mut(&station) {
            *kept = is_kept;
        }
    }

    /// The time for which packets for a dozing station are kept, as in Linux (`sta_info_buffer_expired`).
    pub fn lifetime(&self, station: MacAddress) -> Duration {
        let listens = u64::from(self.member(station).map_or(1, |member| member.listen_interval));
        self.config.power_save_lifetime.max(self.config.beacon_interval * listens * 2)
    }

    fn member(&self, station: MacAddress) -> Option<Member> {
        self.stations.get(&station).copied().flatten()
    }

    /// The categories in which frames of a station trigger the delivery of kept packets.
    pub fn delivered_to(&self, station: MacAddress) -> Uapsd {
        self.member(station).map_or(Uapsd::default(), |member| member.uapsd)
    }

    /// Ends a service period of a station for which nothing is kept.
    pub fn end_service(&mut self, station: MacAddress) {
        self.send(station, ManagementMessage::ServiceEnd);
    }

    /// Group frames are kept, or not.
    pub const fn keep_group(&mut self, is_kept: bool) {
        self.has_group = is_kept;
    }

    /// The end of an association, if there is one.
    fn leave(&mut self, station: MacAddress) {
        if let Some(id) = self.stations.get_mut(&station)
            && id.take().is_some()
        {
            self.dozing.remove(&station);
            self.events.push_back(AccessPointEvent::Left { station });
            self.note_erp(station, true);
        }
    }

    /// Notes that a station decodes OFDM frames or has left, or that it is associated and decodes none.
    fn note_erp(&mut self, station: MacAddress, is_erp: bool) {
        let before = self.needs_protection();
        if is_erp {
            self.non_erp.remove(&station);
        } else {
            self.non_erp.insert(station);
        }
        let is_needed = self.needs_protection();
        if is_needed != before {
            self.events.push_back(AccessPointEvent::Protection { is_needed });
        }
    }

    /// `true` if OFDM frames in the access point's network are to be protected.
    pub fn needs_protection(&self) -> bool {
        self.config.announces_erp && !self.non_erp.is_empty()
    }

    fn announcement(&self) -> Announcement {
        let AccessPointConfig { ssid, channel, beacon_interval, announces_erp, .. } = self.config;
        let uses_protection = self.needs_protection();
        let erp = announces_erp.then_some(ErpInformation { has_non_erp: uses_protection, uses_protection });
        Announcement { ssid, channel, beacon_interval, erp, traffic: None }
    }

    /// The map of the beacon that is due.
    fn traffic(&self) -> Option<TrafficIndication> {
        let AccessPointConfig { beacon_interval, dtim_period, .. } = self.config;
        let mut traffic = TrafficIndication::new(self.next_beacon, beacon_interval, dtim_period?);
        traffic.has_group = self.has_group;
        let kept = self.dozing.iter().filter(|(_, is_kept)| **is_kept);
        kept.filter_map(|(station, _)| *self.stations.get(station)?)
            .for_each(|member| traffic.add(member.id));
        Some(traffic)
    }

    fn send(&mut self, to: MacAddress, message: ManagementMessage) {
        self.outgoing.push_back(ManagementTransmit::new(to, message));
    }

    /// Sends the answer to a request.
    fn answer(&mut self, now: Instant, to: MacAddress, message: ManagementMessage) {
        let expires = now + ANSWER_LIFETIME;
        self.outgoing.push_back(ManagementTransmit { expires, ..ManagementTransmit::new(to, message) });
    }

    /// The deadline last returned by [`poll_timeout`](Self::poll_timeout) was reached.
    pub fn handle_timeout(&mut self, now: Instant) {
        if self.next_beacon > now {
            return;
        }
        let announcement = Announcement { traffic: self.traffic(), ..self.announcement() };
        self.send(MacAddress::BROADCAST, ManagementMessage::Beacon(announcement));
        self.next_beacon = self.beacon_after(now);
    }

    /// The next beacon after `now`. Beacons are due at multiples of the interval: a late one does not move
    /// the others.
    fn beacon_after(&self, now: Instant) -> Instant {
        let interval = self.config.beacon_interval.max(Duration::from_nanos(1));
        let passed = (now - self.config.first_beacon).as_nanos() / interval.as_nanos();
        self.config.first_beacon + interval * (passed + 1)
    }

    /// The next message to send, if any.
    pub fn poll_transmit(&mut self) -> Option<ManagementTransmit> {
        self.outgoing.pop_front()
    }

    /// The time of the next beacon.
    pub fn poll_timeout(&self) -> Option<Instant> {
        Some(self.next_beacon)
    }

    /// The next change, if any.
    pub fn poll_event(&mut self) -> Option<AccessPointEvent> {
        self.events.pop_front()
    }
}

#[cfg(test)]
mod tests;
