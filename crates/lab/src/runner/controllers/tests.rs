use std::sync::Mutex;

use whimbrel_netsim::NodeId;
use whimbrel_netsim::medium::Association;
use whimbrel_wifi::frame::{Addressing, Frame};
use whimbrel_wifi::infrastructure::HandoverReport;
use whimbrel_wifi::phy::Rate;

use super::*;

/// The estimates that a law was given.
#[derive(Clone, Debug, Default)]
struct Recorder(Arc<Mutex<Vec<Estimate>>>);

impl RouterLaw for Recorder {
    fn on_arrival(&mut self, _: Instant, _: u32, _: Option<&FlowHeader>, _: ByteCount) {}
    fn on_departure(&mut self, _: Instant, _: u32, _: Option<&mut FlowHeader>, _: ByteCount) {}
    fn on_timeout(&mut self, _: Instant, _: ByteCount) {}
    fn poll_timeout(&self) -> Option<Instant> {
        None
    }

    fn set_capacity(&mut self, _: DataRate) {}
    fn set_estimate(&mut self, estimate: Estimate) {
        self.0.lock().unwrap().push(estimate);
    }
}

const HEADERS: u32 = 36;

fn address(station: u8) -> MacAddress {
    MacAddress([2, 0, 0, 0, 0, station])
}

/// The station 0, which has the law's recorder, and the stores of stations 0 to 3.
fn station() -> (StationController, Recorder, Vec<CrossLayer>) {
    let stores: Vec<CrossLayer> = (0..4).map(|_| CrossLayer::default()).collect();
    let board = Board::new((0..).map(address).zip(stores.iter().cloned()).collect());
    let config = RtWinfConfig::hr_dsss();
    let recorder = Recorder::default();
    let observer = Observer::new(address(0), config, Duration::from_micros(20), HEADERS, false);
    let own = stores[0].clone();
    let law = Box::new(recorder.clone());
    (StationController { law, observer: Some(observer), own, board }, recorder, stores)
}

/// An exchange of `size` bytes of payload from one station to another that begins at `start` us, as station 0
/// observes it.
fn exchange(controller: &mut StationController, from: u8, to: u8, start: u64, size: u32) {
    let (rts, cts, ack, sifs) = (352, 304, 304, 10);
    let data = 192 + u64::from(size + HEADERS) * 8 / 11;
    let mut now = start;
    let frames = [
        (frame::FrameKind::Rts, from, to, rts, 3 * sifs + cts + data + ack),
        (frame::FrameKind::Cts, to, from, cts, 2 * sifs + data + ack),
        (frame::FrameKind::Data, from, to, data, sifs + ack),
        (frame::FrameKind::Ack, to, from, ack, 0),
    ];
    for (kind, transmitter, receiver, air_time, nav) in frames {
        let is_data = kind == frame::FrameKind::Data;
        let frame = Frame {
            receiver: address(receiver),
            transmitter: address(transmitter),
            kind,
            addressing: Addressing::default(),
            rate: if is_data { Rate::Hr11 } else { Rate::Dsss1 },
            mode: None,
            is_retry: false,
            sequence: 0,
            size: if is_data { size + HEADERS } else { 14 },
            air_time: Duration::from_micros(air_time),
            nav: Duration::from_micros(nav),
            payload: 0,
        };
        // Own frames are reported when they begin, others when they end.
        let (at, step) = if transmitter == 0 {
            (now, Step::TransmitStarted { frame })
        } else {
            (now + air_time, Step::Received { frame })
        };
        let at = Instant::ZERO + Duration::from_micros(at);
        controller.handle_observation(at, &Observation::Mac { at, step });
        now += air_time + sifs;
    }
}

/// The capacity of an exchange: payload over the times of data frame and ACK.
fn capacity(size: u32) -> f64 {
    f64::from(size) * 8e6 / (192 + u64::from(size + HEADERS) * 8 / 11 + 304) as f64
}

fn is_close(estimate: Option<Estimate>, expected: f64) -> bool {
    estimate.is_some_and(|estimate| (estimate.capacity.as_bits_per_second() / expected - 1.0).abs() < 1e-6)
}

#[test]
fn a_router_is_an_onlooker_and_uses_its_own_estimate_until_it_has_overheard_others() {
    let (mut controller, recorder, stores) = station();
    let last = || recorder.0.lock().unwrap().last().copied();
    exchange(&mut controller, 0, 1, 1000, 300);
    assert!(is_close(last(), capacity(300)), "{:?}", last());
    assert!(is_close(stores[0].get(Position::Sender), capacity(300)));
    exchange(&mut controller, 2, 3, 10_000, 1500);
    assert!(is_close(last(), capacity(1500)), "{:?}", last());
    exchange(&mut controller, 0, 1, 20_000, 300);
    assert!(is_close(last(), capacity(1500)), "{:?}", last());
    assert!(is_close(stores[0].get(Position::Sender), capacity(300)));
    assert!(is_close(stores[0].observed()[0], capacity(1500)));
}

#[test]
fn the_acknowledgement_of_a_receiver_returns_its_estimate_if_it_is_smaller() {
    let (mut controller, _, stores) = station();
    let capacity_of_receiver = DataRate::from_megabits_per_second(1.0);
    let estimate = Estimate { capacity: capacity_of_receiver, available: DataRate::ZERO };
    // The estimate of another station has no effect.
    stores[2].set(Position::Receiver, Some(estimate));
    exchange(&mut controller, 0, 1, 1000, 1500);
    assert!(is_close(stores[0].get(Position::Sender), capacity(1500)));
    stores[1].set(Position::Receiver, Some(estimate));
    exchange(&mut controller, 0, 1, 10_000, 1500);
    assert_eq!(stores[0].get(Position::Sender), Some(estimate));
}

#[test]
fn a_receiver_stores_its_estimate_for_the_sender() {
    let (mut controller, _, stores) = station();
    exchange(&mut controller, 1, 0, 1000, 1500);
    // DATA time - RTS time less three SIFS, as printed: CTS and DATA less one SIFS.
    let time = 304 + 192 + (1500 + u64::from(HEADERS)) * 8 / 11 - 10;
    assert!(is_close(stores[0].get(Position::Receiver), 12e9 / time as f64));
}

/// A beacon that ends at `at` us.
fn beacon(controller: &mut StationController, at: u64) {
    let at = Instant::ZERO + Duration::from_micros(at);
    let frame = Frame {
        receiver: MacAddress::BROADCAST,
        transmitter: address(9),
        kind: frame::FrameKind::Management,
        addressing: Addressing::default(),
        rate: Rate::Dsss1,
        mode: None,
        is_retry: false,
        sequence: 0,
        size: 80,
        air_time: Duration::from_micros(832),
        nav: Duration::ZERO,
        payload: 0,
    };
    controller.handle_observation(at, &Observation::Mac { at, step: Step::Received { frame } });
}

#[test]
fn beacons_extend_the_time_of_an_idle_medium() {
    let (mut controller, _, stores) = station();
    exchange(&mut controller, 0, 1, 0, 1500);
    let available = || stores[0].get(Position::Sender).unwrap().available.as_bits_per_second();
    assert!(available() < 0.5 * capacity(1500), "{}", available());
    beacon(&mut controller, 102_400);
    assert!(available() > 0.95 * capacity(1500), "{}", available());
    assert!(is_close(stores[0].get(Position::Sender), capacity(1500)));
}

#[test]
fn an_association_discards_the_estimates_of_the_cell_before() {
    let (mut controller, _, stores) = station();
    exchange(&mut controller, 0, 1, 0, 1500);
    exchange(&mut controller, 1, 0, 10_000, 1500);
    let at = Instant::from_millis(50);
    let report = HandoverReport {
        from: None,
        to: address(2),
        last_contact: at,
        detected: at,
        scanned: at,
        authenticated: at,
        associated: at,
    };
    let handover = Association { from: None, to: NodeId::default(), report };
    controller.handle_observation(at, &Observation::Associated(handover));
    assert_eq!([Position::Sender, Position::Receiver].map(|position| stores[0].get(position)), [None, None]);
    beacon(&mut controller, 60_000);
    assert_eq!(stores[0].get(Position::Sender), None);
    exchange(&mut controller, 0, 2, 70_000, 300);
    assert!(is_close(stores[0].get(Position::Sender), capacity(300)));
    // The CTS of the exchange has reserved 760 of the 21,426 us since the association.
    let share = stores[0].get(Position::Sender).map(|estimate| estimate.available / estimate.capacity);
    assert!(share.is_some_and(|share| (share - (1.0 - 760.0 / 21_426.0)).abs() < 1e-4), "{share:?}");
}

#[test]
fn with_probes_the_estimates_are_those_of_data_and_acknowledgements() {
    let (mut controller, recorder, stores) = station();
    if let Some(observer) = &mut controller.observer {
        observer.uses_probes = true;
    }
    let at = |micros| Instant::ZERO + Duration::from_micros(micros);
    let probe = |kind, transmitter, receiver, size| Frame {
        receiver: address(receiver),
        transmitter: address(transmitter),
        kind,
        addressing: Addressing::default(),
        rate: Rate::Hr11,
        mode: None,
        is_retry: false,
        sequence: 0,
        size,
        air_time: Duration::from_micros(if size == 14 { 304 } else { 1_200 }),
        nav: Duration::ZERO,
        payload: 0,
    };
    let sent = Step::TransmitStarted { frame: probe(frame::FrameKind::Probe, 0, 1, 1_000 + HEADERS) };
    controller.handle_observation(at(0), &Observation::Mac { at: at(0), step: sent });
    let answered = Step::Received { frame: probe(frame::FrameKind::Ack, 1, 0, 14) };
    controller.handle_observation(at(1_514), &Observation::Mac { at: at(1_514), step: answered });
    // Equation 1: from the beginning of the probe to the end of the acknowledgement.
    let expected = 8_000.0 / 1_514e-6;
    assert!(is_close(stores[0].get(Position::Sender), expected), "{:?}", stores[0].get(Position::Sender));
    assert!(is_close(recorder.0.lock().unwrap().last().copied(), expected));
}
