//! A summary for passive stations has the effects of the reports that it stands for.

use std::vec;
use std::vec::Vec;

use proptest::prelude::*;
use whimbrel_units::{Duration, Instant};

use crate::dcf::{Dcf, Event, MacConfig, Outgoing, ProbeConfig, ReceptionError, Sensed};
use crate::frame::{Addressing, Frame, FrameKind, MacAddress};
use crate::medium::{CaptureRule, Link, Listener, Medium, MediumConfig, ReceptionLoss};
use crate::phy::{Phy, Preamble, Rate};
use crate::{SplitMix64, StationIndex};

/// Stations with a MAC; others transmit.
const STATIONS: u32 = 3;
const SENDERS: u32 = 3;

struct Machines {
    machines: Vec<Dcf<SplitMix64>>,
    are_passive: bool,
    losses: Vec<(Instant, u32, ReceptionLoss)>,
    summaries: usize,
}

impl Machines {
    fn machine(&mut self, station: u32) -> Option<&mut Dcf<SplitMix64>> {
        self.machines.get_mut(station as usize)
    }
}

impl Listener for Machines {
    fn busy(&mut self, now: Instant, station: StationIndex) {
        if let Some(machine) = self.machine(station.0) {
            machine.handle_busy(now);
        }
    }

    fn idle(&mut self, now: Instant, station: StationIndex) {
        if let Some(machine) = self.machine(station.0) {
            machine.handle_idle(now);
        }
    }

    fn received(&mut self, now: Instant, station: StationIndex, frame: &Frame) {
        if let Some(machine) = self.machine(station.0) {
            machine.handle_frame(now, frame);
        }
    }

    fn error(&mut self, now: Instant, station: StationIndex, error: ReceptionError) {
        if let Some(machine) = self.machine(station.0) {
            machine.handle_error(now, error);
        }
    }

    fn lost(&mut self, now: Instant, station: StationIndex, _: &Frame, cause: ReceptionLoss) {
        self.losses.push((now, station.0, cause));
    }

    fn is_passive(&self, station: StationIndex) -> bool {
        let machine = self.machines.get(station.index());
        self.are_passive && machine.is_some_and(|machine| machine.is_passive())
    }

    fn overhears(&self, station: StationIndex, frame: &Frame) -> bool {
        self.machines[station.index()].overhears(frame)
    }

    fn sensed(&mut self, station: StationIndex, sensed: &Sensed) {
        self.summaries += 1;
        self.machines[station.index()].handle_sensed(sensed);
    }

    fn captured(&mut self, now: Instant, station: StationIndex, air_time: Duration) {
        if let Some(machine) = self.machine(station.0) {
            machine.handle_captured(now, air_time);
        }
    }
}

/// An input at a time in microseconds.
#[derive(Clone, Debug)]
enum Input {
    /// A sender transmits a frame, with these powers at the stations.
    Frame { sender: u32, frame: Frame, powers: Vec<f32> },
    /// A payload for a station's MAC.
    Payload { station: u32 },
}

fn frames() -> impl Strategy<Value = Frame> {
    let kinds = prop_oneof![
        Just(FrameKind::Rts),
        Just(FrameKind::Cts),
        Just(FrameKind::Ack),
        Just(FrameKind::Data),
        Just(FrameKind::Management)
    ];
    let receivers = prop_oneof![
        (0..STATIONS + SENDERS).prop_map(MacAddress::station),
        Just(MacAddress::station(99)),
        Just(MacAddress::BROADCAST)
    ];
    let rates = prop_oneof![Just(Rate::Dsss1), Just(Rate::Hr11), Just(Rate::Ofdm54)];
    (kinds, receivers, rates, 50..900u64, 0..2_000u64).prop_map(|(kind, receiver, rate, air_time, nav)| {
        let is_group = receiver.is_group();
        Frame {
            receiver,
            transmitter: MacAddress::station(STATIONS),
            kind: if is_group { FrameKind::Data } else { kind },
            addressing: Addressing::default(),
            rate,
            mode: None,
            is_retry: false,
            sequence: 0,
            size: 100,
            air_time: Duration::from_micros(air_time),
            nav: Duration::from_micros(if is_group { 0 } else { nav }),
            payload: 1,
        }
    })
}

fn inputs() -> impl Strategy<Value = Vec<(u64, Input)>> {
    // From a decodable signal far above the others to one that is only sensed, and to one that is not.
    let powers = prop_oneof![Just(1e-7f32), Just(1e-9), Just(5e-11), Just(1e-12)];
    let frame = (STATIONS..STATIONS + SENDERS, frames(), prop::collection::vec(powers, STATIONS as usize))
        .prop_map(|(sender, frame, powers)| Input::Frame { sender, frame, powers });
    let payload = (0..STATIONS).prop_map(|station| Input::Payload { station });
    prop::collection::vec((0..1_500u64, prop_oneof![8 => frame, 1 => payload]), 1..60)
}

/// Runs the inputs, each at a time after the one before; returns the state and the events at the end.
fn run(
    config: MediumConfig,
    mac: &MacConfig,
    inputs: &[(u64, Input)],
    are_passive: bool,
) -> (Vec<std::string::String>, usize) {
    let mut medium = Medium::new(config, (STATIONS + SENDERS) as usize);
    let random = SplitMix64::new(1);
    let machine = |n| Dcf::new(MacAddress::station(n), mac.clone(), random.stream(u64::from(n)));
    let machines: Vec<_> = (0..STATIONS).map(machine).collect();
    let mut all = Machines { machines, are_passive, losses: Vec::new(), summaries: 0 };
    let mut log: Vec<(u32, Instant, Event)> = Vec::new();
    let mut now = Instant::ZERO;
    let mut advance = |medium: &mut Medium, all: &mut Machines, until: Instant| loop {
        let deadlines = all.machines.iter().map(Dcf::next_deadline);
        let next = deadlines.chain(medium.poll_timeout()).min().unwrap_or(Instant::FAR_FUTURE);
        if next >= until {
            return;
        }
        for station in 0..STATIONS {
            let machine = &mut all.machines[station as usize];
            if machine.next_deadline() > next {
                continue;
            }
            machine.handle_timeout(next);
            while let Some(transmit) = machine.poll_transmit(next) {
                let link = |station| Link { station, delay: 100, power: 1e-9, is_corrupted: false };
                let links = (0..STATIONS + SENDERS).filter(|&to| to != station).map(StationIndex).map(link);
                medium.transmit(next, StationIndex(station), &transmit.frame, links);
            }
        }
        medium.handle_timeout(next, all);
        for station in 0..STATIONS {
            while let Some((at, event)) = all.machines[station as usize].poll_event() {
                log.push((station, at, event));
            }
        }
    };
    for (gap, input) in inputs {
        now += Duration::from_micros(*gap);
        advance(&mut medium, &mut all, now);
        match input {
            Input::Frame { sender, frame, powers } => {
                let link = |(power, station)| Link { station, delay: 300, power, is_corrupted: false };
                let links = powers.iter().copied().zip((0..).map(StationIndex)).map(link);
                medium.transmit(now, StationIndex(*sender), frame, links);
            }
            Input::Payload { station } => {
                if let Some(sensed) = medium.attend(StationIndex(*station)) {
                    all.sensed(StationIndex(*station), &sensed);
                }
                let outgoing = Outgoing::data(MacAddress::station(STATIONS), 200, 7);
                let _ = all.machines[*station as usize].enqueue(now, outgoing);
            }
        }
    }
    advance(&mut medium, &mut all, now + Duration::from_millis(400));
    for station in 0..STATIONS {
        if let Some(sensed) = medium.attend(StationIndex(station)) {
            all.sensed(StationIndex(station), &sensed);
        }
    }
    let mut state: Vec<_> = all.machines.iter().map(|machine| std::format!("{machine:?}")).collect();
    state.push(std::format!("{log:?}"));
    state.push(std::format!("{:?}", all.losses));
    (state, all.summaries)
}

proptest! {
    #[test]
    fn a_summary_has_the_effects_of_the_reports_that_it_stands_for(inputs in inputs()) {
        let additive = CaptureRule::Interference { switches_to_stronger: true };
        let standard = MacConfig::standard(Phy::hr_dsss(Preamble::Long), Rate::Hr11);
        let probe = Some(ProbeConfig { size: 100, quiet: Duration::from_millis(2) });
        for mac in [MacConfig::ns2(), standard, MacConfig { probe, ..MacConfig::ns2() }] {
            for rule in [CaptureRule::FirstFrame, additive] {
                let config = MediumConfig { rule, ..MediumConfig::ns2() };
                let (reported, none) = run(config, &mac, &inputs, false);
                let (summed_up, _) = run(config, &mac, &inputs, true);
                prop_assert_eq!(none, 0);
                prop_assert_eq!(reported, summed_up);
            }
        }
    }
}

#[test]
fn a_passive_station_is_notified_of_nothing_before_a_frame_for_it() {
    let frame = |receiver| Frame {
        receiver,
        transmitter: MacAddress::station(STATIONS),
        kind: FrameKind::Data,
        addressing: Addressing::default(),
        rate: Rate::Dsss1,
        mode: None,
        is_retry: false,
        sequence: 0,
        size: 100,
        air_time: Duration::from_micros(500),
        nav: Duration::from_micros(300),
        payload: 1,
    };
    let send = |receiver| Input::Frame { sender: STATIONS, frame: frame(receiver), powers: vec![1e-9; 3] };
    let config = MediumConfig::ns2();
    let mac = MacConfig { rts_threshold: 3_000, ..MacConfig::ns2() };
    // After the first idle edge all three are passive: at the end, each has its summary.
    let others: Vec<_> = (0..4).map(|_| (2_000, send(MacAddress::station(99)))).collect();
    assert_eq!(run(config, &mac, &others, true).1, 3);
    // The frame for station 0 ends that station's passivity; the other stations remain passive.
    let mut inputs = others.clone();
    inputs.push((2_000, send(MacAddress::station(0))));
    inputs.extend(others);
    assert_eq!(run(config, &mac, &inputs, true).1, 4);
}
