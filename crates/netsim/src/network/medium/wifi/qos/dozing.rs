//! Clients that doze, and the packets that access points keep for them.

use std::collections::{BTreeMap, VecDeque};

use whimbrel_units::Instant;
use whimbrel_wifi::edca::{AccessCategory, Ppdu};
use whimbrel_wifi::frame::bytes::Flags;
use whimbrel_wifi::infrastructure::{END_OF_SERVICE, ManagementMessage, Uapsd};
use whimbrel_wifi::{Frame, FrameKind, MacAddress};

use super::super::infrastructure::{Infrastructure, MESSAGE};
use super::super::managed::Machine;
use super::roaming::Roaming;
use super::service::Trigger;
use super::supply::Macs;
use super::{QosMedium, Reception, Stations};
use crate::StationIndex;
use crate::medium::{MediumIo, MediumLoss, TakenPacket};

/// A packet that is kept, since this time.
struct KeptPacket(Instant, TakenPacket);

/// Packets that access points keep, by category, for each client that dozes and for groups (`None`).
#[derive(Default)]
pub(super) struct Kept {
    queues: BTreeMap<(StationIndex, Option<StationIndex>), [VecDeque<KeptPacket>; 4]>,
}

impl Kept {
    /// `true` if packets of these categories are kept.
    pub(super) fn has(&self, point: StationIndex, receiver: Option<StationIndex>, categories: Uapsd) -> bool {
        let Some(queues) = self.queues.get(&(point, receiver)) else { return false };
        let mut all = AccessCategory::ALL.into_iter();
        all.any(|category| categories.contains(category) && !queues[category as usize].is_empty())
    }
}

impl Infrastructure {
    /// A client has a packet to send.
    fn handle_own_packet(
        &mut self,
        now: Instant,
        station: StationIndex,
        category: AccessCategory,
        io: &mut MediumIo<'_>,
    ) {
        if let Machine::Client(client) = &mut self.stations[station.index()].machine
            && client.config().power_save.is_some()
        {
            client.handle_own_packet(now, category);
            self.drain(now, station, io);
        }
    }

    /// A station has a data frame. The power management bit informs an access point that the client is
    /// awake, or the frame triggers a service period. A client learns from group frames whether there are
    /// more, and from frames for itself whether the service period ends; `is_whole` if no MPDU is to be
    /// repeated, and `is_idle` if the MAC has nothing to send.
    pub(super) fn handle_data_frame(
        &mut self,
        now: Instant,
        station: StationIndex,
        frame: &Frame,
        (is_whole, is_idle): (bool, bool),
        io: &mut MediumIo<'_>,
    ) {
        let sender = self.number(frame.transmitter);
        let own = self.address(station);
        let is_group = frame.receiver.is_group();
        match &mut self.stations[station.index()].machine {
            Machine::AccessPoint(point) if frame.receiver == own && point.is_dozing(frame.transmitter) => {
                if frame.addressing.flags.contains(Flags::POWER_MANAGEMENT) {
                    let category = AccessCategory::of_priority(frame.addressing.identifier);
                    let trigger = |client| Trigger { point: station, client, category };
                    self.triggers.extend(sender.map(trigger));
                    return;
                }
                point.handle_power_management(frame.transmitter, false);
            }
            Machine::Client(client)
                if frame.receiver == own && client.access_point() == Some(frame.transmitter) =>
            {
                client.handle_packet_of(now, AccessCategory::of_priority(frame.addressing.identifier));
                if is_whole && frame.addressing.identifier & END_OF_SERVICE != 0 {
                    client.handle_service_end(now, is_idle);
                }
            }
            Machine::Client(client) if is_group && client.access_point() == Some(frame.transmitter) => {
                client.handle_group(now, frame.addressing.flags.contains(Flags::MORE_DATA));
            }
            _ => return,
        }
        self.drain(now, station, io);
    }
}

impl Roaming {
    /// Keeps a packet whose receiver dozes. Returns any other.
    pub(super) fn keep(
        &mut self,
        now: Instant,
        station: StationIndex,
        category: AccessCategory,
        frame: TakenPacket,
        io: &mut MediumIo<'_>,
    ) -> Option<TakenPacket> {
        let Machine::AccessPoint(point) = &self.all.stations[station.index()].machine else {
            return Some(frame);
        };
        let is_kept = match frame.receiver {
            Some(client) => point.is_dozing(self.all.address(client)),
            None => point.dozing().next().is_some(),
        };
        if !is_kept {
            return Some(frame);
        }
        let limit = point.config().power_save_buffer;
        let queue = &mut self.kept.queues.entry((station, frame.receiver)).or_default()[category as usize];
        // The oldest packet is dropped, like in Linux (`ieee80211_tx_h_unicast_ps_buf`).
        if queue.len() >= limit
            && let Some(KeptPacket(_, oldest)) = queue.pop_front()
        {
            lose(oldest, MediumLoss::PowerSave, io);
        }
        queue.push_back(KeptPacket(now, frame));
        None
    }

    /// Packets that an access point has kept for too long are lost.
    fn age(&mut self, now: Instant, station: StationIndex, io: &mut MediumIo<'_>) {
        let Self { all, kept, .. } = self;
        let Machine::AccessPoint(point) = &all.stations[station.index()].machine else { return };
        for (&(keeper, receiver), queues) in kept.queues.range_mut((station, None)..) {
            if keeper != station {
                break;
            }
            // Groups' packets wait for a beacon at most.
            let Some(client) = receiver else { continue };
            let lifetime = point.lifetime(all.address(client));
            for queue in queues {
                while queue.front().is_some_and(|&KeptPacket(since, _)| since + lifetime <= now)
                    && let Some(KeptPacket(_, frame)) = queue.pop_front()
                {
                    lose(frame, MediumLoss::PowerSave, io);
                }
            }
        }
    }
}

/// A broadcast has no receiver that could miss it.
fn lose(frame: TakenPacket, cause: MediumLoss, io: &mut MediumIo<'_>) {
    if frame.receiver.is_some() { io.lose(frame, cause) } else { io.release(frame) }
}

impl QosMedium {
    /// A client has a packet to send, and is awake from now on.
    pub(super) fn handle_own_packet(&mut self, now: Instant, station: StationIndex, io: &mut MediumIo<'_>) {
        if let Some(roaming) = &mut self.stations.roaming {
            let lane = io.lane(station, io.last_lane(station));
            let category = AccessCategory::ALL[usize::from(lane.class)];
            roaming.all.handle_own_packet(now, station, category, io);
            self.follow_doze(now, io);
        }
    }

    /// Radios are switched off, once the MAC is idle, and on.
    pub(super) fn follow_doze(&mut self, now: Instant, io: &mut MediumIo<'_>) {
        let mut position = 0;
        while let Some(roaming) = &mut self.stations.roaming
            && let Some(&station) = roaming.all.drowsy.get(position)
        {
            let managed = &mut roaming.all.stations[station.index()];
            let is_dozing = matches!(&managed.machine, Machine::Client(client) if client.is_dozing());
            if is_dozing && !self.stations.machines[station.index()].is_idle() {
                position += 1;
                continue;
            }
            roaming.all.drowsy.swap_remove(position);
            let managed = &mut roaming.all.stations[station.index()];
            if is_dozing && managed.dozes.is_none() {
                managed.dozes = managed.channel.take();
                let mut reception = Reception { stations: &mut self.stations, site: &self.site, io };
                self.air.leave(now, station, &mut reception);
                self.stations.settle(now, station, io);
            } else if !is_dozing && let Some(channel) = managed.dozes.take() {
                managed.channel = Some(channel);
                self.enter_channel(now, station, io);
                self.stations.settle(now, station, io);
            }
        }
    }

    /// Sets the flags of a data frame that concern dozing stations.
    pub(super) fn mark_group(&self, station: StationIndex, ppdu: &mut Ppdu) {
        let is_group = ppdu.frame.kind == FrameKind::Data && ppdu.frame.receiver.is_group();
        if is_group && self.stations.roaming.is_some() && self.is_access_point(station) {
            let machine = &self.stations.machines[station.index()];
            let waiting = |category| machine.waiting(MacAddress::BROADCAST, category);
            if AccessCategory::ALL.into_iter().map(waiting).sum::<usize>() > ppdu.packets.len() {
                ppdu.frame.addressing.flags.0 |= Flags::MORE_DATA.0;
            }
        }
    }
}

impl Stations {
    /// Reason for which a station is not on the channel of a frame for it.
    pub(super) fn cause_off_channel(&self, to: Option<StationIndex>) -> MediumLoss {
        let is_dozing = to.zip(self.roaming.as_ref()).is_some_and(|(to, roaming)| {
            roaming.all.stations.get(to.index()).is_some_and(|managed| managed.dozes.is_some())
        });
        if is_dozing { MediumLoss::PowerSave } else { MediumLoss::OffChannel }
    }

    /// Updates an access point's traffic indication map before its beacon.
    pub(super) fn mark_kept(&mut self, now: Instant, station: StationIndex, io: &mut MediumIo<'_>) {
        let Some(roaming) = &mut self.roaming else { return };
        roaming.age(now, station, io);
        let Roaming { all, kept, .. } = &mut **roaming;
        let Machine::AccessPoint(point) = &all.stations[station.index()].machine else { return };
        if point.config().dtim_period.is_none() {
            return;
        }
        let machine = &self.machines[station.index()];
        let is_kept = |client: MacAddress| {
            let announced = point.delivered_to(client).announced();
            let mut categories =
                AccessCategory::ALL.into_iter().filter(|&category| announced.contains(category));
            all.number(client).is_some_and(|client| kept.has(station, Some(client), announced))
                || categories.any(|category| machine.waiting(client, category) > 0)
        };
        let clients: Vec<_> = point.dozing().map(|client| (client, is_kept(client))).collect();
        let has_group = kept.has(station, None, Uapsd::ALL);
        let Machine::AccessPoint(point) = &mut all.stations[station.index()].machine else { return };
        clients.into_iter().for_each(|(client, is_kept)| point.keep_for(client, is_kept));
        point.keep_group(has_group);
    }

    /// The MAC is done with a message: group frames follow a beacon that announces them, and a client whose
    /// null frame was acknowledged dozes.
    pub(super) fn follow_message(
        &mut self,
        now: Instant,
        station: StationIndex,
        handle: u64,
        is_sent: bool,
        io: &mut MediumIo<'_>,
    ) {
        let Some(roaming) = &mut self.roaming else { return };
        match roaming.all.messages.get(handle & !MESSAGE) {
            Some(ManagementMessage::Beacon(content))
                if content.traffic.as_ref().is_some_and(|traffic| traffic.announces_group()) =>
            {
                self.release_kept(now, station, None, Uapsd::ALL, io);
            }
            Some(&ManagementMessage::Null { is_dozing }) => {
                let is_idle = self.machines[station.index()].has_no_packets();
                if let Machine::Client(client) = &mut roaming.all.stations[station.index()].machine {
                    client.handle_null(now, is_dozing, is_sent, is_idle);
                    roaming.all.drain(now, station, io);
                }
            }
            _ => {}
        }
    }

    /// Access points have learnt that clients doze, are awake, or have left.
    pub(super) fn follow_clients(&mut self, now: Instant, io: &mut MediumIo<'_>) {
        while let Some(roaming) = &mut self.roaming
            && let Some((station, client)) = roaming.all.learnt.pop_front()
        {
            let address = roaming.all.address(client);
            let Machine::AccessPoint(point) = &roaming.all.stations[station.index()].machine else {
                continue;
            };
            let is_dozing = point.is_dozing(address);
            self.machines[station.index()].set_paused(now, address, |_| true, is_dozing);
            roaming.served.remove(&(station, client));
            if !is_dozing {
                self.release_kept(now, station, Some(client), Uapsd::ALL, io);
                let Self { machines, payloads, supply, roaming, .. } = self;
                let mut macs = Macs { machines, payloads, roaming: roaming.as_deref_mut() };
                supply.refill(now, station, &mut macs, io);
            }
            self.set_deadline(station);
        }
    }

    /// The packets of these categories that an access point has kept go to its MAC, or are lost with the
    /// client's association.
    pub(super) fn release_kept(
        &mut self,
        now: Instant,
        station: StationIndex,
        receiver: Option<StationIndex>,
        categories: Uapsd,
        io: &mut MediumIo<'_>,
    ) {
        for category in AccessCategory::ALL.into_iter().filter(|&category| categories.contains(category)) {
            while let Some(roaming) = &mut self.roaming
                && let Some(queues) = roaming.kept.queues.get_mut(&(station, receiver))
                && let Some(KeptPacket(_, frame)) = queues[category as usize].pop_front()
            {
                let Machine::AccessPoint(point) = &roaming.all.stations[station.index()].machine else {
                    return;
                };
                if receiver.is_some_and(|client| !point.is_associated(roaming.all.address(client))) {
                    io.lose(frame, MediumLoss::NotAssociated);
                    continue;
                }
                let Self { machines, payloads, supply, .. } = self;
                let mut macs = Macs { machines, payloads, roaming: None };
                supply.hand_over(now, station, category, frame, &mut macs, io);
            }
        }
        self.set_deadline(station);
    }
}
