//! IEEE 802.11: the machines of [`whimbrel_wifi`] as a medium.
//!
//! Each station has a MAC, which takes one packet at a time from the station's queue. A packet may reach its receiver and
//! still count as failed, where only the acknowledgements were lost: it is delivered when the receiver's MAC delivers
//! it, and the [report](super::Observation) follows when the sender's MAC is done with it.

mod payloads;

use whimbrel_units::{Duration, Instant};
use whimbrel_wifi::dcf::{Event, MacConfig, Outgoing, ReceptionError};
use whimbrel_wifi::deadlines::Deadlines;
use whimbrel_wifi::medium::{Listener, LossCause, Medium as Air, MediumConfig};
use whimbrel_wifi::site::Site;
use whimbrel_wifi::{Dcf, Frame as MacFrame, MacAddress, SplitMix64};

use self::payloads::Payloads;
use super::{Medium, MediumIo, MediumLoss, Observation};

/// Bytes of the LLC and SNAP headers in front of an IP packet (RFC 1042).
const LLC_BYTES: u32 = 8;

/// Configuration of an 802.11 medium.
#[derive(Clone, Debug)]
pub struct WifiConfig {
    /// Thresholds of the receivers, and the rule for overlapping frames.
    pub air: MediumConfig,
    /// Configuration of the MACs.
    pub mac: MacConfig,
    /// Bytes between the MAC's header and the packet: 8 for LLC and SNAP, 0 in ns-2.
    pub llc_bytes: u32,
    /// Root of the stations' streams of random numbers.
    pub seed: u64,
}

impl WifiConfig {
    /// The standard's rules, with additive interference.
    pub const fn standard(mac: MacConfig, seed: u64) -> Self {
        Self { air: MediumConfig::additive(), mac, llc_bytes: LLC_BYTES, seed }
    }

    /// ns-2's rules, with its defaults.
    pub fn ns2(seed: u64) -> Self {
        Self { air: MediumConfig::ns2(), mac: MacConfig::ns2(), llc_bytes: 0, seed }
    }
}

/// An 802.11 medium with its stations, which are added in the order of the site's.
pub struct WifiMedium {
    air: Air,
    site: Site,
    mac: MacConfig,
    streams: SplitMix64,
    stations: Stations,
}

struct Stations {
    machines: Vec<Dcf<SplitMix64>>,
    deadlines: Deadlines,
    payloads: Payloads,
    llc_bytes: u32,
    /// Stations that have just given a frame up, and the time. They take their next packet in the next call: the routing
    /// agent may flush the queue before.
    paused: Vec<usize>,
    paused_at: Instant,
}

impl WifiMedium {
    /// The medium of the stations of `site`.
    pub fn new(site: Site, config: WifiConfig) -> Self {
        let stations = Stations {
            machines: Vec::with_capacity(site.stations()),
            deadlines: Deadlines::default(),
            payloads: Payloads::default(),
            llc_bytes: config.llc_bytes,
            paused: Vec::new(),
            paused_at: Instant::ZERO,
        };
        let air = Air::new(config.air, site.stations());
        Self { air, site, mac: config.mac, streams: SplitMix64::new(config.seed), stations }
    }

    /// The stations and the links between them.
    pub const fn site(&self) -> &Site {
        &self.site
    }

    /// The MAC of a station.
    pub fn mac(&self, station: usize) -> &Dcf<SplitMix64> {
        &self.stations.machines[station]
    }

    /// A station's deadlines are due.
    fn wake(&mut self, now: Instant, station: usize, io: &mut MediumIo<'_>) {
        self.stations.machines[station].handle_timeout(now);
        while let Some(transmit) = self.stations.machines[station].poll_transmit(now) {
            let links = self.site.links(station, now).iter().copied();
            let is_reached = self.air.transmit(now, station as u32, &transmit.frame, links);
            if transmit.frame.kind.has_payload() {
                self.stations.payloads.begin_transmission(transmit.frame.payload, is_reached);
            }
        }
        self.stations.settle(now, station, io);
    }
}

impl Medium for WifiMedium {
    fn handle_station(&mut self, station: usize) {
        assert!(station < self.site.stations(), "the site has {} stations", self.site.stations());
        let address = MacAddress::station(station as u32);
        let random = self.streams.stream(station as u64);
        self.stations.machines.push(Dcf::new(address, self.mac.clone(), random));
        self.stations.deadlines.add();
    }

    fn handle_backlog(&mut self, now: Instant, station: usize, io: &mut MediumIo<'_>) {
        self.stations.settle(now, station, io);
    }

    fn handle_timeout(&mut self, now: Instant, io: &mut MediumIo<'_>) {
        while let Some(station) = self.stations.paused.pop() {
            self.stations.settle(now, station, io);
        }
        loop {
            // At one instant, the stations' deadlines precede what arrives: stations that gain access in the same slot
            // all transmit.
            while let Some((station, at)) = self.stations.deadlines.first()
                && at <= now
            {
                self.wake(now, station, io);
            }
            match self.air.poll_timeout() {
                Some(at) if at <= now => {
                    self.air.handle_timeout(now, &mut Reception { stations: &mut self.stations, io });
                }
                _ => return,
            }
        }
    }

    fn poll_timeout(&self) -> Option<Instant> {
        if !self.stations.paused.is_empty() {
            return Some(self.stations.paused_at);
        }
        let deadline = self.stations.deadlines.first().map(|(_, at)| at);
        [deadline, self.air.poll_timeout()].into_iter().flatten().min()
    }

    fn reaches(&self, now: Instant, from: usize, to: usize) -> bool {
        self.site.reaches(from, to, now)
    }
}

impl Stations {
    /// Processes a MAC's events, gives it the next packet, and notes its deadline.
    fn settle(&mut self, now: Instant, station: usize, io: &mut MediumIo<'_>) {
        loop {
            while let Some((at, event)) = self.machines[station].poll_event() {
                self.handle_event(at, station, event, io);
            }
            if !self.machines[station].is_ready() || self.paused.contains(&station) {
                break;
            }
            let Some(frame) = io.take(station) else { break };
            let receiver = frame.receiver.map_or(MacAddress::BROADCAST, |to| MacAddress::station(to as u32));
            let size = frame.size + self.llc_bytes;
            let payload = self.payloads.insert(now, frame, io);
            let accepted = self.machines[station].enqueue(now, Outgoing::data(receiver, size, payload));
            debug_assert!(accepted.is_ok(), "the MAC was ready");
        }
        self.deadlines.set(station, self.machines[station].poll_timeout());
    }

    fn handle_event(&mut self, at: Instant, station: usize, event: Event, io: &mut MediumIo<'_>) {
        match event {
            Event::Delivered { frame } => self.payloads.deliver(frame.payload, station, io),
            Event::Sent { payload, .. } => {
                if let Some(report) = self.payloads.finish(at, payload, io) {
                    io.observe(station, Observation::Sent(report));
                }
            }
            Event::Dropped { payload, .. } => {
                if let Some(report) = self.payloads.finish(at, payload, io) {
                    io.observe(station, Observation::Failed(report));
                }
                self.paused.push(station);
                self.paused_at = io.now;
            }
            Event::Trace(step) => io.observe(station, Observation::Mac { at, step }),
        }
    }
}

/// The stations while the air reports to them.
struct Reception<'a, 'b> {
    stations: &'a mut Stations,
    io: &'a mut MediumIo<'b>,
}

impl Listener for Reception<'_, '_> {
    fn busy(&mut self, now: Instant, station: u32) {
        let station = station as usize;
        self.stations.machines[station].handle_busy(now);
        self.stations.deadlines.set(station, self.stations.machines[station].poll_timeout());
    }

    fn idle(&mut self, now: Instant, station: u32) {
        self.stations.machines[station as usize].handle_idle(now);
        self.stations.settle(now, station as usize, self.io);
    }

    fn received(&mut self, now: Instant, station: u32, frame: &MacFrame) {
        self.stations.machines[station as usize].handle_frame(now, frame);
        self.stations.settle(now, station as usize, self.io);
    }

    fn error(&mut self, now: Instant, station: u32, error: ReceptionError) {
        self.stations.machines[station as usize].handle_error(now, error);
        self.stations.settle(now, station as usize, self.io);
    }

    fn lost(&mut self, _: Instant, station: u32, frame: &MacFrame, cause: LossCause) {
        if frame.kind.has_payload() && frame.receiver == MacAddress::station(station) {
            self.stations.payloads.lose(frame.payload, cause.into());
        }
    }

    fn ended(&mut self, _: Instant, frame: &MacFrame) {
        if frame.kind.has_payload() {
            self.stations.payloads.end_transmission(frame.payload, self.io);
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
        }
    }
}
