//! Notes of the transmissions, for observers of a run.

use whimbrel_units::Instant;
use whimbrel_wifi::FrameKind;
use whimbrel_wifi::edca::{Ppdu, Received};

use super::super::infrastructure::MESSAGE;
use super::super::monitor::{AirFrame, Monitor};
use super::{QosMedium, Stations};
use crate::StationIndex;

impl QosMedium {
    /// Notes the next transmissions, up to this number.
    pub fn monitor(&mut self, limit: usize) {
        self.stations.monitor = Some(Box::new(Monitor::new(limit, self.site.stations())));
    }

    /// The transmissions that were noted, in the order of their beginnings.
    pub fn frames(&self) -> &[AirFrame] {
        self.stations.monitor.as_ref().map_or(&[], |monitor| monitor.frames())
    }

    /// Beginning of the first transmission that was not noted because of the limit.
    pub fn frames_end(&self) -> Option<Instant> {
        self.stations.monitor.as_ref().and_then(|monitor| monitor.full_at())
    }
}

impl Stations {
    /// Notes a transmission that begins.
    pub(super) fn note(
        &mut self,
        now: Instant,
        station: StationIndex,
        to: Option<StationIndex>,
        ppdu: &Ppdu,
    ) {
        let Some(monitor) = &mut self.monitor else { return };
        let packet = ppdu.packets.first().filter(|packet| packet.handle & MESSAGE == 0);
        let packet = packet.and_then(|packet| self.payloads.packet(packet.handle));
        monitor.begin(now, station, to, &ppdu.frame, packet);
        if ppdu.frame.kind == FrameKind::Aggregate {
            monitor.aggregate(station, ppdu.mpdus.len());
        }
    }
}

/// A station has received a transmission, or of an A-MPDU the MPDUs of `received`.
pub(super) fn note_arrival(
    monitor: &mut Monitor,
    station: StationIndex,
    is_receiver: bool,
    ppdu: &Ppdu,
    received: &Received,
) {
    let Some(sender) = ppdu.frame.transmitter.number().map(StationIndex) else { return };
    let arrived = (0..ppdu.mpdus.len()).filter(|&place| received.contains(place)).count();
    match ppdu.frame.kind {
        FrameKind::Aggregate if is_receiver => monitor.receive_mpdus(sender, arrived),
        FrameKind::Data if arrived == 0 => {}
        _ => monitor.receive(station, sender),
    }
}
