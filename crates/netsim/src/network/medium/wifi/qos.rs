//! IEEE 802.11n, ac and ax: the machines of [`whimbrel_wifi::edca`] as a medium.
//!
//! Each station takes packets from its queues as long as its MAC has room for them, aggregates them and
//! keeps the order of what it receives. Without roles, all stations of the medium know each other from the
//! beginning, and stations with an access point send to it alone. With roles, they associate by frames, as in
//! a [`WifiMedium`](super::WifiMedium). Block acknowledgements are agreed off the air.

mod captured;
mod content;
mod dozing;
mod noted;
mod roaming;
mod service;
mod supply;

use std::collections::BTreeMap;

use whimbrel_units::{Duration, Instant};
use whimbrel_wifi::aggregation::Fate;
use whimbrel_wifi::airtime::QueueLimits;
use whimbrel_wifi::dcf::ReceptionError;
use whimbrel_wifi::deadlines::Deadlines;
use whimbrel_wifi::edca::{
    AccessCategory, CategoryCounters, CategoryParameters, Edca, EdcaConfig, Event, Ppdu,
};
use whimbrel_wifi::medium::{Link, Listener, Medium as Air, MediumConfig, ReceptionLoss};
use whimbrel_wifi::site::Site;
use whimbrel_wifi::{Frame, FrameKind, MacAddress, SplitMix64};

use self::content::{Contents, Noise};
use self::roaming::Roaming;
pub(super) use self::service::Trigger;
use self::supply::{Macs, Supply};
use super::infrastructure::MESSAGE;
use super::monitor::Monitor;
use super::payloads::Payloads;
use super::usage::{ChannelUsage, Usage};
use super::{LLC_BYTES, NOISE_STREAM};
use crate::medium::{Lanes, Medium, MediumIo, MediumLoss, Observation};
use crate::queue::FqCoDelConfig;
use crate::{FlowId, StationIndex};

/// The channel of all stations, for the counters of its use.
const CHANNEL: u8 = 1;

/// Configuration of a medium of stations with quality of service.
#[derive(Clone, Debug)]
pub struct QosConfig {
    /// Thresholds of the receivers, and the rule for overlapping transmissions.
    pub air: MediumConfig,
    /// Configuration of the MACs of clients and of stations without an access point.
    pub mac: EdcaConfig,
    /// Configuration of the MACs of access points.
    pub access_point: EdcaConfig,
    /// Parameters of the categories of single stations.
    pub own_categories: BTreeMap<StationIndex, [CategoryParameters; 4]>,
    /// Weights of stations as receivers, in the division of a sender's airtime.
    pub weights: BTreeMap<StationIndex, u16>,
    /// The access point of each station, by its number; `None` for access points. Empty if all stations send
    /// to each other.
    pub cells: Vec<Option<StationIndex>>,
    /// The categories of some flows; all others are best effort.
    pub categories: BTreeMap<FlowId, AccessCategory>,
    /// Queues for each receiver and category, and what may wait at the MAC. `None` for a queue for each
    /// category, from which the MAC takes packets as long as it has room.
    pub queues: Option<ReceiverQueues>,
    /// Noise power at the receivers in watts: an MPDU is then lost by the ratio of signal to noise, its mode
    /// and its length. `None` for frames that noise does not destroy.
    pub noise: Option<f64>,
    /// Root of the stations' streams of random numbers.
    pub seed: u64,
}

/// Queues as Linux has them since 2016 to 2020.
#[derive(Clone, PartialEq, Debug)]
pub struct ReceiverQueues {
    /// The queue for each receiver and category.
    pub queue: FqCoDelConfig,
    /// The airtime that may wait at the MAC.
    pub limits: QueueLimits,
}

/// A medium of stations with quality of service, which are added in the order of the site's.
pub struct QosMedium {
    air: Air,
    site: Site,
    config: QosConfig,
    streams: SplitMix64,
    stations: Stations,
    usage: Usage,
    links: Vec<Link>,
    out: Option<Box<Ppdu>>,
    is_captured: bool,
}

struct Stations {
    machines: Vec<Edca<SplitMix64>>,
    deadlines: Deadlines,
    payloads: Payloads,
    contents: Contents,
    /// Parts of the A-MPDU that each station receives which others have damaged.
    damage: Vec<Vec<(Instant, Instant)>>,
    supply: Supply,
    monitor: Option<Box<Monitor>>,
    /// `None` if nothing is to be associated.
    roaming: Option<Box<Roaming>>,
}

impl QosMedium {
    /// The medium of the stations of `site`.
    pub fn new(site: Site, config: QosConfig) -> Self {
        let streams = SplitMix64::new(config.seed);
        let noise = config.noise.map(|power| Noise::new(power, streams.stream(NOISE_STREAM)));
        let stations = Stations {
            machines: Vec::with_capacity(site.stations()),
            deadlines: Deadlines::default(),
            payloads: Payloads::default(),
            contents: Contents::new(noise),
            damage: vec![Vec::new(); site.stations()],
            supply: Supply::new(config.queues.as_ref().map(|queues| queues.limits), site.stations()),
            monitor: None,
            roaming: None,
        };
        let air = Air::new(config.air, site.stations());
        Self {
            air,
            site,
            config,
            streams,
            stations,
            usage: Usage::default(),
            links: Vec::new(),
            out: None,
            is_captured: false,
        }
    }

    /// Hands all frames to the capture from now on.
    pub(crate) const fn capture(&mut self) {
        self.is_captured = true;
    }

    /// The stations and the links between them.
    pub const fn site(&self) -> &Site {
        &self.site
    }

    /// The use of the channel.
    pub fn usage(&self) -> &[(u8, ChannelUsage)] {
        self.usage.all()
    }

    /// The MAC of a station.
    pub fn mac(&self, station: StationIndex) -> &Edca<SplitMix64> {
        &self.stations.machines[station.index()]
    }

    /// Counters of a station's MAC over all categories.
    pub fn counters(&self, station: StationIndex) -> CategoryCounters {
        let machine = self.mac(station);
        AccessCategory::ALL.iter().fold(CategoryCounters::default(), |sum, &category| {
            let other = machine.counters(category);
            CategoryCounters {
                attempts: sum.attempts + other.attempts,
                failed_attempts: sum.failed_attempts + other.failed_attempts,
                failed_later: sum.failed_later + other.failed_later,
                internal_collisions: sum.internal_collisions + other.internal_collisions,
                mpdus: sum.mpdus + other.mpdus,
                transmissions: sum.transmissions + other.transmissions,
                acknowledged: sum.acknowledged + other.acknowledged,
                given_up: sum.given_up + other.given_up,
            }
        })
    }

    fn is_access_point(&self, station: StationIndex) -> bool {
        match &self.stations.roaming {
            Some(roaming) => roaming.is_access_point(station),
            None => self.config.cells.contains(&Some(station)),
        }
    }

    fn wake(&mut self, now: Instant, station: StationIndex, io: &mut MediumIo<'_>) {
        self.stations.machines[station.index()].handle_timeout(now);
        let mut out = self.out.take().unwrap_or_else(|| Box::new(Ppdu::new(nothing())));
        while self.stations.machines[station.index()].poll_transmit(now, &mut out) {
            self.transmit(now, station, &mut out, io);
        }
        self.out = Some(out);
        self.stations.settle(now, station, io);
    }

    /// A station begins to transmit.
    fn transmit(&mut self, now: Instant, station: StationIndex, out: &mut Ppdu, io: &mut MediumIo<'_>) {
        let is_message = out.frame.kind == FrameKind::Management;
        if is_message {
            self.stations.address_message(station, out);
        }
        self.mark_group(station, out);
        self.mark_service(station, out);
        if self.is_captured {
            let place = captured::Place {
                phy: &self.config.mac.phy,
                channel: self.stations.roaming.as_ref().map(|_| self.channel(station)),
                number: self.air.transmissions() as u32,
                direction: self.direction(station),
            };
            let message = self.message_body(now, out);
            captured::capture(&place, out, message, &self.stations.payloads, io);
        }
        self.links.clear();
        self.links.extend_from_slice(self.site.links(station, now));
        let to = out.frame.receiver.number().map(StationIndex);
        let is_in_range = to.is_none_or(|to| self.links.iter().any(|link| link.station == to));
        let is_off_channel = self.retain_channel(station, to);
        self.stations.note(now, station, to, out);
        let (handle, receiver_link) = {
            let contents = &mut self.stations.contents;
            let handle = contents.store(out);
            (handle, self.links.iter().position(|link| Some(link.station) == to))
        };
        out.frame.payload = handle;
        self.stations.contents.apply_noise(handle, &mut self.links, receiver_link);
        self.usage.add(now, self.channel(station), &out.frame);
        let is_reached = self.air.transmit(now, station, &out.frame, self.links.iter().copied());
        let miss = match (is_in_range, is_off_channel) {
            (false, _) => Some(MediumLoss::OutOfRange),
            (true, true) => Some(self.stations.cause_off_channel(to)),
            (true, false) => None,
        };
        for packet in &out.packets {
            if !is_message {
                self.stations.payloads.begin_transmission(packet.handle, is_reached, miss);
            } else if is_reached {
                self.stations.begin_message(packet.handle);
            }
        }
        if !is_reached {
            self.stations.contents.free(handle);
        }
    }
}

/// A frame that is replaced before it is used.
fn nothing() -> Frame {
    Frame {
        receiver: MacAddress::BROADCAST,
        transmitter: MacAddress::BROADCAST,
        kind: FrameKind::CfEnd,
        addressing: whimbrel_wifi::Addressing::default(),
        rate: whimbrel_wifi::Rate::Ofdm6,
        mode: None,
        is_retry: false,
        sequence: 0,
        size: 0,
        air_time: Duration::ZERO,
        nav: Duration::ZERO,
        payload: 0,
    }
}

impl Stations {
    /// Processes a MAC's events, gives it packets in place of those that are done, and notes its deadline.
    fn settle(&mut self, now: Instant, station: StationIndex, io: &mut MediumIo<'_>) {
        let mut is_done = false;
        while let Some((at, event)) = self.machines[station.index()].poll_event() {
            is_done |= matches!(event, Event::Done { .. });
            self.handle_event(at, station, event, io);
        }
        self.supply_messages(now, station, io);
        self.follow_clients(now, io);
        self.follow_triggers(now, io);
        self.reattach(now, station, io);
        if is_done {
            self.end_services(now, station);
            let Self { machines, payloads, supply, roaming, .. } = self;
            let mut macs = Macs { machines, payloads, roaming: roaming.as_deref_mut() };
            supply.refill(now, station, &mut macs, io);
        }
        self.set_deadline(station);
    }

    fn set_deadline(&mut self, station: StationIndex) {
        self.deadlines.set(station.index(), self.machines[station.index()].poll_timeout());
    }

    fn handle_event(&mut self, at: Instant, station: StationIndex, event: Event, io: &mut MediumIo<'_>) {
        match event {
            Event::Held { packet } => self.payloads.hold(packet),
            Event::Delivered { packet, transmitter } if packet & MESSAGE != 0 => {
                self.handle_message(at, station, transmitter, packet, io);
            }
            Event::Delivered { packet, transmitter } => {
                if self.accepts(at, station, transmitter, packet, io) {
                    self.payloads.deliver(packet, station, io);
                }
                self.payloads.release(packet, io);
            }
            Event::Done { packet, fate, .. } if packet & MESSAGE != 0 => {
                self.finish_message(at, station, packet, fate == Fate::Acknowledged, io);
            }
            Event::Done { packet, fate, .. } => {
                if fate == Fate::Acknowledged {
                    self.note_success(at, station);
                }
                let is_own = self.payloads.sender(packet) == Some(station);
                if is_own {
                    self.supply.finish(station, self.payloads.charge(packet));
                }
                if let Some(report) = self.payloads.finish(at, packet, io)
                    && is_own
                {
                    io.observe(
                        station,
                        match fate {
                            Fate::Acknowledged => Observation::Sent(report),
                            Fate::GivenUp => Observation::Failed(report),
                        },
                    );
                }
            }
        }
    }
}

/// The stations while the air reports to them.
struct Reception<'a, 'b> {
    stations: &'a mut Stations,
    site: &'a Site,
    io: &'a mut MediumIo<'b>,
}

impl Listener for Reception<'_, '_> {
    fn advance(&mut self, now: Instant, steps: u64) {
        self.io.step(now, steps);
    }

    fn busy(&mut self, now: Instant, station: StationIndex) {
        self.stations.machines[station.index()].handle_busy(now);
        if let Some(roaming) = &mut self.stations.roaming {
            roaming.all.handle_activity(now, station);
        }
        self.stations.set_deadline(station);
    }

    fn idle(&mut self, now: Instant, station: StationIndex) {
        self.stations.machines[station.index()].handle_idle(now);
        self.stations.settle(now, station, self.io);
    }

    fn received(&mut self, now: Instant, station: StationIndex, frame: &Frame) {
        if let (FrameKind::Management, Some(roaming)) = (frame.kind, &mut self.stations.roaming) {
            roaming.all.note_power(now, station, frame.transmitter, self.site);
        }
        let Stations { machines, payloads, contents, damage, monitor, roaming, .. } = &mut *self.stations;
        let (machine, damage) = (&mut machines[station.index()], &mut damage[station.index()]);
        let (ppdu, received) = contents.received(now, frame.payload, machine.address(), damage, payloads);
        damage.clear();
        if let (Some(roaming), FrameKind::Data | FrameKind::Aggregate) = (roaming, frame.kind)
            && (0..ppdu.mpdus.len()).any(|place| received.contains(place))
        {
            let is_whole = (0..ppdu.mpdus.len()).all(|place| received.contains(place));
            let outcome = (is_whole, machine.has_no_packets());
            roaming.all.handle_data_frame(now, station, frame, outcome, self.io);
        }
        if let Some(monitor) = monitor {
            let is_receiver = frame.receiver == machine.address();
            noted::note_arrival(monitor, station, is_receiver, ppdu, &received);
        }
        // A lost MPDU that goes alone is a frame with errors.
        if ppdu.mpdus.len() == 1 && !received.contains(0) {
            machine.handle_error(now, ReceptionError::Corrupted);
        } else {
            machine.handle_ppdu(now, ppdu, &received);
        }
        self.stations.settle(now, station, self.io);
    }

    fn error(&mut self, now: Instant, station: StationIndex, error: ReceptionError) {
        self.stations.machines[station.index()].handle_error(now, error);
        self.stations.settle(now, station, self.io);
    }

    fn lost(&mut self, _: Instant, station: StationIndex, frame: &Frame, cause: ReceptionLoss) {
        self.stations.damage[station.index()].clear();
        if frame.receiver == self.stations.machines[station.index()].address()
            && frame.kind != FrameKind::Management
        {
            for packet in &self.stations.contents.get(frame.payload).packets {
                self.stations.payloads.lose(packet.handle, cause.into());
            }
        }
    }

    fn damaged(&mut self, station: StationIndex, _: &Frame, part: (Instant, Instant)) {
        self.stations.damage[station.index()].push(part);
    }

    fn ended(&mut self, _: Instant, frame: &Frame) {
        let Stations { payloads, contents, .. } = &mut *self.stations;
        let mut message = None;
        for packet in &contents.get(frame.payload).packets {
            if packet.handle & MESSAGE == 0 {
                payloads.end_transmission(packet.handle, self.io);
            } else {
                message = Some(packet.handle);
            }
        }
        contents.free(frame.payload);
        if let Some(handle) = message {
            self.stations.end_message(handle);
        }
    }
}

impl Medium for QosMedium {
    fn lanes(&self) -> Option<Lanes> {
        let classes = self.config.categories.iter().map(|(&flow, &category)| (flow, category as u8));
        Some(Lanes {
            classes: classes.collect(),
            class: AccessCategory::BestEffort as u8,
            by_receiver: self.config.queues.as_ref().map(|queues| queues.queue.clone()),
        })
    }

    fn handle_station(&mut self, station: StationIndex) {
        assert!(station.index() < self.site.stations(), "the site has {} stations", self.site.stations());
        let random = self.streams.stream(u64::from(station.0));
        let mac = if self.is_access_point(station) { &self.config.access_point } else { &self.config.mac };
        let own = self.config.own_categories.get(&station);
        let mac = EdcaConfig { categories: *own.unwrap_or(&mac.categories), ..mac.clone() };
        let mut machine = Edca::new(MacAddress::station(station.0), mac, random);
        for (receiver, &weight) in self.config.weights.iter().filter(|(receiver, _)| **receiver != station) {
            machine.set_weight(MacAddress::station(receiver.0), weight);
        }
        self.stations.machines.push(machine);
        self.stations.deadlines.add();
        if let Some(roaming) = &mut self.stations.roaming {
            roaming.all.set_deadline(station);
        }
    }

    fn handle_backlog(&mut self, now: Instant, station: StationIndex, io: &mut MediumIo<'_>) {
        self.handle_own_packet(now, station, io);
        let Stations { machines, payloads, supply, roaming, .. } = &mut self.stations;
        let lane = io.last_lane(station);
        let mut macs = Macs { machines, payloads, roaming: roaming.as_deref_mut() };
        supply.refill_lane(now, station, lane, &mut macs, io);
        self.stations.settle(now, station, io);
    }

    fn handle_timeout(&mut self, mut now: Instant, io: &mut MediumIo<'_>) {
        loop {
            // At one instant, the stations' deadlines precede what arrives: stations whose counters end
            // together all transmit.
            while self.stations.deadlines.first_at() <= now
                && let Some((station, _)) = self.stations.deadlines.first()
            {
                self.wake(now, StationIndex::new(station), io);
            }
            self.retune(now, io);
            self.follow_doze(now, io);
            if self.manage(now, io) {
                continue;
            }
            match self.air.poll_timeout() {
                Some(at) if at <= now => {
                    let mut reception = Reception { stations: &mut self.stations, site: &self.site, io };
                    self.air.handle_timeout(now, &mut reception);
                    now = io.now;
                }
                _ => match self.poll_timeout() {
                    Some(next) if io.advance(next) => now = next,
                    _ => return,
                },
            }
        }
    }

    fn poll_timeout(&self) -> Option<Instant> {
        let mut next = self.stations.deadlines.first_at();
        if let Some(roaming) = &self.stations.roaming {
            next = next.min(roaming.all.deadlines.first_at());
        }
        if let Some(at) = self.air.poll_timeout() {
            next = next.min(at);
        }
        (next != Instant::FAR_FUTURE).then_some(next)
    }

    fn reaches(&self, now: Instant, from: StationIndex, to: StationIndex) -> bool {
        if let Some(roaming) = &self.stations.roaming {
            return roaming.all.reaches(&self.site, now, from, to);
        }
        let cells = &self.config.cells;
        let is_cell = |client: StationIndex, point: StationIndex| cells[client.index()] == Some(point);
        (cells.is_empty() || is_cell(from, to) || is_cell(to, from)) && self.site.reaches(from, to, now)
    }
}
