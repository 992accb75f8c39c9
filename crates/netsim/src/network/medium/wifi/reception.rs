//! The reports of the air to the stations.

use whimbrel_units::{Duration, Instant};
use whimbrel_wifi::dcf::ReceptionError;
use whimbrel_wifi::medium::{Listener, LossCause};
use whimbrel_wifi::site::Site;
use whimbrel_wifi::{Frame as MacFrame, FrameKind};

use super::{MESSAGE, MediumIo, MediumLoss, Stations};

/// The stations while the air reports to them.
pub(super) struct Reception<'a, 'b> {
    pub(super) stations: &'a mut Stations,
    pub(super) site: &'a Site,
    pub(super) io: &'a mut MediumIo<'b>,
}

impl Listener for Reception<'_, '_> {
    fn busy(&mut self, now: Instant, station: u32) {
        let station = station as usize;
        self.stations.machines[station].handle_busy(now);
        if let Some(infrastructure) = &mut self.stations.infrastructure {
            infrastructure.handle_activity(now, station);
        }
        self.stations.deadlines.set(station, self.stations.machines[station].poll_timeout());
    }

    fn idle(&mut self, now: Instant, station: u32) {
        self.stations.machines[station as usize].handle_idle(now);
        self.stations.settle(now, station as usize, self.io);
    }

    fn received(&mut self, now: Instant, station: u32, frame: &MacFrame) {
        if let Some(monitor) = &mut self.stations.monitor {
            monitor.receive(station as usize, frame);
        }
        if frame.kind == FrameKind::Management
            && let Some(infrastructure) = &mut self.stations.infrastructure
        {
            infrastructure.note_power(now, station as usize, frame, self.site);
        }
        self.stations.machines[station as usize].handle_frame(now, frame);
        self.stations.settle(now, station as usize, self.io);
    }

    fn error(&mut self, now: Instant, station: u32, error: ReceptionError) {
        self.stations.machines[station as usize].handle_error(now, error);
        self.stations.settle(now, station as usize, self.io);
    }

    fn lost(&mut self, _: Instant, station: u32, frame: &MacFrame, cause: LossCause) {
        if frame.kind == FrameKind::Data
            && frame.receiver == self.stations.machines[station as usize].address()
        {
            self.stations.payloads.lose(frame.payload, cause.into());
        }
    }

    fn ended(&mut self, _: Instant, frame: &MacFrame) {
        match frame.kind {
            FrameKind::Data => self.stations.payloads.end_transmission(frame.payload, self.io),
            FrameKind::Management => {
                if let Some(infrastructure) = &mut self.stations.infrastructure {
                    infrastructure.messages.end_transmission(frame.payload & !MESSAGE);
                }
            }
            FrameKind::Rts | FrameKind::Cts | FrameKind::Ack => {}
        }
    }

    fn captured(&mut self, now: Instant, station: u32, air_time: Duration) {
        self.stations.machines[station as usize].handle_captured(now, air_time);
        self.stations.settle(now, station as usize, self.io);
    }
}

impl From<LossCause> for MediumLoss {
    fn from(cause: LossCause) -> Self {
        match cause {
            LossCause::Collision => Self::Collision,
            LossCause::Capture => Self::Capture,
            LossCause::BelowThreshold => Self::OutOfRange,
            LossCause::HalfDuplex => Self::HalfDuplex,
            LossCause::Noise => Self::Noise,
            LossCause::OffChannel => Self::OffChannel,
        }
    }
}
