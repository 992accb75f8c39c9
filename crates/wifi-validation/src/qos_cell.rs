//! A small event loop: stations with quality of service, and others, in one cell without propagation delay.
//!
//! For the validation of [`Edca`] against theory, as [`Cell`](crate::cell::Cell) is for the validation of
//! [`Dcf`].

use whimbrel_units::{Duration, Instant};
use whimbrel_wifi::aggregation::{AggregateLimits, Packet};
use whimbrel_wifi::dcf::{self, Dcf, MacConfig, Outgoing, ReceptionError};
use whimbrel_wifi::deadlines::Deadlines;
use whimbrel_wifi::edca::{AccessCategory, Edca, EdcaConfig, Event, Ppdu, Received, TransmitRate};
use whimbrel_wifi::frame::{Frame, FrameKind, MacAddress};
use whimbrel_wifi::medium::{Link, Listener, Medium, MediumConfig, ReceptionLoss};
use whimbrel_wifi::phy::Mode;
use whimbrel_wifi::propagation::loss_probability;
use whimbrel_wifi::random::{Random, SplitMix64};
use whimbrel_wifi::{Addressing, Rate, StationIndex};

/// Frames of stations without quality of service have no content.
const NO_CONTENT: u64 = u64::MAX;

enum Machine {
    Qos(Box<Edca<SplitMix64>>),
    Dcf(Box<Dcf<SplitMix64>>),
}

/// A sender that always has packets.
struct Source {
    receiver: MacAddress,
    category: AccessCategory,
    bytes: u32,
    /// Packets that wait for the receiver at all times; `None` for as many as the station takes.
    waiting: Option<usize>,
}

/// Losses of single MPDUs, apart from each other.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Loss {
    None,
    /// Each with this probability.
    All(f64),
    /// By this ratio of signal to noise.
    Noise(f64),
}

impl Loss {
    fn probability(self, mode: Option<Mode>, bytes: u32) -> f64 {
        match (self, mode) {
            (Self::All(probability), _) => probability,
            (Self::Noise(ratio), Some(mode)) => loss_probability(mode, ratio, bytes),
            _ => 0.0,
        }
    }
}

/// Counters of a cell's packets.
#[derive(Clone, Default, Debug)]
pub struct Deliveries {
    /// Packets delivered, by station that sent them.
    pub packets: Vec<u64>,
    /// Packets delivered, by station with quality of service that received them.
    pub received: Vec<u64>,
    /// Times from the first transmission to the delivery in order, and the sizes of the bursts that were
    /// delivered at once, if [recorded](QosCell::record).
    pub delays: Vec<Duration>,
    /// The sizes of the bursts.
    pub bursts: Vec<u32>,
    /// Packets delivered again, or before an earlier one of the same source.
    pub disordered: u64,
    /// MPDUs transmitted, by the station's number.
    pub mpdus: u64,
    /// Transmissions of data.
    pub transmissions: u64,
}

/// Stations in one cell. The last one receives.
pub struct QosCell {
    medium: Medium,
    stations: Stations,
    now: Instant,
    out: Ppdu,
}

struct Stations {
    machines: Vec<Machine>,
    deadlines: Deadlines,
    /// By station.
    sources: Vec<Vec<Source>>,
    contents: Vec<Ppdu>,
    free: Vec<u64>,
    damage: Vec<Vec<(Instant, Instant)>>,
    /// Losses of single MPDUs.
    loss: Loss,
    random: SplitMix64,
    next_packet: u64,
    /// First transmission by packet, if recorded.
    begun: Option<Vec<Instant>>,
    /// The last packet delivered at each station of each sender, plus one.
    last_packet: Vec<Vec<u64>>,
    deliveries: Deliveries,
}

impl QosCell {
    /// A cell of stations with quality of service, all in range of each other.
    pub fn new(seed: u64) -> Self {
        let stations = Stations {
            machines: Vec::new(),
            deadlines: Deadlines::default(),
            sources: Vec::new(),
            contents: Vec::new(),
            free: Vec::new(),
            damage: Vec::new(),
            loss: Loss::None,
            random: SplitMix64::new(seed),
            next_packet: 0,
            begun: None,
            last_packet: Vec::new(),
            deliveries: Deliveries::default(),
        };
        let frame = Frame {
            receiver: MacAddress::BROADCAST,
            transmitter: MacAddress::BROADCAST,
            kind: FrameKind::Data,
            addressing: Addressing::default(),
            rate: Rate::Ofdm6,
            mode: None,
            is_retry: false,
            sequence: 0,
            size: 0,
            air_time: Duration::ZERO,
            nav: Duration::ZERO,
            payload: NO_CONTENT,
        };
        let medium = Medium::new(MediumConfig::additive(), 0);
        Self { medium, stations, now: Instant::ZERO, out: Ppdu::new(frame) }
    }

    fn add(&mut self, machine: impl FnOnce(MacAddress, SplitMix64) -> Machine) -> u32 {
        let number = self.medium.add_station().0;
        let random = self.stations.random.stream(u64::from(number) + 1);
        self.stations.machines.push(machine(MacAddress::station(number), random));
        self.stations.deadlines.add();
        self.stations.damage.push(Vec::new());
        self.stations.sources.push(Vec::new());
        self.stations.last_packet.push(Vec::new());
        self.stations.deliveries.packets.push(0);
        self.stations.deliveries.received.push(0);
        number
    }

    /// Adds a station with quality of service, and returns its number.
    pub fn add_qos(&mut self, config: &EdcaConfig) -> u32 {
        self.add(|address, random| Machine::Qos(Box::new(Edca::new(address, config.clone(), random))))
    }

    /// Adds a station with the distributed coordination function, and returns its number.
    pub fn add_dcf(&mut self, config: &MacConfig) -> u32 {
        self.add(|address, random| Machine::Dcf(Box::new(Dcf::new(address, config.clone(), random))))
    }

    /// Gives a station an endless supply of packets of `bytes` bytes, LLC and SNAP included, for another one.
    /// Stations with a mode and limits of aggregates agree to block acknowledgements.
    pub fn saturate(&mut self, station: u32, receiver: u32, category: AccessCategory, bytes: u32) {
        let [from, to] = [station, receiver].map(MacAddress::station);
        if let Machine::Qos(sender) = &self.stations.machines[station as usize] {
            let (rate, limits) = (sender.config().rate, sender.config().limits);
            self.agree(from, to, category, rate, limits);
        }
        let source = Source { receiver: to, category, bytes, waiting: None };
        self.stations.sources[station as usize].push(source);
    }

    /// Gives a station with quality of service an endless supply of packets of best effort for another one,
    /// sent in `mode` with these limits of aggregates.
    pub fn saturate_in(
        &mut self,
        station: u32,
        receiver: u32,
        bytes: u32,
        mode: Mode,
        limits: AggregateLimits,
    ) {
        let [from, to] = [station, receiver].map(MacAddress::station);
        let category = AccessCategory::BestEffort;
        self.agree(from, to, category, TransmitRate::Mode(mode), limits);
        let waiting = Some(2 * usize::from(limits.window));
        let source = Source { receiver: to, category, bytes, waiting };
        self.stations.sources[station as usize].push(source);
    }

    /// The weight of a receiver's share of the airtime at a station.
    pub fn set_weight(&mut self, station: u32, receiver: u32, weight: u16) {
        if let Machine::Qos(sender) = &mut self.stations.machines[station as usize] {
            sender.set_weight(MacAddress::station(receiver), weight);
        }
    }

    fn agree(
        &mut self,
        from: MacAddress,
        to: MacAddress,
        category: AccessCategory,
        rate: TransmitRate,
        limits: AggregateLimits,
    ) {
        if rate.mode().is_none() || limits.ampdu_bytes == 0 {
            return;
        }
        let [sender, receiver] = [from, to].map(|address| address.number().unwrap_or(0) as usize);
        let machines = &mut self.stations.machines;
        if let Machine::Qos(machine) = &mut machines[sender] {
            machine.agree_to_send(to, category, rate, limits);
        }
        if let Machine::Qos(machine) = &mut machines[receiver] {
            machine.agree_to_receive(from, category, limits.window);
        }
    }

    /// From now on, each MPDU is lost with this probability.
    pub fn lose(&mut self, probability: f64) {
        self.stations.loss = Loss::All(probability);
    }

    /// From now on, each MPDU is lost by noise, at this ratio of signal to noise in decibels.
    pub fn lose_at(&mut self, decibels: f64) {
        self.stations.loss = Loss::Noise(whimbrel_wifi::propagation::from_decibels(decibels));
    }

    /// Records delays and bursts.
    pub fn record(&mut self) {
        self.stations.begun = Some(Vec::new());
    }

    /// A station with quality of service.
    ///
    /// # Panics
    /// If the station has none.
    pub fn qos(&self, station: u32) -> &Edca<SplitMix64> {
        match &self.stations.machines[station as usize] {
            Machine::Qos(machine) => machine,
            Machine::Dcf(_) => panic!("station {station} has no quality of service"),
        }
    }

    /// Deliveries so far.
    pub const fn deliveries(&self) -> &Deliveries {
        &self.stations.deliveries
    }

    /// Runs until `end`.
    pub fn run_until(&mut self, end: Instant) {
        for station in 0..self.stations.machines.len() {
            self.stations.settle(self.now, station);
        }
        loop {
            let deadline = self.stations.deadlines.first().map(|(_, at)| at);
            let next = [deadline, self.medium.poll_timeout()].into_iter().flatten().min();
            let Some(next) = next.filter(|next| *next <= end) else {
                self.now = end;
                return;
            };
            self.now = next;
            while let Some((station, at)) = self.stations.deadlines.first()
                && at <= next
            {
                self.wake(station);
            }
            self.medium.handle_timeout(next, &mut self.stations);
        }
    }

    fn wake(&mut self, station: usize) {
        let Self { medium, stations, now, out } = self;
        match &mut stations.machines[station] {
            Machine::Qos(machine) => machine.handle_timeout(*now),
            Machine::Dcf(machine) => machine.handle_timeout(*now),
        }
        while let Some(frame) = stations.poll_transmit(*now, station, out) {
            let link = |station| Link { station, delay: 0, power: 1e-9, is_corrupted: false };
            let count = stations.machines.len();
            let others = (0..count).filter(|&other| other != station).map(StationIndex::new);
            medium.transmit(*now, StationIndex::new(station), &frame, others.map(link));
        }
        stations.settle(*now, station);
    }
}

impl Stations {
    fn poll_transmit(&mut self, now: Instant, station: usize, out: &mut Ppdu) -> Option<Frame> {
        match &mut self.machines[station] {
            Machine::Qos(machine) => machine.poll_transmit(now, out).then(|| self.store(now, out)),
            Machine::Dcf(machine) => {
                let frame = machine.poll_transmit(now)?.frame;
                Some(Frame { payload: NO_CONTENT, ..frame })
            }
        }
    }

    /// Keeps the content of a transmission until its end.
    fn store(&mut self, now: Instant, out: &Ppdu) -> Frame {
        let handle = self.free.pop().unwrap_or_else(|| {
            self.contents.push(Ppdu::new(out.frame));
            self.contents.len() as u64 - 1
        });
        let content = &mut self.contents[handle as usize];
        content.assign(out);
        content.frame.payload = handle;
        if !out.mpdus.is_empty() {
            self.deliveries.mpdus += out.mpdus.len() as u64;
            self.deliveries.transmissions += 1;
        }
        if let Some(begun) = &mut self.begun {
            for packet in &out.packets {
                let place = packet.handle as usize;
                if begun.len() <= place {
                    begun.resize(place + 1, Instant::ZERO);
                }
                if begun[place] == Instant::ZERO {
                    begun[place] = now;
                }
            }
        }
        content.frame
    }

    /// Drains a machine's events, refills it if it is saturated and notes its deadline.
    fn settle(&mut self, now: Instant, station: usize) {
        let mut burst = 0;
        let deadline = match &mut self.machines[station] {
            Machine::Qos(machine) => {
                while let Some((at, event)) = machine.poll_event() {
                    if let Event::Delivered { packet, transmitter } = event {
                        let sender = transmitter.number().unwrap_or(0) as usize;
                        self.deliveries.packets[sender] += 1;
                        self.deliveries.received[station] += 1;
                        let last = &mut self.last_packet[station];
                        if last.len() <= sender {
                            last.resize(sender + 1, 0);
                        }
                        self.deliveries.disordered += u64::from(packet < last[sender]);
                        last[sender] = packet + 1;
                        if let Some(begun) = &self.begun {
                            self.deliveries.delays.push(at - begun[packet as usize]);
                            burst += 1;
                        }
                    }
                }
                for source in &self.sources[station] {
                    while source.waiting.map_or_else(
                        || machine.has_room(source.category),
                        |waiting| machine.waiting(source.receiver, source.category) < waiting,
                    ) {
                        let packet = Packet { handle: self.next_packet, size: source.bytes };
                        self.next_packet += 1;
                        machine.enqueue(now, source.receiver, source.category, packet);
                    }
                }
                machine.poll_timeout()
            }
            Machine::Dcf(machine) => {
                loop {
                    while let Some((_, event)) = machine.poll_event() {
                        if matches!(event, dcf::Event::Sent { .. }) {
                            self.deliveries.packets[station] += 1;
                        }
                    }
                    let source = self.sources[station].first();
                    let Some(source) = source.filter(|_| machine.is_ready()) else { break };
                    let outgoing = Outgoing::data(source.receiver, source.bytes, NO_CONTENT);
                    let accepted = machine.enqueue(now, outgoing);
                    debug_assert!(accepted.is_ok());
                }
                machine.poll_timeout()
            }
        };
        if burst > 0 {
            self.deliveries.bursts.push(burst);
        }
        self.deadlines.set(station, deadline);
    }
}

impl Listener for Stations {
    fn busy(&mut self, now: Instant, station: StationIndex) {
        match &mut self.machines[station.index()] {
            Machine::Qos(machine) => machine.handle_busy(now),
            Machine::Dcf(machine) => machine.handle_busy(now),
        }
        self.settle(now, station.index());
    }

    fn idle(&mut self, now: Instant, station: StationIndex) {
        match &mut self.machines[station.index()] {
            Machine::Qos(machine) => machine.handle_idle(now),
            Machine::Dcf(machine) => machine.handle_idle(now),
        }
        self.settle(now, station.index());
    }

    fn received(&mut self, now: Instant, station: StationIndex, frame: &Frame) {
        let damage = core::mem::take(&mut self.damage[station.index()]);
        let machine = &mut self.machines[station.index()];
        match (machine, self.contents.get(frame.payload as usize)) {
            (Machine::Qos(machine), Some(content)) => {
                let mut received = content.undamaged(now, &damage);
                if self.loss != Loss::None && frame.receiver == machine.address() {
                    for (place, mpdu) in content.mpdus.iter().enumerate() {
                        if self.random.uniform() < self.loss.probability(frame.mode, mpdu.size) {
                            received.lose(place);
                        }
                    }
                }
                let is_lost = content.mpdus.len() == 1 && !received.contains(0);
                if is_lost {
                    machine.handle_error(now, ReceptionError::Corrupted);
                } else {
                    machine.handle_ppdu(now, content, &received);
                }
            }
            (Machine::Qos(machine), None) => machine.handle_ppdu(now, &Ppdu::new(*frame), &Received::ALL),
            (Machine::Dcf(machine), _) => machine.handle_frame(now, frame),
        }
        self.damage[station.index()] = damage;
        self.damage[station.index()].clear();
        self.settle(now, station.index());
    }

    fn error(&mut self, now: Instant, station: StationIndex, error: ReceptionError) {
        match &mut self.machines[station.index()] {
            Machine::Qos(machine) => machine.handle_error(now, error),
            Machine::Dcf(machine) => machine.handle_error(now, error),
        }
        self.settle(now, station.index());
    }

    fn lost(&mut self, _: Instant, station: StationIndex, _: &Frame, _: ReceptionLoss) {
        self.damage[station.index()].clear();
    }

    fn damaged(&mut self, station: StationIndex, _: &Frame, part: (Instant, Instant)) {
        self.damage[station.index()].push(part);
    }

    fn ended(&mut self, _: Instant, frame: &Frame) {
        if frame.payload != NO_CONTENT {
            self.free.push(frame.payload);
        }
    }
}

#[cfg(test)]
mod tests;
