//! A monitor of the air: all frames that the stations of a medium transmit.

use whimbrel_units::{Duration, Instant};
use whimbrel_wifi::phy::Rate;
use whimbrel_wifi::{Frame, FrameKind};

use crate::queue::FlowKey;
use crate::{PacketId, StationIndex};

/// A frame as the monitor notes it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AirFrame {
    /// Beginning of the transmission.
    pub at: Instant,
    /// Time on the air.
    pub air_time: Duration,
    /// The station that sends it.
    pub sender: StationIndex,
    /// The station that it is for; `None` for a group.
    pub receiver: Option<StationIndex>,
    /// Type of the frame.
    pub kind: FrameKind,
    /// Subtype of a management frame (8: beacon).
    pub subtype: u8,
    /// Length with header and frame check sequence, in bytes.
    pub size: u32,
    /// Transmission rate.
    pub rate: Rate,
    /// `true` for the repetition of a frame with a payload.
    pub is_retry: bool,
    /// Number and flow of the packet in it; `None` in control and management frames, and in data frames with
    /// an ARP message.
    pub packet: Option<(PacketId, FlowKey)>,
    /// `true` if its receiver, or any station of the group, has decoded it; of an A-MPDU, any of its MPDUs.
    pub is_received: bool,
    /// MPDUs of an A-MPDU, and of these the MPDUs that its receiver has decoded; 0 for all other frames.
    pub mpdus: [u16; 2],
}

/// The frames of a run up to a number.
#[derive(Debug, Default)]
pub(super) struct Monitor {
    frames: Vec<AirFrame>,
    limit: usize,
    /// The last frame of each station; a station sends one at a time.
    latest: Vec<usize>,
    /// Beginning of the first frame that was not noted.
    full_at: Option<Instant>,
}

impl Monitor {
    /// Notes up to `limit` frames of `stations` stations.
    pub(super) fn new(limit: usize, stations: usize) -> Self {
        Self { frames: Vec::new(), limit, latest: vec![usize::MAX; stations], full_at: None }
    }

    /// A station begins to transmit a frame for `receiver`, or for all stations.
    pub(super) fn begin(
        &mut self,
        now: Instant,
        sender: StationIndex,
        receiver: Option<StationIndex>,
        frame: &Frame,
        packet: Option<(PacketId, FlowKey)>,
    ) {
        if self.frames.len() >= self.limit {
            self.full_at = self.full_at.or(Some(now));
            self.latest[sender.index()] = usize::MAX;
            return;
        }
        self.latest[sender.index()] = self.frames.len();
        self.frames.push(AirFrame {
            at: now,
            air_time: frame.air_time,
            sender,
            receiver,
            kind: frame.kind,
            subtype: frame.addressing.subtype,
            size: frame.size,
            rate: frame.rate,
            is_retry: frame.is_retry,
            packet,
            is_received: false,
            mpdus: [0; 2],
        });
    }

    /// The frame that a station has begun last is an A-MPDU of this number of MPDUs.
    pub(super) fn aggregate(&mut self, sender: StationIndex, mpdus: usize) {
        if let Some(noted) = self.frames.get_mut(self.latest[sender.index()]) {
            noted.mpdus[0] = mpdus as u16;
        }
    }

    /// A station has decoded the last frame of another one.
    pub(super) fn receive(&mut self, station: StationIndex, sender: StationIndex) {
        let Some(noted) = self.frames.get_mut(self.latest[sender.index()]) else { return };
        noted.is_received |= noted.receiver.is_none_or(|receiver| receiver == station);
    }

    /// The receiver has decoded this number of MPDUs of a station's last frame.
    pub(super) fn receive_mpdus(&mut self, sender: StationIndex, mpdus: usize) {
        if let Some(noted) = self.frames.get_mut(self.latest[sender.index()]) {
            noted.mpdus[1] = mpdus as u16;
            noted.is_received |= mpdus > 0;
        }
    }

    /// The frames in the order of their beginnings.
    pub(super) fn frames(&self) -> &[AirFrame] {
        &self.frames
    }

    /// Beginning of the first frame that was not noted, because of the limit.
    pub(super) fn full_at(&self) -> Option<Instant> {
        self.full_at
    }
}
