//! The reports of the air to the stations.

use whimbrel_units::{Duration, Instant};
use whimbrel_wifi::dcf::{ReceptionError, Sensed};
use whimbrel_wifi::medium::{Listener, ReceptionLoss};
use whimbrel_wifi::site::Site;
use whimbrel_wifi::{Frame, FrameKind};

use super::arp::ARP;
use super::infrastructure::MESSAGE;
use super::stations::{Stations, is_arp};
use crate::StationIndex;
use crate::medium::{MediumIo, MediumLoss};

/// The stations while the air reports to them.
pub(super) struct Reception<'a, 'b> {
    stations: &'a mut Stations,
    site: &'a Site,
    io: &'a mut MediumIo<'b>,
    /// Nothing else is to be done before this time: no station has an earlier deadline, nothing else happens
    /// in the network, and there are no effects to apply.
    limit: Instant,
}

impl<'a, 'b> Reception<'a, 'b> {
    pub(super) fn new(stations: &'a mut Stations, site: &'a Site, io: &'a mut MediumIo<'b>) -> Self {
        let is_free = stations.infrastructure.is_none() && io.may_advance();
        let limit = if is_free { stations.next_deadline().min(io.horizon) } else { Instant::ZERO };
        Self { stations, site, io, limit }
    }

    /// Processes what a MAC has to report after a reception, which mostly is nothing, and notes its deadline.
    #[inline]
    fn update(&mut self, now: Instant, station: StationIndex) {
        if self.stations.is_to_settle(station) {
            self.stations.settle(now, station, self.io);
            self.limit = Instant::ZERO;
        } else {
            let deadline = self.set_deadline(station);
            self.limit = deadline.min(self.limit);
        }
    }

    #[inline]
    fn set_deadline(&mut self, station: StationIndex) -> Instant {
        let deadline = self.stations.machines[station.index()].next_deadline();
        self.stations.deadlines.set_time(station.index(), deadline);
        deadline
    }
}

impl Listener for Reception<'_, '_> {
    #[inline]
    fn limit(&self) -> Instant {
        self.limit
    }

    #[inline]
    fn advance(&mut self, now: Instant, steps: u64) {
        self.io.step(now, steps);
    }

    fn busy(&mut self, now: Instant, station: StationIndex) {
        self.stations.machines[station.index()].handle_busy(now);
        if let Some(infrastructure) = &mut self.stations.infrastructure {
            infrastructure.handle_activity(now, station);
        }
        // Energy makes no deadline earlier.
        self.set_deadline(station);
    }

    fn idle(&mut self, now: Instant, station: StationIndex) {
        self.stations.machines[station.index()].handle_idle(now);
        self.update(now, station);
    }

    fn received(&mut self, now: Instant, station: StationIndex, frame: &Frame) {
        if self.stations.monitor.is_some() {
            let sender = self.stations.station(frame.transmitter);
            if let (Some(monitor), Some(sender)) = (&mut self.stations.monitor, sender) {
                monitor.receive(station, sender);
            }
        }
        if frame.kind == FrameKind::Management
            && let Some(infrastructure) = &mut self.stations.infrastructure
        {
            infrastructure.note_power(now, station, frame.transmitter, self.site);
        }
        self.stations.machines[station.index()].handle_frame(now, frame);
        self.update(now, station);
    }

    fn error(&mut self, now: Instant, station: StationIndex, error: ReceptionError) {
        self.stations.machines[station.index()].handle_error(now, error);
        self.update(now, station);
    }

    #[inline]
    fn lost(&mut self, _: Instant, station: StationIndex, frame: &Frame, cause: ReceptionLoss) {
        if frame.kind == FrameKind::Data && !is_arp(frame) && frame.receiver == self.stations.address(station)
        {
            self.stations.payloads.lose(frame.payload, cause.into());
        }
    }

    fn ended(&mut self, _: Instant, frame: &Frame) {
        match frame.kind {
            FrameKind::Data if is_arp(frame) => {
                if let Some(arp) = &mut self.stations.arp {
                    arp.messages.end_transmission(frame.payload & !ARP);
                }
            }
            FrameKind::Data => {
                self.stations.payloads.end_transmission(frame.payload, self.io);
                if !self.io.may_advance() {
                    self.limit = Instant::ZERO;
                }
            }
            FrameKind::Management => {
                if let Some(infrastructure) = &mut self.stations.infrastructure {
                    infrastructure.messages.end_transmission(frame.payload & !MESSAGE);
                }
            }
            _ => {}
        }
    }

    #[inline]
    fn is_passive(&self, station: StationIndex) -> bool {
        self.stations.infrastructure.is_none() && self.stations.machines[station.index()].is_passive()
    }

    #[inline]
    fn overhears(&self, station: StationIndex, frame: &Frame) -> bool {
        self.stations.monitor.is_none() && self.stations.machines[station.index()].overhears(frame)
    }

    fn sensed(&mut self, station: StationIndex, sensed: &Sensed) {
        self.stations.machines[station.index()].handle_sensed(sensed);
    }

    fn captured(&mut self, now: Instant, station: StationIndex, air_time: Duration) {
        self.stations.machines[station.index()].handle_captured(now, air_time);
        self.update(now, station);
    }
}

impl From<ReceptionLoss> for MediumLoss {
    fn from(cause: ReceptionLoss) -> Self {
        match cause {
            ReceptionLoss::Collision => Self::Collision,
            ReceptionLoss::Capture => Self::Capture,
            ReceptionLoss::BelowThreshold => Self::OutOfRange,
            ReceptionLoss::HalfDuplex => Self::HalfDuplex,
            ReceptionLoss::Noise => Self::Noise,
            ReceptionLoss::OffChannel => Self::OffChannel,
        }
    }
}
