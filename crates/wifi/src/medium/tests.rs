mod aggregate;
mod passive;

use std::vec;
use std::vec::Vec;

use whimbrel_units::{Duration, Instant};

use super::{CaptureRule, Link, Listener, Medium, MediumConfig, ReceptionLoss};
use crate::dcf::ReceptionError;
use crate::frame::{Addressing, Frame, FrameKind, MacAddress};
use crate::phy::Rate;

#[derive(Clone, Copy, PartialEq, Debug)]
enum Report {
    Busy,
    Idle,
    Received(u64),
    Error(ReceptionError),
    Lost(u64, ReceptionLoss),
    Captured,
    /// Damaged from the time of the report on.
    Damaged(u64),
}

use crate::StationIndex;
use Report::{Busy, Captured, Damaged, Idle, Lost, Received};

/// Reports with their times in microseconds and stations.
#[derive(Default)]
struct Log(Vec<(u64, u32, Report)>);

impl Log {
    fn push(&mut self, now: Instant, station: u32, report: Report) {
        self.0.push((now.as_nanos() / 1_000, station, report));
    }

    fn of(&self, station: u32) -> Vec<(u64, Report)> {
        self.0.iter().filter(|entry| entry.1 == station).map(|entry| (entry.0, entry.2)).collect()
    }
}

impl Listener for Log {
    fn busy(&mut self, now: Instant, station: StationIndex) {
        self.push(now, station.0, Busy);
    }

    fn idle(&mut self, now: Instant, station: StationIndex) {
        self.push(now, station.0, Idle);
    }

    fn received(&mut self, now: Instant, station: StationIndex, frame: &Frame) {
        self.push(now, station.0, Received(frame.payload));
    }

    fn error(&mut self, now: Instant, station: StationIndex, error: ReceptionError) {
        self.push(now, station.0, Report::Error(error));
    }

    fn lost(&mut self, now: Instant, station: StationIndex, frame: &Frame, cause: ReceptionLoss) {
        self.push(now, station.0, Lost(frame.payload, cause));
    }

    fn damaged(&mut self, station: StationIndex, _: &Frame, (from, until): (Instant, Instant)) {
        self.push(from, station.0, Damaged(until.as_nanos() / 1_000));
    }

    fn captured(&mut self, now: Instant, station: StationIndex, _: Duration) {
        self.push(now, station.0, Captured);
    }
}

fn at(micros: u64) -> Instant {
    Instant::ZERO + Duration::from_micros(micros)
}

fn frame(number: u64, micros: u64) -> Frame {
    Frame {
        receiver: MacAddress::BROADCAST,
        transmitter: MacAddress::station(0),
        kind: FrameKind::Data,
        addressing: Addressing::default(),
        rate: Rate::Dsss1,
        mode: None,
        is_retry: false,
        sequence: 0,
        size: 100,
        air_time: Duration::from_micros(micros),
        nav: Duration::ZERO,
        payload: number,
    }
}

const RECEIVER: u32 = 9;
/// Twenty times the reception threshold of [`MediumConfig::ns2`].
const STRONG: f32 = 7.304e-9;

fn link(power: f32) -> Link {
    Link { station: StationIndex(RECEIVER), delay: 0, power, is_corrupted: false }
}

/// Transmissions (start, time on the air, power at the receiver) of the stations 0, 1, ... Returns the
/// receiver's reports.
fn receive(config: MediumConfig, transmissions: &[(u64, u64, f32)]) -> Vec<(u64, Report)> {
    let mut medium = Medium::new(config, 10);
    let mut log = Log::default();
    for (number, &(start, micros, power)) in transmissions.iter().enumerate() {
        while let Some(next) = medium.poll_timeout().filter(|&next| next < at(start)) {
            medium.handle_timeout(next, &mut log);
        }
        medium.transmit(
            at(start),
            StationIndex::new(number),
            &frame(number as u64, micros),
            [link(power)].into_iter(),
        );
    }
    while let Some(next) = medium.poll_timeout() {
        medium.handle_timeout(next, &mut log);
    }
    log.of(RECEIVER)
}

const RULES: [CaptureRule; 2] =
    [CaptureRule::FirstFrame, CaptureRule::Interference { switches_to_stronger: false }];

fn config(rule: CaptureRule) -> MediumConfig {
    MediumConfig { rule, ..MediumConfig::ns2() }
}

#[test]
fn a_frame_alone_is_received_at_its_end() {
    for rule in RULES {
        let reports = receive(config(rule), &[(10, 100, STRONG)]);
        assert_eq!(reports, [(10, Busy), (110, Received(0)), (110, Idle)]);
    }
}

#[test]
fn a_weak_frame_makes_the_medium_busy_and_a_weaker_one_does_not() {
    for rule in RULES {
        let weak = receive(config(rule), &[(10, 100, 1e-10)]);
        assert_eq!((weak.first(), weak.last()), (Some(&(10, Busy)), Some(&(110, Idle))));
        assert!(weak.contains(&(110, Lost(0, ReceptionLoss::BelowThreshold))));
        let silent = receive(config(rule), &[(10, 100, 1e-12)]);
        assert_eq!(silent, [(110, Lost(0, ReceptionLoss::BelowThreshold))]);
    }
}

#[test]
fn overlapping_frames_of_like_power_are_both_lost() {
    for rule in RULES {
        let reports = receive(config(rule), &[(10, 100, STRONG), (60, 100, STRONG)]);
        let losses: Vec<Report> =
            reports.iter().map(|entry| entry.1).filter(|report| matches!(report, Lost(..))).collect();
        assert_eq!(losses, [Lost(0, ReceptionLoss::Collision), Lost(1, ReceptionLoss::Collision)]);
        assert_eq!((reports.first(), reports.last()), (Some(&(10, Busy)), Some(&(160, Idle))));
        // The receiver notices one error: ns-2's at the end of the longest frame, else of the frame locked
        // onto.
        let error = Report::Error(ReceptionError::Corrupted);
        let noticed: Vec<_> = reports.iter().filter(|entry| entry.1 == error).map(|entry| entry.0).collect();
        assert_eq!(noticed, [if rule == CaptureRule::FirstFrame { 160 } else { 110 }]);
    }
}

#[test]
fn adjacent_frames_do_not_overlap() {
    for rule in RULES {
        let reports = receive(config(rule), &[(0, 100, STRONG), (100, 50, STRONG)]);
        let expected =
            [(0, Busy), (100, Received(0)), (100, Idle), (100, Busy), (150, Received(1)), (150, Idle)];
        assert_eq!(reports, expected);
    }
}

#[test]
fn the_first_frame_survives_one_that_is_ten_decibels_weaker() {
    for rule in RULES {
        let survives = receive(config(rule), &[(0, 100, STRONG), (50, 100, STRONG / 10.1)]);
        assert!(survives.contains(&(100, Received(0))), "{survives:?}");
        assert!(survives.contains(&(150, Lost(1, ReceptionLoss::Capture))), "{survives:?}");
        // ns-2 ignores the weaker frame; its energy is reported as a reservation.
        let is_ns2 = rule == CaptureRule::FirstFrame;
        assert_eq!(survives.contains(&(50, Captured)), is_ns2);
        assert!(survives.contains(&(if is_ns2 { 100 } else { 150 }, Idle)), "{survives:?}");
        let lost = receive(config(rule), &[(0, 100, STRONG), (50, 100, STRONG / 9.9)]);
        assert!(lost.contains(&(100, Lost(0, ReceptionLoss::Collision))), "{lost:?}");
    }
}

#[test]
fn a_much_stronger_later_frame_is_received_only_by_a_receiver_that_switches() {
    let frames = [(0, 100, STRONG), (50, 100, STRONG * 100.0)];
    for rule in RULES {
        let both = receive(config(rule), &frames);
        assert!(!both.iter().any(|entry| matches!(entry.1, Received(_))), "{rule:?}: {both:?}");
    }
    let switching = receive(config(CaptureRule::Interference { switches_to_stronger: true }), &frames);
    assert!(switching.contains(&(150, Received(1))), "{switching:?}");
    assert!(switching.contains(&(100, Lost(0, ReceptionLoss::Capture))), "{switching:?}");
}

#[test]
fn interference_adds_up_except_in_ns2() {
    // Two frames, each eleven times weaker: together they are less than ten times weaker.
    let frames = [(0, 300, STRONG), (50, 100, STRONG / 11.0), (60, 100, STRONG / 11.0)];
    assert!(receive(config(RULES[0]), &frames).contains(&(300, Received(0))));
    assert!(receive(config(RULES[1]), &frames).contains(&(300, Lost(0, ReceptionLoss::Collision))));
}

#[test]
fn energy_below_the_reception_threshold_occupies_the_receiver_only_in_ns2() {
    let frames = [(0, 300, 2e-11), (50, 100, STRONG)];
    assert!(receive(config(RULES[0]), &frames).contains(&(150, Lost(1, ReceptionLoss::Collision))));
    assert!(receive(config(RULES[1]), &frames).contains(&(150, Received(1))));
}

#[test]
fn a_sending_station_receives_nothing() {
    for rule in RULES {
        let mut medium = Medium::new(config(rule), 10);
        let mut log = Log::default();
        // A frame that arrives while the receiver sends, and one whose reception its own frame interrupts.
        medium.transmit(at(0), StationIndex(RECEIVER), &frame(7, 100), core::iter::empty());
        medium.transmit(at(50), StationIndex(0), &frame(0, 100), [link(STRONG)].into_iter());
        medium.handle_timeout(at(1_000), &mut log);
        medium.transmit(at(1_000), StationIndex(1), &frame(1, 100), [link(STRONG)].into_iter());
        medium.handle_timeout(at(1_050), &mut log);
        medium.transmit(at(1_050), StationIndex(RECEIVER), &frame(8, 10), core::iter::empty());
        medium.handle_timeout(at(2_000), &mut log);
        let reports = log.of(RECEIVER);
        assert!(reports.contains(&(150, Lost(0, ReceptionLoss::HalfDuplex))), "{reports:?}");
        assert!(reports.contains(&(1_100, Lost(1, ReceptionLoss::HalfDuplex))), "{reports:?}");
    }
}

#[test]
fn noise_destroys_a_frame_without_another_one() {
    let mut medium = Medium::new(MediumConfig::additive(), 10);
    let mut log = Log::default();
    let noisy = Link { is_corrupted: true, ..link(STRONG) };
    medium.transmit(at(0), StationIndex(0), &frame(0, 100), [noisy].into_iter());
    medium.handle_timeout(at(100), &mut log);
    let error = Report::Error(ReceptionError::Corrupted);
    assert_eq!(
        log.of(RECEIVER),
        [(0, Busy), (100, error), (100, Lost(0, ReceptionLoss::Noise)), (100, Idle)]
    );
}

#[test]
fn delays_shift_beginning_and_end_and_order_the_stations() {
    let mut medium = Medium::new(MediumConfig::additive(), 4);
    let mut log = Log::default();
    let links = vec![
        Link { station: StationIndex(3), delay: 3_000, ..link(STRONG) },
        Link { station: StationIndex(1), delay: 1_000, ..link(STRONG) },
        Link { station: StationIndex(2), delay: 2_000, ..link(STRONG) },
        // The sender itself and a station that does not exist are ignored.
        Link { station: StationIndex(0), ..link(STRONG) },
        Link { station: StationIndex(77), ..link(STRONG) },
    ];
    medium.transmit(at(10), StationIndex(0), &frame(0, 100), links.into_iter());
    while let Some(next) = medium.poll_timeout() {
        medium.handle_timeout(next, &mut log);
    }
    let stations: Vec<(u64, u32)> = log.0.iter().map(|entry| (entry.0, entry.1)).collect();
    let ends = [1, 2, 3].into_iter().flat_map(|n| [(110 + u64::from(n), n); 2]);
    let expected: Vec<_> = [(11, 1), (12, 2), (13, 3)].into_iter().chain(ends).collect();
    assert_eq!(stations, expected);
}

/// The station leaves during a frame, and before one that is on its way: it senses and receives nothing of
/// them, and a frame of its new channel is received as if they were not there.
#[test]
fn a_station_that_leaves_the_channel_loses_what_is_on_the_air() {
    for rule in RULES {
        let mut medium = Medium::new(config(rule), 10);
        let mut log = Log::default();
        let late = Link { delay: 5_000, ..link(STRONG) };
        medium.transmit(at(10), StationIndex(0), &frame(0, 100), [link(STRONG)].into_iter());
        medium.transmit(at(49), StationIndex(1), &frame(1, 100), [late].into_iter());
        medium.handle_timeout(at(50), &mut log);
        medium.leave(at(50), StationIndex(RECEIVER), &mut log);
        medium.transmit(at(60), StationIndex(2), &frame(2, 30), [link(STRONG)].into_iter());
        while let Some(next) = medium.poll_timeout() {
            medium.handle_timeout(next, &mut log);
        }
        let reports = log.of(RECEIVER);
        let off_channel = |number| Lost(number, ReceptionLoss::OffChannel);
        let expected = [
            (10, Busy),
            (50, Idle),
            (60, Busy),
            (90, Received(2)),
            (90, Idle),
            (110, off_channel(0)),
            (154, off_channel(1)),
        ];
        assert_eq!(reports, expected, "{rule:?}");
    }
}

/// The station comes to the channel during a frame: it senses the rest, and receives a weaker frame that
/// begins meanwhile only where the rule does not count the first one.
#[test]
fn a_station_that_comes_to_a_channel_senses_the_frames_on_the_air() {
    for rule in RULES {
        let mut medium = Medium::new(config(rule), 10);
        let mut log = Log::default();
        let elsewhere = |delay| Link { station: StationIndex(8), delay, ..link(STRONG) };
        medium.transmit(at(10), StationIndex(0), &frame(0, 100), [elsewhere(700)].into_iter());
        medium.transmit(at(20), StationIndex(1), &frame(1, 100), [elsewhere(0)].into_iter());
        medium.handle_timeout(at(50), &mut log);
        let mut senders: Vec<StationIndex> = medium.senders().collect();
        senders.sort_unstable();
        assert_eq!(senders, [0, 1].map(StationIndex));
        // Only the first one is on the channel.
        medium.enter(at(50), StationIndex(RECEIVER), &[(StationIndex(0), link(STRONG))], &mut log);
        medium.transmit(at(60), StationIndex(2), &frame(2, 20), [link(STRONG / 2.0)].into_iter());
        while let Some(next) = medium.poll_timeout() {
            medium.handle_timeout(next, &mut log);
        }
        let reports = log.of(RECEIVER);
        let expected: &[(u64, Report)] = match rule {
            CaptureRule::FirstFrame => {
                &[(50, Busy), (80, Received(2)), (110, Lost(0, ReceptionLoss::OffChannel)), (110, Idle)]
            }
            CaptureRule::Interference { .. } => &[
                (50, Busy),
                (80, Lost(2, ReceptionLoss::Collision)),
                (110, Lost(0, ReceptionLoss::OffChannel)),
                (110, Idle),
            ],
        };
        assert_eq!(reports, expected, "{rule:?}");
        // The slots are free again, and a frame alone is received.
        assert_eq!(medium.senders().count(), 0);
        medium.transmit(at(200), StationIndex(0), &frame(3, 10), [link(STRONG)].into_iter());
        while let Some(next) = medium.poll_timeout() {
            medium.handle_timeout(next, &mut log);
        }
        assert_eq!(log.of(RECEIVER)[4..], [(200, Busy), (210, Received(3)), (210, Idle)]);
    }
}
