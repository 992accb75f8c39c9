//! The next frame of a station's MAC.

use whimbrel_units::Instant;
use whimbrel_wifi::dcf::Outgoing;
use whimbrel_wifi::frame::bytes::Flags;
use whimbrel_wifi::{Addressing, FrameKind, MacAddress, Rate};

use super::arp::{ARP, Arp, Item};
use super::infrastructure::{Infrastructure, MESSAGE};
use super::managed::Machine;
use super::payloads::Payloads;
use crate::StationIndex;
use crate::medium::{MediumIo, MediumLoss, TakenPacket};

/// The parameters and payloads of the frames that are made of packets.
pub(super) struct Supply<'a> {
    pub(super) payloads: &'a mut Payloads,
    pub(super) arp: Option<&'a mut Arp>,
    /// Bytes between the MAC's header and the packet.
    pub(super) llc_bytes: u32,
    /// Rate of management frames.
    pub(super) management_rate: Rate,
}

impl Supply<'_> {
    /// The next packet of a station that sends to its neighbours directly.
    pub(super) fn ad_hoc(
        &mut self,
        now: Instant,
        station: StationIndex,
        address: impl FnOnce(StationIndex) -> MacAddress,
        io: &mut MediumIo<'_>,
    ) -> Option<Outgoing> {
        let (frame, since) = match &mut self.arp {
            None => (io.take(station)?, now),
            Some(arp) => match arp.next(now, station, io)? {
                Item::Packet(packet) => (packet.frame, packet.since),
                Item::Message(message) => {
                    let payload = arp.messages.insert(message) | ARP;
                    return Some(Outgoing::data(message.receiver(address), arp.message_size(), payload));
                }
            },
        };
        let receiver = frame.receiver.map_or(MacAddress::BROADCAST, address);
        Some(self.packet(since, frame, receiver, io))
    }

    /// A packet that was taken at `since`, for the station with this address.
    fn packet(&mut self, since: Instant, frame: TakenPacket, to: MacAddress, io: &MediumIo<'_>) -> Outgoing {
        let (size, receiver) = (frame.size + self.llc_bytes, frame.receiver);
        Outgoing::data(to, size, self.payloads.insert(since, frame, receiver, io))
    }

    /// The next frame of a station of a network with access points: messages first.
    pub(super) fn next(
        &mut self,
        now: Instant,
        station: StationIndex,
        infrastructure: &mut Infrastructure,
        io: &mut MediumIo<'_>,
    ) -> Option<Outgoing> {
        let managed = &mut infrastructure.stations[station.index()];
        if managed.change.is_some() {
            return None;
        }
        if let Some(transmit) = managed.next_message(now) {
            let own = infrastructure.address(station);
            let is_access_point =
                matches!(infrastructure.stations[station.index()].machine, Machine::AccessPoint(_));
            let bssid = if is_access_point { own } else { transmit.to };
            return Some(Outgoing {
                receiver: transmit.to,
                size: transmit.size,
                payload: infrastructure.messages.insert(transmit.message) | MESSAGE,
                kind: FrameKind::Management,
                rate: Some(self.management_rate),
                addressing: Addressing {
                    subtype: transmit.message.subtype(),
                    address3: Some(bssid),
                    ..Addressing::default()
                },
            });
        }
        match &managed.machine {
            Machine::None => self.ad_hoc(now, station, |to| infrastructure.address(to), io),
            Machine::AccessPoint(_) => self.access_point(now, station, infrastructure, io),
            Machine::Client(_) => self.client(now, station, infrastructure, io),
        }
    }

    /// Broadcasts of clients first. Packets for clients that have left since they were queued are lost, as
    /// when an access point discards the queue of a station that it removes.
    fn access_point(
        &mut self,
        now: Instant,
        station: StationIndex,
        infrastructure: &mut Infrastructure,
        io: &mut MediumIo<'_>,
    ) -> Option<Outgoing> {
        let own = infrastructure.address(station);
        let from_ds =
            |source| Addressing { flags: Flags::FROM_DS, address3: Some(source), ..Addressing::default() };
        if let Some(payload) = infrastructure.stations[station.index()].relays.pop_front() {
            let source = self.payloads.sender(payload).map_or(own, |sender| infrastructure.address(sender));
            let size = self.payloads.size(payload) + self.llc_bytes;
            let outgoing = Outgoing::data(MacAddress::BROADCAST, size, payload);
            return Some(Outgoing { addressing: from_ds(source), ..outgoing });
        }
        let Machine::AccessPoint(access_point) = &infrastructure.stations[station.index()].machine else {
            return None;
        };
        loop {
            let frame = io.take(station)?;
            let to = frame.receiver;
            let receiver = to.map_or(MacAddress::BROADCAST, |to| infrastructure.address(to));
            if to.is_some() && !access_point.is_associated(receiver) {
                io.lose(frame, MediumLoss::NotAssociated);
                continue;
            }
            let rate = access_point.config().data_rate.filter(|_| to.is_some());
            let outgoing = self.packet(now, frame, receiver, io);
            return Some(Outgoing { addressing: from_ds(own), rate, ..outgoing });
        }
    }

    /// A client sends everything to its access point. While it has none, its packets wait.
    fn client(
        &mut self,
        now: Instant,
        station: StationIndex,
        infrastructure: &mut Infrastructure,
        io: &mut MediumIo<'_>,
    ) -> Option<Outgoing> {
        let managed = &mut infrastructure.stations[station.index()];
        let Machine::Client(client) = &managed.machine else { return None };
        if !managed.is_supplied() {
            return None;
        }
        let bssid = client.access_point()?;
        let held = managed.held.take();
        let access_point = infrastructure.number(bssid)?;
        let rate = infrastructure.data_rate(access_point);
        let to_ds = |destination| Addressing {
            flags: Flags::TO_DS,
            address3: Some(destination),
            ..Addressing::default()
        };
        if let Some(outgoing) = held {
            self.payloads.redirect(outgoing.payload, access_point, io);
            let is_broadcast = self.payloads.is_broadcast(outgoing.payload);
            let destination = if is_broadcast { MacAddress::BROADCAST } else { bssid };
            let data = Outgoing::data(bssid, outgoing.size, outgoing.payload);
            return Some(Outgoing { addressing: to_ds(destination), rate, ..data });
        }
        let mut frame = io.take(station)?;
        let destination = frame.receiver.map_or(MacAddress::BROADCAST, |to| infrastructure.address(to));
        if let Some(receiver) = &mut frame.receiver {
            *receiver = access_point;
        }
        let size = frame.size + self.llc_bytes;
        let payload = self.payloads.insert(now, frame, Some(access_point), io);
        Some(Outgoing { addressing: to_ds(destination), rate, ..Outgoing::data(bssid, size, payload) })
    }
}
