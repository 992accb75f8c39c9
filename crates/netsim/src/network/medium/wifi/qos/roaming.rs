//! Beacons, associations and changes of the channel.

use std::collections::{BTreeSet, VecDeque};

use whimbrel_units::Instant;
use whimbrel_wifi::aggregation::Packet;
use whimbrel_wifi::edca::{AccessCategory, Ppdu};
use whimbrel_wifi::frame::bytes::Flags;
use whimbrel_wifi::infrastructure::{END_OF_SERVICE, HandoverReport, ManagementMessage};
use whimbrel_wifi::site::Site;
use whimbrel_wifi::{Addressing, FrameKind, MacAddress, SplitMix64};

use super::super::infrastructure::{Infrastructure, MESSAGE};
use super::super::managed::{Machine, ManagementStats};
use super::super::role::{InfrastructureConfig, InvalidRole};
use super::dozing::Kept;
use super::supply::Macs;
use super::{LLC_BYTES, QosConfig, QosMedium, Reception, Stations};
use crate::StationIndex;
use crate::medium::{MediumIo, MediumLoss, Observation};

/// The management of the stations, and what it means for their packets.
pub(super) struct Roaming {
    pub(super) all: Infrastructure,
    /// Packets that the MAC of a client has given back when it left a channel. They go to its next access
    /// point.
    withdrawn: Vec<VecDeque<(AccessCategory, Packet)>>,
    /// Clients that have had no access point since they left a channel, or from the beginning.
    is_detached: Vec<bool>,
    /// Packets for clients that doze.
    pub(super) kept: Kept,
    /// Access points and clients in a service period.
    pub(super) served: BTreeSet<(StationIndex, StationIndex)>,
}

/// Passage of a packet of a station's queues.
pub(super) enum Passage {
    /// Into the queue still: the client has no access point.
    Wait,
    /// To the station that the routes have chosen.
    AsRouted,
    /// To the access point of the client.
    To(StationIndex),
    /// Nowhere: the client has left the access point.
    Lost,
}

impl Roaming {
    /// Passage of a packet of `station` for `receiver`.
    pub(super) fn passage(&self, station: StationIndex, receiver: Option<StationIndex>) -> Passage {
        let managed = &self.all.stations[station.index()];
        match &managed.machine {
            Machine::None => Passage::AsRouted,
            Machine::AccessPoint(point) => match receiver {
                Some(client) if !point.is_associated(self.all.address(client)) => Passage::Lost,
                _ => Passage::AsRouted,
            },
            Machine::Client(_) if !managed.is_supplied() => Passage::Wait,
            Machine::Client(client) => {
                let point = client.access_point().and_then(|address| self.all.number(address));
                point.map_or(Passage::Wait, Passage::To)
            }
        }
    }

    fn channel(&self, station: StationIndex) -> Option<u8> {
        self.all.stations[station.index()].channel
    }

    /// `true` if a station is an access point.
    pub(super) fn is_access_point(&self, station: StationIndex) -> bool {
        matches!(self.all.stations[station.index()].machine, Machine::AccessPoint(_))
    }
}

impl QosMedium {
    /// The medium of stations with roles: beacons, scans and associations are on the air, on the channels of
    /// the roles.
    ///
    /// # Errors
    /// If there is not one role for each station of the site, a parameter of a role is out of range, or two
    /// stations have one address.
    pub fn with_infrastructure(
        site: Site,
        config: QosConfig,
        infrastructure: &InfrastructureConfig,
    ) -> Result<Self, InvalidRole> {
        infrastructure.check(site.stations())?;
        let mut all = Infrastructure::new(infrastructure, &site, &SplitMix64::new(config.seed));
        all.stations.iter_mut().for_each(|managed| managed.serves_data = true);
        let withdrawn = vec![VecDeque::new(); site.stations()];
        let is_detached = vec![true; site.stations()];
        let mut medium = Self::new(site, config);
        medium.stations.roaming = Some(Box::new(Roaming {
            all,
            withdrawn,
            is_detached,
            kept: Kept::default(),
            served: BTreeSet::new(),
        }));
        Ok(medium)
    }

    /// `true` if clients associate with access points.
    pub const fn associates(&self) -> bool {
        self.stations.roaming.is_some()
    }

    fn infrastructure(&self) -> Option<&Infrastructure> {
        self.stations.roaming.as_ref().map(|roaming| &roaming.all)
    }

    /// The station with an address; `None` if there is none.
    pub fn station(&self, address: MacAddress) -> Option<StationIndex> {
        self.infrastructure()?.number(address)
    }

    /// The access point with which a client is associated; `None` without one, and for stations without
    /// roles.
    pub fn access_point(&self, client: StationIndex) -> Option<StationIndex> {
        let infrastructure = self.infrastructure()?;
        let Machine::Client(machine) = &infrastructure.stations[client.index()].machine else { return None };
        infrastructure.number(machine.access_point()?)
    }

    /// Counters of a station's management frames and associations; zero if the stations have no roles.
    pub fn management_stats(&self, station: StationIndex) -> ManagementStats {
        let all = self.infrastructure();
        all.map_or(ManagementStats::default(), |all| all.stations[station.index()].stats)
    }

    /// All associations of clients so far, with the number of the client, in the order of time.
    pub fn handovers(&self) -> &[(StationIndex, HandoverReport)] {
        self.infrastructure().map_or(&[], |all| &all.handovers)
    }

    /// The channel that a station's radio is on.
    pub(super) fn channel(&self, station: StationIndex) -> u8 {
        let channel = self.stations.roaming.as_ref().and_then(|roaming| roaming.channel(station));
        channel.unwrap_or(super::CHANNEL)
    }

    /// Leaves the links to the stations on the sender's channel. `true` if the receiver is on another one.
    pub(super) fn retain_channel(&mut self, station: StationIndex, to: Option<StationIndex>) -> bool {
        let Some(roaming) = &self.stations.roaming else { return false };
        let channel = roaming.channel(station);
        self.links.retain(|link| roaming.channel(link.station) == channel);
        to.is_some_and(|to| roaming.channel(to) != channel)
    }

    /// Radios leave their channels where the MAC's frame or response has ended.
    pub(super) fn retune(&mut self, now: Instant, io: &mut MediumIo<'_>) {
        let mut position = 0;
        while let Some(roaming) = &mut self.stations.roaming
            && let Some(&station) = roaming.all.leaving.get(position)
        {
            if self.stations.machines[station.index()].is_engaged() {
                position += 1;
                continue;
            }
            roaming.all.leaving.swap_remove(position);
            let mut reception = Reception { stations: &mut self.stations, site: &self.site, io };
            self.air.leave(now, station, &mut reception);
            if self.stations.leave_channel(now, station, io) {
                self.enter_channel(now, station, io);
            }
            self.stations.settle(now, station, io);
        }
    }

    /// A station's radio is on another channel. It senses the frames that are on the air there.
    pub(super) fn enter_channel(&mut self, now: Instant, station: StationIndex, io: &mut MediumIo<'_>) {
        let Some(roaming) = &self.stations.roaming else { return };
        let channel = roaming.channel(station);
        let mut links = Vec::new();
        for sender in self.air.senders().filter(|&sender| roaming.channel(sender) == channel) {
            let sensed = self.site.links(sender, now).iter().find(|link| link.station == station);
            links.extend(sensed.map(|&link| (sender, link)));
        }
        self.stations.machines[station.index()].enter_channel(now);
        let mut reception = Reception { stations: &mut self.stations, site: &self.site, io };
        self.air.enter(now, station, &links, &mut reception);
    }

    /// Processes a deadline of the management. Returns `false` if none is due.
    pub(super) fn manage(&mut self, now: Instant, io: &mut MediumIo<'_>) -> bool {
        let Some(roaming) = &mut self.stations.roaming else { return false };
        let Some((station, _)) = roaming.all.deadlines.first().filter(|&(_, at)| at <= now) else {
            return false;
        };
        let number = StationIndex::new(station);
        self.stations.mark_kept(now, number, io);
        let Some(roaming) = &mut self.stations.roaming else { return false };
        if roaming.all.handle_timeout(now, number, &self.site, io) {
            self.enter_channel(now, number, io);
        }
        if let (Some(machine), Some(roaming)) =
            (self.stations.machines.get(station), &mut self.stations.roaming)
        {
            if machine.is_sensing_energy() {
                // A frame that began before the wait for activity is activity, too.
                roaming.all.handle_activity(now, number);
            }
            self.stations.settle(now, number, io);
        }
        true
    }

    /// The body of a management frame, for captures.
    pub(super) fn message_body(&self, now: Instant, ppdu: &Ppdu) -> Option<Vec<u8>> {
        let handle = ppdu.packets.first().filter(|_| ppdu.frame.kind == FrameKind::Management)?.handle;
        let mut body = Vec::new();
        self.infrastructure()?.messages.get(handle & !MESSAGE)?.encode(now, &mut body);
        Some(body)
    }
}

impl Stations {
    /// The addressing of a management frame of `station`.
    pub(super) fn address_message(&self, station: StationIndex, ppdu: &mut Ppdu) {
        let (Some(roaming), Some(packet)) = (&self.roaming, ppdu.packets.first()) else { return };
        let Some(message) = roaming.all.messages.get(packet.handle & !MESSAGE) else { return };
        let own = roaming.all.address(station);
        let bssid = if roaming.is_access_point(station) { own } else { ppdu.frame.receiver };
        let (subtype, address3) = (message.subtype(), Some(bssid));
        let flags = match message {
            ManagementMessage::Null { is_dozing: true } => Flags(Flags::TO_DS.0 | Flags::POWER_MANAGEMENT.0),
            ManagementMessage::Null { is_dozing: false } => Flags::TO_DS,
            ManagementMessage::ServiceEnd => Flags::FROM_DS,
            _ => Flags::default(),
        };
        let ends_service = matches!(message, ManagementMessage::ServiceEnd);
        let identifier = ppdu.identifier | if ends_service { END_OF_SERVICE } else { 0 };
        ppdu.frame.addressing = Addressing { subtype, flags, address3, identifier };
    }

    /// A transmission begins that stations hear.
    pub(super) fn begin_message(&mut self, handle: u64) {
        if let Some(roaming) = &mut self.roaming {
            roaming.all.messages.begin_transmission(handle & !MESSAGE);
        }
    }

    pub(super) fn end_message(&mut self, handle: u64) {
        if let Some(roaming) = &mut self.roaming {
            roaming.all.messages.end_transmission(handle & !MESSAGE);
        }
    }

    /// The MAC is done with a message.
    pub(super) fn finish_message(
        &mut self,
        now: Instant,
        station: StationIndex,
        handle: u64,
        is_sent: bool,
        io: &mut MediumIo<'_>,
    ) {
        self.follow_message(now, station, handle, is_sent, io);
        if let Some(roaming) = &mut self.roaming {
            roaming.all.finish_message(station, handle, is_sent);
        }
    }

    /// A MAC delivers a message.
    pub(super) fn handle_message(
        &mut self,
        now: Instant,
        station: StationIndex,
        transmitter: MacAddress,
        handle: u64,
        io: &mut MediumIo<'_>,
    ) {
        let Some(roaming) = &mut self.roaming else { return };
        let ends_service =
            roaming.all.messages.get(handle & !MESSAGE) == Some(&ManagementMessage::ServiceEnd);
        roaming.all.handle_message(now, station, transmitter, handle, io);
        if ends_service {
            self.handle_service_end(now, station, transmitter, io);
        }
    }

    /// `true` if a station belongs to the network of a frame's transmitter.
    pub(super) fn accepts(
        &mut self,
        now: Instant,
        station: StationIndex,
        transmitter: MacAddress,
        handle: u64,
        io: &mut MediumIo<'_>,
    ) -> bool {
        let Some(roaming) = &mut self.roaming else { return true };
        let is_group = self.payloads.receiver(handle).is_none();
        let accepts = roaming.all.accepts(now, station, transmitter, is_group, io);
        if !accepts && !is_group {
            self.payloads.lose(handle, MediumLoss::NotAssociated);
        }
        accepts
    }

    /// Counts the MAC's failed attempts, and hands it the next message.
    pub(super) fn supply_messages(&mut self, now: Instant, station: StationIndex, io: &mut MediumIo<'_>) {
        let Some(roaming) = &mut self.roaming else { return };
        let machine = &mut self.machines[station.index()];
        let counters = AccessCategory::ALL.map(|category| machine.counters(category));
        let failures = counters.iter().map(|counters| counters.failed_attempts + counters.failed_later);
        roaming.all.handle_attempts(now, station, failures.sum(), io);
        let managed = &mut roaming.all.stations[station.index()];
        while managed.change.is_none()
            && !machine.has_message()
            && let Some(transmit) = managed.next_message(now)
        {
            let handle = roaming.all.messages.insert(transmit.message) | MESSAGE;
            machine.enqueue_management(now, transmit.to, Packet { handle, size: transmit.size });
        }
    }

    /// A client's data frame was acknowledged.
    pub(super) fn note_success(&mut self, at: Instant, station: StationIndex) {
        if let Some(roaming) = &mut self.roaming {
            roaming.all.handle_success(at, station);
        }
    }

    /// A station's radio leaves its channel: the MAC gives back what it has. What was sent already is lost,
    /// as its receiver may have it. Returns `true` if the radio is on the next channel at once.
    fn leave_channel(&mut self, now: Instant, station: StationIndex, io: &mut MediumIo<'_>) -> bool {
        let mut packets = Vec::new();
        self.machines[station.index()].leave_channel(now, &mut |withdrawn| packets.push(withdrawn));
        for withdrawn in packets {
            let Packet { handle, .. } = withdrawn.packet;
            if withdrawn.is_management {
                self.finish_message(now, station, handle, false, io);
            } else if withdrawn.was_sent {
                self.supply.finish(station, self.payloads.charge(handle));
                if let Some(report) = self.payloads.finish(now, handle, io) {
                    io.observe(station, Observation::Failed(report));
                }
            } else if let Some(roaming) = &mut self.roaming {
                let queue = &mut roaming.withdrawn[station.index()];
                queue.push_back((withdrawn.category, withdrawn.packet));
            }
        }
        let Some(roaming) = &mut self.roaming else { return false };
        roaming.is_detached[station.index()] = true;
        let has_arrived = roaming.all.stations[station.index()].begin_change(now);
        roaming.all.set_deadline(station);
        has_arrived
    }

    /// A client that has left a channel has an access point again, which may be the same one: both know where
    /// the other's windows begin, and the client's packets go there.
    pub(super) fn reattach(&mut self, now: Instant, client: StationIndex, io: &mut MediumIo<'_>) {
        let Some(roaming) = &mut self.roaming else { return };
        if !roaming.is_detached[client.index()] {
            return;
        }
        let Passage::To(point) = roaming.passage(client, None) else { return };
        roaming.is_detached[client.index()] = false;
        let ends = [client, point].map(|station| (station, roaming.all.address(station)));
        for (number, machine) in self.machines.iter_mut().enumerate() {
            let station = StationIndex::new(number);
            if roaming.is_access_point(station) {
                machine.set_gone(ends[0].1, station != point);
            }
        }
        let waiting = core::mem::take(&mut roaming.withdrawn[client.index()]);
        for category in AccessCategory::ALL {
            for [(from, sender), (to, receiver)] in [ends, [ends[1], ends[0]]] {
                let start = self.machines[from.index()].window_start(receiver, category);
                self.machines[to.index()].resume_reception(now, sender, category, start);
            }
        }
        for (category, packet) in waiting {
            self.payloads.redirect(packet.handle, point, io);
            self.supply.agree(client, point, category, &mut self.machines);
            let size = self.payloads.size(packet.handle) + LLC_BYTES;
            let packet = Packet { size, ..packet };
            self.machines[client.index()].enqueue(now, ends[1].1, category, packet);
        }
        let Self { machines, payloads, supply, roaming, .. } = self;
        let mut macs = Macs { machines, payloads, roaming: roaming.as_deref_mut() };
        supply.refill(now, client, &mut macs, io);
        self.settle(now, point, io);
    }
}
