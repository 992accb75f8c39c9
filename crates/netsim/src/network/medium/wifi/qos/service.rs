//! Service periods: the delivery of kept packets after a trigger (U-APSD).

use whimbrel_units::Instant;
use whimbrel_wifi::edca::{AccessCategory, Ppdu};
use whimbrel_wifi::frame::bytes::Flags;
use whimbrel_wifi::infrastructure::{END_OF_SERVICE, Uapsd};
use whimbrel_wifi::{FrameKind, MacAddress};

use super::super::managed::Machine;
use super::{QosMedium, Stations};
use crate::StationIndex;
use crate::medium::MediumIo;

/// A frame that triggers a service period.
#[derive(Clone, Copy, Debug)]
pub(in super::super) struct Trigger {
    pub(in super::super) point: StationIndex,
    pub(in super::super) client: StationIndex,
    pub(in super::super) category: AccessCategory,
}

impl QosMedium {
    /// `true` if a station's radio is off to save power.
    pub fn is_dozing(&self, station: StationIndex) -> bool {
        let roaming = self.stations.roaming.as_ref();
        roaming.is_some_and(|roaming| roaming.all.stations[station.index()].dozes.is_some())
    }

    /// Sets the power management bit of a dozing client's data frames, and the end of a service period in the
    /// access point's last one.
    pub(super) fn mark_service(&self, station: StationIndex, ppdu: &mut Ppdu) {
        let Some(roaming) = &self.stations.roaming else { return };
        if !matches!(ppdu.frame.kind, FrameKind::Data | FrameKind::Aggregate) {
            return;
        }
        match &roaming.all.stations[station.index()].machine {
            Machine::Client(client) if client.announces_doze() => {
                ppdu.frame.addressing.flags.0 |= Flags::POWER_MANAGEMENT.0;
            }
            Machine::AccessPoint(point) => {
                let Some(client) = roaming.all.number(ppdu.frame.receiver) else { return };
                let delivered = point.delivered_to(ppdu.frame.receiver);
                if roaming.served.contains(&(station, client))
                    && self.stations.waiting(station, ppdu.frame.receiver, delivered) == ppdu.packets.len()
                {
                    ppdu.frame.addressing.identifier |= END_OF_SERVICE;
                }
            }
            _ => {}
        }
    }
}

impl Stations {
    /// Packets of these categories at a MAC for a receiver.
    fn waiting(&self, station: StationIndex, receiver: MacAddress, categories: Uapsd) -> usize {
        let machine = &self.machines[station.index()];
        let of_set = AccessCategory::ALL.into_iter().filter(|&category| categories.contains(category));
        of_set.map(|category| machine.waiting(receiver, category)).sum()
    }

    /// Begins the service periods that frames have triggered.
    pub(super) fn follow_triggers(&mut self, now: Instant, io: &mut MediumIo<'_>) {
        while let Some(roaming) = &mut self.roaming
            && let Some(Trigger { point: station, client, category }) = roaming.all.triggers.pop_front()
        {
            let address = roaming.all.address(client);
            let Machine::AccessPoint(point) = &roaming.all.stations[station.index()].machine else {
                continue;
            };
            let delivered = point.delivered_to(address);
            if !delivered.contains(category)
                || !point.is_dozing(address)
                || roaming.served.contains(&(station, client))
            {
                continue;
            }
            let is_kept = roaming.kept.has(station, Some(client), delivered);
            if is_kept || self.waiting(station, address, delivered) > 0 {
                self.begin_service(now, station, client, delivered, io);
            } else {
                self.answer_trigger(now, station, address, io);
            }
            self.set_deadline(station);
        }
    }

    fn begin_service(
        &mut self,
        now: Instant,
        station: StationIndex,
        client: StationIndex,
        delivered: Uapsd,
        io: &mut MediumIo<'_>,
    ) {
        let Some(roaming) = &mut self.roaming else { return };
        roaming.served.insert((station, client));
        let address = roaming.all.address(client);
        let is_delivered = |category| delivered.contains(category);
        self.machines[station.index()].set_paused(now, address, is_delivered, false);
        self.release_kept(now, station, Some(client), delivered, io);
    }

    /// A null frame ends the service period of a client for which nothing is kept.
    fn answer_trigger(
        &mut self,
        now: Instant,
        station: StationIndex,
        client: MacAddress,
        io: &mut MediumIo<'_>,
    ) {
        let Some(roaming) = &mut self.roaming else { return };
        if let Machine::AccessPoint(point) = &mut roaming.all.stations[station.index()].machine {
            point.end_service(client);
            roaming.all.drain(now, station, io);
        }
        self.supply_messages(now, station, io);
    }

    /// Ends the service periods of an access point whose packets are done.
    pub(super) fn end_services(&mut self, now: Instant, station: StationIndex) {
        let Some(roaming) = &self.roaming else { return };
        let of_station = roaming.served.range((station, StationIndex(0))..=(station, StationIndex(u32::MAX)));
        let clients: Vec<StationIndex> = of_station.map(|&(_, client)| client).collect();
        for client in clients {
            let Some(roaming) = &mut self.roaming else { return };
            let address = roaming.all.address(client);
            let Machine::AccessPoint(point) = &roaming.all.stations[station.index()].machine else { return };
            let (delivered, is_dozing) = (point.delivered_to(address), point.is_dozing(address));
            if self.waiting(station, address, delivered) > 0 {
                continue;
            }
            if let Some(roaming) = &mut self.roaming {
                roaming.served.remove(&(station, client));
            }
            if is_dozing {
                let is_delivered = |category| delivered.contains(category);
                self.machines[station.index()].set_paused(now, address, is_delivered, true);
            }
        }
    }

    /// A null frame of the access point has ended the service period of a client.
    pub(super) fn handle_service_end(
        &mut self,
        now: Instant,
        station: StationIndex,
        transmitter: MacAddress,
        io: &mut MediumIo<'_>,
    ) {
        let is_idle = self.machines[station.index()].has_no_packets();
        let Some(roaming) = &mut self.roaming else { return };
        if let Machine::Client(client) = &mut roaming.all.stations[station.index()].machine
            && client.access_point() == Some(transmitter)
        {
            client.handle_service_end(now, is_idle);
            roaming.all.drain(now, station, io);
        }
    }
}
