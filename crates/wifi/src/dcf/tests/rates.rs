use std::vec::Vec;

use whimbrel_units::Duration;

use super::super::{Dcf, Event, MacConfig, Outgoing, Step};
use super::{ME, OTHER, PEER, Script, at, config, frame, outcomes, payload, receive, run, station, steps};
use crate::frame::{Frame, FrameKind, MacAddress};
use crate::phy::{ACK_BYTES, Phy, Preamble, Rate};
use crate::rate_control::{Arf, RateControl};

fn arf(config: MacConfig) -> MacConfig {
    MacConfig { rate_control: RateControl::Arf(Arf::default()), ..config }
}

/// Rates of the transmissions of a payload that is never acknowledged.
fn fail(machine: &mut Dcf<Script>, start: u64) -> Vec<Rate> {
    machine.enqueue(at(start), payload(1)).unwrap();
    run(machine, start + 1_000_000).iter().map(|(_, frame)| frame.rate).collect()
}

#[test]
fn retries_descend_the_ladder_with_the_durations_of_their_rates() {
    let mut machine = station(arf(config()), &[0; 8]);
    let rates = fail(&mut machine, 0);
    use Rate::{Dsss1, Dsss2, Hr5_5, Hr11};
    assert_eq!(rates, [Hr11, Hr11, Hr5_5, Hr5_5, Dsss2, Dsss2, Dsss1]);
    let phy = Phy::hr_dsss(Preamble::Long);
    for step in steps(&mut machine) {
        if let Step::TransmitStarted { frame } = step {
            assert_eq!(frame.air_time, phy.duration(frame.rate, 1_536));
            assert_eq!(frame.nav, phy.sifs + phy.duration(Dsss1, ACK_BYTES));
        }
    }
}

/// Sends a payload, which is acknowledged after SIFS. Returns the data frame.
fn acknowledge(machine: &mut Dcf<Script>, start: u64, outgoing: Outgoing) -> Frame {
    machine.enqueue(at(start), outgoing).unwrap();
    loop {
        let now = machine.poll_timeout().expect("a transmission").as_nanos() / 1_000;
        machine.handle_timeout(at(now));
        if let Some(transmit) = machine.poll_transmit(at(now)) {
            let end = now + transmit.frame.air_time.as_micros();
            run(machine, end);
            receive(machine, end + 10, &frame(FrameKind::Ack, PEER, ME, 0));
            return transmit.frame;
        }
    }
}

#[test]
fn ten_acknowledgements_raise_the_rate() {
    let mut machine = station(MacConfig { data_rate: Rate::Dsss2, ..arf(config()) }, &[0; 40]);
    let rates: Vec<Rate> = (0..21).map(|n| acknowledge(&mut machine, n * 50_000, payload(n)).rate).collect();
    let mut expected = std::vec![Rate::Dsss2; 10];
    expected.extend([Rate::Hr5_5; 10]);
    expected.push(Rate::Hr11);
    assert_eq!(rates, expected);
}

#[test]
fn group_frames_management_frames_and_payloads_with_a_rate_keep_theirs() {
    let mut machine = station(MacConfig { data_rate: Rate::Dsss2, ..arf(config()) }, &[0; 40]);
    for n in 0..10 {
        acknowledge(&mut machine, n * 50_000, payload(n));
    }
    let others = [
        (Outgoing { rate: Some(Rate::Dsss1), ..payload(20) }, Rate::Dsss1),
        (Outgoing { kind: FrameKind::Management, ..payload(21) }, Rate::Dsss2),
        (payload(22), Rate::Hr5_5),
    ];
    for (n, (outgoing, rate)) in (10..).zip(others) {
        assert_eq!(acknowledge(&mut machine, n * 50_000, outgoing).rate, rate, "{outgoing:?}");
    }
    machine.enqueue(at(2_000_000), Outgoing::data(MacAddress::BROADCAST, 100, 30)).unwrap();
    assert_eq!(run(&mut machine, 2_010_000)[0].1.rate, Rate::Dsss1);
}

#[test]
fn a_missing_cts_does_not_lower_the_rate() {
    let config = MacConfig { rts_threshold: 0, ..arf(config()) };
    let mut machine = station(config, &[0; 20]);
    machine.enqueue(at(0), payload(1)).unwrap();
    let sent = run(&mut machine, 1_000_000);
    assert_eq!(sent.len(), 7);
    assert!(sent.iter().all(|(_, frame)| frame.kind == FrameKind::Rts && frame.rate == Rate::Dsss1));
    assert!(matches!(outcomes(&mut machine)[..], [Event::Dropped { .. }]));
    machine.enqueue(at(2_000_000), payload(2)).unwrap();
    let (start, rts) = run(&mut machine, 2_000_402)[0];
    // 3 SIFS, CTS, data at 11 Mbit/s and acknowledgement.
    assert_eq!((start, rts.nav), (2_000_050, Duration::from_micros(30 + 304 + 1_310 + 304)));
}

#[test]
fn the_rate_to_one_station_does_not_depend_on_the_failures_of_another() {
    let mut machine = station(arf(config()), &[0; 40]);
    fail(&mut machine, 0);
    let to_other = Outgoing { receiver: OTHER, ..payload(2) };
    machine.enqueue(at(2_000_000), to_other).unwrap();
    assert_eq!(run(&mut machine, 2_001_000)[0].1.rate, Rate::Hr11);
}
