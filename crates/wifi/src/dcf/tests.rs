use std::collections::VecDeque;
use std::vec::Vec;

use whimbrel_units::{Duration, Instant};

use super::{Dcf, Event, MacConfig, Outgoing, Step};
use crate::frame::{Addressing, Frame, FrameKind, MacAddress};
use crate::phy::{Phy, Preamble, Rate};
use crate::random::Random;

mod laws;
mod ns2;
mod probe;
mod protection;
mod rates;
mod retune;
mod standard;

/// A stream that yields these backoffs.
#[derive(Clone, Debug)]
struct Script(VecDeque<u64>);

impl Random for Script {
    fn next_u64(&mut self) -> u64 {
        panic!("the MAC draws integers below a bound only")
    }

    fn below(&mut self, bound: u64) -> u64 {
        let slots = self.0.pop_front().expect("another backoff than scripted");
        assert!(slots < bound, "{slots} slots of a window of {bound}");
        slots
    }
}

const ME: MacAddress = MacAddress::station(1);
const PEER: MacAddress = MacAddress::station(2);
const OTHER: MacAddress = MacAddress::station(3);

fn at(micros: u64) -> Instant {
    Instant::ZERO + Duration::from_micros(micros)
}

/// 802.11b at 11 Mbit/s with control frames at 1 Mbit/s: an RTS lasts 352 us, a CTS or ACK 304 us.
fn config() -> MacConfig {
    MacConfig {
        control_rate: Some(Rate::Dsss1),
        is_traced: true,
        ..MacConfig::standard(Phy::hr_dsss(Preamble::Long), Rate::Hr11)
    }
}

fn station(config: MacConfig, backoffs: &[u64]) -> Dcf<Script> {
    Dcf::new(ME, config, Script(backoffs.iter().copied().collect()))
}

/// 1508 bytes: a frame of 1536 bytes, 1310 us at 11 Mbit/s.
fn payload(number: u64) -> Outgoing {
    Outgoing::data(PEER, 1_508, number)
}

/// Wakes the machine at its deadlines up to `end`. Returns the transmissions with their times in
/// microseconds.
fn run(machine: &mut Dcf<Script>, end: u64) -> Vec<(u64, Frame)> {
    let mut sent = Vec::new();
    while let Some(next) = machine.poll_timeout()
        && next <= at(end)
    {
        machine.handle_timeout(next);
        while let Some(transmit) = machine.poll_transmit(next) {
            sent.push((next.as_nanos() / 1_000, transmit.frame));
        }
    }
    sent
}

fn times(sent: &[(u64, Frame)]) -> Vec<(u64, FrameKind)> {
    sent.iter().map(|(time, frame)| (*time, frame.kind)).collect()
}

fn events(machine: &mut Dcf<Script>) -> Vec<Event> {
    core::iter::from_fn(|| machine.poll_event()).map(|(_, event)| event).collect()
}

fn outcomes(machine: &mut Dcf<Script>) -> Vec<Event> {
    events(machine).into_iter().filter(|event| !matches!(event, Event::Trace(_))).collect()
}

fn steps(machine: &mut Dcf<Script>) -> Vec<Step> {
    let step = |event| if let Event::Trace(step) = event { Some(step) } else { None };
    events(machine).into_iter().filter_map(step).collect()
}

/// A frame of another station, with its Duration field in microseconds.
fn frame(kind: FrameKind, transmitter: MacAddress, receiver: MacAddress, nav: u64) -> Frame {
    let (rate, size) = match kind {
        FrameKind::Rts => (Rate::Dsss1, 20),
        FrameKind::Cts | FrameKind::Ack => (Rate::Dsss1, 14),
        _ => (Rate::Hr11, 1_536),
    };
    Frame {
        receiver,
        transmitter,
        kind,
        addressing: Addressing::default(),
        rate,
        mode: None,
        is_retry: false,
        sequence: 7,
        size,
        air_time: Phy::hr_dsss(Preamble::Long).duration(rate, size),
        nav: Duration::from_micros(nav),
        payload: 99,
    }
}

/// A frame arrives from `start` on. Returns its end.
fn receive(machine: &mut Dcf<Script>, start: u64, frame: &Frame) -> u64 {
    let end = start + frame.air_time.as_micros();
    machine.handle_busy(at(start));
    machine.handle_frame(at(end), frame);
    machine.handle_idle(at(end));
    end
}
