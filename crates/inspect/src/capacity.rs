//! Capacity and available bandwidth of 802.11 channels from a capture in monitor mode: rt-Winf (paper `winf`,
//! Section 3.1) and IdleGap, as each transmitter and an onlooker that receives what was captured would
//! estimate them.
//!
//! A CTS or an acknowledgement does not carry its transmitter, which is the receiver of the answered frame. A
//! capture misses frames that only the stations receive, and an exchange with a missing frame gives no
//! estimate.

use std::collections::{BTreeMap, BTreeSet};

use whimbrel_control::capacity::{
    Averaging, Estimate, FrameKind, Heard, IdleGap, ProbeWinf, ProbeWinfConfig, RtWinf, RtWinfConfig,
    StationState,
};
use whimbrel_units::{DataRate, Duration, Instant};
use whimbrel_wifi::MacAddress;
use whimbrel_wifi::phy::Preamble;

use crate::air::{AirFrame, AirKind, NotAFrame, StampDetector, Stamps, timing};
use crate::capture::Record;

mod counts;
mod report;

use counts::ChannelCounts;
pub use report::{CapacityReport, ChannelReport, EstimateReport, IntervalReport, StampReport, StationReport};

/// Options of the analysis.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct CapacityConfig {
    /// Length of the intervals with estimates of their own; `None` for none.
    pub interval: Option<Duration>,
    /// Average of the capacity over exchanges.
    pub averaging: Averaging,
    /// Maximum number of transmitters on all channels. Frames of further ones are counted.
    pub max_stations: usize,
}

impl Default for CapacityConfig {
    /// No intervals, the capacity of the latest exchange as in paper `winf`, and 256 transmitters.
    fn default() -> Self {
        Self { interval: None, averaging: Averaging::default(), max_stations: 256 }
    }
}

/// The maximum number of channels.
const MAX_CHANNELS: usize = 256;
/// A response begins at most this long after SIFS: the time of a slot, and of the error of a timestamp.
const RESPONSE_SLACK: Duration = Duration::from_micros(60);
/// Frames of an exchange.
const EXCHANGE: usize = 4;
/// The longest acknowledgement: at 1 Mbit/s with the long preamble.
const ACK: Duration = Duration::from_micros(304);

/// Estimates a capture, record by record.
#[derive(Debug)]
pub struct CapacityAnalysis {
    config: CapacityConfig,
    /// The first frames, until the meaning of the timestamps is known.
    first: StampDetector,
    stamps: Option<Stamps>,
    channels: BTreeMap<Option<u16>, Channel>,
    stations: usize,
    report: CapacityReport,
    span: Option<(Instant, Instant)>,
}

impl CapacityAnalysis {
    /// An analysis of no frames yet.
    pub fn new(config: CapacityConfig) -> Self {
        Self {
            config,
            first: StampDetector::default(),
            stamps: None,
            channels: BTreeMap::new(),
            stations: 0,
            report: CapacityReport::default(),
            span: None,
        }
    }

    /// Processes a record.
    pub fn on_record(&mut self, record: &Record<'_>) {
        self.report.records += 1;
        let frame = match AirFrame::parse(record) {
            Ok(frame) => frame,
            Err(NotAFrame::LinkType(other)) => {
                self.report.other_links += 1;
                self.report.other_link_type.get_or_insert(other);
                return;
            }
            Err(NotAFrame::Malformed) => {
                self.report.malformed += 1;
                return;
            }
            Err(NotAFrame::Damaged) => {
                self.report.damaged += 1;
                return;
            }
        };
        self.report.frames += 1;
        if let Some(stamps) = self.stamps {
            self.process(&stamps, &frame);
        } else if self.first.add(frame) {
            self.decide();
        }
    }

    fn decide(&mut self) {
        let first = core::mem::take(&mut self.first);
        let stamps = first.decide();
        self.stamps = Some(stamps);
        for frame in first.into_frames() {
            self.process(&stamps, &frame);
        }
    }

    fn process(&mut self, stamps: &Stamps, frame: &AirFrame) {
        self.report.without_rate += u64::from(frame.airtime.is_none());
        let Some(span) = stamps.span(frame) else {
            self.report.without_time += 1;
            return;
        };
        let is_full = self.channels.len() >= MAX_CHANNELS;
        if is_full && !self.channels.contains_key(&frame.frequency) {
            self.report.beyond_limit += 1;
            return;
        }
        let start = self.span.map_or(span.0, |(start, _)| start);
        self.span = Some((start, self.span.map_or(span.1, |(_, end)| end.max(span.1))));
        let config = self.config;
        let channel = self
            .channels
            .entry(frame.frequency)
            .or_insert_with(|| Channel::new(config, frame.frequency, start));
        let limit = config.max_stations.saturating_sub(self.stations);
        let before = channel.stations();
        if !channel.process(frame, span, limit) {
            self.report.beyond_limit += 1;
        }
        self.stations += channel.stations() - before;
    }

    /// The estimates of all records.
    pub fn finish(mut self) -> CapacityReport {
        if self.stamps.is_none() {
            self.decide();
        }
        let Self { mut report, stamps, channels, span, .. } = self;
        report.stamps = stamps.filter(|_| report.frames > 0).as_ref().map(StampReport::new);
        report.duration_s = span.map_or(0.0, |(start, end)| end.saturating_since(start).as_secs_f64());
        report.channels = channels.into_values().map(Channel::finish).collect();
        report
    }
}

/// A frame on the air with its transmitter, as far as it is known.
#[derive(Clone, Copy, Debug)]
struct OnAir {
    heard: Heard,
    transmitter: Option<MacAddress>,
    receiver: Option<MacAddress>,
}

impl OnAir {
    /// The frame as a station observes it. `returned` is the estimate in an ACK, which matters to the station
    /// that it is for.
    fn at_station(&self, address: MacAddress, returned: Option<Estimate>) -> Heard {
        let (from_self, to_self) = (self.transmitter == Some(address), self.receiver == Some(address));
        Heard { from_self, to_self, estimate: returned.filter(|_| to_self), ..self.heard }
    }
}

/// The estimators of a channel: an onlooker's and each station's.
#[derive(Clone, Debug)]
struct Estimators {
    config: RtWinfConfig,
    start: Instant,
    onlooker: RtWinf,
    data_ack: ProbeWinf,
    /// Once a data frame with a rate was captured.
    gap: Option<IdleGap>,
    /// Frames before that one, which occupy the medium.
    pending: IdleGap,
    stations: BTreeMap<MacAddress, RtWinf>,
    /// The stations that have sent data.
    senders: BTreeSet<MacAddress>,
    /// The onlooker before the last RTS, and the frames since then: a station that answers it for the first
    /// time has taken part in the exchange.
    before: RtWinf,
    exchange: Vec<OnAir>,
    until: Instant,
}

impl Estimators {
    fn new(config: RtWinfConfig, start: Instant) -> Self {
        let data_ack = ProbeWinfConfig {
            nominal: config.nominal,
            averaging: config.averaging,
            ack_timeout: config.sifs + ACK + RESPONSE_SLACK,
            ..ProbeWinfConfig::hr_dsss()
        };
        Self {
            config,
            start,
            onlooker: RtWinf::new(config, start),
            data_ack: ProbeWinf::new(data_ack, start),
            gap: None,
            pending: IdleGap::new(DataRate::ZERO, start),
            stations: BTreeMap::new(),
            senders: BTreeSet::new(),
            before: RtWinf::new(config, start),
            exchange: Vec::with_capacity(EXCHANGE),
            until: start,
        }
    }

    /// Adds a station, which has received all frames before.
    fn add_station(&mut self, address: MacAddress) {
        if self.stations.contains_key(&address) {
            return;
        }
        let mut winf = self.before.clone();
        for on_air in &self.exchange {
            winf.on_heard(&on_air.at_station(address, None));
        }
        self.stations.insert(address, winf);
    }

    fn process(&mut self, on_air: &OnAir) {
        let OnAir { heard, transmitter, .. } = on_air;
        if heard.kind == FrameKind::Rts || self.exchange.len() >= EXCHANGE {
            self.before = self.onlooker.clone();
            self.exchange.clear();
        }
        self.exchange.push(*on_air);
        self.until = self.until.max(heard.at);
        if let (FrameKind::Data, Some(address)) = (heard.kind, transmitter)
            && self.stations.contains_key(address)
        {
            self.senders.insert(*address);
        }
        self.pending.on_heard(heard);
        if heard.kind == FrameKind::Data && heard.rate.is_some() {
            self.gap = Some(self.pending);
        } else if let Some(gap) = &mut self.gap {
            *gap = self.pending;
        }
        // The estimate that the receiver of the data returns in its ACK.
        let returned = transmitter
            .filter(|_| heard.kind == FrameKind::Ack)
            .and_then(|address| self.stations.get(&address)?.estimate(StationState::Receiver));
        self.onlooker.on_heard(heard);
        self.data_ack.on_heard(heard);
        for (address, winf) in &mut self.stations {
            winf.on_heard(&on_air.at_station(*address, returned));
        }
    }

    fn onlooker(&self) -> Option<Estimate> {
        self.onlooker.estimate(StationState::Onlooker)
    }

    fn data_ack(&self) -> Option<Estimate> {
        self.data_ack.estimate(StationState::Onlooker)
    }

    fn idle_gap(&self) -> Option<Estimate> {
        self.gap.map(|gap| gap.estimate(self.until))
    }
}

/// A channel.
#[derive(Debug)]
struct Channel {
    frequency: Option<u16>,
    interval: Option<Duration>,
    sifs: Duration,
    total: Estimators,
    /// Number and estimators of the present interval.
    current: Option<(u64, Estimators)>,
    counts: ChannelCounts,
    intervals: Vec<IntervalReport>,
    /// The receiver and the end of the last frame of each station that asks for a response.
    asked: BTreeMap<MacAddress, (MacAddress, Instant)>,
}

impl Channel {
    fn new(config: CapacityConfig, frequency: Option<u16>, start: Instant) -> Self {
        let phy = timing(frequency, Preamble::Long);
        let winf = RtWinfConfig {
            sifs: phy.sifs,
            difs: phy.difs(),
            nominal: DataRate::INFINITE,
            averaging: config.averaging,
            ..RtWinfConfig::hr_dsss()
        };
        Self {
            frequency,
            interval: config.interval.filter(|interval| !interval.is_zero()),
            sifs: phy.sifs,
            total: Estimators::new(winf, start),
            current: None,
            counts: ChannelCounts::new(phy),
            intervals: Vec::new(),
            asked: BTreeMap::new(),
        }
    }

    fn stations(&self) -> usize {
        self.total.stations.len()
    }

    /// Processes a frame. Returns `false` if its transmitter is beyond the limit of `free` further ones.
    fn process(&mut self, frame: &AirFrame, span: (Instant, Instant), free: usize) -> bool {
        let (begin, end) = span;
        let transmitter = match frame.kind {
            AirKind::Cts | AirKind::Ack => self.respondent(frame.receiver, begin),
            _ => frame.transmitter,
        };
        let is_known = match transmitter {
            Some(address) if !self.total.stations.contains_key(&address) => {
                let is_group = address.0[0] & 1 == 1;
                let has_room = free > 0 && !is_group;
                if has_room {
                    self.total.add_station(address);
                }
                has_room
            }
            _ => true,
        };
        if let (AirKind::Rts | AirKind::Data, Some(from), Some(to), true) =
            (frame.kind, transmitter, frame.receiver, is_known)
        {
            self.asked.insert(from, (to, end));
        }
        self.counts.process(frame, transmitter.filter(|_| is_known), span);
        let kind = match frame.kind {
            AirKind::Rts => FrameKind::Rts,
            AirKind::Cts => FrameKind::Cts,
            AirKind::Ack => FrameKind::Ack,
            AirKind::Data => FrameKind::Data,
            AirKind::Other => return is_known,
        };
        let heard = Heard {
            nav: frame.nav,
            size: frame.body,
            rate: frame.rate.filter(|_| kind == FrameKind::Data).map(|rate| rate.data_rate()),
            ..Heard::overheard(kind, end, end - begin)
        };
        let on_air = OnAir { heard, transmitter, receiver: frame.receiver };
        self.begin_interval(end);
        if let Some((_, current)) = &mut self.current {
            if let Some(address) = transmitter.filter(|_| is_known) {
                current.add_station(address);
            }
            current.process(&on_air);
        }
        self.total.process(&on_air);
        is_known
    }

    /// The transmitter of a response that begins at `begin`: the receiver of the answered frame.
    fn respondent(&self, receiver: Option<MacAddress>, begin: Instant) -> Option<MacAddress> {
        let (to, end) = self.asked.get(&receiver?)?;
        let latest = *end + self.sifs + RESPONSE_SLACK;
        (begin <= latest).then_some(*to)
    }

    fn begin_interval(&mut self, now: Instant) {
        let Some(interval) = self.interval else { return };
        let number = now.saturating_since(self.total.start).as_nanos() / interval.as_nanos();
        if self.current.as_ref().is_some_and(|(current, _)| *current >= number) {
            return;
        }
        self.end_interval();
        let start = self.total.start + interval * number;
        self.current = Some((number, Estimators::new(self.total.config, start)));
    }

    fn end_interval(&mut self) {
        let (Some((number, ended)), Some(interval)) = (self.current.take(), self.interval) else { return };
        let time_s = interval.as_secs_f64() * number as f64;
        self.intervals.push(IntervalReport::new(time_s, &ended));
    }

    fn finish(mut self) -> ChannelReport {
        self.end_interval();
        ChannelReport::new(self)
    }
}

#[cfg(test)]
mod tests;
