//! Frames, exchanges and responses of a channel.

use std::collections::BTreeMap;

use whimbrel_control::capacity::{CollisionTimes, backoff_share};
use whimbrel_units::{Duration, Instant};
use whimbrel_wifi::MacAddress;
use whimbrel_wifi::phy::Phy;

use super::RESPONSE_SLACK;
use crate::air::{AirFrame, AirKind};

/// Frames of a transmitter.
#[derive(Clone, Copy, PartialEq, Default, Debug)]
pub(super) struct StationCounts {
    pub(super) frames: u64,
    pub(super) data_frames: u64,
    pub(super) data_bytes: u64,
    /// Acknowledgements.
    pub(super) acks: u64,
    pub(super) retries: u64,
    /// RTS frames, and data frames to one station without an RTS before them.
    pub(super) attempts: u64,
    /// Attempts without a response.
    pub(super) unanswered: u64,
    /// Sum and number of the shares of backoff in the cycles of packets.
    backoff: (f64, u64),
}

impl StationCounts {
    /// Mean share K of backoff (paper `winf`, equations 7 and 8); `None` without an exchange in saturation.
    pub(super) fn backoff_share(&self) -> Option<f64> {
        (self.backoff.1 > 0).then(|| self.backoff.0 / self.backoff.1 as f64)
    }
}

/// A frame that asks for a response.
#[derive(Clone, Copy, Debug)]
struct Asked {
    from: MacAddress,
    is_rts: bool,
    airtime: Duration,
    end: Instant,
    /// Time between the end of the medium's occupation and the frame.
    idle: Option<Duration>,
    /// Air times of RTS and CTS.
    handshake: Option<(Duration, Duration)>,
}

/// Counts of a channel.
#[derive(Clone, Debug)]
pub(super) struct ChannelCounts {
    phy: Phy,
    pub(super) frames: u64,
    /// Sum of the times in which at least one frame is on the air.
    pub(super) busy: Duration,
    frames_until: Option<Instant>,
    /// End of the last frame and of its reservation.
    occupied_until: Option<Instant>,
    /// Frames that wait for a response, by transmitter. Distant stations transmit at the same time.
    asked: BTreeMap<MacAddress, Asked>,
    /// Air times of RTS and CTS before an expected data frame, and the idle time before the RTS.
    handshakes: BTreeMap<MacAddress, (Duration, Duration, Option<Duration>)>,
    pub(super) stations: BTreeMap<MacAddress, StationCounts>,
}

impl ChannelCounts {
    pub(super) fn new(phy: Phy) -> Self {
        Self {
            phy,
            frames: 0,
            busy: Duration::ZERO,
            frames_until: None,
            occupied_until: None,
            asked: BTreeMap::new(),
            handshakes: BTreeMap::new(),
            stations: BTreeMap::new(),
        }
    }

    /// Processes a frame of `transmitter`, which is `None` if it is unknown or beyond the limit.
    pub(super) fn process(
        &mut self,
        frame: &AirFrame,
        transmitter: Option<MacAddress>,
        (begin, end): (Instant, Instant),
    ) {
        self.frames += 1;
        let from = self.frames_until.map_or(begin, |until| until.max(begin));
        self.busy += end.saturating_since(from);
        self.frames_until = Some(self.frames_until.map_or(end, |until| until.max(end)));
        let idle = self.occupied_until.and_then(|until| (begin >= until).then(|| begin - until));
        let occupied = end + frame.nav;
        self.occupied_until = Some(self.occupied_until.map_or(occupied, |until| until.max(occupied)));

        if let (AirKind::Cts | AirKind::Ack, Some(station)) = (frame.kind, frame.receiver) {
            let latest = self.phy.sifs + RESPONSE_SLACK;
            let is_response =
                |asked: &Asked| asked.is_rts == (frame.kind == AirKind::Cts) && begin <= asked.end + latest;
            if let Some(asked) = self.asked.get(&station).copied().filter(is_response) {
                self.asked.remove(&station);
                self.settle(&asked, true);
                if asked.is_rts {
                    self.handshakes.insert(station, (asked.airtime, end - begin, asked.idle));
                }
            }
        }
        let Some(address) = transmitter else { return };
        let counts = self.stations.entry(address).or_default();
        counts.frames += 1;
        counts.retries += u64::from(frame.is_retry);
        if frame.kind == AirKind::Data {
            counts.data_frames += 1;
            counts.data_bytes += frame.body.as_u64();
        }
        counts.acks += u64::from(frame.kind == AirKind::Ack);
        let to_one = frame.receiver.is_some_and(|receiver| receiver.0[0] & 1 == 0);
        if !matches!(frame.kind, AirKind::Rts | AirKind::Data) {
            return;
        }
        if let Some(asked) = self.asked.remove(&address) {
            self.settle(&asked, false);
        }
        let handshake = self.handshakes.remove(&address);
        if to_one {
            let asked = Asked {
                from: address,
                is_rts: frame.kind == AirKind::Rts,
                airtime: end - begin,
                end,
                idle: handshake.map_or(idle, |(.., idle)| idle),
                handshake: handshake.map(|(rts, cts, _)| (rts, cts)),
            };
            self.asked.insert(address, asked);
        }
    }

    /// A frame was answered or not.
    fn settle(&mut self, asked: &Asked, is_answered: bool) {
        let Some(counts) = self.stations.get_mut(&asked.from) else { return };
        if asked.handshake.is_none() {
            counts.attempts += 1;
            counts.unanswered += u64::from(!is_answered);
        }
        // A station that has waited for DIFS and no longer than for the smallest contention window had a
        // packet.
        let difs = self.phy.difs();
        let longest = self.phy.slot * u64::from(self.phy.cw_min.max(31));
        let backoff = asked
            .idle
            .and_then(|idle| (idle >= difs).then(|| idle - difs))
            .filter(|backoff| *backoff <= longest);
        if let (true, false, Some(backoff), Some((rts, cts))) =
            (is_answered, asked.is_rts, backoff, asked.handshake)
        {
            let times = CollisionTimes { difs, sifs: self.phy.sifs, backoff, rts, cts, data: asked.airtime };
            counts.backoff.0 += backoff_share(&times);
            counts.backoff.1 += 1;
        }
    }
}
