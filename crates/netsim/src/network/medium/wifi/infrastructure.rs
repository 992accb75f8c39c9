//! The management of the stations of a network with access points.
//!
//! Every station has one of the machines of [`whimbrel_wifi::infrastructure`], whose messages go through the
//! station's MAC before its data. The distribution system behind the access points decides which of them the
//! routes to a client take.

use std::collections::{BTreeMap, VecDeque};

use whimbrel_units::{Duration, Instant};
use whimbrel_wifi::dcf::Protection;
use whimbrel_wifi::deadlines::Deadlines;
use whimbrel_wifi::infrastructure::{
    AccessPointEvent, DistributionSystem, HandoverReport, ManagementMessage, StationEvent,
};
use whimbrel_wifi::site::Site;
use whimbrel_wifi::{MacAddress, Rate, SplitMix64};

use super::in_flight::InFlight;
use super::managed::{Machine, Managed};
use super::qos::Trigger;
use super::role::{InfrastructureConfig, StationRole};
use crate::StationIndex;
use crate::medium::{Association, MediumIo, Observation};

/// The bit of a frame's handle that distinguishes messages from packets.
pub(super) const MESSAGE: u64 = 1 << 63;

/// Number of the stream of a station's management among the streams derived from its MAC's.
const MANAGEMENT_STREAM: u64 = 0;

/// An update of the distribution system.
#[derive(Clone, Copy)]
enum Update {
    Associate { station: MacAddress, access_point: MacAddress },
    Leave { station: MacAddress, access_point: MacAddress },
}

/// The management of all stations.
pub(super) struct Infrastructure {
    pub(super) stations: Vec<Managed>,
    addresses: Vec<MacAddress>,
    numbers: BTreeMap<MacAddress, StationIndex>,
    /// Deadlines of the stations, and behind them the distribution system's.
    pub(super) deadlines: Deadlines,
    /// Messages in service or on the air.
    pub(super) messages: InFlight<ManagementMessage>,
    distribution: DistributionSystem,
    distribution_delay: Duration,
    updates: VecDeque<(Instant, Update)>,
    /// Stations whose radio is to leave its channel.
    pub(super) leaving: Vec<StationIndex>,
    /// Clients that doze from now on, or no longer.
    pub(super) drowsy: Vec<StationIndex>,
    /// Access points that have learnt that a client dozes or is awake, or that have lost it.
    pub(super) learnt: VecDeque<(StationIndex, StationIndex)>,
    /// Frames of dozing clients that trigger service periods.
    pub(super) triggers: VecDeque<Trigger>,
    /// Stations that protect their OFDM frames from now on, or no longer.
    pub(super) protected: Vec<(StationIndex, bool)>,
    /// Protection of the OFDM frames of the stations that do; `None` if access points announce nothing.
    pub(super) protection: Option<Protection>,
    /// Power of the last management frame received.
    power: f64,
    pub(super) handovers: Vec<(StationIndex, HandoverReport)>,
}

impl Infrastructure {
    /// `streams` has a stream for each station, from which the streams of their management are derived.
    pub(super) fn new(config: &InfrastructureConfig, site: &Site, streams: &SplitMix64) -> Self {
        let roles = (0..).map(StationIndex).zip(&config.roles);
        let addresses: Vec<MacAddress> = roles.clone().map(|(number, role)| role.address(number)).collect();
        let mut deadlines = Deadlines::default();
        for _ in 0..=addresses.len() {
            deadlines.add();
        }
        let managed = |(number, role): (StationIndex, &StationRole)| {
            let random = streams.stream(u64::from(number.0)).stream(MANAGEMENT_STREAM);
            Managed::new(role, site.presence(number), random)
        };
        Self {
            stations: roles.map(managed).collect(),
            numbers: addresses.iter().copied().zip((0..).map(StationIndex)).collect(),
            addresses,
            deadlines,
            messages: InFlight::default(),
            distribution: DistributionSystem::new(),
            distribution_delay: config.distribution_delay,
            updates: VecDeque::new(),
            leaving: Vec::new(),
            drowsy: Vec::new(),
            learnt: VecDeque::new(),
            triggers: VecDeque::new(),
            protected: Vec::new(),
            protection: config.protection,
            power: 0.0,
            handovers: Vec::new(),
        }
    }

    pub(super) fn address(&self, station: StationIndex) -> MacAddress {
        self.addresses[station.index()]
    }

    /// Rate of data frames in the cell of an access point; `None` for the rate of the stations' MACs.
    pub(super) fn data_rate(&self, access_point: StationIndex) -> Option<Rate> {
        match &self.stations[access_point.index()].machine {
            Machine::AccessPoint(machine) => machine.config().data_rate,
            _ => None,
        }
    }

    pub(super) fn number(&self, address: MacAddress) -> Option<StationIndex> {
        self.numbers.get(&address).copied()
    }

    /// `true` if routes may lead from one station to another.
    pub(super) fn reaches(&self, site: &Site, now: Instant, from: StationIndex, to: StationIndex) -> bool {
        let (sender, receiver) = (&self.stations[from.index()], &self.stations[to.index()]);
        match (&sender.machine, &receiver.machine) {
            (Machine::None, Machine::None) => {
                sender.channel == receiver.channel && site.reaches(from, to, now)
            }
            // The route of a client stays while it searches: its packets wait in its queue.
            (Machine::Client(_), Machine::AccessPoint(_)) => sender.uplink == Some(to),
            (Machine::AccessPoint(_), Machine::Client(_)) => {
                self.distribution.locate(self.addresses[to.index()]) == Some(self.addresses[from.index()])
            }
            _ => false,
        }
    }

    /// Makes the machine's deadline the station's.
    pub(super) fn set_deadline(&mut self, station: StationIndex) {
        self.deadlines.set(station.index(), self.stations[station.index()].deadline());
    }

    /// A deadline of a station, or of the distribution system, is due. Returns `true` if the station's radio
    /// has come to a channel.
    pub(super) fn handle_timeout(
        &mut self,
        now: Instant,
        station: StationIndex,
        site: &Site,
        io: &mut MediumIo<'_>,
    ) -> bool {
        if station.index() == self.stations.len() {
            self.update_distribution(now, io);
            return false;
        }
        let managed = &mut self.stations[station.index()];
        if managed.next_outage_edge.is_some_and(|edge| edge <= now) {
            managed.next_outage_edge = site.presence(station).next_change(now);
            managed.is_on = site.is_on(station, now);
            self.switch(now, station);
        }
        let managed = &mut self.stations[station.index()];
        let has_arrived = managed.end_change(now);
        if managed.is_on {
            match &mut managed.machine {
                Machine::None => {}
                Machine::AccessPoint(access_point) => access_point.handle_timeout(now),
                Machine::Client(client) => {
                    if managed.joins_at.take_if(|at| *at <= now).is_some() {
                        client.join(now);
                    }
                    client.handle_timeout(now);
                }
            }
        }
        self.drain(now, station, io);
        has_arrived
    }

    /// The station has been switched on or off. It has forgotten its association.
    fn switch(&mut self, now: Instant, station: StationIndex) {
        let managed = &mut self.stations[station.index()];
        match &mut managed.machine {
            Machine::None => {}
            Machine::AccessPoint(access_point) => {
                access_point.restart(now);
                managed.messages.clear();
            }
            Machine::Client(client) => {
                client.stop();
                managed.accepted = None;
                managed.messages.clear();
                if managed.is_on {
                    managed.joins_at = managed.joins_at.or(Some(now));
                } else {
                    // The MAC gives back the packet in service.
                    let channel =
                        managed.change.map(|change| change.to).or(managed.channel).or(managed.dozes);
                    if managed.leave_channel(channel.unwrap_or_default(), Duration::ZERO) {
                        self.leaving.push(station);
                    }
                }
            }
        }
    }

    /// A data frame arrived at a station. Returns `true` if the station accepts it: its sender belongs to the
    /// station's network.
    pub(super) fn accepts(
        &mut self,
        now: Instant,
        station: StationIndex,
        transmitter: MacAddress,
        is_group: bool,
        io: &mut MediumIo<'_>,
    ) -> bool {
        let sender = self.number(transmitter);
        let is_ad_hoc = |number: StationIndex| matches!(self.stations[number.index()].machine, Machine::None);
        let is_from_ad_hoc = sender.is_some_and(is_ad_hoc);
        let managed = &mut self.stations[station.index()];
        match &mut managed.machine {
            Machine::None => is_from_ad_hoc,
            Machine::Client(client) => {
                if client.access_point() == Some(transmitter) {
                    client.handle_data(now);
                }
                managed.accepted == Some(transmitter)
            }
            Machine::AccessPoint(_) if is_group => false,
            Machine::AccessPoint(access_point) => {
                let is_accepted = access_point.handle_data(transmitter);
                if !is_accepted {
                    self.drain(now, station, io);
                }
                is_accepted
            }
        }
    }

    /// Notes the power of a management frame, which the MAC may deliver.
    pub(super) fn note_power(
        &mut self,
        now: Instant,
        station: StationIndex,
        transmitter: MacAddress,
        site: &Site,
    ) {
        if let Some(sender) = self.number(transmitter) {
            self.power = site.power(sender, station, now);
        }
    }

    /// The MAC delivers a management frame.
    pub(super) fn handle_message(
        &mut self,
        now: Instant,
        station: StationIndex,
        transmitter: MacAddress,
        handle: u64,
        io: &mut MediumIo<'_>,
    ) {
        let Some(&message) = self.messages.get(handle & !MESSAGE) else { return };
        let managed = &mut self.stations[station.index()];
        let is_beacon = matches!(message, ManagementMessage::Beacon(_));
        *(if is_beacon { &mut managed.stats.beacons_received } else { &mut managed.stats.received }) += 1;
        match &mut managed.machine {
            Machine::None => return,
            Machine::AccessPoint(access_point) => {
                access_point.handle_packet(now, transmitter, &message);
            }
            Machine::Client(client) => client.handle_packet(now, transmitter, self.power, &message),
        }
        self.drain(now, station, io);
    }

    /// The MAC has sent a message, or has given it up.
    pub(super) fn finish_message(&mut self, station: StationIndex, handle: u64, is_sent: bool) {
        let handle = handle & !MESSAGE;
        let is_beacon = matches!(self.messages.get(handle), Some(ManagementMessage::Beacon(_)));
        let stats = &mut self.stations[station.index()].stats;
        *match (is_sent, is_beacon) {
            (true, true) => &mut stats.beacons_sent,
            (true, false) => &mut stats.sent,
            (false, _) => &mut stats.dropped,
        } += 1;
        self.messages.end_service(handle);
    }

    /// A station senses energy.
    pub(super) fn handle_activity(&mut self, now: Instant, station: StationIndex) {
        if let Machine::Client(client) = &mut self.stations[station.index()].machine
            && client.access_point().is_none()
        {
            client.handle_activity(now);
            self.set_deadline(station);
        }
    }

    /// Attempts of a client's MAC to send a data frame have failed; `failures` counts them from the
    /// beginning.
    pub(super) fn handle_attempts(
        &mut self,
        now: Instant,
        station: StationIndex,
        failures: u64,
        io: &mut MediumIo<'_>,
    ) {
        let managed = &mut self.stations[station.index()];
        let new = failures - managed.failures;
        managed.failures = failures;
        if let Machine::Client(client) = &mut managed.machine
            && managed.serves_data
            && new > 0
        {
            (0..new).for_each(|_| client.handle_failure(now));
            self.drain(now, station, io);
        }
    }

    /// A client's data frame was acknowledged.
    pub(super) fn handle_success(&mut self, now: Instant, station: StationIndex) {
        if let Machine::Client(client) = &mut self.stations[station.index()].machine {
            client.handle_success(now);
        }
    }

    /// Processes the events of a station's machine, and queues its messages.
    pub(super) fn drain(&mut self, now: Instant, station: StationIndex, io: &mut MediumIo<'_>) {
        loop {
            let managed = &mut self.stations[station.index()];
            match &mut managed.machine {
                Machine::None => break,
                Machine::AccessPoint(access_point) => {
                    let Some(event) = access_point.poll_event() else { break };
                    self.handle_access_point(now, station, event, io);
                }
                Machine::Client(client) => {
                    let Some(event) = client.poll_event() else { break };
                    let switch_time = client.config().switch_time;
                    self.handle_client(station, event, switch_time, io);
                }
            }
        }
        let managed = &mut self.stations[station.index()];
        managed.collect();
        if let Machine::Client(client) = &managed.machine
            && client.is_dozing() != managed.dozes.is_some()
            && !self.drowsy.contains(&station)
        {
            self.drowsy.push(station);
        }
        self.set_deadline(station);
    }

    fn handle_client(
        &mut self,
        station: StationIndex,
        event: StationEvent,
        switch_time: Duration,
        io: &mut MediumIo<'_>,
    ) {
        let node = |address: MacAddress| self.number(address).map(|number| io.node(number));
        match event {
            StationEvent::SwitchChannel { channel } => {
                if self.stations[station.index()].leave_channel(channel, switch_time) {
                    self.leaving.push(station);
                }
            }
            StationEvent::LinkDown { access_point } => {
                let Some(access_point) = node(access_point) else { return };
                self.stations[station.index()].stats.disassociations += 1;
                io.observe(station, Observation::Disassociated { access_point });
            }
            StationEvent::LinkUp(report) => {
                let from = report.from.and_then(node);
                let Some(to) = node(report.to) else { return };
                self.handovers.push((station, report));
                let uplink = self.number(report.to);
                let managed = &mut self.stations[station.index()];
                managed.uplink = uplink;
                managed.accepted = Some(report.to);
                managed.stats.associations += 1;
                managed.stats.handovers += u64::from(report.from.is_some());
                io.observe(station, Observation::Associated(Association { from, to, report }));
                io.change_routes();
            }
            StationEvent::Protection { is_used } => self.protected.push((station, is_used)),
            StationEvent::Stayed { access_point } => {
                let Some(access_point) = node(access_point) else { return };
                io.observe(station, Observation::Stayed { access_point });
            }
        }
    }

    fn handle_access_point(
        &mut self,
        now: Instant,
        number: StationIndex,
        event: AccessPointEvent,
        io: &mut MediumIo<'_>,
    ) {
        let access_point = self.addresses[number.index()];
        let (update, client) = match event {
            AccessPointEvent::Associated { station, .. } => {
                let stats = &mut self.stations[number.index()].stats;
                stats.associations += 1;
                (Update::Associate { station, access_point }, station)
            }
            AccessPointEvent::Dozes { station, .. } => {
                self.learnt.extend(self.number(station).map(|client| (number, client)));
                return;
            }
            AccessPointEvent::Left { station } => {
                self.learnt.extend(self.number(station).map(|client| (number, client)));
                let stats = &mut self.stations[number.index()].stats;
                stats.disassociations += 1;
                (Update::Leave { station, access_point }, station)
            }
            AccessPointEvent::Protection { is_needed } => {
                return self.protected.push((number, is_needed));
            }
        };
        if let Some(client) = self.number(client) {
            let client = io.node(client);
            let observation = match update {
                Update::Associate { .. } => Observation::StationJoined { client },
                Update::Leave { .. } => Observation::StationLeft { client },
            };
            io.observe(number, observation);
        }
        self.updates.push_back((now + self.distribution_delay, update));
        if self.distribution_delay.is_zero() {
            self.update_distribution(now, io);
        } else {
            self.set_distribution_deadline();
        }
    }

    fn set_distribution_deadline(&mut self) {
        let next = self.updates.front().map(|&(at, _)| at);
        self.deadlines.set(self.stations.len(), next);
    }

    /// Applies the updates of the distribution system that are due.
    fn update_distribution(&mut self, now: Instant, io: &mut MediumIo<'_>) {
        while let Some(&(at, update)) = self.updates.front()
            && at <= now
        {
            self.updates.pop_front();
            match update {
                Update::Associate { station, access_point } => {
                    let before = self.distribution.associate(station, access_point);
                    if let Some(before) = before.and_then(|before| self.number(before))
                        && let Machine::AccessPoint(machine) = &mut self.stations[before.index()].machine
                    {
                        machine.handle_moved(station);
                        self.drain(now, before, io);
                    }
                }
                Update::Leave { station, access_point } => self.distribution.leave(station, access_point),
            }
            io.change_routes();
        }
        self.set_distribution_deadline();
    }
}
