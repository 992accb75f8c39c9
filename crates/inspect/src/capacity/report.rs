//! The results of an analysis.

use std::collections::BTreeMap;

use serde::Serialize;
use whimbrel_control::capacity::{Estimate, StationState};

use super::counts::StationCounts;
use super::{Channel, Estimators};
use crate::air::{Clock, Moment, Stamps};

/// The estimates of a capture.
#[derive(Clone, PartialEq, Default, Debug, Serialize)]
pub struct CapacityReport {
    /// Records in the file.
    pub records: u64,
    /// 802.11 frames among them.
    pub frames: u64,
    /// Records of another link type.
    pub other_links: u64,
    /// The first of these types.
    pub other_link_type: Option<u16>,
    /// Records with an invalid radiotap or MAC header.
    pub malformed: u64,
    /// Frames with a wrong frame check sequence.
    pub damaged: u64,
    /// Frames without a rate of 802.11a, b or g, of which the air time is unknown.
    pub without_rate: u64,
    /// Frames of which the time is unknown, and which are not used.
    pub without_time: u64,
    /// Frames of transmitters or channels beyond the maximum number.
    pub beyond_limit: u64,
    /// Meaning of the timestamps.
    pub stamps: Option<StampReport>,
    /// Time from the first frame to the end of the last one, in seconds.
    pub duration_s: f64,
    /// The channels.
    pub channels: Vec<ChannelReport>,
}

/// Meaning of the timestamps.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct StampReport {
    /// `capture` or `tsft`.
    pub clock: &'static str,
    /// `end`, `begin` or `mpdu` (behind the PLCP header).
    pub moment: &'static str,
    /// Median difference of the spaces before responses from SIFS, in microseconds.
    pub error_us: Option<f64>,
}

impl StampReport {
    pub(super) fn new(stamps: &Stamps) -> Self {
        Self {
            clock: match stamps.clock {
                Clock::Capture => "capture",
                Clock::Tsft => "tsft",
            },
            moment: match stamps.moment {
                Moment::End => "end",
                Moment::Begin => "begin",
                Moment::Mpdu => "mpdu",
            },
            error_us: stamps.error.map(|error| error.as_secs_f64() * 1e6),
        }
    }
}

/// An estimate in bit/s.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct EstimateReport {
    /// Capacity.
    pub capacity_bps: f64,
    /// Available bandwidth.
    pub available_bps: f64,
}

impl From<Estimate> for EstimateReport {
    fn from(estimate: Estimate) -> Self {
        Self {
            capacity_bps: estimate.capacity.as_bits_per_second(),
            available_bps: estimate.available.as_bits_per_second(),
        }
    }
}

/// The estimates of a channel.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct ChannelReport {
    /// Frequency in MHz, if the capture has it.
    pub frequency_mhz: Option<u16>,
    /// Frames.
    pub frames: u64,
    /// Share of the time in which a frame is on the air.
    pub busy_share: f64,
    /// rt-Winf of an onlooker, from exchanges with RTS and CTS.
    pub onlooker: Option<EstimateReport>,
    /// rt-Winf from data frames and their acknowledgements (paper `winf`, equations 1 and 2).
    pub data_ack: Option<EstimateReport>,
    /// IdleGap.
    pub idle_gap: Option<EstimateReport>,
    /// The transmitters.
    pub stations: Vec<StationReport>,
    /// The intervals with frames.
    pub intervals: Vec<IntervalReport>,
}

/// The estimates of a transmitter.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct StationReport {
    /// Address.
    pub address: String,
    /// Frames.
    pub frames: u64,
    /// Data frames.
    pub data_frames: u64,
    /// Bytes of their bodies.
    pub data_bytes: u64,
    /// Frames that are repetitions.
    pub retries: u64,
    /// RTS frames, and data frames to one station without RTS.
    pub attempts: u64,
    /// Share of them without a response: an estimate of the collision probability. It includes responses that
    /// the capture has missed, and losses by noise.
    pub failure_probability: Option<f64>,
    /// Mean share K of backoff in the time between two packets (paper `winf`, equations 7 and 8), of packets
    /// that follow the last use of the medium after DIFS and at most 31 slots.
    pub backoff_share: Option<f64>,
    /// rt-Winf as the sender of exchanges, of a station that has sent data. Until it has had an exchange of
    /// its own, with the capacity of the onlooker, and so as the receiver.
    pub sender: Option<EstimateReport>,
    /// rt-Winf as the receiver, of a station that has acknowledged data.
    pub receiver: Option<EstimateReport>,
}

/// The estimates of an interval, from its frames alone.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct IntervalReport {
    /// Start, in seconds from the first frame.
    pub time_s: f64,
    /// rt-Winf of an onlooker, from exchanges with RTS and CTS.
    pub onlooker: Option<EstimateReport>,
    /// rt-Winf from data frames and their acknowledgements (paper `winf`, equations 1 and 2).
    pub data_ack: Option<EstimateReport>,
    /// IdleGap.
    pub idle_gap: Option<EstimateReport>,
    /// rt-Winf of the transmitters in the interval as senders, by address.
    pub senders: BTreeMap<String, EstimateReport>,
}

impl IntervalReport {
    pub(super) fn new(time_s: f64, ended: &Estimators) -> Self {
        let stations = ended.stations.iter().filter(|(address, _)| ended.senders.contains(address));
        let senders = stations.filter_map(|(address, winf)| {
            Some((address.to_string(), winf.estimate(StationState::Sender)?.into()))
        });
        Self {
            time_s,
            onlooker: ended.onlooker().map(Into::into),
            data_ack: ended.data_ack().map(Into::into),
            idle_gap: ended.idle_gap().map(Into::into),
            senders: senders.collect(),
        }
    }
}

impl ChannelReport {
    pub(super) fn new(channel: Channel) -> Self {
        let Channel { frequency, total, counts, intervals, .. } = channel;
        let elapsed = total.until.saturating_since(total.start).as_secs_f64();
        let stations = total.stations.iter().map(|(address, winf)| {
            let counts = counts.stations.get(address).copied().unwrap_or_default();
            let StationCounts {
                frames, data_frames, data_bytes, retries, acks, attempts, unanswered, ..
            } = counts;
            StationReport {
                address: address.to_string(),
                frames,
                data_frames,
                data_bytes,
                retries,
                attempts,
                failure_probability: (attempts > 0).then(|| unanswered as f64 / attempts as f64),
                backoff_share: counts.backoff_share(),
                sender: winf.estimate(StationState::Sender).filter(|_| data_frames > 0).map(Into::into),
                receiver: winf.estimate(StationState::Receiver).filter(|_| acks > 0).map(Into::into),
            }
        });
        Self {
            frequency_mhz: frequency,
            frames: counts.frames,
            busy_share: if elapsed > 0.0 { (counts.busy.as_secs_f64() / elapsed).min(1.0) } else { 0.0 },
            onlooker: total.onlooker().map(Into::into),
            data_ack: total.data_ack().map(Into::into),
            idle_gap: total.idle_gap().map(Into::into),
            stations: stations.collect(),
            intervals,
        }
    }
}
