//! Deadlines of the management, and changes of the channel.

use whimbrel_units::Instant;
use whimbrel_wifi::FrameKind;
use whimbrel_wifi::dcf::Protection;

use super::{Reception, Stations, WifiMedium};
use crate::StationIndex;
use crate::medium::MediumIo;

impl WifiMedium {
    /// Stations begin or cease to protect their OFDM frames, as access points have announced.
    pub(super) fn protect(&mut self) {
        let Stations { infrastructure: Some(infrastructure), machines, .. } = &mut self.stations else {
            return;
        };
        let Some(protection) = infrastructure.protection else { return };
        for (station, is_used) in infrastructure.protected.drain(..) {
            machines[station.index()].set_protection(if is_used { protection } else { Protection::None });
        }
    }

    /// Radios leave their channels where the MAC's frame or response has ended.
    pub(super) fn retune(&mut self, now: Instant, io: &mut MediumIo<'_>) {
        let mut position = 0;
        while let Some(infrastructure) = &mut self.stations.infrastructure
            && let Some(&station) = infrastructure.leaving.get(position)
        {
            if self.stations.machines[station.index()].is_engaged() {
                position += 1;
                continue;
            }
            infrastructure.leaving.swap_remove(position);
            let mut reception = Reception::new(&mut self.stations, &self.site, io);
            self.air.leave(now, station, &mut reception);
            if self.stations.leave_channel(now, station) {
                self.enter_channel(now, station, io);
            }
            self.stations.settle(now, station, io);
        }
    }

    /// A station's radio is on another channel. It senses the frames that are on the air there.
    fn enter_channel(&mut self, now: Instant, station: StationIndex, io: &mut MediumIo<'_>) {
        let Some(infrastructure) = &self.stations.infrastructure else { return };
        let channel = infrastructure.stations[station.index()].channel;
        let mut links = Vec::new();
        for sender in
            self.air.senders().filter(|&sender| infrastructure.stations[sender.index()].channel == channel)
        {
            let sensed = self.site.links(sender, now).iter().find(|link| link.station == station);
            links.extend(sensed.map(|&link| (sender, link)));
        }
        self.stations.machines[station.index()].enter_channel(now);
        let mut reception = Reception::new(&mut self.stations, &self.site, io);
        self.air.enter(now, station, &links, &mut reception);
    }

    /// Processes a deadline of the management. Returns `false` if none is due.
    pub(super) fn manage(&mut self, now: Instant, io: &mut MediumIo<'_>) -> bool {
        let Some(infrastructure) = &mut self.stations.infrastructure else { return false };
        let Some((station, _)) = infrastructure.deadlines.first().filter(|&(_, at)| at <= now) else {
            return false;
        };
        if infrastructure.handle_timeout(now, StationIndex::new(station), &self.site, io) {
            self.enter_channel(now, StationIndex::new(station), io);
        }
        if let (Some(machine), Some(infrastructure)) =
            (self.stations.machines.get(station), &mut self.stations.infrastructure)
        {
            if machine.is_sensing_energy() {
                // A frame that began before the wait for activity is activity, too.
                infrastructure.handle_activity(now, StationIndex::new(station));
            }
            self.stations.settle(now, StationIndex::new(station), io);
        }
        true
    }
}

impl Stations {
    /// A station's radio leaves its channel: the MAC gives back what it has in service. Returns `true` if the
    /// radio is on the next channel at once.
    fn leave_channel(&mut self, now: Instant, station: StationIndex) -> bool {
        let withdrawn = self.machines[station.index()].leave_channel(now);
        let Some(infrastructure) = &mut self.infrastructure else { return false };
        let has_arrived = infrastructure.stations[station.index()].begin_change(now);
        infrastructure.set_deadline(station);
        match withdrawn {
            Some(outgoing) if outgoing.kind == FrameKind::Data => {
                infrastructure.stations[station.index()].held = Some(outgoing);
            }
            Some(outgoing) => infrastructure.finish_message(station, outgoing.payload, false),
            None => {}
        }
        has_arrived
    }
}
