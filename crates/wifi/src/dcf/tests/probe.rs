//! Probe frames before data in absence of traffic.

use super::*;
use crate::dcf::ProbeConfig;
use crate::frame::PROBE_SUBTYPE;

const QUIET: Duration = Duration::from_millis(100);

/// Probes of 1508 bytes, as long as [`payload`]: on the air for 1310 us.
fn config() -> MacConfig {
    MacConfig { probe: Some(ProbeConfig { size: 1_508, quiet: QUIET }), ..super::config() }
}

fn ack() -> Frame {
    frame(FrameKind::Ack, PEER, ME, 0)
}

#[test]
fn a_station_that_has_received_no_frame_sends_a_probe_before_its_data() {
    let mut machine = station(config(), &[2, 3]);
    machine.enqueue(at(1_000), payload(7)).unwrap();
    let sent = run(&mut machine, 2_360);
    assert_eq!(times(&sent), [(1_050, FrameKind::Probe)]);
    let probe = sent[0].1;
    assert_eq!((probe.receiver, probe.size, probe.payload), (PEER, 1_536, 0));
    assert_eq!((probe.addressing.subtype, probe.nav), (PROBE_SUBTYPE, Duration::from_micros(314)));
    let end = receive(&mut machine, 2_370, &ack());
    assert_eq!(outcomes(&mut machine), [], "the payload has not been sent yet");
    assert!(!machine.is_ready());
    let sent = run(&mut machine, end + 1_410);
    assert_eq!(times(&sent), [(end + 50 + 2 * 20, FrameKind::Data)]);
    assert_eq!(sent[0].1.payload, 7);
    receive(&mut machine, end + 1_420, &ack());
    assert_eq!(outcomes(&mut machine), [Event::Sent { payload: 7, receiver: PEER, retries: 0 }]);
    let counters = machine.counters();
    assert_eq!((counters.enqueued, counters.sent), (1, 1));
    // The probe's time on the air counts.
    assert_eq!(counters.air_time, Duration::from_micros(2 * 1_310));
}

#[test]
fn traffic_of_any_station_within_the_quiet_time_makes_a_probe_unnecessary() {
    let mut machine = station(config(), &[2]);
    let end = receive(&mut machine, 0, &frame(FrameKind::Data, OTHER, PEER, 0));
    machine.enqueue(at(end + 99_000), payload(1)).unwrap();
    assert_eq!(times(&run(&mut machine, end + 99_100)), [(end + 99_050, FrameKind::Data)]);
    let mut machine = station(config(), &[]);
    let end = receive(&mut machine, 0, &frame(FrameKind::Data, OTHER, PEER, 0));
    machine.enqueue(at(end + 100_000), payload(1)).unwrap();
    assert_eq!(times(&run(&mut machine, end + 100_100)), [(end + 100_050, FrameKind::Probe)]);
    // Beacons are no traffic.
    let mut machine = station(config(), &[]);
    let end = receive(&mut machine, 0, &frame(FrameKind::Management, OTHER, MacAddress::BROADCAST, 0));
    machine.enqueue(at(end + 1_000), payload(1)).unwrap();
    assert_eq!(times(&run(&mut machine, end + 1_100)), [(end + 1_050, FrameKind::Probe)]);
}

#[test]
fn broadcasts_and_management_frames_are_sent_without_a_probe() {
    let mut machine = station(config(), &[0]);
    machine.enqueue(at(0), Outgoing::data(MacAddress::BROADCAST, 100, 1)).unwrap();
    assert_eq!(times(&run(&mut machine, 60)), [(50, FrameKind::Data)]);
    let mut machine = station(config(), &[0]);
    machine.enqueue(at(0), Outgoing { kind: FrameKind::Management, ..payload(1) }).unwrap();
    assert_eq!(times(&run(&mut machine, 60)), [(50, FrameKind::Management)]);
}

#[test]
fn a_probe_is_acknowledged_and_not_delivered() {
    let mut machine = station(config(), &[]);
    let end = receive(&mut machine, 0, &frame(FrameKind::Probe, PEER, ME, 314));
    assert_eq!(times(&run(&mut machine, end + 100)), [(end + 10, FrameKind::Ack)]);
    assert_eq!(outcomes(&mut machine), []);
    assert_eq!(machine.counters().delivered, 0);
}

#[test]
fn a_probe_without_an_acknowledgement_is_given_up_and_the_data_follow() {
    let config = MacConfig { short_retry_limit: Some(1), ..config() };
    let mut machine = station(config, &[1, 2]);
    machine.enqueue(at(0), payload(7)).unwrap();
    let sent = run(&mut machine, 3_000);
    assert_eq!(
        sent.iter().map(|(_, frame)| frame.kind).collect::<Vec<_>>(),
        [FrameKind::Probe, FrameKind::Data]
    );
    assert_eq!(outcomes(&mut machine), []);
    assert_eq!(machine.counters().dropped, 0);
}

#[test]
fn a_station_that_leaves_the_channel_gives_back_the_payload_behind_the_probe() {
    let mut machine = station(config(), &[]);
    machine.enqueue(at(0), payload(7)).unwrap();
    assert_eq!(times(&run(&mut machine, 1_400)), [(50, FrameKind::Probe)]);
    assert_eq!(machine.leave_channel(at(1_400)), Some(payload(7)));
    assert!(machine.is_ready());
}
