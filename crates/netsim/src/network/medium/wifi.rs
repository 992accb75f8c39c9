//! IEEE 802.11: the machines of [`whimbrel_wifi`] as a medium.
//!
//! Each station has a MAC, which takes one packet at a time from the station's queue. A packet may reach its
//! receiver and still count as failed, where only the acknowledgements were lost: it is delivered when the
//! receiver's MAC delivers it, and the [report](super::Observation) follows when the sender's MAC is done
//! with it.
//!
//! Stations are equal, or have [roles](StationRole): clients associate with access points, through which all
//! their packets go, and change them when they move. Packets of a client that has no access point wait in its
//! queue and at its MAC; an access point loses the packets of a client that has left. Limits: no power
//! saving, no buffering or forwarding of frames between access points, no ageing of associations; an access
//! point has one radio.

mod arp;
mod channels;
mod in_flight;
mod infrastructure;
mod managed;
mod monitor;
mod payloads;
mod qos;
mod reception;
mod role;
mod stations;
mod supply;
mod usage;

use std::collections::BTreeMap;

use whimbrel_units::Instant;
use whimbrel_wifi::dcf::{MacConfig, Protection};
use whimbrel_wifi::deadlines::Deadlines;
use whimbrel_wifi::infrastructure::{HandoverReport, ManagementMessage};
use whimbrel_wifi::medium::{Link, Medium as Air, MediumConfig};
use whimbrel_wifi::propagation::corrupt_by_noise;
use whimbrel_wifi::site::Site;
use whimbrel_wifi::{Dcf, Frame, FrameKind, MacAddress, SplitMix64};

use self::arp::{ARP, Arp};
pub use self::arp::{ArpConfig, ArpStats};
use self::infrastructure::{Infrastructure, MESSAGE};
use self::managed::Machine;
pub use self::managed::ManagementStats;
pub use self::monitor::AirFrame;
use self::monitor::Monitor;
use self::payloads::Payloads;
pub use self::qos::{QosConfig, QosMedium, ReceiverQueues};
use self::reception::Reception;
pub use self::role::{InfrastructureConfig, InvalidRole, StationRole};
use self::stations::{Stations, is_arp};
pub use self::usage::ChannelUsage;
use self::usage::Usage;
use super::{Medium, MediumIo, MediumLoss};
use crate::capture::OnAir;
use crate::queue::QueuedPacket;
use crate::{NodeId, StationIndex};

/// Bytes of the LLC and SNAP headers in front of an IP packet (RFC 1042).
const LLC_BYTES: u32 = 8;

/// Number of the stream of random numbers for noise, which no station has.
const NOISE_STREAM: u64 = u64::MAX;

/// Configuration of an 802.11 medium.
#[derive(Clone, Debug)]
pub struct WifiConfig {
    /// Thresholds of the receivers, and the rule for overlapping frames.
    pub air: MediumConfig,
    /// Configuration of the MACs.
    pub mac: MacConfig,
    /// Bytes between the MAC's header and the packet: 8 for LLC and SNAP, 0 in ns-2.
    pub llc_bytes: u32,
    /// Noise power at the receivers in watts: a frame is then destroyed with the error probability of its
    /// rate at its ratio of signal to noise. `None` for frames that noise does not destroy.
    pub noise: Option<f64>,
    /// Address resolution of stations that send to their neighbours directly; `None` if they know all
    /// addresses.
    pub arp: Option<ArpConfig>,
    /// Root of the stations' streams of random numbers.
    pub seed: u64,
}

impl WifiConfig {
    /// The standard's rules, with additive interference.
    pub const fn standard(mac: MacConfig, seed: u64) -> Self {
        Self { air: MediumConfig::additive(), mac, llc_bytes: LLC_BYTES, noise: None, arp: None, seed }
    }

    /// ns-2's rules, with its defaults; the stations know all addresses.
    pub fn ns2(seed: u64) -> Self {
        Self { air: MediumConfig::ns2(), mac: MacConfig::ns2(), llc_bytes: 0, noise: None, arp: None, seed }
    }
}

/// An 802.11 medium with its stations, which are added in the order of the site's.
pub struct WifiMedium {
    air: Air,
    site: Site,
    mac: MacConfig,
    /// MACs of single stations that are not added yet.
    own_macs: BTreeMap<StationIndex, MacConfig>,
    streams: SplitMix64,
    stations: Stations,
    is_captured: bool,
    usage: Usage,
    /// Noise power in watts, and the draws that it takes.
    noise: Option<(f64, SplitMix64)>,
    /// Links of a transmission on its channel, with the effects of noise.
    noisy: Vec<Link>,
}

impl WifiMedium {
    /// The medium of the stations of `site`, which are equal and on one channel.
    pub fn new(site: Site, config: WifiConfig) -> Self {
        let stations = Stations {
            machines: Vec::with_capacity(site.stations()),
            deadlines: Deadlines::default(),
            payloads: Payloads::default(),
            llc_bytes: config.llc_bytes,
            has_own_macs: false,
            paused: Vec::new(),
            paused_at: Instant::ZERO,
            arp: config.arp.map(|arp| Box::new(Arp::new(arp))),
            infrastructure: None,
            monitor: None,
        };
        let air = Air::new(config.air, site.stations());
        let streams = SplitMix64::new(config.seed);
        let noise = config.noise.map(|power| (power, streams.stream(NOISE_STREAM)));
        Self {
            air,
            site,
            mac: config.mac,
            own_macs: BTreeMap::new(),
            streams,
            stations,
            is_captured: false,
            usage: Usage::default(),
            noise,
            noisy: Vec::new(),
        }
    }

    /// The medium of stations with roles.
    ///
    /// # Errors
    /// If there is not one role for each station of the site, a parameter of a role is out of range, or two
    /// stations have one address.
    pub fn with_infrastructure(
        site: Site,
        config: WifiConfig,
        infrastructure: &InfrastructureConfig,
    ) -> Result<Self, InvalidRole> {
        infrastructure.check(site.stations())?;
        let infrastructure = Infrastructure::new(infrastructure, &site, &SplitMix64::new(config.seed));
        let mut medium = Self::new(site, config);
        medium.stations.infrastructure = Some(Box::new(infrastructure));
        Ok(medium)
    }

    /// Notes the next frames that stations transmit, up to this number. All stations have been added.
    pub fn monitor(&mut self, limit: usize) {
        self.stations.monitor = Some(Box::new(Monitor::new(limit, self.site.stations())));
    }

    /// Hands all frames to the capture from now on.
    pub(crate) fn capture(&mut self) {
        self.is_captured = true;
    }

    /// The frames that were noted, in the order of their beginnings.
    pub fn frames(&self) -> &[AirFrame] {
        self.stations.monitor.as_ref().map_or(&[], |monitor| monitor.frames())
    }

    /// Beginning of the first frame that was not noted because of the limit.
    pub fn frames_end(&self) -> Option<Instant> {
        self.stations.monitor.as_ref().and_then(|monitor| monitor.full_at())
    }

    /// The use of each channel on which a frame was transmitted; 1 is the channel of stations without roles.
    pub fn usage(&self) -> &[(u8, ChannelUsage)] {
        self.usage.all()
    }

    /// The stations and the links between them.
    pub const fn site(&self) -> &Site {
        &self.site
    }

    /// Number of frames transmitted since the beginning.
    pub const fn transmissions(&self) -> u64 {
        self.air.transmissions()
    }

    /// Number of stations that the transmissions since the beginning reached, summed over transmissions.
    pub const fn arrivals(&self) -> u64 {
        self.air.arrivals()
    }

    /// The MAC of a station.
    pub fn mac(&self, station: StationIndex) -> &Dcf<SplitMix64> {
        &self.stations.machines[station.index()]
    }

    /// Gives a station, which has not been added yet, another MAC than [`WifiConfig::mac`]. A packet for a
    /// station that does not support the sender's rates goes at the highest common rate that is not above the
    /// sender's data rate, without rate adaptation.
    pub fn set_mac(&mut self, station: StationIndex, mac: MacConfig) {
        self.stations.has_own_macs = true;
        self.own_macs.insert(station, mac);
    }

    /// The station with an address; `None` if there is none.
    pub fn station(&self, address: MacAddress) -> Option<StationIndex> {
        self.stations.station(address)
    }

    /// A station's address.
    pub fn address(&self, station: StationIndex) -> MacAddress {
        self.stations.address(station)
    }

    /// The access point with which a client is associated; `None` without one, and for other stations.
    pub fn access_point(&self, client: StationIndex) -> Option<StationIndex> {
        let infrastructure = self.stations.infrastructure.as_ref()?;
        let Machine::Client(machine) = &infrastructure.stations[client.index()].machine else { return None };
        infrastructure.number(machine.access_point()?)
    }

    /// The channel that a station's radio is on; `None` while it changes, and if the stations have no roles.
    pub fn channel(&self, station: StationIndex) -> Option<u8> {
        self.stations.infrastructure.as_ref()?.stations[station.index()].channel
    }

    /// Counters of a station's management frames and associations; zero if the stations have no roles.
    pub fn management_stats(&self, station: StationIndex) -> ManagementStats {
        let infrastructure = self.stations.infrastructure.as_ref();
        infrastructure.map_or(ManagementStats::default(), |all| all.stations[station.index()].stats)
    }

    /// Counters of a station's address resolution; zero without [`WifiConfig::arp`].
    pub fn arp_stats(&self, station: StationIndex) -> ArpStats {
        self.stations.arp.as_ref().map_or(ArpStats::default(), |arp| arp.stats(station))
    }

    /// Number of packets that wait at a station for a neighbour's address, or for the MAC after its
    /// resolution.
    pub fn held_packets(&self, station: StationIndex) -> usize {
        self.stations.arp.as_ref().map_or(0, |arp| arp.held(station))
    }

    /// All associations of clients so far, with the number of the client, in the order of time.
    pub fn handovers(&self) -> &[(StationIndex, HandoverReport)] {
        self.stations.infrastructure.as_ref().map_or(&[], |infrastructure| &infrastructure.handovers)
    }

    /// The message in a management frame on the air or waiting at the MAC; `handle` is the frame's payload.
    pub fn message(&self, handle: u64) -> Option<&ManagementMessage> {
        self.stations.infrastructure.as_ref()?.messages.get(handle & !MESSAGE)
    }

    /// Gives a station's MAC the next packet, after what it has not been notified of.
    fn settle(&mut self, now: Instant, station: StationIndex, io: &mut MediumIo<'_>) {
        if let Some(sensed) = self.air.attend(station) {
            self.stations.machines[station.index()].handle_sensed(&sensed);
        }
        self.stations.settle(now, station, io);
    }

    /// A station's deadlines are due.
    fn wake(&mut self, now: Instant, station: StationIndex, io: &mut MediumIo<'_>) {
        self.stations.machines[station.index()].handle_timeout(now);
        while let Some(transmit) = self.stations.machines[station.index()].poll_transmit(now) {
            if self.is_captured {
                self.capture_frame(now, station, &transmit.frame, io);
            }
            self.transmit(now, station, &transmit.frame);
        }
        if self.stations.is_to_settle(station) {
            self.stations.settle(now, station, io);
        } else {
            let deadline = self.stations.machines[station.index()].poll_timeout();
            self.stations.deadlines.set(station.index(), deadline);
        }
    }

    fn capture_frame(&self, now: Instant, station: StationIndex, frame: &Frame, io: &mut MediumIo<'_>) {
        let message = self.message(frame.payload).filter(|_| frame.kind == FrameKind::Management);
        let body = message.map(|message| {
            let mut body = Vec::new();
            message.encode(now, &mut body);
            body
        });
        let is_arp = is_arp(frame);
        let body = body.or_else(|| if is_arp { self.arp_bytes(frame.payload, io) } else { None });
        let is_packet = frame.kind == FrameKind::Data && !is_arp;
        let phy = &self.stations.machines[station.index()].config().phy;
        io.capture(OnAir {
            is_half: false,
            frame: *frame,
            plcp: phy.plcp(frame.rate),
            has_short_preamble: phy.has_short_preamble(frame.rate),
            frequency: 2_407 + 5 * u16::from(self.channel(station).unwrap_or(1)),
            ampdu: None,
            slot: if is_packet { self.stations.payloads.slot(frame.payload) } else { None },
            message: body,
        });
    }

    /// The bytes of an ARP message, for captures.
    fn arp_bytes(&self, handle: u64, io: &MediumIo<'_>) -> Option<Vec<u8>> {
        let message = self.stations.arp.as_ref()?.messages.get(handle & !ARP)?;
        let mut bytes = Vec::new();
        let ends = [message.sender, message.target];
        message.encode(ends.map(|station| (self.stations.address(station), io.node(station))), &mut bytes);
        Some(bytes)
    }

    /// A station begins to transmit a frame.
    fn transmit(&mut self, now: Instant, station: StationIndex, frame: &Frame) {
        let is_noted = self.stations.monitor.is_some();
        let to = if is_noted { self.stations.station(frame.receiver) } else { None };
        let infrastructure = self.stations.infrastructure.as_deref_mut();
        let is_packet = frame.kind == FrameKind::Data && !is_arp(frame);
        let receiver = if is_packet && !frame.receiver.is_group() {
            self.stations.payloads.receiver(frame.payload)
        } else {
            None
        };
        let links = self.site.links(station, now);
        let is_in_range = receiver.is_none_or(|to| links.iter().any(|link| link.station == to));
        let channels = infrastructure.as_deref().map(|all| &all.stations);
        let channel = channels.and_then(|all| all[station.index()].channel).unwrap_or(1);
        self.usage.add(now, channel, frame);
        let shares = |to: StationIndex| {
            channels.is_none_or(|all| all[to.index()].channel == all[station.index()].channel)
        };
        let is_on_channel = receiver.is_none_or(shares);
        let is_reached = if channels.is_none() && self.noise.is_none() {
            self.air.transmit_in_order(now, station, frame, links)
        } else {
            self.noisy.clear();
            self.noisy.extend(links.iter().copied().filter(|link| shares(link.station)));
            if let Some((power, random)) = &mut self.noise {
                // Draws in the order of the stations, which does not depend on their distances.
                self.noisy.sort_unstable_by_key(|link| link.station);
                let bits = f64::from(frame.size) * 8.0;
                corrupt_by_noise(&mut self.noisy, frame.rate, bits, *power, random);
            }
            self.air.transmit(now, station, frame, self.noisy.iter().copied())
        };
        if let Some(monitor) = &mut self.stations.monitor {
            let packet = if is_packet { self.stations.payloads.packet(frame.payload) } else { None };
            monitor.begin(now, station, to, frame, packet);
        }
        if is_packet {
            let miss = match (is_in_range, is_on_channel) {
                (false, _) => Some(MediumLoss::OutOfRange),
                (_, false) => Some(MediumLoss::OffChannel),
                _ => None,
            };
            self.stations.payloads.begin_transmission(frame.payload, is_reached, miss);
        } else if let (FrameKind::Management, true, Some(all)) = (frame.kind, is_reached, infrastructure) {
            all.messages.begin_transmission(frame.payload & !MESSAGE);
        } else if let (FrameKind::Data, true, Some(arp)) = (frame.kind, is_reached, &mut self.stations.arp) {
            arp.messages.begin_transmission(frame.payload & !ARP);
        }
    }
}

impl Medium for WifiMedium {
    fn handle_station(&mut self, station: StationIndex) {
        assert!(station.index() < self.site.stations(), "the site has {} stations", self.site.stations());
        let address = self.stations.address(station);
        let random = self.streams.stream(u64::from(station.0));
        let mut mac = self.own_macs.remove(&station).unwrap_or_else(|| self.mac.clone());
        if let Some(infrastructure) = &self.stations.infrastructure
            && infrastructure.protection.is_some()
            && !matches!(infrastructure.stations[station.index()].machine, Machine::None)
        {
            mac.protection = Protection::None;
        }
        self.stations.machines.push(Dcf::new(address, mac, random));
        self.stations.deadlines.add();
        if let Some(arp) = &mut self.stations.arp {
            arp.add_station();
        }
        if let Some(infrastructure) = &mut self.stations.infrastructure {
            infrastructure.set_deadline(station);
        }
    }

    fn may_hold(&self) -> bool {
        self.stations.arp.as_ref().is_some_and(|arp| arp.precedes_queue())
    }

    fn hold(
        &mut self,
        now: Instant,
        station: StationIndex,
        packet: QueuedPacket,
        to: NodeId,
        io: &mut MediumIo<'_>,
    ) -> bool {
        let holds = self.stations.hold(now, station, packet, to, io);
        if holds {
            self.settle(now, station, io);
        }
        holds
    }

    fn handle_backlog(&mut self, now: Instant, station: StationIndex, io: &mut MediumIo<'_>) {
        self.settle(now, station, io);
    }

    fn handle_timeout(&mut self, mut now: Instant, io: &mut MediumIo<'_>) {
        while let Some(station) = self.stations.paused.pop() {
            self.settle(now, station, io);
        }
        loop {
            // At one instant, the stations' deadlines precede what arrives: stations that gain access in the
            // same slot all transmit.
            while self.stations.deadlines.first_at() <= now
                && let Some((station, _)) = self.stations.deadlines.first()
            {
                self.wake(now, StationIndex::new(station), io);
            }
            while let Some(station) = self.stations.repeat_request(now, io) {
                self.settle(now, station, io);
            }
            self.protect();
            self.retune(now, io);
            if self.manage(now, io) {
                continue;
            }
            match self.air.poll_timeout() {
                Some(at) if at <= now => {
                    let mut reception = Reception::new(&mut self.stations, &self.site, io);
                    self.air.handle_timeout(now, &mut reception);
                    now = io.now;
                }
                _ => match self.poll_timeout() {
                    // Paused stations go on in the next call.
                    Some(next) if self.stations.paused.is_empty() && io.advance(next) => now = next,
                    _ => return,
                },
            }
        }
    }

    fn poll_timeout(&self) -> Option<Instant> {
        if !self.stations.paused.is_empty() {
            return Some(self.stations.paused_at);
        }
        let mut next = self.stations.next_deadline();
        if let Some(infrastructure) = &self.stations.infrastructure {
            next = next.min(infrastructure.deadlines.first_at());
        }
        if let Some(at) = self.air.poll_timeout() {
            next = next.min(at);
        }
        (next != Instant::FAR_FUTURE).then_some(next)
    }

    fn reaches(&self, now: Instant, from: StationIndex, to: StationIndex) -> bool {
        match &self.stations.infrastructure {
            Some(infrastructure) => infrastructure.reaches(&self.site, now, from, to),
            None => self.site.reaches(from, to, now),
        }
    }
}
