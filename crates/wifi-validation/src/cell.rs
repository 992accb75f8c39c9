//! A small event loop: stations on a medium with fixed links and saturated senders.
//!
//! For validation and benchmarks of [`Dcf`] and [`Medium`] without a network simulator.

use whimbrel_units::{Duration, Instant};
use whimbrel_wifi::StationIndex;
use whimbrel_wifi::dcf::{Dcf, Event, MacConfig, Outgoing, ReceptionError};
use whimbrel_wifi::deadlines::Deadlines;
use whimbrel_wifi::frame::{Frame, MacAddress};
use whimbrel_wifi::medium::{Link, Listener, Medium, MediumConfig, ReceptionLoss};
use whimbrel_wifi::random::SplitMix64;

/// Frames with a payload that were lost at their receiver, by cause.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct LossCounters {
    /// Lost to another frame.
    pub collision: u64,
    /// Lost to a stronger frame that survived.
    pub capture: u64,
    /// Too weak.
    pub below_threshold: u64,
    /// The receiver itself transmitted.
    pub half_duplex: u64,
    /// Destroyed by noise.
    pub noise: u64,
}

/// Stations on a medium, some of which always have a payload to send.
pub struct Cell {
    medium: Medium,
    links: Vec<Vec<Link>>,
    stations: Stations,
    now: Instant,
}

struct Stations {
    machines: Vec<Dcf<SplitMix64>>,
    deadlines: Deadlines,
    /// Receiver of each saturated sender's payloads.
    targets: Vec<Option<MacAddress>>,
    payload_bytes: u32,
    losses: LossCounters,
    log: Option<Vec<(Instant, u32, Event)>>,
}

impl Cell {
    /// Stations with these links between them. Every station has a stream of its own, derived from `seed`.
    pub fn new(
        medium: MediumConfig,
        links: Vec<Vec<Link>>,
        configs: impl Iterator<Item = MacConfig>,
        seed: u64,
    ) -> Self {
        let root = SplitMix64::new(seed);
        let machine =
            |(number, config)| Dcf::new(MacAddress::station(number), config, root.stream(u64::from(number)));
        let machines: Vec<_> = (0..links.len() as u32).zip(configs).map(machine).collect();
        let count = machines.len();
        let mut deadlines = Deadlines::default();
        machines.iter().for_each(|_| _ = deadlines.add());
        let stations = Stations {
            machines,
            deadlines,
            targets: vec![None; count],
            payload_bytes: 0,
            losses: LossCounters::default(),
            log: None,
        };
        Self { medium: Medium::new(medium, count), links, stations, now: Instant::ZERO }
    }

    /// One cell of `senders` saturated stations and a station 0 that receives, all with equal power and
    /// without propagation delay. Payloads of `payload_bytes` bytes.
    pub fn saturated(config: &MacConfig, senders: usize, payload_bytes: u32, seed: u64) -> Self {
        let count = senders as u32 + 1;
        let link = |station| Link { station, delay: 0, power: 1e-9, is_corrupted: false };
        let links = (0..count)
            .map(|from| (0..count).filter(|&to| to != from).map(StationIndex).map(link).collect())
            .collect();
        let configs = std::iter::repeat_n(config.clone(), senders + 1);
        let mut cell = Self::new(MediumConfig::additive(), links, configs, seed);
        for sender in 1..count {
            cell.saturate(sender, 0, payload_bytes);
        }
        cell
    }

    /// Gives a station an endless supply of payloads of `bytes` bytes for another one. All senders use the
    /// size given last.
    pub fn saturate(&mut self, from: u32, to: u32, bytes: u32) {
        self.stations.payload_bytes = bytes;
        self.stations.targets[from as usize] = Some(MacAddress::station(to));
    }

    /// Gives a station an endless supply of payloads for all stations, which are not acknowledged.
    pub fn saturate_group(&mut self, from: u32, bytes: u32) {
        self.stations.payload_bytes = bytes;
        self.stations.targets[from as usize] = Some(MacAddress::BROADCAST);
    }

    /// Records all events from now on, for [`take_log`](Self::take_log).
    pub fn record(&mut self) {
        self.stations.log = Some(Vec::new());
    }

    /// The recorded events: time, station, event.
    pub fn take_log(&mut self) -> Vec<(Instant, u32, Event)> {
        self.stations.log.as_mut().map(std::mem::take).unwrap_or_default()
    }

    /// The stations' machines.
    pub fn machines(&self) -> &[Dcf<SplitMix64>] {
        &self.stations.machines
    }

    /// Losses of frames with a payload at their receivers.
    pub const fn losses(&self) -> LossCounters {
        self.stations.losses
    }

    /// Transmissions of any kind since the beginning.
    pub const fn transmissions(&self) -> u64 {
        self.medium.transmissions()
    }

    /// Puts a payload into service at a station; `false` if it has one.
    pub fn enqueue(&mut self, station: u32, outgoing: Outgoing) -> bool {
        let accepted = self.stations.machines[station as usize].enqueue(self.now, outgoing).is_ok();
        self.stations.settle(self.now, station as usize);
        accepted
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
            // Transmissions without delay begin at the instant itself.
            self.medium.handle_timeout(next, &mut self.stations);
        }
    }

    fn wake(&mut self, station: usize) {
        let machine = &mut self.stations.machines[station];
        machine.handle_timeout(self.now);
        while let Some(transmit) = machine.poll_transmit(self.now) {
            let links = self.links[station].iter().copied();
            self.medium.transmit(self.now, StationIndex::new(station), &transmit.frame, links);
        }
        self.stations.settle(self.now, station);
    }
}

impl Stations {
    /// Drains a machine's events, refills it if it is saturated and notes its deadline.
    fn settle(&mut self, now: Instant, station: usize) {
        let machine = &mut self.machines[station];
        loop {
            while let Some((at, event)) = machine.poll_event() {
                if let Some(log) = &mut self.log {
                    log.push((at, station as u32, event));
                }
            }
            let Some(target) = self.targets[station].filter(|_| machine.is_ready()) else { break };
            let payload = machine.counters().enqueued;
            let accepted = machine.enqueue(now, Outgoing::data(target, self.payload_bytes, payload));
            debug_assert!(accepted.is_ok());
        }
        self.deadlines.set(station, machine.poll_timeout());
    }
}

impl Listener for Stations {
    fn busy(&mut self, now: Instant, station: StationIndex) {
        let machine = &mut self.machines[station.index()];
        machine.handle_busy(now);
        self.deadlines.set(station.index(), machine.poll_timeout());
    }

    fn idle(&mut self, now: Instant, station: StationIndex) {
        self.machines[station.index()].handle_idle(now);
        self.settle(now, station.index());
    }

    fn received(&mut self, now: Instant, station: StationIndex, frame: &Frame) {
        self.machines[station.index()].handle_frame(now, frame);
        self.settle(now, station.index());
    }

    fn error(&mut self, now: Instant, station: StationIndex, error: ReceptionError) {
        self.machines[station.index()].handle_error(now, error);
        self.settle(now, station.index());
    }

    fn lost(&mut self, _now: Instant, station: StationIndex, frame: &Frame, cause: ReceptionLoss) {
        if frame.receiver != self.machines[station.index()].address() || !frame.kind.has_payload() {
            return;
        }
        let losses = &mut self.losses;
        *match cause {
            ReceptionLoss::Collision => &mut losses.collision,
            ReceptionLoss::Capture => &mut losses.capture,
            ReceptionLoss::BelowThreshold => &mut losses.below_threshold,
            ReceptionLoss::HalfDuplex => &mut losses.half_duplex,
            ReceptionLoss::Noise => &mut losses.noise,
            // The stations of a cell stay on its channel.
            ReceptionLoss::OffChannel => return,
        } += 1;
    }

    fn captured(&mut self, now: Instant, station: StationIndex, air_time: Duration) {
        self.machines[station.index()].handle_captured(now, air_time);
        self.settle(now, station.index());
    }
}

#[cfg(test)]
mod tests;
