//! Transmissions on the air, and their arrivals at the stations.

use alloc::vec::Vec;

use whimbrel_units::Instant;

use super::{Link, MediumConfig, ReceptionLoss};
use crate::StationIndex;
use crate::frame::{Frame, FrameKind};

/// State of a frame at one station.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Arrival {
    pub(super) link: Link,
    /// Cause of the loss by other frames, or by the station's own: see [`Arrival::loss`].
    pub(super) overlap: Option<ReceptionLoss>,
    /// The frame's energy counts for carrier sense.
    pub(super) is_sensed: bool,
    /// The station's radio has left the channel since the transmission began.
    pub(super) is_gone: bool,
}

impl Arrival {
    pub(super) const fn new(link: Link) -> Self {
        Self { link, overlap: None, is_sensed: false, is_gone: false }
    }

    /// The cause for which the frame is lost at the station, where it has begun.
    #[inline(always)]
    pub(super) fn loss(&self, config: &MediumConfig) -> Option<ReceptionLoss> {
        if self.overlap.is_some() {
            self.overlap
        } else if self.link.power < config.receive_threshold {
            Some(ReceptionLoss::BelowThreshold)
        } else if self.link.is_corrupted {
            Some(ReceptionLoss::Noise)
        } else {
            None
        }
    }

    /// The station's radio leaves the channel. Only a frame that is sensed there has begun.
    pub(super) fn abandon(&mut self, config: &MediumConfig) {
        let loss = if self.is_sensed { self.loss(config) } else { self.overlap };
        self.overlap = loss.or(Some(ReceptionLoss::OffChannel));
        self.is_gone = true;
        self.is_sensed = false;
    }

    /// The order of the arrivals of a transmission.
    pub(super) const fn order(&self) -> u64 {
        (self.link.delay as u64) << 32 | self.link.station.0 as u64
    }
}

/// Place of an arrival in the medium's state.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Place {
    pub(super) slot: u32,
    pub(super) index: u32,
}

#[derive(Clone, Debug)]
pub(super) struct OnAir {
    pub(super) sender: StationIndex,
    /// `false` if the slot is free.
    pub(super) is_in_use: bool,
    pub(super) frame: Frame,
    pub(super) start: Instant,
    pub(super) arrivals: Vec<Arrival>,
    /// The first arrival that has not begun.
    pub(super) next_start: u32,
    /// The first arrival that has not ended.
    pub(super) next_end: u32,
}

impl OnAir {
    /// The end of the preamble of an A-MPDU at the sender, after which its MPDUs are received one by one;
    /// `None` for other transmissions.
    pub(super) fn preamble_end(&self) -> Option<Instant> {
        let mode = self.frame.mode.filter(|_| self.frame.kind == FrameKind::Aggregate)?;
        Some(self.start + mode.preamble())
    }
}

/// An entry of the heap: the next beginnings or ends of a transmission's arrivals. Ends precede beginnings of
/// the same instant, so that adjacent frames do not overlap; then the order of transmissions decides.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct Due {
    pub(super) at: Instant,
    pub(super) is_start: bool,
    pub(super) number: u64,
    pub(super) slot: u32,
}
